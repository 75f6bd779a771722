"""Examples of the where rule: one tensor that both sides change in place."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES = (
    Example(
        "a running mean that begins with its first value",
        """\
import torch


@torch.no_grad()
def update(state, x, beta):
    mean = state["mean"]
    norm = x.square().sum()
    if ⟦mean == 0⟧:
        mean.copy_(norm)  # the first
    else:
        mean.mul_(beta).add_(norm, alpha=1 - beta)
    return mean.sqrt()
""",
        """\
import torch


@torch.no_grad()
def update(state, x, beta):
    mean = state["mean"]
    norm = x.square().sum()
    condition = mean == 0
    # the first
    new_mean = mean.clone().copy_(norm)
    mean.mul_(beta).add_(norm, alpha=1 - beta)
    mean.copy_(torch.where(condition, new_mean, mean))
    return mean.sqrt()
""",
        run="""\
state = {"mean": torch.zeros([])}
seen = state["mean"]
def fn(x):
    update(state, x, 0.9)
    return seen.clone(), state["mean"] is seen
calls = [(torch.arange(4.0),), (torch.ones(4),), (torch.zeros(4),)]
seen.zero_()
""",
        outermost=None,
    ),
    Example(
        "what both sides change, and the last one reads in between",
        """\
import torch


def f(x, y):
    turned = y.flip(0)
    if ⟦(x > 0).all()⟧:
        y.mul_(2).add_(y).add_(turned)
    else:
        y.sub_(x)
    return y * 2
""",
        """\
import torch


def f(x, y):
    turned = y.flip(0)
    condition = (x > 0).all().clone()
    new_y = y.clone().sub_(x)
    y.mul_(2).add_(y).add_(turned)
    y.copy_(torch.where(condition, y, new_y))
    return y * 2
""",
        run="""\
def fn(x):
    y = torch.arange(3.0)
    return f(x, y), y
calls = [(torch.ones(3),), (-torch.ones(3),), (torch.tensor([1.0, 0.0, 2.0]),)]
""",
        outermost=None,
    ),
)

REFUSALS = (
    Refusal(
        "both sides read what they have changed",
        """\
import torch


def f(x, y):
    if ⟦x.sum() > 0⟧:
        y.mul_(2).add_(x)
    else:
        y.mul_(3).sub_(x)
    return y
""",
        reason="cannot be computed in a copy",
    ),
    Refusal(
        "a function that has no slope everywhere",
        """\
import torch


def f(x, y):
    if ⟦x.sum() > 0⟧:
        y.sqrt_()
    else:
        y.copy_(x)
    return y
""",
        reason="is not known to be harmless",
    ),
    Refusal(
        "random numbers in place",
        """\
import torch


def f(x, y):
    if ⟦x.sum() > 0⟧:
        y.normal_()
    else:
        y.copy_(x)
    return y
""",
        reason="is not known to be harmless",
    ),
    Refusal(
        "a value whose effects are not known",
        """\
import torch


def f(x, y, draw):
    if ⟦x.sum() > 0⟧:
        y.copy_(draw())
    else:
        y.zero_()
    return y
""",
        reason="must run only when its side is taken",
    ),
    Refusal(
        "two tensors",
        """\
import torch


def f(x, y, z):
    if ⟦x.sum() > 0⟧:
        y.copy_(x)
    else:
        z.copy_(x)
    return y
""",
        reason="changes a tensor in place",
    ),
)
