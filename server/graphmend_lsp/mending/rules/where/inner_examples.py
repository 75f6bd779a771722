"""Examples of the where rule: a Python test inside a branch that sets names for the branch alone."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_BEFORE = """\
import torch


def fn(x, flat: bool = True):
    bad = x > 2
    y = x.sum(-1)
    if ⟦bad.any()⟧:
        if flat:
            bad = bad.any(-1)
        y = y.masked_fill(bad, 0)
    return y
"""
_SHAPED = """\
import torch
from torch import distributions


class Narrow(distributions.Independent):
    def log_prob(self, value):
        found = super().log_prob(value)
        bad = value > 2
        if ⟦bad.any()⟧:
            if self.event_shape:
                bad = bad.any(-1)
            found = found.masked_fill(bad, 0)
        return found
"""
_CALLS = """\
import torch

calls = [(torch.ones(3, 4),), (torch.arange(12.0).reshape(3, 4),), (-torch.ones(3, 4),)]
"""

EXAMPLES = (
    Example(
        "a Python test that prepares a mask",
        _BEFORE,
        """\
import torch


def fn(x, flat: bool = True):
    bad = x > 2
    y = x.sum(-1)
    condition = bad.any()
    if flat:
        bad = bad.any(-1)
    y = torch.where(condition, y.masked_fill(bad, 0), y)
    return y
""",
        run=_CALLS,
    ),
    Example(
        "what distributions know of their shapes",
        _SHAPED,
        _SHAPED.replace("        if ⟦bad.any()⟧:\n", "        condition = bad.any()\n").replace(
            """\
            if self.event_shape:
                bad = bad.any(-1)
            found = found.masked_fill(bad, 0)
""",
            """\
        if self.event_shape:
            bad = bad.any(-1)
        found = torch.where(condition, found.masked_fill(bad, 0), found)
""",
        ),
        assumes=("identity",),
        run=_CALLS
        + """

def fn(x):
    return Narrow(torch.distributions.Normal(torch.zeros(4), torch.ones(4)), 1, validate_args=False).log_prob(x)
""",
    ),
)
REFUSALS = (
    Refusal(
        "a Python test whose name is read behind the branch",
        _BEFORE.replace("return y", "return y, bad"),
        reason="contains a Python test, `flat`",
    ),
    Refusal(
        "a Python test whose name the next turn reads",
        _BEFORE.replace("    if ⟦", "    for _ in range(2):\n      if ⟦")
        .replace("        if flat:", "          if flat:")
        .replace("            bad = bad.any", "              bad = bad.any")
        .replace("        y = y.m", "          y = y.m"),
        reason="contains a Python test, `flat`",
    ),
    Refusal(
        "a Python test of what may be a tensor",
        _BEFORE.replace("flat: bool = True", "flat"),
        reason="contains a Python test, `flat`",
    ),
    Refusal(
        "a Python test whose side may raise",
        _BEFORE.replace("bad = bad.any(-1)", "bad = bad[x.long()]"),
        reason="may raise for an index out of range, also when",
    ),
)
