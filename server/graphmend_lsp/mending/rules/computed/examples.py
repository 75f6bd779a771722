"""What the computed rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a square root of Python's",
        before="""\
import math

import torch


def fn(x):
    y = x.sin()
    return y * ⟦math.sqrt(x.sum())⟧
""",
        after="""\
import math

import torch

from graphmend_support import captures, number


# One operator of the graph: TorchDynamo does not look inside.
@number(float)
def _sqrt_operator(tensor: torch.Tensor) -> float:
    return math.sqrt(tensor)


@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    y = x.sin()
    return y * _sqrt_operator(x.sum())
""",
        run="""\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([0.5, 0.25]),), (torch.arange(2.0, 6.0).half(),)]
""",
        gb_id="GB0033",
    ),
    Example(
        "a sum of Python's, in float64",
        before="""\
import torch


def fn(x):
    y = x.exp()
    scale = sum(⟦y.tolist()⟧) / 3
    return y / scale, scale
""",
        after="""\
import torch

from graphmend_support import captures, number


# One operator of the graph: TorchDynamo does not look inside.
@number(float)
def _sum_operator(y: torch.Tensor) -> float:
    return sum(y.tolist()) / 3


@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    y = x.exp()
    scale = _sum_operator(y)
    return y / scale, scale
""",
        run="""\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([0.5, 0.25]),), (torch.arange(2.0, 6.0).half(),)]
""",
        gb_id="GB0109",
    ),
    Example(
        "an item of a table",
        before="""\
import torch

WEIGHTS = (0.5, 1.5, 2.0)


def fn(x):
    return x * WEIGHTS[⟦int(x.min())⟧]
""",
        after="""\
import torch

from graphmend_support import captures, number


# One operator of the graph: TorchDynamo does not look inside.
@number(float)
def _int_operator(tensor: torch.Tensor) -> float:
    return WEIGHTS[int(tensor)]


WEIGHTS = (0.5, 1.5, 2.0)


@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    return x * _int_operator(x.min())
""",
        run="""\
calls = [(torch.arange(0.0, 5.0),), (torch.tensor([1.5, 2.25]),), (torch.arange(2.0, 6.0).half(),)]
""",
        gb_id="GB0124",
    ),
    Example(
        "a rounded mean, in a module that another calls",
        before="""\
import torch


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * round(⟦x.float().mean().item()⟧ * 3, 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x + 1)


net = Net()
""",
        after="""\
import torch

from graphmend_support import captures, number


# One operator of the graph: TorchDynamo does not look inside.
@number(float)
def _round_operator(tensor: torch.Tensor) -> float:
    return round(tensor.item() * 3, 2)


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * _round_operator(x.float().mean())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    @captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
    def forward(self, x):
        return self.scale(x + 1)


net = Net()
""",
        run="""\
fn = net
import torch
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([0.5, 0.25]),), (torch.arange(2.0, 6.0).half(),)]
""",
        outermost="forward",
        gb_id="GB0124",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a branch",
        """\
import math

import torch


def fn(x):
    if ⟦math.sqrt(x.sum())⟧ > 2:
        return x + 1
    return x - 1
""",
        "math.sqrt(x.sum())` is compared",
        gb_id="GB0033",
    ),
    Refusal(
        "the turns of a loop",
        """\
import torch


def fn(x):
    for _ in range(⟦int(x.max())⟧):
        x = x + 1
    return x
""",
        "is the number of turns of a loop",
        gb_id="GB0124",
    ),
    Refusal(
        "nothing uses it",
        """\
import torch


def fn(x):
    wide = ⟦int(x.max())⟧ / 2
    return x
""",
        "Nothing uses what",
        gb_id="GB0124",
    ),
    Refusal(
        "an int or a float",
        """\
import torch


def fn(x):
    return x + sum(⟦x.tolist()⟧)
""",
        "is not known to be floating-point",
        gb_id="GB0109",
    ),
    Refusal(
        "arithmetic behind it that raises",
        """\
import math

import torch


def fn(x):
    size = ⟦math.sqrt(x.sum())⟧
    return x * (1 / size)
""",
        "raises for some numbers in Python",
        gb_id="GB0033",
    ),
    Refusal(
        "another decorator",
        """\
import functools
import math

import torch


@functools.cache
def fn(x):
    return x * ⟦math.sqrt(x.sum())⟧
""",
        "is decorated with",
        gb_id="GB0033",
    ),
    Refusal(
        "a table that may be changed",
        """\
import torch

WEIGHTS = [0.5, 1.5, 2.0]


def fn(x):
    return x * WEIGHTS[⟦int(x.min())⟧]
""",
        "is an index of `WEIGHTS`",
        gb_id="GB0124",
    ),
    Refusal(
        "a number where the caller gives one",
        """\
import torch


def fn(x, n: torch.Tensor):
    return x * (⟦int(n)⟧ / 3)


def use(x):
    return fn(x, 2)
""",
        "Line 9 gives `n` 2",
        gb_id="GB0124",
    ),
)
