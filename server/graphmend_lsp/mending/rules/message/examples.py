"""What the message rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CALLS = """\
import torch

calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.tensor([0.5]),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "the shape of a tensor",
        before="""\
import logging

import torch

logger = logging.getLogger(__name__)


def fn(x):
    y = x.sin()
    ⟦logger.info("shape %s", y.shape)⟧
    return y + 1
""",
        after="""\
import logging

import torch

from graphmend_support import call_in_graph

logger = logging.getLogger(__name__)


def fn(x):
    y = x.sin()
    call_in_graph(lambda shape: logger.info("shape %s", shape), y.shape)
    return y + 1
""",
        run=_CALLS,
        gb_id="GB0291",
    ),
    Example(
        "a function of the program that says something once",
        before="""\
import torch

_said = set()


def say_once(text):
    if text not in _said:
        _said.add(text)
        print(text)


def fn(x):
    y = x.sin()
    if ⟦y.sum() < 0⟧:
        say_once(f"negative for {x.shape}")
    return y + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph

_said = set()


def say_once(text):
    if text not in _said:
        _said.add(text)
        print(text)


def fn(x):
    y = x.sin()
    call_in_graph(
        lambda condition, shape: (
            say_once(f"negative for {shape}") if condition else None
        ),
        y.sum() < 0,
        x.shape,
    )
    return y + 1
""",
        run=_CALLS,
    ),
    Example(
        "the call of a function that only says something",
        before="""\
import os

import torch


def print_rank_0(*values, sep=" "):
    if int(os.environ.get("RANK", 0)) == 0:
        ⟦print(*values, sep=sep, flush=True)⟧


def fn(x):
    y = x.sin()
    print_rank_0("shape", y.shape, "of", y.dtype)
    return y + 1
""",
        after="""\
import os

import torch

from graphmend_support import call_in_graph


def print_rank_0(*values, sep=" "):
    if int(os.environ.get("RANK", 0)) == 0:
        print(*values, sep=sep, flush=True)


def fn(x):
    y = x.sin()
    call_in_graph(
        lambda shape, dtype: print_rank_0("shape", shape, "of", dtype), y.shape, y.dtype
    )
    return y + 1
""",
        outermost="fn",
        run=_CALLS,
        gb_id="GB0059",
    ),
    Example(
        "another stream, in a loop",
        before="""\
import sys

import torch


def fn(x):
    for step in range(2):
        x = x * 2
        ⟦print("step", step, x.dtype, file=sys.stderr)⟧
    return x
""",
        after="""\
import sys

import torch

from graphmend_support import call_in_graph


def fn(x):
    for step in range(2):
        x = x * 2
        call_in_graph(
            lambda step, dtype: print("step", step, dtype, file=sys.stderr),
            step,
            x.dtype,
        )
    return x
""",
        run=_CALLS,
        gb_id="GB0059",
    ),
    Example(
        "a message on a condition",
        before="""\
import torch


def fn(x):
    y = x.sin()
    if ⟦y.min() < 0⟧:
        print("negative:", y.min().item())
    return y + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    y = x.sin()
    call_in_graph(
        lambda condition, y: print("negative:", y.min().item()) if condition else None,
        y.min() < 0,
        y,
    )
    return y + 1
""",
        run=_CALLS,
    ),
    Example(
        "in a try",
        before="""\
import torch


def fn(x):
    try:
        ⟦print("rows", len(x))⟧
        y = x.sin()
    except ValueError:
        return x
    return y
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    try:
        call_in_graph(lambda x_len: print("rows", x_len), len(x))
        y = x.sin()
    except ValueError:
        return x
    return y
""",
        run=_CALLS,
        gb_id="GB0059",
    ),
    Example(
        "a tensor of integers",
        before="""\
import torch


def fn(x):
    order = x.argsort()
    ⟦print("order", order)⟧
    return x[order] + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    order = x.argsort()
    call_in_graph(lambda order: print("order", order), order)
    return x[order] + 1
""",
        run=_CALLS,
        gb_id="GB0059",
        seen=(("order", "int64 4"),),
    ),
)

_REFUSED = """\
import contextlib
import io
import logging
import warnings

import torch

logger = logging.getLogger(__name__)


def fn(x, given):
    y = x.sin()
    ⟦MESSAGE⟧
    return y + 1
"""


def _refusal(title: str, message: str, reason: str, gb_id: str = "GB0059") -> Refusal:
    return Refusal(title, _REFUSED.replace("⟦MESSAGE⟧", message), reason, gb_id=gb_id)


REFUSALS: tuple[Refusal, ...] = (
    _refusal("a tensor", '⟦print("y", y)⟧', "its text tells of its gradient"),
    _refusal("a tensor in a text", '⟦print(f"{y}")⟧', "its text tells of its gradient"),
    _refusal("a tensor by a format", '⟦logger.info("%s" % y)⟧', "its text tells of its gradient", "GB0291"),
    _refusal("what it is given", '⟦print("y", given)⟧', "is not known to be a number, a text or a size"),
    _refusal("a stream that it is given", '⟦print("y", file=given)⟧', "is not known to be a number, a text or a size"),
    _refusal("an exception", '⟦logger.exception("y")⟧', "the stack of its moment", "GB0291"),
    _refusal(
        "a stream that is redirected",
        "with contextlib.redirect_stdout(io.StringIO()):\n        ⟦print(y.shape)⟧",
        "The text belongs to",
    ),
    _refusal("the line of a caller", '⟦warnings.warn("y", stacklevel=2)⟧', "stacklevel", "GB0007"),
    _refusal("arguments that are not written out", "⟦print(*y.shape)⟧", "passes values that the source does not show"),
    Refusal(
        "a tensor that a function shows",
        """\
import os

import torch


def print_rank_0(*values, sep=" "):
    if int(os.environ.get("RANK", 0)) == 0:
        ⟦print(*values, sep=sep, flush=True)⟧


def fn(x):
    y = x.sin()
    print_rank_0("values", y)
    return y + 1
""",
        "its text tells of its gradient",
        outermost="fn",
        gb_id="GB0059",
    ),
    Refusal(
        "a function that says something in a branch that does more",
        """\
import warnings

import torch


def say_so(*args):
    ⟦warnings.warn(*args)⟧


def fn(x):
    y = x.sin()
    if y.sum() < 0:
        say_so("negative")
        y = y + 1
    return y
""",
        "The call stands under `if y.sum() < 0:`",
        outermost="fn",
        gb_id="GB0007",
    ),
    Refusal(
        "a list that is read when the operator runs",
        """\
import torch

SEEN = []


def fn(x):
    SEEN.append(len(x))
    ⟦print("seen", SEEN)⟧
    return x
""",
        "when it runs, and this function changes it later",
        gb_id="GB0059",
    ),
    Refusal(
        "a function that is mapped",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦print(y.shape)⟧
    return y + 1


mapped = torch.func.vmap(fn)
""",
        "no operator of the graph says anything",
        gb_id="GB0059",
    ),
)
