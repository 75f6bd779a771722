"""What the isolate rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.arange(1.0, 5.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "several breaks in a row",
        before="""\
import numpy as np
import torch


def fn(x):
    y = x.sin()
    low = float(np.percentile(⟦y.detach().numpy()⟧, 10))
    # the range
    high = float(np.percentile(y.detach().numpy(), 90))
    spread = high - low
    names = y.round().tolist()
    z = y.cos()
    return z * spread + names[0]
""",
        after='''\
import numpy as np
import torch


@torch.compiler.disable
def _fn_uncompiled(y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    low = float(np.percentile(y.detach().numpy(), 10))
    # the range
    high = float(np.percentile(y.detach().numpy(), 90))
    spread = high - low
    names = y.round().tolist()
    return names, spread


def fn(x):
    y = x.sin()
    names, spread = _fn_uncompiled(y)
    z = y.cos()
    return z * spread + names[0]
''',
        gb_id="GB0124",
    ),
    Example(
        "a lock around a part",
        before="""\
import threading

import torch

lock = threading.Lock()
count = [0]


def fn(x):
    y = x.sin()
    with ⟦lock⟧:
        count[0] += 1
    return y + count[0]
""",
        after='''\
import threading

import torch


@torch.compiler.disable
def _fn_uncompiled():
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    with lock:
        count[0] += 1

lock = threading.Lock()
count = [0]


def fn(x):
    y = x.sin()
    _fn_uncompiled()
    return y + count[0]
''',
        run=_X,
        gb_id="GB0142",
    ),
    Example(
        "a loop that only data ends",
        before="""\
import torch


def fn(x):
    y = x.cos()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
    return x * y
""",
        after='''\
import torch


@torch.compiler.disable
def _fn_uncompiled(x):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    while x.sum() < 100:
        x = x.abs() * 2 + 1
    return x


def fn(x):
    y = x.cos()
    x = _fn_uncompiled(x)
    return x * y
''',
        run=_X,
    ),
    Example(
        "a break in a try",
        before="""\
import json

import torch


def fn(x, text="{}"):
    y = x.sin()
    try:
        scale = ⟦json.loads(text)⟧["scale"]
    except ValueError:
        scale = 1.0
    return y * scale
""",
        after='''\
import json

import torch


@torch.compiler.disable
def _fn_uncompiled(text):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    try:
        scale = json.loads(text)["scale"]
    except ValueError:
        scale = 1.0
    return scale


def fn(x, text="{}"):
    y = x.sin()
    scale = _fn_uncompiled(text)
    return y * scale
''',
        gb_id="GB0007",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the statements return",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
        if x.max() > 90:
            return x
    return x * y
""",
        "leaves the statements",
    ),
    Refusal(
        "a name that may have no value",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
        z = x + 1
    return y + z
""",
        "`z` may have no value",
    ),
    Refusal(
        "a function in them",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        def step(v):
            return v + 1
        x = step(x.abs() * 2)
    return y + x
""",
        "would mean something else",
    ),
    Refusal(
        "a name that is private to the class",
        """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        while ⟦x.sum() < 100⟧:
            x = x.abs() * 2 + (1 if x.shape[0] < 9 else self.__step)
        return x * y
""",
        "`__step` is private to its class",
    ),
    Refusal(
        "nothing else to compile",
        """\
import torch


def fn(x):
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
    return x
""",
        "Nothing that could be compiled",
    ),
)
