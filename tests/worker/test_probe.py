"""Conditions and `torch.where` calls watched in a loaded program, which goes on computing what it computed."""

from __future__ import annotations

import ast
import importlib.util
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.probe import unlike, watch_conditions, watch_wheres
from graphmend_lsp.worker.wire import Place

PROGRAM = '''
import torch

def plain(x):
    """é in front of the condition"""
    s = "é"; y = x + 1 if x.mean() > 0 else x - 1
    return y

def logic(a, b):
    if a.any() and not b.any():
        return a
    return b

def outer():
    def inner(x):
        while x.sum() < 4:
            x = x + 1
        return x
    return inner

made_before = outer()

class Model(torch.nn.Module):
    def forward(self, x):
        if (x > 0).all() or \\
           (x < -5).all():
            return x
        return -x

@torch.no_grad()
def guarded(x):
    assert x.sum() > 0, f"bad {x}"
    return torch.where(x.sum() > 0, x, x.sum())

pick = lambda x: torch.where(x > 0, x, 0.0) if x.numel() else x
'''


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("watched_program", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    linecache.clearcache()


def read(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def place(file: str, segment: str) -> Place:
    for node in ast.walk(ast.parse(PROGRAM)):
        if isinstance(node, ast.expr) and ast.get_source_segment(PROGRAM, node) == segment:
            assert node.end_lineno is not None
            return Place(
                file=file, line=node.lineno, column=node.col_offset, end_line=node.end_lineno,
                end_column=node.end_col_offset,
            )  # fmt: skip
    raise AssertionError(segment)


UP, DOWN = torch.ones(4), -torch.ones(4)
FAR = torch.full((4,), -9.0)
CASES: list[tuple[str, Callable[[Any, torch.Tensor], Any], list[tuple[torch.Tensor, set[bool]]]]] = [
    ("x.mean() > 0", lambda m, x: m.plain(x), [(UP, {True}), (DOWN, {False})]),
    ("a.any()", lambda m, x: m.logic(x > 0, x > 5), [(UP, {True}), (DOWN, {False})]),
    ("not b.any()", lambda m, x: m.logic(x > -2, x > 0), [(UP, {False}), (DOWN, {True})]),
    ("a.any() and not b.any()", lambda m, x: m.logic(x > 0, x > 5), [(UP, {True}), (DOWN, {False})]),
    ("x.sum() < 4", lambda m, x: m.made_before(x), [(UP, {False}), (DOWN, {True, False})]),
    ("x.sum() < 4", lambda m, x: m.outer()(x), [(UP, {False}), (DOWN, {True, False})]),
    ("(x < -5).all()", lambda m, x: m.Model()(x), [(UP, set()), (DOWN, {False}), (FAR, {True})]),
]


@pytest.mark.parametrize(("segment", "call", "runs"), CASES)
@pytest.mark.slow
def test_both_sides_are_seen_and_nothing_changes(program: Any, segment: str, call: Any, runs: Any) -> None:
    before = [call(program, x) for x, _ in runs]
    sides = watch_conditions([place(program.__file__, segment)], read)
    assert not sides.unwatched
    for (x, expected), result in zip(runs, before, strict=True):
        sides.seen.clear()
        assert torch.equal(call(program, x), result)
        assert sides.seen.get(0, set()) == expected


def test_a_place_without_columns_is_the_test_of_its_line(program: Any) -> None:
    there = place(program.__file__, "x.sum() < 4")
    sides = watch_conditions([Place(**{**there, "column": None, "end_column": None})], read)
    program.made_before(DOWN)
    assert sides.complete
    assert [(one["true"], one["false"]) for one in sides.data()] == [(True, True)]


def test_what_cannot_be_found_is_said_to_be_unseen(program: Any) -> None:
    there = place(program.__file__, "x.sum() < 4")
    sides = watch_conditions([Place(**{**there, "line": 1}), Place(**{**there, "file": "/nowhere.py"})], read)
    assert sides.unwatched == {0, 1}
    assert [(one["true"], one["false"]) for one in sides.data()] == [(False, False)] * 2


def test_wheres_of_changed_lines_are_watched(program: Any) -> None:
    line = next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if "return torch.where" in text)
    wheres = watch_wheres({program.__file__: [[line, line]]}, read)
    program.guarded(UP)
    program.pick(UP)
    assert list(wheres.unlike) == [f"line {line}: (4,) float32 against () float32"]


yes = torch.tensor(True)
half = torch.ones(4, dtype=torch.float16)
UNLIKE = [
    (yes, UP, DOWN, None),
    (yes, UP, UP.sum(), "(4,) float32 against () float32"),
    (yes, UP, UP.double(), "(4,) float32 against (4,) float64"),
    (yes, UP, half, "(4,) float32 against (4,) float16"),
    (yes, 2.0, 0.5, None),
    (UP > 0, 2.0, 0.5, "under a condition (4,) bool gives (4,) float32"),
    (yes, UP.sum(), 0.5, None),
    (yes, half, 0.5, None),
    (yes, torch.arange(4), 0.5, "gives (4,) float32"),
    (UP > 0, UP, 0.0, None),
    (torch.ones(1, 4) > 0, UP, DOWN, "under a condition (1, 4) bool gives (1, 4) float32"),
    (torch.tensor([True]), UP.sum(), DOWN.sum(), "gives (1,) float32"),
]


@pytest.mark.parametrize(("condition", "one", "other", "words"), UNLIKE)
def test_unlike_sides(condition: torch.Tensor, one: Any, other: Any, words: str | None) -> None:
    said = unlike(condition, one, other, torch.where(condition, one, other))
    assert (said is None) if words is None else (said is not None and words in said)
