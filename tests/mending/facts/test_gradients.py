"""Which sides of a branch lose gradients, against what torch says of the same statements."""

from __future__ import annotations

import ast

import pytest
import torch

from graphmend_lsp.mending.facts.gradients import loses_gradients


@pytest.mark.parametrize(
    ("statement", "loses"),
    [
        ("x = x * 2", False),
        ("x = x * (2 / x.detach())", False),
        ("x = -(x / x.detach().norm()) + 1", False),
        ("x = 3 - x.data", True),
        ("x = x.detach() * 2", True),
        ("x = x * y.detach()", True),  # where y has the only gradient
        ("x = torch.sign(x) * x.detach()", True),  # not said of a function
        ("x *= x.detach()", False),
        ("x *= y.detach()", True),
        ("x = (x > 0) * x.detach()", True),
        ("x = x // x.detach()", True),
    ],
)
def test_what_loses_gradients(statement: str, loses: bool) -> None:
    side = ast.parse(statement).body[0]
    assert loses_gradients(side) is loses
    if not loses:  # and then the value needs a gradient where its tensors do
        known = {"torch": torch, "x": torch.rand(3, requires_grad=True) * 1, "y": torch.rand(3)}
        exec(statement, known)
        assert known["x"].requires_grad  # type: ignore[attr-defined]
