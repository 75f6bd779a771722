"""More examples and refusals of the rule `guard`: several conditions, lists of values, checks in constructors."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_RANGE = """\
from decimal import InvalidOperation

import torch


def inside(x, low=0.0, high=1.0):
    if ⟦torch.min(x) < low⟧ or torch.max(x) > high:
        raise InvalidOperation()
    return x.log()


def fn(x):
    return inside(x, 0.0, 100.0) + 1
"""
_NUMBERS = (("low", "float"), ("high", "float"))
_MADE = """\
import torch
from torch.distributions import Distribution
from torch.distributions.utils import broadcast_all


class Between(Distribution):
    def __init__(self, low, high):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=False)
        if self.low.dtype != self.high.dtype:
            raise ValueError("another dtype")
        if any(⟦(self.low >= self.high).view(-1).tolist()⟧):
            raise ValueError("empty")
        self.width = self.high - self.low


def fn(x):
    return Between(x, x.abs() + 1).width
"""

_KEPT = _MADE.replace('ValueError("empty")', 'ValueError("empty", 1)')

_TORCH = """\
import torch


def positive(x):
    ⟦torch._check_tensor_all(x > 0)⟧
    return x.log()


def fn(x):
    return positive(x) * 2
"""
_MENDED = _TORCH.replace("⟦torch._check_tensor_all(x > 0)⟧", "check_tensor_all(x > 0)").replace(
    "import torch\n", "import torch\n\nfrom graphmend_support import check_tensor_all\n"
)
_TORCH_SAYS = _TORCH.replace(
    "torch._check_tensor_all(x > 0)",
    'torch._check_tensor_all_with(ValueError, x > 0, lambda: f"{x.shape[0]} rows, not all positive")',
)

MORE_EXAMPLES = (
    Example(
        "what it says before it raises",
        before="""\
import torch


def fn(x):
    y = x.log()
    if ⟦torch.isnan(y).any()⟧:
        print(f"NaN for numbers from {x.min().item():.1f}")
        raise ValueError("negative numbers")
    return y * 2
""",
        after="""\
import torch

from graphmend_support import check


def fn(x):
    y = x.log()
    check(
        ~torch.isnan(y).any(),
        lambda x: (
            print(f"NaN for numbers from {x.min().item():.1f}"),
            ValueError("negative numbers"),
        )[-1],
        x,
    )
    return y * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.arange(1.0, 4.0),), (torch.ones(3),)]",
    ),
    Example(
        "a program that ends itself",
        before="""\
import sys

import torch


def fn(x):
    loss = x.sum()
    if not ⟦torch.isfinite(loss)⟧:
        print("Loss is {}, stopping training".format(loss.item()))
        sys.exit(1)
    return loss * 2
""",
        after="""\
import sys

import torch

from graphmend_support import check


def fn(x):
    loss = x.sum()
    check(
        torch.isfinite(loss),
        lambda loss: (
            print("Loss is {}, stopping training".format(loss.item())),
            SystemExit(1),
        )[-1],
        loss,
    )
    return loss * 2
""",
        run="fn = fn\nimport torch\ncalls = [(torch.ones(3),), (torch.zeros(2),)]",
    ),
    Example(
        "what torch checks of a tensor",
        _TORCH,
        _MENDED,
        run="calls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost="fn",
    ),
    Example(
        "what torch checks, with an exception and a message",
        _TORCH_SAYS,
        _MENDED.replace("import check_tensor_all", "import check").replace(
            "check_tensor_all(x > 0)",
            """\
check(
        (x > 0)._is_all_true(),
        lambda size: ValueError(f"{size} rows, not all positive"),
        x.shape[0],
    )""",
        ),
        run="calls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost="fn",
    ),
    Example(
        "two limits, and an exception of another module",
        _RANGE,
        """\
from decimal import InvalidOperation

import torch

from graphmend_support import check


def inside(x, low=0.0, high=1.0):
    check(~(torch.min(x) < low), InvalidOperation)
    check(~(torch.max(x) > high), InvalidOperation)
    return x.log()


def fn(x):
    return inside(x, 0.0, 100.0) + 1
""",
        run="calls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost="fn",
        seen=_NUMBERS,
    ),
    Example(
        "a list of truths in a constructor",
        _MADE,
        _MADE.replace("⟦", "")
        .replace("⟧", "")
        .replace(
            "import broadcast_all\n",
            "import broadcast_all\n\nfrom graphmend_support import check\n",
        )
        .replace(
            """\
        if any((self.low >= self.high).view(-1).tolist()):
            raise ValueError("empty")
""",
            """\
        check(~(self.low >= self.high).view(-1).any(), ValueError, "empty")
""",
        ),
        run="calls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost="fn",
        gb_id="GB0109",
    ),
)
MORE_REFUSALS = (
    Refusal(
        "what it says shows a tensor",
        """\
import torch


def fn(x):
    y = x.log()
    if ⟦torch.isnan(y).any()⟧:
        print("NaN in", y)
        raise ValueError("negative numbers")
    return y * 2
""",
        "its text tells of its gradient",
    ),
    Refusal(
        "what it says in one of two cases",
        """\
import sys

import torch


def fn(x):
    y = x.log()
    if ⟦torch.isnan(y).any()⟧ or torch.isinf(y).any():
        print("no number")
        sys.exit()
    return y * 2
""",
        "write an `if` for each",
    ),
    Refusal(
        "what torch checks, with a message from elsewhere",
        _TORCH.replace("x > 0)", "x > 0, message)").replace(
            "def positive", "def message():\n    return str(__name__)\n\n\ndef positive"
        ),
        "`message` makes its message; write a lambda that gives one text.",
    ),
    Refusal(
        "what torch checks, where its exception is caught",
        _TORCH.replace(
            "    ⟦torch._check_tensor_all(x > 0)⟧\n",
            "    try:\n        ⟦torch._check_tensor_all(x > 0)⟧\n    except RuntimeError:\n        return x\n",
        ),
        "The check stands in a `try` that may catch its exception",
    ),
    Refusal(
        "a second condition of another tensor",
        _RANGE.replace("torch.max(x) > high", "torch.max(low) > high"),
        "may do more than ask",
        outermost="fn",
        seen=(("high", "float"),),
    ),
    Refusal(
        "a limit that no run saw",
        _RANGE,
        "use other values than the first",
        outermost="fn",
    ),
    Refusal(
        "a list of lists, whose truth is another",
        _MADE.replace(".view(-1)", ""),
        "computes with a tensor's value in Python",
        outermost="fn",
        gb_id="GB0109",
    ),
    Refusal(
        "a constructor that stores in another object",
        _KEPT.replace("        super()", "        low.owner = self\n        super()"),
        "stores a value before the check",
        outermost="fn",
        gb_id="GB0109",
    ),
    Refusal(
        "a constructor of a class that may keep its objects",
        _KEPT.replace("Between(Distribution)", "Between(Kept)")
        .replace("import Distribution", "import Distribution as Kept")
        .replace("from torch.distributions import", "from things import"),
        "stores a value before the check",
        outermost="fn",
        gb_id="GB0109",
    ),
)
