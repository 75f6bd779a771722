"""What the spelling rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a new tensor of the size of another, from before there was `new_empty`",
        before="""\
import torch


def fn(near, far):
    target = ⟦near.new().resize_as_(far)⟧.fill_(1)
    return torch.nn.functional.margin_ranking_loss(far, near, target)
""",
        after="""\
import torch


def fn(near, far):
    target = near.new_empty(far.shape).fill_(1)
    return torch.nn.functional.margin_ranking_loss(far, near, target)
""",
        run="import torch\ncalls = [(torch.arange(4.0), torch.ones(4)), (torch.ones(3), torch.zeros(3, requires_grad=True))]",
        gb_id="GB0127",
        seen=(("near", "float32 4"), ("far", "float32 4")),
    ),
    Example(
        "a Variable of what a run showed to be a tensor",
        before="""\
import torch
from torch.autograd import Variable


def fn(x):
    state = ⟦Variable(x.data.new(x.size(0)).zero_())⟧
    return state + x
""",
        after="""\
import torch
from torch.autograd import Variable


def fn(x):
    state = x.data.new(x.size(0)).zero_().detach()
    return state + x
""",
        run="import torch\ncalls = [(torch.arange(4.0),), (torch.arange(3.0, requires_grad=True),)]",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("x.data.new(x.size(0)).zero_()", "float32 4")),
    ),
    Example(
        "a power",
        before="""\
import torch


def fn(x):
    y = x.sin()
    return -⟦pow(y, 2)⟧.sum() + 1
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    return -(y**2).sum() + 1
""",
        run=_X,
        gb_id="GB0059",
    ),
    Example(
        "a power of a sum",
        before="""\
import torch


def fn(x):
    y = x.sin()
    return y + ⟦pow(y + 1, -1)⟧
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    return y + (y + 1) ** (-1)
""",
        run=_X,
        gb_id="GB0059",
    ),
    Example(
        "the sign of a dtype",
        before="""\
import torch


def fn(x):
    y = x.sin()
    if ⟦y.is_signed()⟧:
        y = y + 1
    return y
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    if y.dtype.is_signed:
        y = y + 1
    return y
""",
        run=_X,
        gb_id="GB0208",
    ),
    Example(
        "the number of elements by numpy",
        before="""\
import numpy as np
import torch


def fn(x):
    y = x.sin()
    return y.reshape(⟦int(np.prod(x.shape))⟧).cos()
""",
        after="""\
import math

import numpy as np
import torch


def fn(x):
    y = x.sin()
    return y.reshape(math.prod(x.shape)).cos()
""",
        run=_X,
        gb_id="GB0033",
    ),
    Example(
        "a list of states",
        before="""\
import copy

import torch


def fn(x):
    states = [x.sin(), x.cos()]
    kept = ⟦copy.copy(states)⟧
    states.append(x)
    return kept[-1] + len(states)
""",
        after="""\
import copy

import torch


