;;; emacs -q --batch -l lsp_mode.el FILE  -*- lexical-binding: t -*-
;; Starts graphmend-lsp as the user who follows docs/editors.md, waits for the break, saves so that torch confirms it, applies
;; the mend, and writes the file.  GRAPHMEND_PLAN: JSON {setup, text, action}; `setup' is the page's own.

(require 'lsp-mode)
(require 'lsp-diagnostics)
(require 'json)

(defvar plan (json-read-from-string (getenv "GRAPHMEND_PLAN")))
(defun of (key) (alist-get key plan))
(defun say (&rest words) (princ (concat (apply #'format words) "\n")))

(defun shown (severity)
  "The first diagnostic of this SEVERITY or a graver one."
  (seq-find (lambda (one) (and (gethash "severity" one) (<= (gethash "severity" one) severity))) (lsp--get-buffer-diagnostics)))

(defun wait-for (what seconds ready)
  "Wait until READY gives something."
  (let ((end (+ (float-time) seconds)) found)
    (while (not (or (setq found (funcall ready)) (> (float-time) end)))
      (accept-process-output nil 0.05))
    (unless found
      (say "FAILED: waited %s s until %s: %S\n%s" seconds what (lsp--get-buffer-diagnostics) (buffer-string))
      (kill-emacs 1))
    found))

(eval (read (concat "(progn " (of 'setup) ")")) t)
(setq lsp-auto-guess-root t lsp-restart 'ignore lsp-diagnostics-provider :none lsp-enable-file-watchers nil
      lsp-enable-snippet nil make-backup-files nil create-lockfiles nil)
(find-file (car (last command-line-args)))
(python-mode)
(lsp-workspace-folders-add default-directory)
(lsp)
(wait-for "the break is found by reading" 15 (lambda () (shown 4)))
(say "read: %s" (gethash "message" (shown 4)))

(set-buffer-modified-p t)
(save-buffer)
(wait-for "torch confirms the break" 45 (lambda () (shown 2)))
(say "run: %s" (gethash "message" (shown 2)))

(goto-char (point-min))
(search-forward (of 'text))
(goto-char (match-beginning 0))
(let ((mend (wait-for "the mend is offered" 20
                      (lambda ()
                        (seq-find (lambda (action)
                                    (let ((title (gethash "title" action)))
                                      (and (string-match-p (regexp-quote (of 'action)) title)
                                           (not (string-match-p "not verified yet" title)))))
                                  (lsp-code-actions-at-point "quickfix"))))))
  (lsp-execute-code-action mend)
  (say "applied: %s" (gethash "title" mend)))
(save-buffer)
(wait-for "the mended break is gone" 45
          (lambda ()
            (not (seq-find (lambda (one) (string-match-p (regexp-quote (of 'text)) (gethash "message" one)))
                           (lsp--get-buffer-diagnostics)))))
(lsp-workspace-shutdown (car (lsp-workspaces)))
(say "PASS")
(kill-emacs 0)
