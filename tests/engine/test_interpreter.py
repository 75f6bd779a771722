"""Which Python is found for the user's program, on machines that are made up of folders."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graphmend_lsp.engine.interpreter import find_python, worker_command


@dataclass(frozen=True)
class Case:
    """`environments` are folders below the home, with ``+torch`` behind those that have it; `finds` is one, else None."""

    environments: tuple[str, ...]
    finds: str | None
    variables: Mapping[str, str] = field(default_factory=dict)
    told: str | None = None
    marks: tuple[str, ...] = ("project/pyproject.toml",)


CASES = {
    "the one told": Case(("project/.venv+torch", "other"), "other", told="other"),
    "the active environment before .venv": Case(("project/.venv+torch", "on"), "on", {"VIRTUAL_ENV": "on"}),
    "an active conda environment before .venv": Case(
        ("project/.venv+torch", "conda"), "conda", {"CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "train"}
    ),
    ".venv before conda's base, which is always active": Case(
        ("project/.venv+torch", "conda"), "project/.venv", {"CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "base"}
    ),
    "conda's base before a .venv that has no torch": Case(
        ("project/.venv", "conda"), "conda", {"CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "base"}
    ),
    ".venv of the folder": Case(("project/src/.venv+torch", "project/.venv+torch"), "project/src/.venv"),
    "venv of the folder": Case(("project/src/venv+torch",), "project/src/venv"),
    "venv with torch before a .venv without": Case(("project/src/.venv", "project/src/venv+torch"), "project/src/venv"),
    ".venv of the project": Case(("project/.venv+torch",), "project/.venv"),
    ".venv of a repository": Case(("project/.venv+torch",), "project/.venv", marks=("project/.git",)),
    "nothing above the project": Case((".venv+torch",), None),
    "nothing above a folder of no project": Case(("project/.venv+torch",), None, marks=()),
    "this Python before a .venv without torch": Case(("project/.venv",), None),
}


def _environment(folder: Path, torch: bool, settings: str = "home = /usr/bin\n") -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    (folder / "pyvenv.cfg").write_text(settings)
    if torch:
        (folder / "lib" / "python3.12" / "site-packages" / "torch").mkdir(parents=True)


def _machine(home: Path, environments: Iterable[str], marks: Iterable[str]) -> Path:
    here = home / "project" / "src"
    here.mkdir(parents=True)
    for mark in marks:
        (home / mark).touch()
    for name in environments:
        _environment(home / name.removesuffix("+torch"), name.endswith("+torch"))
    return here


@pytest.mark.parametrize("title", CASES)
def test_a_python_is_found(title: str, tmp_path: Path) -> None:
    case = CASES[title]
    here = _machine(tmp_path, case.environments, case.marks)
    told = str(tmp_path / case.told) if case.told else None
    variables = {n: v if n == "CONDA_DEFAULT_ENV" else str(tmp_path / v) for n, v in case.variables.items()}
    wanted = str(tmp_path / case.finds / "bin" / "python") if case.finds else sys.executable
    assert find_python(told, str(here), variables) == wanted
    if not variables and not case.told and "VIRTUAL_ENV" not in os.environ and "CONDA_PREFIX" not in os.environ:
        command = worker_command(None, (), str(here))
        assert command is not None
        assert command[0] == wanted


def test_an_environment_that_shows_the_packages_of_its_python_may_have_torch(tmp_path: Path) -> None:
    here = _machine(tmp_path, (), ())
    _environment(here / ".venv", torch=False, settings="include-system-site-packages = true\n")
    assert find_python(None, str(here), {}) == str(here / ".venv" / "bin" / "python")


def test_an_environment_as_python_makes_it_is_found(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    assert next((tmp_path / ".venv").glob("lib/python*/site-packages")).is_dir()
    (next((tmp_path / ".venv").glob("lib/python*/site-packages")) / "torch").mkdir()
    found = find_python(None, str(tmp_path), {})
    assert found is not None
    assert found.startswith(str(tmp_path / ".venv" / "bin" / "python"))
