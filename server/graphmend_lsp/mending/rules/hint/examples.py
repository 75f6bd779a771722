"""What the hint rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_BEFORE = """\
import torch


def fn(x):
    state = torch.zeros_like(x)
    ⟦torch._dynamo.mark_static_address(state)⟧
    return state + x
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a tensor whose address stays",
        before=_BEFORE,
        after="""\
import torch


def fn(x):
    state = torch.zeros_like(x)
    if not torch.compiler.is_compiling():
        torch._dynamo.mark_static_address(state)
    return state + x
""",
        gb_id="-",
    ),
    Example(
        "a dimension that may change, of a module's buffers",
        before="""\
import torch
from torch import _dynamo as dynamo


class Cache(torch.nn.Module):
    def forward(self, states):
        for state in states:
            ⟦dynamo.maybe_mark_dynamic(state, 0)⟧
        return states[0] * 2


fn = Cache()
""",
        after="""\
import torch
from torch import _dynamo as dynamo


class Cache(torch.nn.Module):
    def forward(self, states):
        for state in states:
            if not torch.compiler.is_compiling():
                dynamo.maybe_mark_dynamic(state, 0)
        return states[0] * 2


fn = Cache()
""",
        gb_id="-",
    ),
    Example(
        "states of a cache, each with a hint",
        before="""\
import torch


class Cache:
    def __init__(self, x, count):
        self.keys, self.values = [], []
        for _ in range(count):
            key, value = torch.zeros_like(x), torch.ones_like(x)
            ⟦torch._dynamo.mark_static_address(key)⟧
            torch._dynamo.mark_static_address(value)
            self.keys.append(key)
            self.values.append(value)


def fn(x):
    cache = Cache(x, 2)
    return cache.keys[0] + cache.values[1] * x
""",
        after="""\
import torch


class Cache:
    def __init__(self, x, count):
        self.keys, self.values = [], []
        for _ in range(count):
            key, value = torch.zeros_like(x), torch.ones_like(x)
            if not torch.compiler.is_compiling():
                torch._dynamo.mark_static_address(key)
                torch._dynamo.mark_static_address(value)
            self.keys.append(key)
            self.values.append(value)


def fn(x):
    cache = Cache(x, 2)
    return cache.keys[0] + cache.values[1] * x
""",
        gb_id="-",
    ),
)
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a hint inside another statement",
        _BEFORE.replace("    ⟦", "    done = ⟦"),
        "stands inside another statement",
        gb_id="-",
    ),
    Refusal(
        "an argument that is computed",
        _BEFORE.replace("(state)⟧", "(state.add_(1))⟧"),
        "does more than read a value",
        gb_id="-",
    ),
    Refusal(
        "a comment inside",
        _BEFORE.replace("(state)⟧", "(\n        state  # the cache\n    )⟧"),
        "comments inside",
        gb_id="-",
    ),
)
