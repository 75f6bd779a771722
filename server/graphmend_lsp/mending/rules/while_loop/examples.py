"""What the while_loop rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_INFERENCE = """\
computed = fn


def fn(*arguments):
    with torch.no_grad():
        return computed(*arguments)


"""
_NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.tolerance = 1e-3

"""
_IMPORTED = "\n\nfrom graphmend_support import while_loop"
_FN = "import torch\n\n\ndef fn(x):\n"

EXAMPLES: tuple[Example, ...] = (
    Example(
        "double until it is large",
        before="""\
import torch


def fn(x):
    with torch.no_grad():
        while ⟦x.sum() < 100⟧:
            x = x * 2
    return x
""",
        after="""\
import torch

from graphmend_support import while_loop


def fn(x):
    with torch.no_grad():
        (x,) = while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))
    return x
""",
        run="calls = [(torch.ones(4),), (torch.full((4,), 99.0),), (torch.arange(1.0, 9.0),)]\n",
    ),
    Example(
        "a fixed point",
        before=f"""\
{_NET}
    def forward(self, x):
        h = torch.zeros_like(x)
        change = x.abs().max()
        while ⟦change > self.tolerance⟧:  # until it stays
            new = torch.tanh(self.inner(h) + x)

            change = (new - h).abs().max()
            h = new  # the next one
        return h
""",
        after=f"""\
{_NET.replace("import nn", "import nn" + _IMPORTED)}
    def forward(self, x):
        h = torch.zeros_like(x)
        change = x.abs().max()

        def turn(change, h):  # until it stays
            new = torch.tanh(self.inner(h) + x)

            change = (new - h).abs().max()
            h = new  # the next one
            return change, h

        change, h = while_loop(
            lambda change, h: change > self.tolerance, turn, (change, h), self.training
        )
        return h
""",
        run=f"torch.manual_seed(0)\nfn = Net().eval()\n{_INFERENCE}"
        "calls = [(torch.ones(2, 4),), (-torch.ones(2, 4),), (torch.zeros(3, 4),)]\n",
    ),
    Example(
        "a largest number of iterations",
        before="""\
import torch


def fn(x):
    n = 0
    while n < 50 and ⟦(x * x - 2).abs().max() > 1e-4⟧:
        x = (x + 2 / x) / 2
        n += 1
    return x
""",
        after="""\
import torch


def fn(x):
    n = 0
    in_graph = torch.compiler.is_compiling() and not (
        torch.is_grad_enabled() or x.requires_grad
    )
    if in_graph:
        x, turns = torch.while_loop(
            lambda x, n: ((x * x - 2).abs().max() > 1e-4) & (n < 50),
            lambda x, n: ((x + 2 / x) / 2, n + 1),
            (x, torch.full((), n, device=x.device)),
        )
    while not in_graph and n < 50 and (x * x - 2).abs().max() > 1e-4:
        x = (x + 2 / x) / 2
        n += 1
    return x
""",
        run=f"{_INFERENCE}calls = [(torch.ones(4),), (torch.full((4,), 99.0),), (torch.full((3,), 2.0).sqrt(),)]\n",
    ),
    Example(
        "an iteration counted by a tensor, and two names of one",
        before="""\
import torch


def fn(x, y):
    n = torch.zeros((), dtype=torch.int64)
    first = x[:]
    while ⟦x.sum() < 100⟧:
        step = y.abs() + 1
        x = x + step
        n = n + 1
    return x - first, n
""",
        after="""\
import torch

from graphmend_support import while_loop


def fn(x, y):
    n = torch.zeros((), dtype=torch.int64)
    first = x[:]

    def turn(x, n):
        step = y.abs() + 1
        x = x + step
        n = n + 1
        return x, n

    x, n = while_loop(lambda x, n: x.sum() < 100, turn, (x, n))
    return x - first, n
""",
        run=f"{_INFERENCE}calls = [(torch.ones(4), -torch.ones(4)), "
        "(torch.full((4,), 99.0), torch.ones(4)), (torch.zeros(9), torch.ones(9))]\n",
    ),
    Example(
        "a Python test around the tensor",
        before="""\
import torch


def fn(x, again: bool = True):
    while again and ⟦x.sum() < 100⟧:
        x = x * 2
    return x
""",
        after="""\
import torch

from graphmend_support import while_loop


def fn(x, again: bool = True):
    if again:
        (x,) = while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))
    return x
""",
        run=f"{_INFERENCE}calls = [(torch.ones(4),), (torch.full((4,), 99.0),), (torch.ones(4), False)]\n",
    ),
)
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a Python number that is returned",
        f"{_FN}    n = 0\n    while ⟦x.sum() < 100⟧:\n        x = x * 2\n        n += 1\n    return x * n\n",
        "`n` is a Python value; `torch.while_loop` carries tensors only; start it as a tensor",
    ),
    Refusal(
        "a Python float",
        "import torch\n\n\ndef fn(x, limit: float):\n    while ⟦x.sum() < limit⟧:\n        x = x * 2\n    return x\n",
        "`limit` is a Python float",
    ),
    Refusal(
        "a tensor that grows",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = torch.cat([x, x[-1:] + 1])\n    return x\n",
        "grows in every iteration",
    ),
    Refusal(
        "another dtype",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = (x * 2).double()\n    return x\n",
        "may have another dtype than before",
    ),
    Refusal(
        "other strides",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = (x * 2).t()\n    return x\n",
        "has other strides than before",
    ),
    Refusal(
        "a change in place",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x += 1\n    return x\n",
        "changes a tensor in place",
    ),
    Refusal(
        "an element that is set",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x[0] = x.sum() + 1\n        x = x * 2\n    return x\n",
        "changes what is outside of an iteration",
    ),
    Refusal(
        "an iteration that is left early",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x * 2\n        if x.max() > 9:\n            break\n    return x\n",
        "`break` leaves an iteration; say in the loop's test when it ends.",
    ),
    Refusal(
        "random numbers",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x + torch.rand_like(x)\n    return x\n",
        "may draw others when compiled",
    ),
    Refusal(
        "a message",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x * 2\n        print('more')\n    return x\n",
        "An iteration contains `print('more')`",
    ),
    Refusal(
        "a second test of a tensor",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x * 2\n        if x.max() > 9:\n            x = x - 1\n    return x\n",
        "An iteration tests a tensor again",
    ),
    Refusal(
        "a number read from a tensor",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x * float(x.max())\n    return x\n",
        "An iteration reads a number from a tensor",
    ),
    Refusal(
        "no value before",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        y = x + 1\n        x = x * 2\n    return y\n",
        "`y` may have no value before the loop; give it one.",
    ),
    Refusal(
        "a change in place after the loop",
        f"{_FN}    while ⟦x.sum() < 100⟧:\n        x = x * 2\n    x += 1\n    return x\n",
        "it may have another name",
    ),
    Refusal(
        "an iteration whose errors are caught",
        f"{_FN}    try:\n"
        "        while ⟦x.sum() < 100⟧:\n            x = x * 2\n    except RuntimeError:\n        x = -x\n    return x\n",
        "stands in a `try`",
    ),
)
