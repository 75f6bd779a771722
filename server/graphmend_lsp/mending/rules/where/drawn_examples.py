"""Conditions of the where rule that draw random numbers, or look for a number among tensors: its tests."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_SEEDED = """\
import torch

torch.manual_seed(3)
calls = [(torch.arange(1.0, 4.0),) for _ in range(8)]
"""
_CALLS = """\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([2.0, 1.0]),), (torch.zeros(3),), (torch.tensor([3.0]),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a random number decides",
        before="""\
import torch


def fn(x):
    if ⟦torch.rand(1).item()⟧ > 0.5:
        return x + 1
    return x * 2
""",
        after="""\
import torch


def fn(x):
    drawn = (torch.rand(1) > 0.5).reshape(())
    return torch.where(drawn, x + 1, x * 2)
""",
        run=_SEEDED,
        gb_id="GB0124",
    ),
    Example(
        "random numbers are drawn before and behind",
        before="""\
import torch


def fn(x):
    y = x.sin()
    if ⟦torch.rand(()) < 0.25⟧:
        y = y * 2
    else:
        y = y - 1
    return y + torch.rand(3)
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    drawn = (torch.rand(()) < 0.25).reshape(())
    y = torch.where(drawn, y * 2, y - 1)
    return y + torch.rand(3)
""",
        run=_SEEDED,
        gb_id="GB0170",
    ),
    Example(
        "random numbers or a tensor",
        before="""\
import torch


def fn(x):
    y = x + 1
    if torch.rand(()) < 0.25 or ⟦x.sum() > 0⟧:
        y = y + 2
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = x + 1
    drawn = (torch.rand(()) < 0.25).reshape(())
    y = torch.where(drawn | (x.sum() > 0), y + 2, y)
    return y * 2
""",
        run=_SEEDED,
        gb_id="GB0170",
    ),
    Example(
        "a number among tensors",
        before="""\
import torch


def fn(x):
    kept = [x.sum(), x.mean(), 2.0]
    if ⟦x.max() in kept⟧:
        return x + 1
    return x - 1
""",
        after="""\
import torch


def fn(x):
    kept = [x.sum(), x.mean(), 2.0]
    x_max = x.max()
    return torch.where(
        (x_max == kept[0]) | (x_max == kept[1]) | (x_max == kept[2]), x + 1, x - 1
    )
""",
        run=_CALLS,
        gb_id="GB0170",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a side that draws",
        """\
import torch


def fn(x):
    if ⟦torch.rand(()) < 0.25⟧:
        x = x + torch.rand(3)
    return x
""",
        "would change every later random number",
        gb_id="GB0170",
    ),
    Refusal(
        "random numbers that are not always drawn",
        """\
import torch


def fn(x):
    y = x + 1
    if ⟦x.sum() > 0⟧ and torch.rand(()) < 0.25:
        y = y + 2
    return y * 2
""",
        "draws random numbers",
        gb_id="GB0170",
    ),
    Refusal(
        "random numbers behind a flag",
        """\
import torch


def fn(x, flag: bool):
    y = x + 1
    if flag and ⟦torch.rand(()) < 0.25⟧:
        y = y + 2
    return y * 2
""",
        "draws random numbers",
        gb_id="GB0170",
    ),
    Refusal(
        "random numbers in a branch inside",
        """\
import torch


def fn(x):
    y = x + 1
    if ⟦x.sum() > 0⟧:
        if torch.rand(()) < 0.25:
            y = y + 2
    return y * 2
""",
        "draws random numbers",
        gb_id="GB0170",
    ),
    Refusal(
        "random numbers behind another condition",
        """\
import torch


def fn(x):
    y = x + 1
    if x.sum() > 0:
        y = y * 3
    elif ⟦torch.rand(()) < 0.25⟧:
        y = y + 2
    return y * 2
""",
        "draws random numbers",
        gb_id="GB0170",
    ),
    Refusal(
        "a list that gets more",
        """\
import torch


def fn(x):
    kept = [x.sum(), x.mean()]
    kept.append(x)
    if ⟦x.max() in kept⟧:
        return x + 1
    return x - 1
""",
        "is changed or handed on",
        gb_id="GB0170",
    ),
    Refusal(
        "a tensor that is in the list itself",
        """\
import torch


def fn(x):
    total = x.sum()
    kept = [total, x.mean()]
    if ⟦total not in kept⟧:
        return x + 1
    return x - 1
""",
        "is not known to look among numbers",
        gb_id="GB0170",
    ),
)
