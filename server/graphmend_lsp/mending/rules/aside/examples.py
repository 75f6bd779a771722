"""What the aside rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CALLS = """\
import torch

calls = [(torch.arange(1.0, 5.0),), (torch.tensor([1.0, float("nan")]),), (torch.tensor([float("inf"), -1.0]),)]
"""
_LOGGED = """\
import logging

import torch

logger = logging.getLogger(__name__)


def fn(x):
    x = x.sin()
    if ⟦torch.isnan(x).any()⟧:
        logger.warning("NaN in x")
        x = torch.nan_to_num(x)
    return x * 2
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a warning about NaN",
        before=_LOGGED,
        after="""\
import logging

import torch

from graphmend_support import call_in_graph

logger = logging.getLogger(__name__)


def fn(x):
    x = x.sin()
    isnan_x_any = torch.isnan(x).any()
    call_in_graph(
        lambda isnan_any: logger.warning("NaN in x") if isnan_any else None, isnan_x_any
    )
    x = torch.where(isnan_x_any, torch.nan_to_num(x), x)
    return x * 2
""",
        assumes=("identity",),
        run=_CALLS,
    ),
    Example(
        "numbers, behind the values, with another side",
        before="""\
import torch


def fn(x):
    low = x.min()
    if ⟦low < 0⟧:
        y = x - low
        print("moved by", low.item())
        print("to zero")
    else:
        y = x * 2
    return y + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    low = x.min()
    condition = low < 0
    call_in_graph(
        lambda condition, low: print("moved by", low.item()) if condition else None,
        condition,
        low,
    )
    call_in_graph(lambda condition: print("to zero") if condition else None, condition)
    y = torch.where(condition, x - low, x * 2)
    return y + 1
""",
        run=_CALLS,
    ),
    Example(
        "several messages",
        before="""\
import torch


def fn(x):
    y = x.sin()
    if ⟦torch.isnan(y).any()⟧:
        print("NaN in y")
        print(f"of {x.numel()} numbers up to {x.max().item():.1f}")
    return y + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    y = x.sin()
    isnan_y_any = torch.isnan(y).any()
    call_in_graph(
        lambda isnan_any: print("NaN in y") if isnan_any else None, isnan_y_any
    )
    call_in_graph(
        lambda isnan_any, x: (
            print(f"of {x.numel()} numbers up to {x.max().item():.1f}")
            if isnan_any
            else None
        ),
        isnan_y_any,
        x,
    )
    return y + 1
""",
        run=_CALLS,
    ),
    Example(
        "a function of the program that warns",
        before="""\
import os
import warnings

import torch


def warn_first(text, category=UserWarning):
    if int(os.environ.get("RANK", 0)) == 0:
        warnings.warn(text, category, stacklevel=2)


def fn(x):
    scale = x.abs().max()
    if ⟦scale == 0⟧:
        warn_first("Nothing to scale.")
        scale = scale + 1
    return x / scale
""",
        after="""\
import os
import warnings

import torch

from graphmend_support import call_in_graph


def warn_first(text, category=UserWarning):
    if int(os.environ.get("RANK", 0)) == 0:
        warnings.warn(text, category, stacklevel=2)


def fn(x):
    scale = x.abs().max()
    condition = scale == 0
    call_in_graph(
        lambda condition: warn_first("Nothing to scale.") if condition else None,
        condition,
    )
    scale = torch.where(condition, scale + 1, scale)
    return x / scale
""",
        run=_CALLS.replace("calls = [", "calls = [(torch.zeros(4),), "),
        assumes=("warning-filters",),
    ),
    Example(
        "where something does not hold",
        before="""\
import torch


def fn(x):
    scale = x.abs().max()
    if not ⟦torch.isfinite(scale)⟧:
        print("no finite scale")
        scale = torch.ones_like(scale)
    return x / scale
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    scale = x.abs().max()
    isfinite_scale = torch.isfinite(scale)
    call_in_graph(
        lambda isfinite: print("no finite scale") if not isfinite else None,
        isfinite_scale,
    )
    scale = torch.where(~isfinite_scale, torch.ones_like(scale), scale)
    return x / scale
""",
        run=_CALLS,
    ),
    Example(
        "a condition that has a name",
        before="""\
import torch


def fn(x):
    empty = (x == 0).all()
    if ⟦empty⟧:
        print("nothing in", x.shape)
        x = x + 1
    return x * 2
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    empty = (x == 0).all()
    call_in_graph(
        lambda empty, shape: print("nothing in", shape) if empty else None,
        empty,
        x.shape,
    )
    x = torch.where(empty, x + 1, x)
    return x * 2
""",
        assumes=("identity",),
        run=_CALLS,
    ),
    Example(
        "both sides return",
        before="""\
import torch


def fn(x):
    x = x.sin()
    if ⟦torch.isnan(x).any()⟧:
        print("NaN")
        return x * 2
    return x * 2 + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    x = x.sin()
    isnan_x_any = torch.isnan(x).any()
    call_in_graph(lambda isnan_any: print("NaN") if isnan_any else None, isnan_x_any)
    return torch.where(isnan_x_any, x * 2, x * 2 + 1)
""",
        run=_CALLS,
    ),
    Example(
        "a condition whose words stand in the text, and again behind a change",
        before="""\
import torch


def fn(x):
    if ⟦x.max() > 3⟧:
        print("x.max() > 3 at", x.shape)
        x = x / 2
        y = x + (x.max() > 3)
    else:
        y = x
    return x + y
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    condition = x.max() > 3
    call_in_graph(
        lambda condition, shape: print("x.max() > 3 at", shape) if condition else None,
        condition,
        x.shape,
    )
    x = torch.where(condition, x / 2, x)
    y = torch.where(condition, x + (x.max() > 3), x)
    return x + y
""",
        assumes=("identity",),
        run=_CALLS,
    ),
    Example(
        "comments stay",
        before="""\
import torch


def fn(x):
    if ⟦x.max() > 3⟧:  # too much
        # tell it
        print("large")
        x = x / x.max()  # one at most
    return x + 1
""",
        after="""\
import torch

from graphmend_support import call_in_graph


def fn(x):
    condition = x.max() > 3
    call_in_graph(lambda condition: print("large") if condition else None, condition)
    # too much
    # tell it
    x = torch.where(condition, x / torch.where(condition, x.max(), 1), x)  # one at most
    return x + 1
""",
        assumes=("identity",),
        run=_CALLS,
    ),
)
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the message shows what the branch computes",
        _LOGGED.replace(
            '        logger.warning("NaN in x")\n        x = torch.nan_to_num(x)\n',
            '        x = torch.nan_to_num(x)\n        logger.warning("now %s", x.sum().item())\n',
        ),
        "reads `x`, which the branch changes before it",
    ),
    Refusal(
        "a text over several lines",
        _LOGGED.replace('"NaN in x"', '"""NaN\n\n        in x"""'),
        "over several lines",
    ),
    Refusal(
        "the message shows an attribute that the branch sets",
        """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if ⟦x.max() > 3⟧:
            self.top = x.max().detach()
            print("top", self.top.item())
        return x + 1
""",
        "reads `self`, which the branch changes before it",
    ),
    Refusal(
        "a caller's line",
        _LOGGED.replace('logger.warning("NaN in x")', 'logger.warning("NaN in x", stacklevel=2)'),
        "`stacklevel`",
    ),
    Refusal(
        "said once",
        _LOGGED.replace("logger.warning(", "logger.warning_once("),
        "appears only once",
    ),
    Refusal(
        "a condition that is computed twice",
        _LOGGED.replace("⟦torch.isnan(x).any()⟧", "⟦torch.rand(()) < 0.5 or torch.isnan(x).any()⟧"),
        "must not run without it",
    ),
)
