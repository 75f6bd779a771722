"""What the capture rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = (
    Example(
        "the elements that a mask chooses, returned",
        before="""\
import torch


def fn(x):
    y = x.sin()
    kept = ⟦y[x > 0]⟧
    return kept * 2
""",
        after="""\
import torch

from graphmend_support import captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    y = x.sin()
    kept = y[x > 0]
    return kept * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.tensor(x),) for x in ([1.0, -1.0, 2.0], [-1.0, -2.0, -3.0], [1.0])]",
        gb_id="GB0036",
    ),
    Example(
        "a function that TorchScript leaves out",
        before="""\
import torch


@torch.jit.unused
def fn(x):
    y = x.sin()
    return ⟦y[x > 0]⟧ * 2
""",
        after="""\
import torch

from graphmend_support import captures


@torch.jit.unused
# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    y = x.sin()
    return y[x > 0] * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.tensor(x),) for x in ([1.0, -1.0, 2.0], [-1.0, -2.0, -3.0], [1.0])]",
        gb_id="GB0036",
    ),
    Example(
        "a number that a message needs, which runs uncompiled",
        before="""\
import torch
from graphmend_support import call_in_graph


def fn(x):
    kept = ⟦x[x > 0]⟧
    call_in_graph(lambda kept: print(1 / kept.numel(), 1 / kept.sum().item()), kept)
    return kept * 2
""",
        after="""\
import torch
from graphmend_support import call_in_graph, captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    kept = x[x > 0]
    call_in_graph(lambda kept: print(1 / kept.numel(), 1 / kept.sum().item()), kept)
    return kept * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.tensor(x),) for x in ([1.0, -1.0, 2.0], [3.0, -2.0, -3.0], [1.0])]",
        gb_id="GB0036",
    ),
    Example(
        "a file that asks whether it is traced by torch.jit",
        before="""\
import torch


def fn(x):
    # torch.jit.script is not what this is for
    y = x if torch.jit.is_tracing() else x.sin()
    return ⟦y[x > 0]⟧ * 2
""",
        after="""\
import torch

from graphmend_support import captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x):
    # torch.jit.script is not what this is for
    y = x if torch.jit.is_tracing() else x.sin()
    return y[x > 0] * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.tensor(x),) for x in ([1.0, -1.0, 2.0], [-1.0, -2.0, -3.0], [1.0])]",
        gb_id="GB0036",
    ),
    Example(
        "a batch that is trimmed, in the module that calls it",
        before="""\
import torch


class Trim(torch.nn.Module):
    def forward(self, x, lengths):
        return x[:, : ⟦lengths.max().item()⟧]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trim = Trim()

    def forward(self, x, lengths):
        return self.trim(x * 2, lengths).cos()


net = Net()
""",
        after="""\
import torch

from graphmend_support import captures


class Trim(torch.nn.Module):
    def forward(self, x, lengths):
        return x[:, : lengths.max().item()]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trim = Trim()

    # TorchDynamo keeps numbers and sizes of tensors in the graph.
    @captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
    def forward(self, x, lengths):
        return self.trim(x * 2, lengths).cos()


net = Net()
""",
        run="fn = net\nimport torch\nx = torch.arange(8.0).reshape(2, 4)\n"
        "calls = [(x, torch.tensor(one)) for one in ([2, 3], [4, 1], [1, 1], [0, 0])]",
        outermost="forward",
        gb_id="GB0124",
    ),
    Example(
        "a tensor that is divided by a number",
        before="""\
import torch


def fn(x, mask):
    count = ⟦mask.sum().item()⟧
    total = (x * mask).sum()
    return total / count, count
""",
        after="""\
import torch

from graphmend_support import captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
def fn(x, mask):
    count = mask.sum().item()
    total = (x * mask).sum()
    return total / count, count
""",
        run="fn = fn\nimport torch\nx = torch.arange(3.0)\n"
        "calls = [(x, torch.tensor(one)) for one in ([1, 1, 0], [1, 0, 0], [0, 0, 0])]",
        gb_id="GB0124",
    ),
    Example(
        "a function that is compiled where it is defined",
        before="""\
import torch


@torch.compile(dynamic=True)
@torch.no_grad()
def fn(x):
    return ⟦torch.unique(x.round())⟧.cos()
""",
        after="""\
import torch

from graphmend_support import captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
@torch.compile(dynamic=True)
@torch.no_grad()
def fn(x):
    return torch.unique(x.round()).cos()
""",
        gb_id="GB0036",
    ),
    Example(
        "a gradient by autograd.grad",
        before="""\
import torch


def fn(x):
    x = x.detach().requires_grad_()
    energy = (x * x).sum()
    (force,) = ⟦torch.autograd.grad(energy, x)⟧
    return -force
""",
        after="""\
import torch

from graphmend_support import captures


# TorchDynamo keeps torch.autograd.grad in the graph.
@captures(trace_autograd_ops=True)
def fn(x):
    x = x.detach().requires_grad_()
    energy = (x * x).sum()
    (force,) = torch.autograd.grad(energy, x)
    return -force
""",
        run="fn = fn\nimport torch\ncalls = [(torch.tensor(x),) for x in ([1.0, -1.0], [0.0, 2.0])]",
        gb_id="GB9186",
    ),
    Example(
        "sizes that a tensor holds, under a decorator",
        before="""\
import torch

from library import documented


@documented
def fn(x, sizes):
    return [part.sum(0) for part in x.split(⟦sizes.tolist()⟧)]
""",
        after="""\
import torch

from library import documented

from graphmend_support import captures


# TorchDynamo keeps numbers and sizes of tensors in the graph.
@captures(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
@documented
def fn(x, sizes):
    return [part.sum(0) for part in x.split(sizes.tolist())]
""",
        gb_id="GB0033",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a setting that is made already",
        """\
import torch


@torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True)
@torch.compile
def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        "has the setting already",
        gb_id="GB0124",
    ),
    Refusal(
        "a decorator that gives no function",
        """\
import functools

import torch


@functools.lru_cache
def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        "is decorated with `functools.lru_cache`",
        gb_id="GB0124",
    ),
    Refusal(
        "a number that is divided by",
        """\
def fn(x, mask):
    count = ⟦mask.sum().item()⟧
    rest = 10 % max(count, 0)
    return x / count + rest
""",
        "Line 3: `10 % max(count, 0)` raises for some numbers in Python",
        gb_id="GB0124",
    ),
    Refusal(
        "a number whose root the caller takes",
        """\
import math


def measure(x):
    return ⟦x.sum().item()⟧


def fn(x):
    size = measure(x)
    return x * math.sqrt(size)
""",
        "`math.sqrt(size)` raises for some numbers in Python",
        outermost="fn",
        gb_id="GB0124",
    ),
    Refusal(
        "a generator",
        """\
def fn(x):
    yield x * ⟦x.sum().item()⟧
""",
        "does not run when it is called",
        gb_id="GB0124",
    ),
    Refusal(
        "what a function that TorchScript compiles calls",
        """\
import torch


def fn(x):
    return x * ⟦x.sum().item()⟧


def through(x):
    return fn(x)


@torch.jit.script
def scripted(x):
    return through(x) + 1
""",
        "torch.jit.script",
        gb_id="GB0124",
    ),
    Refusal(
        "torch.jit in the file",
        """\
import torch


def fn(x):
    return x * ⟦x.sum().item()⟧


scripted = torch.jit.script(fn)
""",
        "torch.jit",
        gb_id="GB0124",
    ),
    Refusal(
        "a function that TorchScript leaves out, under another decorator",
        """\
import torch


@torch.no_grad()
@torch.jit.unused
def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        "torch.jit.unused",
        gb_id="GB0124",
    ),
    Refusal(
        "a name of torch.jit's in the file",
        """\
import torch
from torch.jit import script_if_tracing


def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        "`torch.jit.script_if_tracing`",
        gb_id="GB0124",
    ),
    Refusal(
        "torch.jit under another name",
        """\
import torch
import torch.jit as compiler

make = compiler


def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        "`torch.jit`",
        gb_id="GB0124",
    ),
    Refusal(
        "the number of turns of a loop",
        "import torch\n\n\ndef fn(x):\n    while ⟦x.sum().item()⟧ < 100:\n        x = x * 2\n    return x + 1\n",
        "decides how often a loop runs",
        gb_id="GB0124",
    ),
)
