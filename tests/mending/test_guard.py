"""Checks of tensor values: every candidate of every example run with arguments that pass and that fail."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import guard
from graphmend_lsp.mending.rule import Example
from graphmend_lsp.text import apply_edits

from .conftest import unmark
from .test_defer import candidates, outcome


def _failing(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Arguments that checks do not like, and the first that they do once more."""
    return [
        *(tuple(-9 * one for one in call) for call in calls),
        *(tuple(3e38 * one for one in call) for call in calls),
        *(tuple(one * float("inf") for one in call) for call in calls),
        *(tuple(0 * one for one in c) for c in calls),
        calls[0],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", guard.EXAMPLES, ids=lambda case: case.title)
def test_every_candidate_fails_where_the_original_fails(case: Example) -> None:
    before, _ = unmark(case.before)
    mends = candidates("guard", case.before, case.outermost, case.gb_id)
    expected, _ = outcome(before, case.run or "", extra=_failing)
    _, graphs_before = outcome(before, case.run or "", "eager")
    failed = [isinstance(result, tuple) for result, _ in expected]
    assert mends and True in failed and False in failed
    for mend in mends:
        after = apply_edits(before, mend.edits)
        told = any("RuntimeError" in change for change in mend.changes)
        for backend in (None, "eager", "aot_eager"):
            got, _ = outcome(after, case.run or "", backend, extra=_failing)
            if told:
                assert [isinstance(result, tuple) for result, _ in got] == failed, (mend.title, backend)
                passed = [one for one, bad in zip(got, failed, strict=True) if not bad]
                assert passed == [one for one, bad in zip(expected, failed, strict=True) if not bad]
            else:
                assert got == expected, (mend.title, backend)
        _, graphs = outcome(after, case.run or "", "eager")
        assert graphs < graphs_before or graphs_before == 0, mend.title


@pytest.mark.parametrize("case", guard.EXAMPLES, ids=lambda case: case.title)
def test_the_condition_is_told(case: Example) -> None:
    mends = candidates("guard", case.before, case.outermost, case.gb_id)
    for mend in mends:
        ((path, span),) = mend.conditions
        assert path == mend.path
        assert span.contains(mend.span) or mend.span.contains(span)


def test_the_end_is_offered_before_the_graph() -> None:
    source = """\
import torch


def f(x):
    ⟦if torch.isnan(x).any():
        raise ValueError("nan")⟧
    return x + 1
"""
    first, second = candidates("guard", source, gb_id="GB0170")
    assert first.title == "Mend graph break: raise ValueError at the end of f"
    assert second.title == "Mend graph break: check in the graph"
    assert any("RuntimeError" in change for change in second.changes)
    assert not any("RuntimeError" in change for change in first.changes)
