"""Examples of the where rule: a branch that changes what its own mask chooses, and nothing where that is nothing."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_FILLED = """\
import torch


def fn(x):
    bad = x > 2
    y = x.sin()
    if ⟦bad.any()⟧:
        # nothing is infinite behind this
        y = y.masked_fill(bad, 0)
    return y + 1
"""
_SHAPED = """\
import torch


def fn(x, flat: bool = True):
    bad = x > 2
    y = x.sum(-1)
    if ⟦torch.any(bad)⟧:
        if flat:
            bad = bad.flatten(1).any(-1)
        y = torch.masked_fill(
            y, bad.expand_as(y), torch.tensor(-float("inf"), device=y.device, dtype=y.dtype)
        )
    return y
"""
_CALLS = """\
import torch

calls = [(torch.ones(3, 4),), (torch.arange(12.0).reshape(3, 4),), (-torch.ones(3, 4),)]
"""


def _plain(before: str, head: str) -> str:
    """The branch's statements without the line of its condition."""
    start, _, branch = before.partition(head)
    *inside, last = branch.split("\n    return")
    return start + "\n".join(one.removeprefix("    ") for one in "".join(inside).split("\n")) + "\n    return" + last


EXAMPLES = (
    Example(
        "elements that a mask of the same shape chooses", _FILLED, _plain(_FILLED, "    if ⟦bad.any()⟧:\n"), run=_CALLS
    ),
    Example("a mask that is made smaller first", _SHAPED, _plain(_SHAPED, "    if ⟦torch.any(bad)⟧:\n"), run=_CALLS),
)
REFUSALS = (
    Refusal(
        "a smaller mask that is read behind the branch",
        _SHAPED.replace("return y", "return y, bad"),
        reason="contains a Python test, `flat`",
    ),
)
