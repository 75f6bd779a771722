;;; emacs -q --batch -l quick_fix.el FILE  -*- lexical-binding: t -*-
;; Starts graphmend-lsp as the user who follows docs/editors.md, waits for the break, saves so that torch confirms it, applies the
;; mend, and writes the file.  GRAPHMEND_PLAN: JSON {setup, text, action}; `setup' is the page's own.

(require 'eglot)
(require 'json)

(defvar plan (json-read-from-string (getenv "GRAPHMEND_PLAN")))
(defun of (key) (alist-get key plan))
(defun say (&rest words) (princ (concat (apply #'format words) "\n")))

(defun shown (&optional type)
  "The diagnostic at the plan's text, of a TYPE when one is given."
  (seq-find (lambda (one)
              (and (equal (of 'text) (buffer-substring-no-properties (flymake-diagnostic-beg one) (flymake-diagnostic-end one)))
                   (or (null type) (eq type (flymake-diagnostic-type one)))))
            (flymake-diagnostics)))

(defun wait-for (what seconds ready)
  "Wait until READY gives something."
  (let ((end (+ (float-time) seconds)) found)
    (while (not (or (setq found (funcall ready)) (> (float-time) end)))
      (accept-process-output nil 0.05))
    (unless found
      (say "FAILED: waited %s s until %s: %S\n%s" seconds what (mapcar #'flymake-diagnostic-text (flymake-diagnostics)) (buffer-string))
      (kill-emacs 1))
    found))

(eval (read (concat "(progn " (of 'setup) ")")) t)
(setq eglot-sync-connect 20 make-backup-files nil create-lockfiles nil)
(find-file (car (last command-line-args)))
(python-mode)
(apply #'eglot (eglot--guess-contact))
(flymake-start)
(wait-for "the break is found by reading" 15 (lambda () (shown)))
(say "read: %s" (flymake-diagnostic-text (shown)))

(set-buffer-modified-p t)
(save-buffer)
(wait-for "torch confirms the break" 45 (lambda () (shown 'eglot-warning)))
(say "run: %s" (flymake-diagnostic-text (shown 'eglot-warning)))

(let ((mend (wait-for "the mend is offered" 20
                      (lambda ()
                        (let ((one (shown)))
                          (seq-find (lambda (action)
                                      (let ((title (plist-get action :title)))
                                        (and (string-match-p (regexp-quote (of 'action)) title)
                                             (plist-get action :edit)
                                             (not (string-match-p "not verified yet" title)))))
                                    (and one (eglot-code-actions (flymake-diagnostic-beg one) (flymake-diagnostic-end one) "quickfix"))))))))
  (eglot--apply-workspace-edit (plist-get mend :edit))
  (say "applied: %s" (plist-get mend :title)))
(save-buffer)
(wait-for "the diagnostic is gone" 45 (lambda () (not (shown))))
(eglot-shutdown (eglot-current-server))
(say "PASS")
(setq command-line-args-left nil)
(kill-emacs 0)
