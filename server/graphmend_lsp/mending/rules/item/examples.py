"""What the item rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ID = "GB0124"
_FLOATS = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, 1.0]),),
]
"""
_DTYPES = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (torch.arange(1, 5),),
    (torch.arange(1.0, 5.0).double(),),
    (torch.arange(1.0, 5.0).half(),),
    (torch.arange(1, 5, dtype=torch.int32),),
]
"""
_POSITIVE = """\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([0.1, 0.7, 0.30000001, 9.0]),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a roll by a lag that was found",
        before="""\
import torch


def fn(x):
    lags = torch.topk(x.mean(dim=0), 2)[1]
    total = torch.zeros_like(x)
    for i in range(2):
        total = total + torch.roll(x, -int(⟦lags[i]⟧), -1)
    return total
""",
        after="""\
import torch


def fn(x):
    lags = torch.topk(x.mean(dim=0), 2)[1]
    total = torch.zeros_like(x)
    for i in range(2):
        total = total + x.index_select(
            -1,
            (torch.arange(x.shape[-1], device=x.device) + lags[i].reshape(()))
            % x.shape[-1],
        )
    return total
""",
        run="calls = [(torch.arange(12.0).reshape(3, 4),), (-torch.arange(12.0).reshape(4, 3) ** 2,)]\n",
        gb_id=_ID,
    ),
    Example(
        "a roll by a number under a name",
        before="""\
import torch


def fn(x):
    first = ⟦x.argmax().item()⟧
    return x.roll(shifts=first, dims=0) + 1
""",
        after="""\
import torch


def fn(x):
    first = x.argmax()
    return (
        x.index_select(
            0, (torch.arange(x.shape[0], device=x.device) - first) % x.shape[0]
        )
        + 1
    )
""",
        run=_FLOATS,
        gb_id=_ID,
    ),
    Example(
        "what a check says when it fails",
        before="""\
import math
import sys

import torch


def fn(x):
    loss = x.sum()
    loss_value = ⟦loss.item()⟧
    if not math.isfinite(loss_value):
        print(f"Loss is {loss_value:.1f}, stopping training")
        sys.exit(1)
    return loss * 2
""",
        after="""\
import math
import sys

import torch


def fn(x):
    loss = x.sum()
    loss_value = loss.detach().clone()
    if not loss_value.isfinite():
        print(f"Loss is {loss_value.item():.1f}, stopping training")
        sys.exit(1)
    return loss * 2
""",
        gb_id=_ID,
    ),
    Example(
        "a factor",
        before="""\
def fn(x):
    return x * ⟦x.sum().item()⟧
""",
        after="""\
def fn(x):
    return x * x.sum().detach().to((x * 1).dtype)
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "a number with a name",
        before="""\
def fn(x):
    scale = ⟦x.abs().max().item()⟧
    y = x * scale  # bring it to size
    return y - scale
""",
        after="""\
def fn(x):
    scale = x.abs().max().detach()
    y = x * scale  # bring it to size
    return y - scale
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "a number in front of what it scales",
        before="""\
def fn(x, alpha):
    y = x.sin()
    scale = ⟦alpha.item()⟧
    return scale * y
""",
        after="""\
def fn(x, alpha):
    y = x.sin()
    scale = alpha.detach().reshape(()).clone()
    return y * scale
""",
        run="import torch\ncalls = [(torch.arange(4.0), torch.tensor(0.3)), (torch.arange(4.0).half(), torch.tensor(0.3))]\n",
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "a number that a tensor divides",
        before="""\
def fn(x, alpha):
    y = x.exp()
    scale = ⟦alpha.item()⟧
    return scale / y
""",
        after="""\
def fn(x, alpha):
    y = x.exp()
    scale = alpha.detach().reshape(()).clone()
    return y.reciprocal() * scale
""",
        run="import torch\ncalls = [(torch.arange(4.0), torch.tensor(0.3)), (torch.arange(4.0).half(), torch.tensor(0.3))]\n",
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "float() of any dtype",
        before="""\
def fn(x):
    return x * ⟦float(x.sum())⟧
""",
        after="""\
def fn(x):
    return x * (x.sum().detach() * 1.0)
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "float() of a floating-point value",
        before="""\
def fn(x):
    return x / ⟦float(x.std())⟧
""",
        after="""\
def fn(x):
    return x / x.std().detach()
""",
        run="import torch\n" + _POSITIVE,
        gb_id=_ID,
    ),
    Example(
        "int()",
        before="""\
def fn(x):
    return x * ⟦int(x.sum())⟧
""",
        after="""\
def fn(x):
    return x * x.sum().detach().long()
""",
        run="import torch\n" + _FLOATS,
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "int() of what holds integers",
        before="""\
def fn(x):
    n = ⟦int((x > 0).sum())⟧
    return x * n
""",
        after="""\
def fn(x):
    n = (x > 0).sum()
    return x * n
""",
        run="import torch\n" + _FLOATS,
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "bool()",
        before="""\
def fn(x):
    return x * ⟦bool(x.sum() > 0)⟧
""",
        after="""\
def fn(x):
    return x * (x.sum() > 0)
""",
        run="import torch\n" + _FLOATS,
        gb_id=_ID,
    ),
    Example(
        "an element, which may change later",
        before="""\
def fn(x):
    y = x.clone()
    first = ⟦y[0].item()⟧
    y += 1
    return y * first
""",
        after="""\
def fn(x):
    y = x.clone()
    first = y[0].detach().reshape(()).clone()
    y += 1
    return y * first
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "one step of arithmetic",
        before="""\
def fn(x):
    return x * (⟦x.sum().item()⟧ + 1)
""",
        after="""\
def fn(x):
    return x * (x.sum().detach() + 1).to((x * 1).dtype)
""",
        run="import torch\n" + _FLOATS,
        gb_id=_ID,
    ),
    Example(
        "arithmetic in float64, as Python's",
        before="""\
def fn(x):
    mean = ⟦x.mean().item()⟧
    decay = 0.9 * mean + 0.1
    return x * decay
""",
        after="""\
def fn(x):
    mean = x.mean().detach().double()
    decay = 0.9 * mean + 0.1
    return x * decay.to(x.dtype)
""",
        run="import torch\n" + _POSITIVE,
        gb_id=_ID,
    ),
    Example(
        "math.sqrt",
        before="""\
import math


def fn(x):
    return x / math.sqrt(⟦x.abs().sum().item()⟧)
""",
        after="""\
import math


def fn(x):
    return x / x.abs().sum().detach().double().sqrt().to((x * 1.0).dtype)
""",
        run="import torch\n" + _POSITIVE,
        gb_id=_ID,
    ),
    Example(
        "math.sqrt of the tensor itself",
        before="""\
import math


def fn(x):
    return x * ⟦math.sqrt(x.abs().sum())⟧
""",
        after="""\
import math


def fn(x):
    return x * x.abs().sum().detach().double().sqrt().to((x * 1.0).dtype)
""",
        run="import torch\n" + _POSITIVE,
        gb_id="GB0033",
    ),
    Example(
        "round",
        before="""\
import torch


def fn(x):
    return x * round(⟦x.sum().item()⟧, 2)
""",
        after="""\
import torch


def fn(x):
    return x * torch.round(x.sum().detach().double(), decimals=2).to(x.dtype)
""",
        run=_POSITIVE,
        gb_id=_ID,
    ),
    Example(
        "a lower bound",
        before="""\
def fn(x):
    norm = max(⟦x.norm().item()⟧, 1.0)
    return x / norm
""",
        after="""\
def fn(x):
    norm = x.norm().detach().clamp(min=1.0)
    return x / norm
""",
        run="import torch\n" + _FLOATS,
        gb_id=_ID,
    ),
    Example(
        "sum of a list of elements",
        before="""\
def fn(x):
    return x + sum(⟦x.tolist()⟧)
""",
        after="""\
def fn(x):
    return x + x.detach().sum().to((x * 1).dtype)
""",
        run="import torch\n" + _FLOATS,
        gb_id="GB0109",
    ),
    Example(
        "two numbers in one expression",
        before="""\
def fn(x, y):
    return x * (⟦x.max().item()⟧ - y.max().item())
""",
        after="""\
def fn(x, y):
    return x * (x.max().detach().prod() - y.max().detach().prod())
""",
        run="import torch\ncalls = [(torch.arange(1.0, 5.0), torch.ones(4)), (-torch.arange(1.0, 5.0), torch.ones(4))]",
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "integers, which Python does not let wrap",
        before="""\
def fn(x, labels):
    n = ⟦labels.max().item()⟧ + 1
    return x * n
""",
        after="""\
def fn(x, labels):
    n = labels.max().detach().prod() + 1
    return x * n
""",
        run="""\
import torch
x = torch.arange(1.0, 5.0)
calls = [
    (x, torch.tensor([0, 255], dtype=torch.uint8)),
    (x, torch.tensor([0, 127], dtype=torch.int8)),
    (x, torch.tensor([0, 2**31 - 1], dtype=torch.int32)),
    (x, torch.tensor([True, False])),
    (x, torch.tensor([-0.0, -1.0])),
]
""",
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "a division, which is in float64 for integers",
        before="""\
def fn(x, step):
    y = x.sin()
    done = ⟦step.item()⟧ / 64
    return y * done
""",
        after="""\
def fn(x, step):
    y = x.sin()
    done = step.detach().reshape(()).double() / 64
    return y * done.to(y.dtype)
""",
        run="""\
import torch
calls = [
    (torch.arange(1.0, 5.0).double(), torch.tensor(123456789)),
    (torch.arange(1.0, 5.0), torch.tensor(123456789)),
    (torch.arange(1, 5), torch.tensor(3, dtype=torch.uint8)),
    (torch.arange(1.0, 5.0), torch.tensor(0.3)),
]
""",
        gb_id=_ID,
    ),
    Example(
        "a buffer, which may change before the backward pass",
        before="""\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("temperature", torch.full((), 3.0))

    def forward(self, x):
        return x * ⟦self.temperature.item()⟧


def fn(x):
    head = Head()
    y = head(x.clone().requires_grad_())
    head.temperature.mul_(2)
    y.sum().backward()
    return y
""",
        after="""\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("temperature", torch.full((), 3.0))

    def forward(self, x):
        return x * self.temperature.detach().reshape(()).clone()


def fn(x):
    head = Head()
    y = head(x.clone().requires_grad_())
    head.temperature.mul_(2)
    y.sum().backward()
    return y
""",
        gb_id=_ID,
        assumes=("dtype",),
    ),
    Example(
        "a divisor that is never 0",
        before="""\
def fn(x):
    scale = 1.0 / ⟦x.norm().clamp(min=1e-6).item()⟧
    return x * scale
""",
        after="""\
def fn(x):
    scale = 1.0 / x.norm().clamp(min=1e-6).detach()
    return x * scale
""",
        run="import torch\n" + _POSITIVE,
        gb_id=_ID,
    ),
    Example(
        "what a tensor method takes",
        before="""\
def fn(x):
    y = x.masked_fill(x < 0, ⟦x.max().item()⟧)
    return y.abs() + 1
""",
        after="""\
def fn(x):
    y = x.masked_fill(x < 0, x.max().detach())
    return y.abs() + 1
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "a bound",
        before="""\
import torch


def fn(x):
    return torch.clamp(x, max=⟦x.mean().item()⟧)
""",
        after="""\
import torch


def fn(x):
    return torch.clamp(x, max=x.mean().detach())
""",
        run=_FLOATS,
        gb_id=_ID,
    ),
    Example(
        "an element that is set",
        before="""\
def fn(x):
    y = x.clone()
    y[0] = ⟦x.sum().item()⟧
    return y + 1
""",
        after="""\
def fn(x):
    y = x.clone()
    y[0] = x.sum().detach()
    return y + 1
""",
        run="import torch\n" + _DTYPES,
        gb_id=_ID,
    ),
    Example(
        "a flag that decides",
        before="""\
import torch


def fn(x):
    positive = ⟦(x > 0).any().item()⟧
    y = x + 1
    if positive:
        y = y * 2
    return y
""",
        after="""\
import torch


def fn(x):
    positive = (x > 0).any()
    y = x + 1
    y = torch.where(positive, y * 2, y)
    return y
""",
        run=_FLOATS,
        gb_id=_ID,
    ),
    Example(
        "a number that decides twice",
        before="""\
import torch


def fn(x):
    total = ⟦x.sum().item()⟧
    y = x * 2 if total > 0 else x
    if total > 0.1:
        y = y + total
    return y
""",
        after="""\
import torch


def fn(x):
    total = x.sum().detach().double()
    y = torch.where(total > 0, x * 2, x)
    y = torch.where(total > 0.1, y + total.to(y.dtype), y)
    return y
""",
        run=_FLOATS,
        gb_id=_ID,
        assumes=("identity",),
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "put into a text",
        """\
def fn(x):
    s = ⟦x.sum().item()⟧
    name = f"{s:.2f}"
    return x * s, name
""",
        "Line 3: `s` is put into a text",
        gb_id=_ID,
    ),
    Refusal("returned", "def fn(x):\n    return x + 1, ⟦x.sum().item()⟧\n", "returned to the caller", gb_id=_ID),
    Refusal(
        "a key of a dict",
        "def fn(x):\n    d = {1: 5.0}\n    return x + d[⟦int(x[0])⟧]\n",
        "an index of `d`",
        gb_id=_ID,
    ),
    Refusal(
        "the bound of a slice",
        "def fn(x):\n    n = ⟦x[0].int().item()⟧\n    return x[:n] + 1\n",
        "Line 3: `n` is the bound of a slice",
        gb_id=_ID,
    ),
    Refusal(
        "the turns of a loop",
        "def fn(x):\n    n = ⟦int(x[0])⟧\n    for _ in range(n):\n        x = x + 1\n    return x\n",
        "Line 3: `n` is the number of iterations of a loop",
        gb_id=_ID,
    ),
    Refusal(
        "decides how often a loop runs",
        "def fn(x):\n    n = ⟦x.sum().item()⟧\n    while n > 0:\n        x = x - 1\n    return x\n",
        "decides how often a loop runs",
        gb_id=_ID,
    ),
    Refusal(
        "appended to a list",
        "HISTORY = []\n\n\ndef fn(x):\n    HISTORY.append(⟦x.sum().item()⟧)\n    return x + 1\n",
        "is put into `HISTORY`",
        gb_id=_ID,
    ),
    Refusal(
        "stored in an attribute",
        "class M:\n    def forward(self, x):\n        self.last = ⟦x.sum().item()⟧\n        return x + 1\n",
        "is stored where other code may need a number",
        gb_id=_ID,
    ),
    Refusal(
        "passed on",
        "def fn(x, f):\n    s = ⟦x.sum().item()⟧\n    return f(x, s)\n",
        "Line 3: `s` is passed to `f`",
        gb_id=_ID,
    ),
    Refusal(
        "used in a function of its own",
        "def fn(x):\n    s = ⟦x.sum().item()⟧\n    g = lambda y: y * s\n    return g(x)\n",
        "Line 3: `s` is used in a function",
        gb_id=_ID,
    ),
    Refusal(
        "bound twice",
        "def fn(x, n):\n    s = ⟦x.sum().item()⟧\n    if n:\n        s = 2.0\n    return x * s\n",
        "Line 4: `s` is bound in more than one place",
        gb_id=_ID,
    ),
    Refusal(
        "a running sum of numbers",
        "def fn(x):\n    total = 0.0\n    for one in x.unbind():\n        total += ⟦one.sum().item()⟧\n    return x * total\n",
        "adds up Python numbers",
        gb_id=_ID,
    ),
    Refusal(
        "an int or a float, whichever is chosen",
        "def fn(x):\n    return x / max(⟦x.norm().item()⟧, 1)\n",
        "write both as the same",
        gb_id=_ID,
    ),
    Refusal(
        "a divisor that may be 0",
        "def fn(x):\n    return x * (1 / ⟦x.sum().item()⟧)\n",
        "raises ZeroDivisionError",
        gb_id=_ID,
    ),
    Refusal(
        "a square root that may raise",
        "import math\n\n\ndef fn(x):\n    return x * math.sqrt(⟦x.sum().item()⟧)\n",
        "`math.sqrt` raises for a negative number",
        gb_id=_ID,
    ),
    Refusal(
        "a power of Python numbers",
        "def fn(x):\n    return x * ⟦x.sum().item()⟧ ** 2\n",
        "arithmetic of Python numbers only",
        gb_id=_ID,
    ),
    Refusal(
        "the condition stays",
        """\
def fn(x):
    s = ⟦x.sum().item()⟧
    if s > 0:
        print("positive")
    return x * s
""",
        "Line 3: the condition on it stays.",
        gb_id=_ID,
    ),
    Refusal(
        "a number that need not be given as a tensor",
        "def fn(x, scale=1.0):\n    return x.sin() * float(⟦scale⟧)\n",
        "`scale` is 1.0 where it is not given, and then `scale` is no tensor",
        gb_id=_ID,
    ),
)
