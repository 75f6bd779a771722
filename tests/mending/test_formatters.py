"""What a mend writes stays as it is when the project's tools go over it: ruff, black and isort, as the project sets them."""

from __future__ import annotations

import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.support import Supports
from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.text import apply_edits

from .conftest import PATH, seen_in, unmark

_EXAMPLES = [(name, one) for name, rule in rules_by_name().items() for one in rule.examples]


def _written(root: Path, settings: str) -> Path:
    """Every example in a project with these settings, as it was (``before``) and mended as they ask for (``after``)."""
    for folder in ("before", "after"):
        (root / folder).mkdir()
        (root / folder / "pyproject.toml").write_text(settings, "utf-8")
        (root / folder / f"{SUPPORT}.py").write_text(_SUPPORT.read_text("utf-8"), "utf-8")
    for number, (name, example) in enumerate(_EXAMPLES):
        text, site = unmark(example.before, example.outermost, example.gb_id)
        file = f"{name}_{number}.py"
        style = Supports(Sources({})).style(str(root / "after" / file))
        mends = propose(site, {PATH: text}, [name], seen_in(text, example.seen), {PATH: style}).mends
        if mends:
            (root / "before" / file).write_text(text, "utf-8", newline="")
            (root / "after" / file).write_text(apply_edits(text, mends[0].edits), "utf-8", newline="")
    return root


_SUPPORT = Path(__file__).parents[2] / "server" / "graphmend_lsp" / "support" / f"{SUPPORT}.py"


def _run(folder: Path, *command: str) -> str:
    ran = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


def _kept(folder: Path, tool: Callable[[Path], set[str]]) -> set[str]:
    """The files of a folder that a tool would leave as they are."""
    return {one.name for one in folder.glob("*.py")} - tool(folder)


def _ruff(folder: Path) -> set[str]:
    """By the texts, not by what ruff prints, which is another one in each version."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as copied:
        shutil.copytree(folder, copied, dirs_exist_ok=True)
        told = _run(Path(copied), "ruff", "format", "--no-cache", ".")
        assert "reformatted" in told or "unchanged" in told
        return {one.name for one in folder.glob("*.py") if one.read_bytes() != (Path(copied) / one.name).read_bytes()}


def _black(folder: Path) -> set[str]:
    told = _run(folder, "black", "--check", "--workers", "1", ".")
    assert "unchanged" in told
    return {Path(one).name for one in re.findall(r"would reformat (\S+)", told)}


def _isort(folder: Path) -> set[str]:
    told = _run(folder, "isort", "--check-only", ".")
    return {Path(one).name for one in re.findall(r"ERROR: (\S+)", told)}


@pytest.fixture(scope="module", params=[79, 88, 120])
def project(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(f"lines_{request.param}")
    return _written(root, f"[tool.ruff]\nline-length = {request.param}\n")


@pytest.mark.slow
def test_the_formatter_changes_nothing(project: Path) -> None:
    _unchanged(project, _ruff, ("ruff", "format", "--diff"))


def _unchanged(root: Path, tool: Callable[[Path], set[str]], shows: tuple[str, ...], least: int = 2) -> None:
    before, after = _kept(root / "before", tool), _kept(root / "after", tool)
    diffs = "".join(_run(root / "after", *shows, file) for file in sorted(before - after)[:20])
    assert len(before) > len(_EXAMPLES) // least
    assert before <= after, f"{len(before - after)} files\n{diffs}"


_PROJECTS = {
    "black": ("[tool.black]\nline-length = 100\n[tool.isort]\nprofile = 'black'\nline_length = 100\n", True),
    "quotes stay": (
        "[tool.black]\nline-length = 79\nskip-string-normalization = true\n"
        "[tool.isort]\nprofile = 'django'\nline_length = 79\n",
        True,
    ),
    "one name a line": ("[tool.isort]\nprofile = 'google'\nline_length = 88\n", False),
    "sections": (
        f"[tool.isort]\nknown_third_party = ['{SUPPORT}']\nforce_sort_within_sections = true\n",
        False,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "black"), _PROJECTS.values(), ids=_PROJECTS)
def test_black_and_isort_change_nothing(tmp_path: Path, settings: str, black: bool) -> None:
    root = _written(tmp_path, settings)
    _unchanged(root, _isort, ("isort", "--diff"))
    if black:
        _unchanged(root, _black, ("black", "--diff", "-q"))


# An import that lost its last use stays, as another file may take it from here (`import *`), and so does a local name;
# a text that was a local name's has its `encode("utf-8")` still.
_LEFT = ("F401", "F841", "UP012")


_LINTER = ("ruff", "check", "--no-cache", "--select", "I,E,F,UP", "--output-format", "json", ".")


def test_the_linter_finds_nothing_new(project: Path) -> None:
    def found(folder: str) -> collections.Counter[tuple[str, str]]:
        told = json.loads(_run(project / folder, *_LINTER))
        return collections.Counter((Path(one["filename"]).name, f"{one['code']} {one['message']}") for one in told)

    before, after = found("before"), found("after")
    kinds = collections.Counter((file, word.split()[0]) for file, word in before.elements())
    more = [one for one in after - before if (one[0], one[1].split()[0]) not in kinds and not one[1].startswith(_LEFT)]
    assert not more
