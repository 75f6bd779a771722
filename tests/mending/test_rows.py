"""Rows that a mask chooses: what the examples do not show of the rule, and of the program after it."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rules.rows import rule as rows
from graphmend_lsp.model import Mend
from graphmend_lsp.text import Text, apply_edits

from .conftest import PATH, seen_in, unmark

PROGRAM = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        x = x.view(-1, 4)
        i = ⟦torch.where(keep)⟧[0]
        out = x * 3
        if len(i) > 0:
            out[i] = self.up(x[i]) * x[i]
        return out
"""


def _mended() -> tuple[str, Mend]:
    source, site = unmark(PROGRAM, gb_id="GB0036")
    (mend,) = propose(site, {PATH: source}, ["rows"]).mends
    return source, mend


@pytest.mark.parametrize("one", rows.EXAMPLES, ids=lambda one: one.title)
def test_more_work_is_told(one: Any) -> None:
    source, site = unmark(one.before, one.outermost, one.gb_id)
    best = propose(site, {PATH: source}, ["rows"], seen_in(source, one.seen)).mends[0]
    assert best.cautions or "cost" in [each.kind for each in best.assumes]


def test_both_sides_of_a_test_for_none_are_proven() -> None:
    source, mend = _mended()
    assert [Text(source).slice(span) for _, span in mend.conditions] == ["len(i) > 0"]


@pytest.mark.parametrize("value", ["self.up(x[i]) / x[i]", "torch.log(self.up(x[i]))", "self.up(x[i]).sqrt()"])
def test_what_is_not_finite_at_zero_is_told(value: str) -> None:
    source, site = unmark(PROGRAM.replace("self.up(x[i]) * x[i]", value), gb_id="GB0036")
    (mend,) = propose(site, {PATH: source}, ["rows"]).mends
    assert f"`{value}` must be finite where rows are zeros." in mend.cautions


def test_nothing_of_rows_that_are_left_out_reaches_a_gradient() -> None:
    import torch

    source, mend = _mended()
    keep = torch.tensor([True, False, True])
    x = torch.arange(1.0, 13.0).view(3, 4)
    x[1, 0], x[1, 1], x[1, 2] = float("nan"), float("inf"), 0.0
    found = []
    for text in (source, apply_edits(source, mend.edits)):
        space: dict[str, Any] = {}
        exec(compile(text, PATH, "exec"), space)
        model = space["Model"]()
        model.up = torch.nn.Linear(4, 4)
        with torch.no_grad():
            model.up.weight.fill_(0.5)
            model.up.bias.fill_(0.25)
        out = model(x, keep)
        out[keep].sum().backward()
        found.append((out.detach(), model.up.weight.grad, model.up.bias.grad))
    for old, new in zip(*found, strict=True):
        torch.testing.assert_close(new, old, rtol=0, atol=1e-6, equal_nan=True)
