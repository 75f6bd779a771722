"""What a mend writes stays as it is when the project's formatter and linter go over it: ruff, at several line lengths."""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import SUPPORT, Style
from graphmend_lsp.text import apply_edits

from .conftest import PATH, seen_in, unmark

_EXAMPLES = [(name, one) for name, rule in rules_by_name().items() for one in rule.examples]


@pytest.fixture(scope="module", params=[79, 88, 100, 120])
def project(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with every example, before and after, as that project's settings ask for."""
    root = tmp_path_factory.mktemp(f"lines_{request.param}")
    (root / "pyproject.toml").write_text(f"[tool.ruff]\nline-length = {request.param}\n", "utf-8")
    (root / f"{SUPPORT}.py").write_text("check = None\n", "utf-8")
    for folder in ("before", "after"):
        (root / folder).mkdir()
    style = Style(line_length=request.param)
    for number, (name, example) in enumerate(_EXAMPLES):
        text, site = unmark(example.before, example.outermost, example.gb_id)
        mends = propose(site, {PATH: text}, [name], seen_in(text, example.seen), {PATH: style}).mends
        if mends:
            file = f"{name}_{number}.py"
            (root / "before" / file).write_text(text, "utf-8", newline="")
            (root / "after" / file).write_text(apply_edits(text, mends[0].edits), "utf-8", newline="")
    return root


def _ruff(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False).stdout


def _formatted(project: Path, folder: str) -> set[str]:
    """The files of a folder that the formatter would leave as they are."""
    told = _ruff(project, "format", "--check", folder)
    changed = {Path(one).name for one in re.findall(rf"{folder}/[\w.]+", told)}
    return {one.name for one in (project / folder).iterdir()} - changed


def test_the_formatter_changes_nothing(project: Path) -> None:
    before, after = _formatted(project, "before"), _formatted(project, "after")
    diffs = "".join(_ruff(project, "format", "--diff", f"after/{file}") for file in sorted(before - after))
    assert len(before) > len(_EXAMPLES) // 2
    assert not diffs, f"{len(before - after)} files\n{diffs}"


# An import that lost its last use stays, as another file may take it from here (`import *`), and so does a local name;
# a text that was a local name's has its `encode("utf-8")` still.
_LEFT = ("F401", "F841", "UP012")


def test_the_linter_finds_nothing_new(project: Path) -> None:
    def found(folder: str) -> collections.Counter[tuple[str, str]]:
        told = json.loads(_ruff(project, "check", "--select", "I,E,F,UP", "--output-format", "json", folder))
        return collections.Counter((Path(one["filename"]).name, f"{one['code']} {one['message']}") for one in told)

    before, after = found("before"), found("after")
    kinds = collections.Counter((file, word.split()[0]) for file, word in before.elements())
    more = [one for one in after - before if (one[0], one[1].split()[0]) not in kinds and not one[1].startswith(_LEFT)]
    assert not more
