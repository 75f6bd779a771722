"""A check that loses its `.item()` compares as Python does: in float64, where a narrower dtype cannot hold the number."""

from __future__ import annotations

import ast

import pytest
import torch

from graphmend_lsp.mending.rules.guard.checks import without_item
from graphmend_lsp.mending.syntax.source import Source, read


@pytest.mark.parametrize(
    ("test", "tensors"),
    [
        ("y.item() <= 1.1", "y.double() <= 1.1"),
        ("-1e-6 < y.max().item()", "-1e-6 < y.max().double()"),
        ("(y + 1).item() == 1e30", "(y + 1).double() == 1e30"),
        ("y.item() <= 1.5", "y <= 1.5"),
        ("y.item() < -0.25", "y < -0.25"),
        ("y.item() < 1e400", "y < 1e400"),
        ("y.item() < 100", "y < 100"),
        ("y.item() < 70000", "y.double() < 70000"),
        ("y.item() > -1", "y.double() > -1"),
        ("y.item() <= limit", "y.double() <= limit"),
        ("y <= 1.1", "y <= 1.1"),
    ],
)
def test_a_number_that_a_narrow_dtype_rounds_is_compared_in_float64(test: str, tensors: str) -> None:
    source = read("m.py", f"def f(y):\n    assert {test}\n")
    assert isinstance(source, Source)
    (statement,) = [node for node in ast.walk(source.tree) if isinstance(node, ast.Assert)]
    assert without_item(source, statement.test) == (tensors, True)
    for value in (1.1, -1e-6, 1e30, 1.5, -0.25, 0.1, 112, 144, 255):
        for dtype in (None, torch.bfloat16, torch.uint8, torch.int8, torch.int64)[
            : 2 if isinstance(value, float) else 5
        ]:
            y = torch.tensor(value).to(dtype) if dtype else torch.tensor(value)
            assert bool(eval(test, {"y": y, "limit": 1.1})) == bool(eval(tensors, {"y": y, "limit": 1.1}))
