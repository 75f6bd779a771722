"""What the copy rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a tensor that is written in place afterwards",
        before="""\
import copy

import torch


def fn(x):
    x = x.sin()
    y = ⟦copy.deepcopy(x)⟧
    y += 1  # its own
    return x * y
""",
        after="""\
import copy

import torch


def fn(x):
    x = x.sin()
    y = x.detach().clone()
    y += 1  # its own
    return x * y
""",
        run=_X,
        gb_id="GB4198",
    ),
    Example(
        "a tensor without gradient",
        before="""\
from copy import deepcopy

import torch


def fn(x):
    y = x.sin().detach()
    return ⟦deepcopy(y)⟧ + x
""",
        after="""\
from copy import deepcopy

import torch


def fn(x):
    y = x.sin().detach()
    return y.clone() + x
""",
        run=_X,
        gb_id="GB4198",
    ),
    Example(
        "an expression",
        before="""\
import copy

import torch


def fn(x):
    return ⟦copy.deepcopy(x.detach() * 2)⟧ + x
""",
        after="""\
import copy

import torch


def fn(x):
    return (x.detach() * 2).detach().clone() + x
""",
        run=_X,
        gb_id="GB4198",
    ),
    Example(
        "a list that is written out",
        before="""\
import copy

import torch


def fn(x):
    kept = ⟦copy.deepcopy([x.detach(), x.detach() + 1, None])⟧
    kept[0] += 1
    return x + kept[0] * kept[1]
""",
        after="""\
import copy

import torch


def fn(x):
    kept = [x.detach().clone(), (x.detach() + 1).detach().clone(), None]
    kept[0] += 1
    return x + kept[0] * kept[1]
""",
        run=_X,
        gb_id="GB4198",
    ),
    Example(
        "a dictionary that is written out",
        before="""\
import copy

import torch


def fn(x):
    kept = ⟦copy.deepcopy({"sin": x.sin().detach(), "scale": 2})⟧
    return x + kept["sin"] * kept["scale"]
""",
        after="""\
import copy

import torch


def fn(x):
    kept = {"sin": x.sin().detach().clone(), "scale": 2}
    return x + kept["sin"] * kept["scale"]
""",
        run=_X,
        gb_id="GB4198",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a container",
        """\
import copy

import torch


def fn(x):
    pair = [x, x]
    return ⟦copy.deepcopy(pair)⟧[0] + 1
""",
        "is a container",
        gb_id="GB4198",
    ),
    Refusal(
        "what belongs to the module",
        """\
import copy

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + ⟦copy.deepcopy(self.weight)⟧
""",
        "belongs to the module",
        gb_id="GB4198",
    ),
    Refusal(
        "a memo",
        """\
import copy

import torch


def fn(x):
    return ⟦copy.deepcopy(x, {})⟧ + 1
""",
        "passes a memo",
        gb_id="GB4198",
    ),
    Refusal(
        "two views of one tensor",
        """\
import copy

import torch


def fn(x):
    kept = ⟦copy.deepcopy([x.detach(), x.view(-1)])⟧
    kept[0].add_(1)
    return x + kept[1]
""",
        "may share their memory",
        gb_id="GB4198",
    ),
    Refusal(
        "a list of anything",
        """\
import copy

import torch


def fn(x, state):
    return ⟦copy.deepcopy([x.detach(), state])⟧[0] + 1
""",
        "`state` is not known to be a tensor",
        gb_id="GB4198",
    ),
    Refusal(
        "a dictionary with computed keys",
        """\
import copy

import torch


def fn(x, name):
    return ⟦copy.deepcopy({name: x.detach()})⟧[name] + 1
""",
        "are not constants",
        gb_id="GB4198",
    ),
)
