"""What the known rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.ones(2, 3),), (torch.zeros(2, 5),)]
"""
_NET = """\
torch.manual_seed(1)
fn = Net()
calls = [(torch.ones(2, 2, 3),), (torch.zeros(2, 3, 4),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a size that was put in a tensor",
        before="""\
import torch


def fn(x):
    n = ⟦int(torch.tensor(x.shape[0]))⟧
    return x * n
""",
        after="""\
import torch


def fn(x):
    n = x.shape[0]
    return x * n
""",
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a shape that was put in a tensor",
        before="""\
import torch


def fn(x):
    s = torch.tensor(x.shape)
    n = ⟦s[-1].item()⟧  # columns
    return x * n + s.sum()
""",
        after="""\
import torch


def fn(x):
    s = torch.tensor(x.shape)
    n = x.shape[-1]  # columns
    return x * n + s.sum()
""",
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a check of sizes",
        before="""\
import torch


def fn(x):
    s = torch.tensor(x.shape)
    if ⟦s.prod() != 2 * s[1]⟧:
        raise ValueError("sizes")
    return x + s[0]
""",
        after="""\
import math

import torch


def fn(x):
    s = torch.tensor(x.shape)
    if math.prod(x.shape) != (2 * x.shape[1]):
        raise ValueError("sizes")
    return x + s[0]
""",
        run=_X,
    ),
    Example(
        "a list of them",
        before="""\
import torch


def fn(x):
    s = torch.tensor([x.shape[0], len(x)])
    return x + sum(⟦s.tolist()⟧)
""",
        after="""\
import torch


def fn(x):
    s = torch.tensor([x.shape[0], len(x)])
    return x + sum([x.shape[0], len(x)])
""",
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a tensor that is handed on with its list",
        before="""\
import torch


class Attention(torch.nn.Module):
    def forward(self, x, shapes=None, sizes=None):
        if ⟦(shapes[:, 0] * shapes[:, 1]).sum() != x[0].numel() * 2⟧:
            raise ValueError("sizes")
        return x * shapes[0].prod()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        sizes = []
        for level in (x, x + 1):
            sizes.append((level.shape[1], level.shape[2]))
        shapes = torch.as_tensor(sizes, dtype=torch.long, device=x.device)
        return self.attention(x, shapes=shapes, sizes=sizes)
""",
        after="""\
import torch


class Attention(torch.nn.Module):
    def forward(self, x, shapes=None, sizes=None):
        if sum(row[0] * row[1] for row in sizes) != (x[0].numel() * 2):
            raise ValueError("sizes")
        return x * shapes[0].prod()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        sizes = []
        for level in (x, x + 1):
            sizes.append((level.shape[1], level.shape[2]))
        shapes = torch.as_tensor(sizes, dtype=torch.long, device=x.device)
        return self.attention(x, shapes=shapes, sizes=sizes)
""",
        run=_NET,
        outermost="forward",
    ),
    Example(
        "a loop over a tensor of sizes",
        before="""\
import torch


def fn(x):
    sizes = [x.shape, x.shape]
    shapes = torch.tensor(sizes, dtype=torch.long)
    for height, width in shapes:
        x = x + torch.zeros(⟦height⟧, width)
    return x + shapes.sum()
""",
        after="""\
import torch


def fn(x):
    sizes = [x.shape, x.shape]
    shapes = torch.tensor(sizes, dtype=torch.long)
    for height, width in sizes:
        x = x + torch.zeros(height, width)
    return x + shapes.sum()
""",
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a function that is handed the tensor alone",
        before="""\
import torch


class Net(torch.nn.Module):
    def grid(self, shapes, device):
        total = torch.zeros((), device=device)
        for level, (height, width) in enumerate(shapes):
            total = total + torch.linspace(0.5, ⟦height⟧ - 0.5, height, device=device).sum() * level / width
        return total

    def forward(self, x):
        sizes = [(x.shape[1], x.shape[2]), (x.shape[2], x.shape[1])]
        shapes = torch.as_tensor(sizes, dtype=torch.long)
        return x + self.grid(shapes, device=x.device) + shapes.sum()
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def grid(self, shapes, device):
        total = torch.zeros((), device=device)
        for level, (height, width) in enumerate(shapes):
            total = total + torch.linspace(0.5, height - 0.5, height, device=device).sum() * level / width
        return total

    def forward(self, x):
        sizes = [(x.shape[1], x.shape[2]), (x.shape[2], x.shape[1])]
        shapes = torch.as_tensor(sizes, dtype=torch.long)
        return x + self.grid(sizes, device=x.device) + shapes.sum()
""",
        run=_NET,
        outermost="forward",
        gb_id="GB0033",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a product in int32",
        """\
import torch


def fn(x):
    s = torch.tensor(x.shape, dtype=torch.int32)
    return x * ⟦(s[0] * s[1]).item()⟧
""",
        "is computed in int32, which wraps",
        gb_id="GB0124",
    ),
    Refusal(
        "fractions of sizes",
        """\
import torch


def fn(x):
    s = torch.tensor(x.shape)
    if ⟦(s / 2).sum() > 3⟧:
        x = x + 1
    return x
""",
        "is not known to hold Python integers",
    ),
    Refusal(
        "a list that is not handed on",
        """\
import torch


class Net(torch.nn.Module):
    def check(self, shapes):
        if ⟦shapes.sum() > 3⟧:
            raise ValueError("sizes")

    def forward(self, x):
        sizes = [x.shape[0], x.shape[1]]
        shapes = torch.as_tensor(sizes, dtype=torch.long)
        self.check(shapes)
        return x
""",
        "hand `sizes` to `check`, too",
        outermost="forward",
    ),
    Refusal(
        "the tensor is used as one too",
        """\
import torch


class Net(torch.nn.Module):
    def grid(self, shapes, device):
        total = torch.zeros((), device=device)
        for level, (height, width) in enumerate(shapes):
            total = total + torch.linspace(0.5, ⟦height⟧ - 0.5, height, device=device).sum() * level / width
        return total + shapes.sum()

    def forward(self, x):
        sizes = [(x.shape[1], x.shape[2]), (x.shape[2], x.shape[1])]
        shapes = torch.as_tensor(sizes, dtype=torch.long)
        return x + self.grid(shapes, device=x.device) + shapes.sum()
""",
        "is also used as a tensor",
        outermost="forward",
        gb_id="GB0033",
    ),
)
