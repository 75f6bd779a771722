"""Runs a command as if it had been started without us: its streams, folder, signals and end are its own.

A signal that a process sends to us goes on to the command; one that the terminal sends reaches the command anyway (it is
in our process group), so it does not. `end_like` ends this process as the command ended: whoever started us sees no
difference.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

NOT_FOUND, NOT_EXECUTABLE = 127, 126
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_RESET = ("SIGPIPE", "SIGXFSZ")  # ignored by Python, not by what we start


class NotStartedError(Exception):
    """The command cannot be started; `status` is what a shell would give."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def run_command(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run to the end; the exit status, or minus the number of the signal that ended it.

    Raises:
        NotStartedError: there is no such program, or it cannot be executed.
    """
    program = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if program is None:
        there = os.path.isfile(command[0])
        hint = "is not executable; write `python` before a script" if there else "was not found"
        raise NotStartedError(f"{command[0]} {hint}", NOT_EXECUTABLE if there else NOT_FOUND)
    try:
        if hasattr(signal, "sigwaitinfo"):
            return _run_here(program, command, environ)
        return _run_anywhere(program, command, environ)
    except OSError as error:
        raise NotStartedError(f"{command[0]} cannot start: {error.strerror}", NOT_EXECUTABLE) from error


def _run_here(program: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Linux: signals are blocked and taken one by one, which also tells who sent them.

    One that is ignored, as under `nohup`, is ignored by the command, too, and harmless to pass on.
    """
    passed_on = {getattr(signal, name) for name in _PASSED_ON}
    if not _has_terminal():
        # With a terminal, Ctrl-C and what imitates it (a notebook, a job runner) go to the whole process group.
        passed_on.add(signal.SIGINT)
    watched = {signal.SIGCHLD, signal.SIGINT, *passed_on}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        default = [getattr(signal, name) for name in _RESET]
        child = os.posix_spawn(program, list(command), dict(environ), setsigmask=before, setsigdef=default)
        while True:
            told = signal.sigwaitinfo(watched)
            if told.si_signo != signal.SIGCHLD:
                if told.si_pid and told.si_signo in passed_on:  # no process: the terminal
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, told.si_signo)
                continue
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _run_anywhere(program: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Elsewhere: Ctrl-C is the command's, and a request to end goes on to it."""
    process = subprocess.Popen([program, *command[1:]], env=dict(environ))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_like(status: int) -> NoReturn:
    """End this process as the command ended: with its status, or by the same signal."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    if status < 0 and os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its own
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF if status >= 0 else 128 - status)
