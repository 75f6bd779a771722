"""Which Python runs the user's program, and the command line that starts the worker in it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PYTHON_WORDS = ("-u", "-q", "-i")  # that mean the same to a program and to any number of shells on the way
ENVIRONMENTS = (".venv", "venv")  # folders of virtual environments, as uv, poetry and most people name them
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
WORKER_SCRIPT = Path(__file__).resolve().parent.parent / "worker" / "__main__.py"


def find_python(told: str | None, folder: str | None = None, environ: Mapping[str, str] | None = None) -> str | None:
    """The interpreter to use: the one told, else the first of these that there is.

    The active environment; ``.venv`` or ``venv`` of `folder` (the working folder if None) or of a folder above it in the
    same project, with torch in it; conda's base; this interpreter, if it has torch; such an environment without torch; the
    PATH's. A told folder is taken as a virtual environment. Returns None when there is none at all.
    """
    environ = os.environ if environ is None else environ
    if told:
        path = Path(told).expanduser()
        return _of_environment(path) or str(path) if path.is_dir() else shutil.which(told) or str(path)
    active = _of_variable(environ, "VIRTUAL_ENV")
    conda = _of_variable(environ, "CONDA_PREFIX")
    is_base = environ.get("CONDA_DEFAULT_ENV") == "base"
    if found := active or (None if is_base else conda):
        return found
    environments = list(_environments_of(Path(os.path.abspath(folder or os.getcwd()))))
    if found := next((python for place, python in environments if _has_torch(place)), None) or conda:
        return found
    if sys.executable and importlib.util.find_spec("torch") is not None:
        return sys.executable
    if environments:
        return environments[0][1]
    return shutil.which("python3") or shutil.which("python") or sys.executable or None


def _of_variable(environ: Mapping[str, str], name: str) -> str | None:
    return _of_environment(Path(environ[name])) if environ.get(name) else None


def _environments_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """The virtual environments of a folder, then of those above it up to the one that holds the project; their Pythons."""
    above = [folder, *folder.parents]
    project = next(
        (number for number, place in enumerate(above) if any((place / mark).exists() for mark in _PROJECT)), 0
    )
    for place in above[: project + 1]:
        for name in ENVIRONMENTS:
            if (place / name / "pyvenv.cfg").is_file() and (python := _of_environment(place / name)):
                yield place / name, python


def _has_torch(environment: Path) -> bool:
    """Whether torch is installed in a virtual environment, or may be in the Python whose packages it shows."""
    if any(any(environment.glob(f"{library}/site-packages/torch")) for library in ("lib*/python*", "Lib")):
        return True
    try:
        lines = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return "include-system-site-packages=true" in (line.replace(" ", "").lower() for line in lines)


def _of_environment(folder: Path) -> str | None:
    for part in ("bin/python3", "bin/python", "Scripts/python.exe", "python.exe"):
        if (folder / part).is_file():
            return str(folder / part)
    return None


def worker_command(python: str | None, command: tuple[str, ...], folder: str | None = None) -> list[str] | None:
    """The argument list that starts the worker in `folder`; `command` (a setting) wins over the interpreter.

    The word ``{worker}`` in `command` stands for the path of the worker's script; a command without it ends in a Python,
    to which the worker's files are sent (`graphmend_lsp.engine.remote`).
    """
    if command:
        if is_sent(command):
            return [*command, *PYTHON_WORDS]
        return [word.replace("{worker}", str(WORKER_SCRIPT)) for word in command]
    found = find_python(python, folder)
    return None if found is None else [found, "-u", str(WORKER_SCRIPT)]


def is_sent(command: tuple[str, ...]) -> bool:
    """Whether the worker's files are sent to what the command starts."""
    return bool(command) and not any("{worker}" in word for word in command)
