"""What the distinct rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_RUN = """\
calls = [(torch.tensor([1.0, 0.0, 1.0]),), (torch.tensor([2.0, float("nan"), 2.0, 7.0]),), (torch.tensor([0.0, -0.0]),)]
"""
_BEFORE = """\
import torch


def fn(x):
    values = ⟦torch.unique(x)⟧
    other = torch.any((values != 0) & (values != 1))
    return torch.where(other, x.sin(), x)
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "labels that are looked at",
        before=_BEFORE,
        after="""\
import torch


def fn(x):
    other = torch.any((x != 0) & (x != 1))
    return torch.where(other, x.sin(), x)
""",
        run=_RUN,
        gb_id="GB0036",
    ),
    Example(
        "the largest of values that have no name",
        before="""\
import torch


def fn(x):
    return x * (⟦(x * 2).round().unique()⟧.max() > 3)
""",
        after="""\
import torch


def fn(x):
    return x * ((x * 2).round().max() > 3)
""",
        run=_RUN,
        gb_id="GB0036",
    ),
    Example(
        "distinct values of something computed, shown when the check fails",
        before="""\
import torch


def fn(x, classes: int = 3, check: bool = False):
    seen = ⟦torch.unique(x.abs().long(), dim=None)⟧
    if check and seen.max() >= classes:
        raise ValueError(f"{classes} classes, not {seen}")
    return x * torch.all(seen < classes)
""",
        after="""\
import torch


def fn(x, classes: int = 3, check: bool = False):
    values = x.abs().long()
    if check and values.max() >= classes:
        raise ValueError(f"{classes} classes, not {torch.unique(values, dim=None)}")
    return x * torch.all(values < classes)
""",
        run="calls = [(torch.tensor([1.0, 0.0, 1.0]),), (torch.tensor([2.0, 7.0]),)]\n",
        gb_id="GB0036",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "how many there are",
        _BEFORE.replace("torch.any((values != 0) & (values != 1))", "len(values) > 2"),
        "how many distinct values",
        gb_id="GB0036",
    ),
    Refusal(
        "their sum",
        _BEFORE.replace("torch.any((values != 0) & (values != 1))", "values.sum() > 2"),
        "how many distinct values",
        gb_id="GB0036",
    ),
    Refusal(
        "which zero there is",
        _BEFORE.replace("(values != 0) & (values != 1)", "1 / values < 0"),
        "how many distinct values",
        gb_id="GB0036",
    ),
    Refusal(
        "values beside others of as many",
        _BEFORE.replace("(values != 0) & (values != 1)", "values != x.sort().values"),
        "how many distinct values",
        gb_id="GB0036",
    ),
    Refusal(
        "the largest, as a value",
        _BEFORE.replace("torch.any((values != 0) & (values != 1))", "values.max()").replace("x.sin(), x", "x, x"),
        "how many distinct values",
        gb_id="GB0036",
    ),
    Refusal(
        "a tensor that changes in between",
        _BEFORE.replace("    other", "    x.mul_(2)\n    other"),
        "may change what the distinct values are of",
        gb_id="GB0036",
    ),
    Refusal(
        "a tensor that changes for the next turn of a loop",
        _BEFORE.replace("    other =", "    for turn in range(2):\n        other =").replace(
            "    return", "        x.mul_(2)\n    return"
        ),
        "may change what the distinct values are of",
        gb_id="GB0036",
    ),
    Refusal(
        "a name that is deleted",
        _BEFORE.replace("    return", "    del values\n    return"),
        "changes or deletes `values`",
        gb_id="GB0036",
    ),
    Refusal(
        "another tensor of that name",
        _BEFORE.replace("    other", "    x = x.cos()\n    other"),
        "is something else before the last use",
        gb_id="GB0036",
    ),
    Refusal(
        "a name that is bound on one side",
        _BEFORE.replace("    other", "    if x.dim() > 1:\n        values = x\n    other"),
        "may be something else by then",
        gb_id="GB0036",
    ),
    Refusal(
        "a message alone",
        """\
import torch


def fn(x):
    values = ⟦torch.unique(x)⟧
    if x.dim() > 1:
        raise ValueError(f"one dimension, not {values}")
    return x
""",
        "Only a message reads",
        gb_id="GB0036",
    ),
)
