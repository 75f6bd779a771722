"""Every rule's examples and refusals: the text exactly, and what the programs do when they are run and compiled."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphmend_lsp.engine.support import imported_from
from graphmend_lsp.engine.support_text import support_text
from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import SUPPORT, Example, Refusal
from graphmend_lsp.text import Text, apply_edits
from graphmend_lsp.worker.compiling import leave_guards_untimed

from .conftest import PATH, mended, seen_in, unmark

_EXAMPLES = [(name, one) for name, rule in rules_by_name().items() for one in rule.examples]
_REFUSALS = [(name, one) for name, rule in rules_by_name().items() for one in rule.refusals]
_RUNS = [(name, one) for name, one in _EXAMPLES if one.run is not None]


def _named(cases: list[Any]) -> Any:
    return pytest.mark.parametrize(("name", "case"), cases, ids=[f"{name}-{case.title}" for name, case in cases])


def _first_quick(cases: list[Any]) -> Any:
    """As `_named`; the first case of each rule is quick, and the others run with the slow tests."""
    names = [name for name, _ in cases]
    marks = [() if names.index(name) == at else (pytest.mark.slow,) for at, name in enumerate(names)]
    named = [
        pytest.param(name, case, id=f"{name}-{case.title}", marks=mark)
        for (name, case), mark in zip(cases, marks, strict=True)
    ]
    return pytest.mark.parametrize(("name", "case"), named)


@_named(_EXAMPLES)
def test_example(name: str, case: Example) -> None:
    source, site = unmark(case.before, case.outermost, case.gb_id)
    assert mended(name, source, site, seen_in(source, case.seen)) == case.after


@_named(_EXAMPLES)
def test_example_is_told(name: str, case: Example) -> None:
    source, site = unmark(case.before, case.outermost, case.gb_id)
    mend = propose(site, {PATH: source}, [name], seen_in(source, case.seen)).mends[0]
    assert mend.rule == name and mend.title and mend.path == PATH
    assert all(change.endswith((".", "'", "`")) for change in mend.changes)


@_named(_EXAMPLES)
def test_example_assumes(name: str, case: Example) -> None:
    """What each mend takes for granted, no more and no less; each place is in the original text."""
    source, site = unmark(case.before, case.outermost, case.gb_id)
    assumed = propose(site, {PATH: source}, [name], seen_in(source, case.seen)).mends[0].assumes
    assert tuple(one.kind for one in assumed) == case.assumes
    text = Text(source)
    for one in assumed:
        assert all(path == PATH and text.offset(span.start) < text.offset(span.end) for path, span in one.places)


@_named(_REFUSALS)
def test_refusal(name: str, case: Refusal) -> None:
    source, site = unmark(case.source, case.outermost, case.gb_id)
    answer = propose(site, {PATH: source}, [name], seen_in(source, case.seen))
    assert not answer.mends, apply_edits(source, answer.mends[0].edits)
    assert any(case.reason in one.reason for one in answer.declined), [one.reason for one in answer.declined]


@dataclass(frozen=True)
class _Seen:
    outputs: list[Any]
    text: str


@_first_quick(_RUNS)
def test_run(name: str, case: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output and text of every call are the same, compiled or not, and there are fewer graphs; with a support module that has
    no more than what the example imports."""
    import torch
    from torch._dynamo.testing import CompileCounter

    if names := imported_from(SUPPORT, case.after):
        part = _loaded(support_text(names), tmp_path / f"{SUPPORT}.py")
        for name_of_it in (SUPPORT, part.__name__):
            monkeypatch.setitem(sys.modules, name_of_it, part)
    before, _ = unmark(case.before)
    before_graphs, after_graphs = CompileCounter(), CompileCounter()
    expected = _run(before, case.run)
    for got in (
        _run(case.after, case.run),
        _run(case.after, case.run, lambda fn: torch.compile(fn, backend=after_graphs)),
    ):
        assert got.text == expected.text
        torch.testing.assert_close(got.outputs, expected.outputs, rtol=0, atol=0, equal_nan=True)
    _run(before, case.run, lambda fn: torch.compile(fn, backend=before_graphs))
    assert after_graphs.frame_count > 0, "nothing was compiled"
    assert after_graphs.frame_count < before_graphs.frame_count or before_graphs.frame_count == 0


def _loaded(text: str, path: Path) -> ModuleType:
    path.write_text(text, "utf-8")
    name = f"{SUPPORT}_{zlib.crc32(str(path).encode())}"  # Dynamo keeps modules by name
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(source: str, run: str | None, wrap: Callable[[Any], Any] = lambda fn: fn) -> _Seen:
    import torch

    leave_guards_untimed()
    torch._dynamo.reset()
    space: dict[str, Any] = {"__name__": "model", "__file__": "model.py"}
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        torch.manual_seed(0)  # every run draws the same arguments
        exec(compile(source, PATH, "exec"), space)
        exec(compile(run or "", "run.py", "exec"), space)
        torch.manual_seed(0)
        fn = wrap(space["fn"])
        outputs = [fn(*arguments) for arguments in space["calls"]]
    return _Seen(outputs, text.getvalue())
