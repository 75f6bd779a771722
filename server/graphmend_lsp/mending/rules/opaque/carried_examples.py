"""Examples of the opaque rule: tensors that the function made before are filled in copies; functions that may raise."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_BEFORE = """\
import numpy as np
import torch


def shift(table, by):
    table[..., 0] += by


def inner(rows, width, limit=2.0):
    if width > 8:
        raise ValueError(f"too wide: {width}")
    table = rows[:, None] * torch.ones(3)
    shift(table, limit)
    assert (table.abs() < 1e6).all(), "too large"
    return table.sum(-1), table.amax(-1)


def spread(x, width: int):
    out = torch.zeros_like(x)
    x = x.clone()
    x[x > 5] = np.exp(1.5)
    inside = (x > -1) & (x < 1)
    top = torch.ones_like(x)
    out[~inside] = x[~inside]
    if ⟦torch.any(inside)⟧:
        out[inside], top[inside] = inner(x[inside], width)
    return out, top


def fn(x):
    out, top = spread(x.sin() * 2, 3)
    return out * top.cos()
"""
_OPERATOR = '''\
    out, top = _spread_operator(inside, out, top, width, x)
    return out, top


@operator(like=lambda out, top: (out, top), flags=("inside",))
def _spread_operator(
    inside, out, top, width: int, x
) -> tuple[torch.Tensor, torch.Tensor]:
    """Runs uncompiled, as one operator of the graph."""
    out = out.clone()
    top = top.clone()
    if torch.any(inside):
        out[inside], top[inside] = inner(x[inside], width)
    return out, top
'''
_SEEN = (("x", "float32 6"), ("out", "float32 6"), ("top", "float32 6"), ("width", "int"))
_CALLS = """\
import torch

calls = [(torch.linspace(-3, 3, 6),), (torch.full((6,), 1.5),), (torch.linspace(-1, 5, 6).requires_grad_(),)]
"""

EXAMPLES = (
    Example(
        "returns in more than one place",
        before="""\
import torch


def fn(x):
    y = x.sin()
    if ⟦y.sum() > 1⟧:
        return y.sum() * 2, y.max()
    values = [value for value in y.tolist() if value > 0]
    return y.sum() * len(values), y.min()
""",
        after="""\
import torch

from graphmend_support import operator


def fn(x):
    y = x.sin()
    return _fn_operator(y)


@operator(like=lambda y: (y.new_empty(()), y.new_empty(())))
def _fn_operator(y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    \"\"\"Runs uncompiled, as one operator of the graph.\"\"\"
    if y.sum() > 1:
        return y.sum() * 2, y.max()
    values = [value for value in y.tolist() if value > 0]
    return y.sum() * len(values), y.min()
""",
        run="fn = fn\nimport torch\ncalls = [(torch.arange(4.0),), (torch.zeros(4),), (-torch.arange(4.0),)]",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 4"),
            ("y", "float32 4"),
            ("y.sum() * 2", "float32"),
            ("y.max()", "float32"),
            ("y.sum() * len(values)", "float32"),
            ("y.min()", "float32"),
        ),
    ),
    Example(
        "a tensor that is kept where nothing takes its place has its gradient",
        before="""\
import torch


def fn(x, loss):
    hard = x * 2
    if ⟦hard.sum() < loss.sum()⟧:
        hard, _ = loss.topk(4)
    return hard.mean() + loss.sum()
""",
        after="""\
import torch

from graphmend_support import operator


def fn(x, loss):
    hard = x * 2
    hard = _fn_operator(hard, loss)
    return hard.mean() + loss.sum()


@operator(like=lambda hard: hard)
def _fn_operator(hard: torch.Tensor, loss: torch.Tensor) -> torch.Tensor:
    \"\"\"Runs uncompiled, as one operator of the graph.\"\"\"
    if hard.sum() < loss.sum():
        hard, _ = loss.topk(4)
    return hard
""",
        run="""\
fn = fn
import torch
calls = [(torch.arange(4.0, requires_grad=True), torch.arange(4.0)), (-torch.ones(4, requires_grad=True), torch.arange(4.0))]
""",
        assumes=("result-shapes", "dtype"),
        seen=(("x", "float32 4"), ("loss", "float32 4"), ("hard", "float32 4"), ("_", "int64 4")),
    ),
    Example(
        "chosen elements that go through a function which may raise",
        _BEFORE,
        _BEFORE.replace("import torch\n", "import torch\n\nfrom graphmend_support import operator\n", 1).replace(
            "    if ⟦torch.any(inside)⟧:\n"
            "        out[inside], top[inside] = inner(x[inside], width)\n"
            "    return out, top\n",
            _OPERATOR,
        ),
        run=_CALLS,
        outermost="fn",
        seen=_SEEN,
    ),
)


def _refusal(title: str, old: str, new: str, reason: str) -> Refusal:
    return Refusal(title, _BEFORE.replace(old, new), reason, outermost="fn", seen=_SEEN)


REFUSALS = (
    _refusal(
        "a function that may raise, called in a `try`",
        "    out, top = spread(x.sin() * 2, 3)\n",
        "    try:\n        out, top = spread(x.sin() * 2, 3)\n    except ValueError:\n        return x\n",
        "may catch the exception",
    ),
    _refusal(
        "a function that changes what it is given",
        "shift(table, limit)",
        "shift(rows[None], limit)",
        "calls a function whose effects are not known",
    ),
    _refusal(
        "a function that says something",
        "    return table.sum(-1), ",
        "    print(width)\n    return table.sum(-1), ",
        "calls a function whose effects are not known",
    ),
    _refusal(
        "an exception that shows a tensor",
        'ValueError(f"too wide: {width}")',
        "ValueError(rows)",
        "calls a function whose effects are not known",
    ),
    _refusal(
        "a value that is stored before it raises",
        "    out[~inside] = x[~inside]\n",
        "    spread.last = width\n    out[~inside] = x[~inside]\n",
        "would be lost",
    ),
)
