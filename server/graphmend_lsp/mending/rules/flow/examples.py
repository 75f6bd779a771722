"""What the flow rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, float("nan"), 0.0, 1.0]),),
]
"""
_PLAIN = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.zeros(4),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "not",
        before="""\
import torch


def fn(x):
    empty = ⟦not x.any()⟧
    return x + x * empty
""",
        after="""\
import torch


def fn(x):
    empty = ~x.any()
    return x + x * empty
""",
        run=_PLAIN,
        gb_id="GB0033",
    ),
    Example(
        "not, as an operand",
        before="""\
import torch


def fn(x):
    return x * (⟦not (x > 2).all()⟧)
""",
        after="""\
import torch


def fn(x):
    return x * (~(x > 2).all())
""",
        run=_PLAIN,
        gb_id="GB0033",
    ),
    Example(
        "any over the elements",
        before="""\
import torch


def fn(x: torch.Tensor):
    large = ⟦any(v > 3 for v in x)⟧
    if large:
        x = x + 1
    return x * 2
""",
        after="""\
import torch


def fn(x: torch.Tensor):
    large = (x > 3).any()
    if large:
        x = x + 1
    return x * 2
""",
    ),
    Example(
        "all over the elements, in arithmetic",
        before="""\
import torch


def fn(x: torch.Tensor):
    positive = ⟦all(v > 0 for v in x)⟧
    return x * positive
""",
        after="""\
import torch


def fn(x: torch.Tensor):
    positive = (x > 0).all()
    return x * positive
""",
        run=_X,
    ),
    Example(
        "any over what may be a list",
        before="""\
import torch


def fn(x):
    large = ⟦any(v > 3 for v in x)⟧
    return x * large
""",
        after="""\
import torch


def fn(x):
    large = torch.stack([v > 3 for v in x]).any()
    return x * large
""",
        run=_X,
    ),
    Example(
        "any of a few tensors",
        before="""\
import torch


def fn(x):
    bad = any([⟦x.isnan().any()⟧, x.sum() > 5, x.isinf().any()])
    return x * bad
""",
        after="""\
import torch


def fn(x):
    bad = x.isnan().any() | (x.sum() > 5) | x.isinf().any()
    return x * bad
""",
        run=_X,
    ),
    Example(
        "the smaller of two",
        before="""\
import torch


def fn(x):
    low = ⟦sorted([x[0], x[1]])⟧[0]
    return x - low
""",
        after="""\
import torch


def fn(x):
    low = torch.where(x[1] < x[0], x[1], x[0])
    return x - low
""",
        run=_X,
        gb_id="GB0207",
    ),
    Example(
        "the larger of two, falling",
        before="""\
import torch


def fn(x):
    return x - ⟦sorted((x.sum(), x.max()), reverse=True)⟧[0]
""",
        after="""\
import torch


def fn(x):
    return x - torch.where(x.max() > x.sum(), x.max(), x.sum())
""",
        run=_X,
        gb_id="GB0207",
    ),
    Example(
        "three in order",
        before="""\
import torch


def fn(x):
    low, middle, high = ⟦sorted([x[0], x[1], x[2]])⟧
    return (x - low) * middle / (1 + high.abs())
""",
        after="""\
import torch


def fn(x):
    low, middle, high = torch.stack([x[0], x[1], x[2]]).sort(dim=0, stable=True).values
    return (x - low) * middle / (1 + high.abs())
""",
        run=_PLAIN,
        gb_id="GB0207",
    ),
    Example(
        "the larger by a key",
        before="""\
import torch


def fn(x):
    return ⟦max([x, x * 2], key=lambda t: t.sum())⟧ + 1
""",
        after="""\
import torch


def fn(x):
    return torch.where((x * 2).sum() > x.sum(), x * 2, x) + 1
""",
        run=_X,
        gb_id="GB0193",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the value is returned",
        """\
import torch


def fn(x):
    return x + 1, ⟦not x.any()⟧
""",
        "needs a Python bool",
        gb_id="GB0033",
    ),
    Refusal(
        "the value is an index",
        """\
import torch


def fn(x):
    return [x, -x][⟦not x.any()⟧]
""",
        "needs a Python bool",
        gb_id="GB0033",
    ),
    Refusal(
        "any over what is no tensor",
        """\
import torch


def fn(x, f):
    ok = ⟦any(f(v) for v in x)⟧
    return x * ok
""",
        "has an effect",
    ),
    Refusal(
        "any of numbers",
        """\
import torch


def fn(x):
    ok = any([⟦x.sum()⟧, x.max()])
    return x * ok
""",
        "not known to be a bool",
    ),
    Refusal(
        "a key in sorted",
        """\
import torch


def fn(x):
    return ⟦sorted([x, -x], key=torch.sum)⟧[0]
""",
        "`key` decides the order",
        gb_id="GB0207",
    ),
    Refusal(
        "a key that is a name",
        """\
import torch


def fn(x, score):
    return ⟦max([x, x * 2], key=score)⟧ + 1
""",
        "is no lambda",
        gb_id="GB0193",
    ),
    Refusal(
        "three by a key",
        """\
import torch


def fn(x):
    return ⟦max([x, x * 2, x * 3], key=lambda t: t.sum())⟧ + 1
""",
        "between two tensors only",
        gb_id="GB0193",
    ),
    Refusal(
        "a list of unknown length",
        """\
import torch


def fn(xs):
    return ⟦sorted(xs)⟧[0] + 1
""",
        "cannot tell what",
        gb_id="GB0207",
    ),
)
