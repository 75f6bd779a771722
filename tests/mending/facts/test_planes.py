"""Which conditions say of each plane of a mask whether it holds anything; run beside what they say."""

from __future__ import annotations

import ast

import pytest
import torch

from graphmend_lsp.mending.facts.planes import planes_with_some
from graphmend_lsp.mending.syntax.source import Source, read

SAYS = (
    "m.sum(dim=(-1, -2)) > 0", "m.sum((1, 2)) != 0", "m.sum([2, 1]) >= 1", "torch.greater(m.sum(dim=(-1, -2)), 0)",
    "torch.count_nonzero(m, dim=(-2, -1)).ne(0)", "m.any((1, 2))", "torch.any(m, dim=(1, 2)).bool()", "m.sum((1, 2))",
    "torch.sum(m, axis=(1, 2)).gt(0)",
)  # fmt: skip
SAYS_OTHER = (
    "m.sum(-1) > 1", "m.sum((0, 1)) > 0", "m.sum((1, 2)) > 1", "m.sum((1, 2)) >= 0", "m.all((1, 2))", "m.prod((1, 2)) > 0",
    "m.sum() > 0", "m.sum((1, k)) > 0", "(m + 1).sum((1, 2)) > 0", "m.sum((1, 2), keepdim=True) > 0", "m.sum((1, 2)) < 1",
    "m.cumsum(1) > 0", "other(m, (1, 2)) > 0", "0 < m.sum((0, 2))",
)  # fmt: skip
PLANES = torch.zeros(4, 3, 2, dtype=torch.long)
PLANES[1, 2, 0] = PLANES[3, 0, 1] = 1


def said(condition: str) -> str | None:
    source = read("model.py", f"import torch\n\n\ndef f(m, k, other):\n    return {condition}\n")
    assert isinstance(source, Source)
    function = source.tree.body[-1]
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.Return)
    assert function.body[0].value is not None
    return planes_with_some(source, function.body[0].value)


@pytest.mark.parametrize("condition", SAYS)
def test_says_which_planes_hold_anything(condition: str) -> None:
    assert said(condition) == "m"
    assert eval(condition, {"torch": torch, "m": PLANES}).nonzero().flatten().tolist() == [1, 3]


@pytest.mark.parametrize("condition", SAYS_OTHER)
def test_says_something_else(condition: str) -> None:
    assert said(condition) is None
