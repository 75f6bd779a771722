"""What the index rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_FLOATS = """\
import torch
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, 1.0]),),
]
"""
_MATRIX = """\
import torch
calls = [(torch.arange(12.0).reshape(3, 4),), (-torch.arange(12.0).reshape(3, 4) ** 2,)]
"""
_CUBE = """\
import torch
calls = [(torch.arange(24.0).reshape(2, 3, 4),), (-torch.arange(24.0).reshape(2, 3, 4) ** 2,)]
"""
_INDEXED = """\
import torch
calls = [(torch.arange(1.0, 5.0), torch.tensor(2)), (torch.arange(1.0, 5.0), torch.tensor(-1))]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a parameter that is a tensor in one call and a Python number in another",
        """\
import torch


def fn(table, step):
    return ⟦table[step]⟧ * 2
""",
        """\
import torch


def fn(table, step):
    # The index stays a tensor: a number would break the graph.
    return table[torch.as_tensor(step, device=table.device).reshape(1)].squeeze(0) * 2
""",
        run="calls = [(torch.arange(12.0), step) for step in (torch.tensor(3), torch.tensor(-1), 3, -1)]",
        gb_id="GB0033",
        seen=(("table", "float32 12"), ("step", "int64")),
    ),
    Example(
        "the largest element",
        before="def fn(x):\n    return x[⟦x.argmax()⟧] + 1\n".replace("x[⟦x.argmax()⟧]", "⟦x[x.argmax()]⟧"),
        after="""\
def fn(x):
    # The index stays a tensor: a number would break the graph.
    return x[x.argmax().reshape(1)].squeeze(0) + 1
""",
        run=_FLOATS,
        gb_id="GB0033",
    ),
    Example(
        "an index that was made a number",
        before="def fn(x, i):\n    i = i + 0\n    return x.sin()[⟦i.item()⟧] * 2\n",
        after="""\
def fn(x, i):
    i = i + 0
    # The index stays a tensor: a number would break the graph.
    return x.sin()[i.detach().reshape(()).clone().long().reshape(1)].squeeze(0) * 2
""",
        run=_INDEXED,
        gb_id="GB0124",
    ),
    Example(
        "an index with a name",
        before="""\
def fn(x):
    best = ⟦int(x.argmax())⟧
    y = x[best] + 1
    return y * best
""",
        after="""\
def fn(x):
    best = x.argmax()
    # The index stays a tensor: a number would break the graph.
    y = x[best.reshape(1)].squeeze(0) + 1
    return y * best
""",
        run=_FLOATS,
        gb_id="GB0124",
        assumes=("dtype",),
    ),
    Example(
        "a column",
        before="def fn(x):\n    return ⟦x[:, x.sum(0).argmax()]⟧ * 2\n",
        after="""\
def fn(x):
    # The index stays a tensor: a number would break the graph.
    return x[:, x.sum(0).argmax().reshape(1)].squeeze(1) * 2
""",
        run=_MATRIX,
        gb_id="GB0033",
    ),
    Example(
        "the last dimension",
        before="def fn(x):\n    return ⟦x[..., x.sum((0, 1)).argmax()]⟧ * 2\n",
        after="""\
def fn(x):
    # The index stays a tensor: a number would break the graph.
    return x[..., x.sum((0, 1)).argmax().reshape(1)].squeeze(-1) * 2
""",
        run=_CUBE,
        gb_id="GB0033",
    ),
    Example(
        "beside a constant",
        before="def fn(x):\n    return ⟦x[1, :, x[0, 0].argmax()]⟧ * 2\n",
        after="""\
def fn(x):
    # The index stays a tensor: a number would break the graph.
    return x[1, :, :][:, x[0, 0].argmax().reshape(1)].squeeze(1) * 2
""",
        run=_CUBE,
        gb_id="GB0033",
    ),
    Example(
        "an element that is set",
        before="""\
def fn(x):
    y = x.clone()
    y[⟦int(x.argmax())⟧] = 0
    return y + 1
""",
        after="""\
def fn(x):
    y = x.clone()
    # The index stays a tensor: a number would break the graph.
    y[x.argmax().reshape(1)] = 0
    return y + 1
""",
        run=_FLOATS,
        gb_id="GB0124",
    ),
    Example(
        "an element that is added to",
        before="""\
def fn(x):
    y = x.clone()
    y[⟦x.argmax().item()⟧] += 3
    return y * 2
""",
        after="""\
def fn(x):
    y = x.clone()
    # The index stays a tensor: a number would break the graph.
    y[x.argmax().reshape(1)] += 3
    return y * 2
""",
        run=_FLOATS,
        gb_id="GB0124",
    ),
    Example(
        "a list of numbers",
        before="""\
import torch

WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0]


def fn(x):
    return x + WEIGHTS[⟦int(x[0])⟧]
""",
        after="""\
import torch

WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0]


def fn(x):
    # The index stays a tensor: a number would break the graph.
    return x + torch.tensor(WEIGHTS)[
        x[0].detach().reshape(()).long().clone().reshape(1)
    ].squeeze(0)
""",
        run="calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]",
        gb_id="GB0124",
    ),
    Example(
        "a list of tensors",
        before="""\
import torch


def fn(x):
    choices = [x + 1, x * 2, x.sin()]
    return choices[⟦int(x.sum() > 0)⟧] * 2
""",
        after="""\
import torch


def fn(x):
    choices = [x + 1, x * 2, x.sin()]
    # The index stays a tensor: a number would break the graph.
    return torch.stack(choices)[(x.sum() > 0).long().reshape(1)].squeeze(0) * 2
""",
        run="calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]",
        gb_id="GB0124",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the view is changed in place",
        "def fn(x):\n    y = x.clone()\n    row = ⟦y[y.sum(1).argmax()]⟧\n    row += 1\n    return y\n",
        "Line 4: `row` is changed in place",
        gb_id="GB0033",
    ),
    Refusal(
        "the tensor is changed while the view is in use",
        "def fn(x):\n    y = x.clone()\n    row = ⟦y[y.sum(1).argmax()]⟧\n    y.add_(1)\n    return row\n",
        "Line 4: `y` is changed in place",
        gb_id="GB0033",
    ),
    Refusal(
        "changed in place at once",
        "def fn(x):\n    y = x.clone()\n    ⟦y[y.sum(1).argmax()]⟧.add_(1)\n    return y\n",
        "is a view of the tensor and is changed in place",
        gb_id="GB0033",
    ),
    Refusal(
        "stored in an attribute",
        "class M:\n    def forward(self, x):\n        self.best = ⟦x[x.argmax()]⟧\n        return x + 1\n",
        "stored where others may change it",
        gb_id="GB0033",
    ),
    Refusal(
        "a view for the caller",
        "def fn(x):\n    return ⟦x[x.sum(1).argmax()]⟧\n",
        "is a view of the tensor and is returned",
        gb_id="GB0033",
    ),
    Refusal(
        "mixed with another tensor",
        "def fn(x, i):\n    return ⟦x[i, x.argmax()]⟧ + 1\n",
        "mixes indices",
        gb_id="GB0033",
    ),
)