def fn(x):
    states = [x.sin(), x.cos()]
    kept = states.copy()
    states.append(x)
    return kept[-1] + len(states)
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "positions as a list",
        before="""\
import torch


def fn(x):
    y = x.sin()
    for place in ⟦torch.arange(x.shape[0]).tolist()⟧:
        y = y + place
    return y
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    for place in list(range(x.shape[0])):
        y = y + place
    return y
""",
        run=_X,
        gb_id="GB0033",
    ),
    Example(
        "the dtype of a result",
        before="""\
import torch


def fn(x):
    y = x.sin()
    return y.to(⟦torch.result_type(y, 2.0)⟧).cos()
""",
        after="""\
import torch


def fn(x):
    y = x.sin()
    return y.to((y * 1.5).dtype).cos()
""",
        run=_X,
        gb_id="GB0208",
    ),
    Example(
        "an operator as a function",
        before="""\
import operator

import torch


def fn(x):
    y = x.sin()
    return ⟦operator.call(torch.clamp, y, min=0.5)⟧ + x
""",
        after="""\
import operator

import torch


def fn(x):
    y = x.sin()
    return torch.clamp(y, min=0.5) + x
""",
        run=_X,
        gb_id="GB0059",
    ),
    Example(
        "an item that is set by a function",
        before="""\
import operator

import torch


def fn(x):
    y = x.sin()
    ⟦operator.setitem(y, 0, 1.0)⟧
    return y + x
""",
        after="""\
import operator

import torch


def fn(x):
    y = x.sin()
    y[0] = 1.0
    return y + x
""",
        run=_X,
        gb_id="GB0059",
    ),
    Example(
        "a batch",
        before="""\
import torch


def fn(x):
    y = ⟦torch.utils.data.default_collate([x.sin(), x.cos()])⟧
    return y + x
""",
        after="""\
import torch


def fn(x):
    y = torch.stack([x.sin(), x.cos()])
    return y + x
""",
        run=_X,
        gb_id="GB0007",
    ),
    Example(
        "a lock of the call's own",
        before="""\
import threading

import torch


def fn(x):
    guard = ⟦threading.Lock()⟧
    with guard:
        y = x + 1
    return y
""",
        after="""\
import contextlib
import threading

import torch


def fn(x):
    guard = contextlib.nullcontext()
    with guard:
        y = x + 1
    return y
""",
        run=_X,
        gb_id="GB0007",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "numbers that are no sizes",
        """\
import numpy as np
import torch


def fn(x, factors):
    return x * ⟦int(np.prod(factors))⟧
""",
        "is not known to be the sizes of a tensor",
        gb_id="GB0208",
    ),
    Refusal(
        "a copy of anything",
        """\
import copy

import torch


def fn(x, states):
    return ⟦copy.copy(states)⟧[0] + x
""",
        "is not known to be",
        gb_id="GB0007",
    ),
    Refusal(
        "a list that may be something else",
        """\
import copy

import torch


def fn(x, flag):
    states = [x]
    if flag:
        states = None
    return x + len(⟦copy.copy(states)⟧)
""",
        "is not known to be",
        gb_id="GB0007",
    ),
    Refusal(
        "a range that may be negative",
        """\
import torch


def fn(x, n):
    return x + sum(⟦torch.arange(n).tolist()⟧)
""",
        "is not known to be a size",
        gb_id="GB0033",
    ),
    Refusal(
        "a batch of anything",
        """\
import torch


def fn(x, parts):
    return x + ⟦torch.utils.data.default_collate(parts)⟧
""",
        "is not known to be a list of tensors",
        gb_id="GB0007",
    ),
    Refusal(
        "items that are computed while they are set",
        """\
import operator

import torch


def fn(x):
    y = x.sin()
    ⟦operator.setitem(y, 0, x.pop())⟧
    return y
""",
        "is not known to be a name or a constant",
        gb_id="GB0059",
    ),
    Refusal(
        "the result of two tensors",
        """\
import torch


def fn(x, other):
    return x.to(⟦torch.result_type(x, other)⟧)
""",
        "is not known to be a",
        gb_id="GB0208",
    ),
    Refusal(
        "a lock that is kept",
        """\
import threading

import torch


def fn(x, state):
    state.guard = ⟦threading.Lock()⟧
    with state.guard:
        return x + 1
""",
        "leaves the function",
        gb_id="GB0007",
    ),
    Refusal(
        "a lock that is asked",
        """\
import threading

import torch


def fn(x):
    guard = ⟦threading.Lock()⟧
    with guard:
        return x + guard.locked()
""",
        "is used for more than",
        gb_id="GB0007",
    ),
    Refusal(
        "a lock that another function holds",
        """\
import threading

import torch


def fn(x, start):
    guard = ⟦threading.Lock()⟧

    def work():
        with guard:
            return x + 1

    return start(work)
""",
        "is used for more than",
        gb_id="GB0007",
    ),
    Refusal(
        "whether a lock was entered",
        """\
import threading

import torch


def fn(x):
    with ⟦threading.Lock()⟧ as held:
        return x + held
""",
        "gives is used",
        gb_id="GB0007",
    ),
)
