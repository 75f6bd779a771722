"""What the printed rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CALLS = """\
import torch

calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.tensor([0.5]),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a text",
        before="""\
import torch


def fn(x):
    y = x.sin()
    ⟦print("halfway")⟧
    return y + 1
""",
        after="""\
import torch

from graphmend_support import print_in_graph


def fn(x):
    y = x.sin()
    print_in_graph("halfway")
    return y + 1
""",
        run=_CALLS,
        gb_id="GB0059",
    ),
    Example(
        "a number in a text",
        before="""\
import torch


def fn(x):
    y = x.sin()
    ⟦print(f"mean {y.mean().item():.3f} of {y.sum()}", "{}", 3)⟧
    return y + 1
""",
        after="""\
import torch

from graphmend_support import print_in_graph


def fn(x):
    y = x.sin()
    print_in_graph("mean {:.3f} of {} {{}} 3", y.mean(), y.sum())
    return y + 1
""",
        run=_CALLS,
        gb_id="GB0059",
    ),
    Example(
        "in a loop",
        before="""\
import torch


def fn(x):
    for _ in range(2):
        x = x * 2
        ⟦print("norm", x.norm().item())⟧
    return x
""",
        after="""\
import torch

from graphmend_support import print_in_graph


def fn(x):
    for _ in range(2):
        x = x * 2
        print_in_graph("norm {}", x.norm())
    return x
""",
        run=_CALLS,
        gb_id="GB0059",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a tensor",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦print("y", y)⟧
    return y + 1
""",
        "is a number of a tensor, or constant",
        gb_id="GB0059",
    ),
    Refusal(
        "a size",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦print("y", y.shape)⟧
    return y + 1
""",
        "is a number of a tensor, or constant",
        gb_id="GB0059",
    ),
    Refusal(
        "another stream",
        """\
import sys

import torch


def fn(x):
    y = x.sin()
    ⟦print("y", file=sys.stderr)⟧
    return y + 1
""",
        "says where or how it prints",
        gb_id="GB0059",
    ),
    Refusal(
        "braces",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦print("{}")⟧
    return y + 1
""",
        "a text with braces",
        gb_id="GB0059",
    ),
    Refusal(
        "a text of a tensor",
        """\
import torch


def fn(x):
    y = x.sum()
    ⟦print(f"{y!r}")⟧
    return y + 1
""",
        "is converted to a text first",
        gb_id="GB0059",
    ),
    Refusal(
        "a function that is mapped",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦print("halfway")⟧
    return y + 1


mapped = torch.func.vmap(fn)
""",
        "in which no operator of the graph prints",
        gb_id="GB0059",
    ),
    Refusal(
        "what it is given",
        """\
import torch


def fn(x, name):
    y = x.sin()
    ⟦print("at", name)⟧
    return y + 1
""",
        "or constant",
        gb_id="GB0059",
    ),
)
