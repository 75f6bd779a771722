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


def fn(x):
    y = x.sin()
    names, spread = _fn_uncompiled(y)
    z = y.cos()
    return z * spread + names[0]


@torch.compiler.disable
def _fn_uncompiled(y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    low = float(np.percentile(y.detach().numpy(), 10))
    # the range
    high = float(np.percentile(y.detach().numpy(), 90))
    spread = high - low
    names = y.round().tolist()
    return names, spread
''',
        gb_id="GB0124",
    ),
    Example(
        "a text over several lines",
        before='''\
import numpy as np
import torch


def fn(x):
    y = x.sin()
    if x.dim() == 1:
        words = """from
        {:.1f}
  on""".format(np.percentile(⟦y.detach().numpy()⟧, 10))
        count = words.index("on")
    else:
        count = 3
    return y.cos() * count
''',
        after='''\
import numpy as np
import torch


@torch.compiler.disable
def _fn_uncompiled(y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    words = """from
        {:.1f}
  on""".format(np.percentile(y.detach().numpy(), 10))
    return words


def fn(x):
    y = x.sin()
    if x.dim() == 1:
        words = _fn_uncompiled(y)
        count = words.index("on")
    else:
        count = 3
    return y.cos() * count
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

lock = threading.Lock()
count = [0]


def fn(x):
    y = x.sin()
    _fn_uncompiled()
    return y + count[0]


@torch.compiler.disable
def _fn_uncompiled():
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    with lock:
        count[0] += 1
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


def fn(x):
    y = x.cos()
    x = _fn_uncompiled(x)
    return x * y


@torch.compiler.disable
def _fn_uncompiled(x):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    while x.sum() < 100:
        x = x.abs() * 2 + 1
    return x
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


def fn(x, text="{}"):
    y = x.sin()
    scale = _fn_uncompiled(text)
    return y * scale


@torch.compiler.disable
def _fn_uncompiled(text):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    try:
        scale = json.loads(text)["scale"]
    except ValueError:
        scale = 1.0
    return scale
''',
        gb_id="GB0007",
    ),
    Example(
        "a loop of which only the break is lost",
        before="""\
import torch


def fn(x):
    y = x.sin()
    for i in range(3):
        y = y.tan().exp() + i
        # how many they are
        names = ⟦y.clamp(-9, 9).round().tolist()⟧
        y = y.tanh().abs().sqrt() * len(names)
    return y.cos()
""",
        after='''\
import torch


def _fn_part(i, y):
    """Compiled by itself: a break in it costs no more than a graph."""
    y = y.tan().exp() + i
    # how many they are
    names = y.clamp(-9, 9).round().tolist()
    y = y.tanh().abs().sqrt() * len(names)
    return y


@torch.compiler.disable(recursive=False)
def _fn_uncompiled(y):
    """Runs uncompiled: TorchDynamo cannot go on behind a break in it."""
    for i in range(3):
        y = _fn_part(i, y)
    return y


def fn(x):
    y = x.sin()
    y = _fn_uncompiled(y)
    return y.cos()
''',
        run=_X,
        gb_id="GB0109",
    ),
    Example(
        "a context manager of the file",
        before="""\
import torch

depth = [0]


class Deeper:
    def __enter__(self):
        depth[0] += 1

    def __exit__(self, *details):
        depth[0] -= 1


def fn(x):
    y = x.sin()
    with Deeper():
        y = (y.tan() * depth[0]).tanh().abs()
        names = ⟦y.round().tolist()⟧
    return y.cos() * names[0]
""",
        after='''\
import torch


def _fn_part(y):
    """Compiled by itself: a break in it costs no more than a graph."""
    y = (y.tan() * depth[0]).tanh().abs()
    names = y.round().tolist()
    return names, y


@torch.compiler.disable(recursive=False)
def _fn_uncompiled(y):
    """Runs uncompiled: TorchDynamo cannot go on behind a break in it."""
    with Deeper():
        names, y = _fn_part(y)
    return names, y


depth = [0]


class Deeper:
    def __enter__(self):
        depth[0] += 1

    def __exit__(self, *details):
        depth[0] -= 1


def fn(x):
    y = x.sin()
    names, y = _fn_uncompiled(y)
    return y.cos() * names[0]
''',
        run=_X,
        gb_id="GB0109",
    ),
    Example(
        "layers in a loop",
        before="""\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        return x.tan().tanh().exp()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.seen = []

    def forward(self, x):
        y = x.sin() + 1
        for layer in self.layers:
            y = layer(y)
            self.seen.append(⟦y.clamp(-9, 9).round().tolist()⟧)
        return y.cos()


fn = Net()
""",
        after='''\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        return x.tan().tanh().exp()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.seen = []

    def forward(self, x):
        y = x.sin() + 1
        y = Net._forward_uncompiled(self, y)
        return y.cos()

    @torch.compiler.disable(recursive=False)
    def _forward_uncompiled(self, y):
        """Runs uncompiled; what it calls is compiled by itself."""
        for layer in self.layers:
            y = layer(y)
            self.seen.append(y.clamp(-9, 9).round().tolist())
        return y


fn = Net()
''',
        gb_id="GB0109",
    ),
    Example(
        "a try that returns",
        before="""\
import torch


def fn(x, scales=(2.0, 3.0)):
    y = x.sin()
    try:
        return y * scales[int(⟦y.abs().round().tolist()⟧[-1])]
    except IndexError:
        return y.tan()
""",
        after='''\
import torch


def fn(x, scales=(2.0, 3.0)):
    y = x.sin()
    return _fn_uncompiled(scales, y)


@torch.compiler.disable
def _fn_uncompiled(scales, y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    try:
        return y * scales[int(y.abs().round().tolist()[-1])]
    except IndexError:
        return y.tan()
''',
        run="""\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([1.0, 1.6]), (2.0,)), (torch.arange(1.0, 5.0),)]
""",
        gb_id="GB0109",
    ),
    Example(
        "a generator expression",
        before="""\
import torch


def fn(x):
    y = x.sin()
    low, high = sorted(⟦v.item()⟧ for v in y[:2])
    return y.cos() * (high - low)
""",
        after='''\
import torch


@torch.compiler.disable
def _fn_uncompiled(y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    low, high = sorted(v.item() for v in y[:2])
    return high, low


def fn(x):
    y = x.sin()
    high, low = _fn_uncompiled(y)
    return y.cos() * (high - low)
''',
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a match of what is read",
        before="""\
import torch


def fn(x):
    y = x.sin()
    match ⟦x.sum().item()⟧:
        case 1.0:
            z = y + 1
        case total:
            z = y + total
    w = x.sum().tolist()
    return z.cos() + w
""",
        after='''\
import torch


def fn(x):
    y = x.sin()
    w, z = _fn_uncompiled(x, y)
    return z.cos() + w


@torch.compiler.disable
def _fn_uncompiled(x, y):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    match x.sum().item():
        case 1.0:
            z = y + 1
        case total:
            z = y + total
    w = x.sum().tolist()
    return w, z
''',
        run=_X,
        gb_id="GB0124",
    ),
    Example(
        "a name that the test of a loop gives",
        before="""\
import torch


def fn(x):
    y = x.sin()
    while ⟦(total := x.sum()) < 100⟧:
        x = x.abs() * 2 + 1
    return x * y * total
""",
        after='''\
import torch


def fn(x):
    y = x.sin()
    total, x = _fn_uncompiled(x)
    return x * y * total


@torch.compiler.disable
def _fn_uncompiled(x):
    """Runs uncompiled, in one piece: TorchDynamo cannot trace it."""
    while (total := x.sum()) < 100:
        x = x.abs() * 2 + 1
    return total, x
''',
        run=_X,
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
    return (x * y).cos()
""",
        "leaves the statements, and `fn` computes more after them",
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
        "nothing else to compile",
    ),
    Refusal(
        "what reads the names around it",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + eval("len(x)")
    return x * y
""",
        "`eval` would mean something else",
    ),
    Refusal(
        "a generator that returns",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() * 2 + 1
        if x.max() > 90:
            return x
    yield x * y
""",
        "whose `return` stays its own",
    ),
    Refusal(
        "a context manager that ends exceptions",
        """\
import contextlib

import torch


def fn(x, text="1.5"):
    y = x.sin()
    with contextlib.suppress(ValueError):
        scale = float(text) * ⟦y.sum().item()⟧
    return y * scale
""",
        "`scale` may have no value",
        gb_id="GB0124",
    ),
    Refusal(
        "a name that one case of a match gives",
        """\
import torch


def fn(x, kind=("up", 2)):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        match kind:
            case ("up", step):
                x = x.abs() * step + 1
            case other:
                x = x + 1
    return x * y * step
""",
        "`step` may have no value after these statements",
    ),
    Refusal(
        "a match that takes not everything",
        """\
import torch


def fn(x):
    y = x.sin()
    match ⟦x.sum().item()⟧:
        case 1.0:
            z = y + 1
        case 2.0:
            z = y + 2
    w = x.sum().tolist()
    return z.cos() + w
""",
        "`z` may have no value after these statements",
        gb_id="GB0124",
    ),
    Refusal(
        "a name that `:=` gives, where it is asked",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        if x.shape[0] > 3 and (n := x.shape[0]) > 2:
            x = x.abs() * 2 + n
        else:
            x = x.abs() + 1
    return x * y * n
""",
        "`n` may have no value after these statements",
    ),
    Refusal(
        "a name that `:=` gives in a comprehension",
        """\
import torch


def fn(x):
    y = x.sin()
    big = [last for v in ⟦x.tolist()⟧ if (last := v) > 2]
    n = x.sum().item()
    return y.cos() + len(big) + n + last
""",
        "`last` may have no value after these statements",
        gb_id="GB0124",
    ),
    Refusal(
        "an asynchronous loop",
        """\
import torch


async def fn(x, rows):
    y = x.sin()
    async for row in rows:
        x = x + row * ⟦x.sum().item()⟧
    return x * y
""",
        "`fn` is a coroutine, where TorchDynamo compiles nothing after a break",
        gb_id="GB0124",
    ),
    Refusal(
        "an asynchronous context manager",
        """\
import torch


async def fn(x, lock):
    y = x.sin()
    async with lock:
        while ⟦x.sum() < 100⟧:
            x = x.abs() * 2 + 1
    return x * y
""",
        "`fn` is a coroutine",
    ),
    Refusal(
        "an asynchronous comprehension",
        """\
import torch


async def fn(x, rows):
    y = x.sin()
    while ⟦x.sum() < 100⟧:
        x = x.abs() + sum([row async for row in rows])
    return x * y
""",
        "`fn` is a coroutine",
    ),
)
