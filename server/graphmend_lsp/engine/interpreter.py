"""Which Python runs the user's program, and the command line that starts the worker in it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

PYTHON_WORDS = ("-u", "-q", "-i")  # that mean the same to a program and to any number of shells on the way
WORKER_SCRIPT = Path(__file__).resolve().parent.parent / "worker" / "__main__.py"


def find_python(told: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The interpreter to use: the one told, else the active environment's, else this one's if it has torch, else the PATH's.

    A told folder is taken as a virtual environment. Returns None when there is none at all.
    """
    environ = os.environ if environ is None else environ
    if told:
        path = Path(told).expanduser()
        return _of_environment(path) or str(path) if path.is_dir() else shutil.which(told) or str(path)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if (folder := environ.get(variable)) and (python := _of_environment(Path(folder))):
            return python
    if sys.executable and importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python3") or shutil.which("python") or sys.executable or None


def _of_environment(folder: Path) -> str | None:
    for part in ("bin/python3", "bin/python", "Scripts/python.exe", "python.exe"):
        if (folder / part).is_file():
            return str(folder / part)
    return None


def worker_command(python: str | None, command: tuple[str, ...]) -> list[str] | None:
    """The argument list that starts the worker; `command` (a setting) wins over the interpreter.

    The word ``{worker}`` in `command` stands for the path of the worker's script; a command without it ends in a Python,
    to which the worker's files are sent (`graphmend_lsp.engine.remote`).
    """
    if command:
        if is_sent(command):
            return [*command, *PYTHON_WORDS]
        return [word.replace("{worker}", str(WORKER_SCRIPT)) for word in command]
    found = find_python(python)
    return None if found is None else [found, "-u", str(WORKER_SCRIPT)]


def is_sent(command: tuple[str, ...]) -> bool:
    """Whether the worker's files are sent to what the command starts."""
    return bool(command) and not any("{worker}" in word for word in command)
