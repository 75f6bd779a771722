"""Programs as users write them: what the where and loop rules propose for each, against what its first line expects."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

PROGRAMS = sorted((Path(__file__).parent / "programs" / "choice").rglob("*.py"))


def _tests(source: str) -> list[tuple[int, int]]:
    """Where the conditions of ``forward`` stand, in offsets of the text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return sorted(
        (starts[one.test.lineno - 1] + one.test.col_offset, starts[one.test.end_lineno - 1] + one.test.end_col_offset)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.name == "forward"
        for one in ast.walk(function)
        if isinstance(one, (ast.If, ast.IfExp)) and one.test.end_lineno and one.test.end_col_offset
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    expected = ast.get_docstring(ast.parse(source)) or ""
    for _ in range(len(_tests(source)) + 1):
        for start, end in _tests(source):
            value, site = unmark(f"{source[:start]}⟦{source[start:end]}⟧{source[end:]}")
            answer = propose(site, {PATH: value}, ["where", "loop"])
            if answer.mends:
                source = apply_edits(value, answer.mends[0].edits)
                break
    assert bool(_tests(source)) == expected.startswith("Refused")
