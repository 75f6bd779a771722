"""The examples and refusals of the rule `guard`: its tests and its pages of the manual."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES = (
    Example(
        "a check of the compiled function",
        """\
import torch


def f(x):
    ⟦if torch.isnan(x.log()).any():
        raise ValueError("nan found")⟧
    return x + 1
""",
        """\
import torch

from graphmend_support import check


def f(x):
    check(~torch.isnan(x.log()).any(), ValueError, "nan found")
    return x + 1
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "a message that is made of values, in front of random numbers",
        before="""\
import torch


def f(x, p=0.0):
    ⟦if torch.isnan(x.log()).any():
        raise ValueError(f"nan in batch of {x.shape[0]}")⟧
    return torch.nn.functional.dropout(x, p)
""",
        after="""\
import torch

from graphmend_support import check


def f(x, p=0.0):
    check(
        ~torch.isnan(x.log()).any(),
        lambda size: ValueError(f"nan in batch of {size}"),
        x.shape[0],
    )
    return torch.nn.functional.dropout(x, p)
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
    ),
    Example(
        "the message is computed when the check fails",
        """\
import torch


def f(x):
    y = x * 2
    if ⟦(y < 0).any()⟧:
        raise ValueError(f"negative: {y.min().item()} in {y.shape}")
    y = y + 1  # go on
    return y.sqrt()
""",
        """\
import torch

from graphmend_support import check


def f(x):
    y = x * 2
    check(
        ~(y < 0).any(),
        lambda y: ValueError(f"negative: {y.min().item()} in {y.shape}"),
        y,
    )
    y = y + 1  # go on
    return y.sqrt()
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "a value read from a tensor",
        """\
import torch


def f(x):
    if ⟦x.min().item()⟧ < 0:
        raise ValueError("negative")
    return x.sqrt()
""",
        """\
import torch

from graphmend_support import check


def f(x):
    check(~(x.min() < 0), ValueError, "negative")
    return x.sqrt()
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0124",
    ),
    Example(
        "two tensors that must be equal",
        """\
import torch


def f(x):
    y = x.abs()
    if not ⟦torch.equal(x, y)⟧:
        raise KeyError(f"{y.shape} differ")
    x = x + 1
    return x * y
""",
        """\
import torch

from graphmend_support import check


def f(x):
    y = x.abs()
    if x.shape != y.shape:
        raise KeyError(f"{y.shape} differ")
    check((x == y).all(), lambda shape: KeyError(f"{shape} differ"), y.shape)
    x = x + 1
    return x * y
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0033",
    ),
    Example(
        "several checks keep their order",
        """\
import torch


def f(x):
    ⟦if (x < -5).any():
        raise ValueError(f"far too small {x}")⟧
    y = x.exp()
    assert (y > 0).all(), f"never {y.shape}"
    return y + x
""",
        """\
import torch


def f(x):
    failed = (x < -5).any()
    y = x.exp()
    holds = (y > 0).all()
    result = y + x
    if failed:
        raise ValueError(f"far too small {x}")
    assert holds, f"never {y.shape}"
    return result
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "a check under a setting",
        """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.strict = True

    def forward(self, x):
        if self.strict and ⟦torch.isinf(x.log()).any()⟧:
            raise ValueError("infinite", x)
        return x + 1
""",
        """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.strict = True

    def forward(self, x):
        failed = self.strict and torch.isinf(x.log()).any()
        result = x + 1
        if failed:
            raise ValueError("infinite", x)
        return result
""",
        run="fn = Net()\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "two conditions",
        """\
import torch


def f(x):
    ⟦if torch.isinf(x.log()).any() or torch.isnan(x.log()).any():
        raise ValueError(f"bad values of {x}")⟧
    y = x + 1
    return y.sum()
""",
        """\
import torch


def f(x):
    isinf_any = torch.isinf(x.log()).any()
    isnan_any = torch.isnan(x.log()).any()
    y = x + 1
    result = y.sum()
    if isinf_any or isnan_any:
        raise ValueError(f"bad values of {x}")
    return result
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "nested conditions",
        """\
import torch


def f(x):
    if x.dim() == 1:
        ⟦if (x < 0).any():
            raise ValueError(f"negative in {x}")⟧
    return x.sqrt()
""",
        """\
import torch


def f(x):
    condition = x.dim() == 1
    result = x.sqrt()
    if condition:
        if (x < 0).any():
            raise ValueError(f"negative in {x}")
    return result
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "an assert whose message is computed",
        """\
import torch


def f(x):
    assert ⟦(x > 0).all()⟧, f"must be positive, {x.shape}"
    return x.log()
""",
        """\
import torch

from graphmend_support import check


def f(x):
    # `check` raises, in a graph, too; what it gives is True.
    assert check(
        (x > 0).all(),
        lambda shape: AssertionError(f"must be positive, {shape}"),
        x.shape,
    )
    return x.log()
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "an assert that reads a tensor's value",
        """\
import torch


def f(x):
    assert ⟦x.sum().item() > 0⟧
    return x.log()
""",
        """\
import torch

from graphmend_support import check


def f(x):
    # `check` raises, in a graph, too; what it gives is True.
    assert check(x.sum() > 0, AssertionError)
    return x.log()
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0124",
    ),
    Example(
        "an assert that compares tensors",
        """\
import torch


def f(x):
    ⟦assert torch.allclose(x, x.abs()), f"negative in {x}"⟧
    return x.sqrt()
""",
        """\
import torch


def f(x):
    x_abs = x.abs()
    result = x.sqrt()
    assert torch.allclose(x, x_abs), f"negative in {x}"
    return result
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.ones(4) * 2,)]",
        outermost=None,
        gb_id="GB0033",
    ),
    Example(
        "a check of a function that is inlined",
        """\
import torch


def check(x, low):
    ⟦if (x < low).any():
        raise ValueError("too small")⟧
    return x


def f(x):
    return check(x * 2, -3) + 1
""",
        """\
import torch

from graphmend_support import check as graphmend_check


def check(x, low):
    graphmend_check(~(x < low).any(), ValueError, "too small")
    return x


def f(x):
    return check(x * 2, -3) + 1
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="f",
        gb_id="GB0170",
    ),
    Example(
        "tensors that must be equal, in a function that is inlined",
        """\
import torch


def check(x, mask):
    if mask is not None and not ⟦torch.equal(x, mask)⟧:
        raise ValueError("only a full mask is supported")
    return x


def f(x):
    return check(x, x.abs()) + 1
""",
        """\
import torch

from graphmend_support import check as graphmend_check


def check(x, mask):
    if mask is not None:
        if x.shape != mask.shape:
            raise ValueError("only a full mask is supported")
        graphmend_check((x == mask).all(), ValueError, "only a full mask is supported")
    return x


def f(x):
    return check(x, x.abs()) + 1
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="f",
        gb_id="GB0033",
    ),
    Example(
        "an assert in a loop of a module that is inlined",
        """\
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x * 2
            assert ⟦torch.isfinite(x).all().item()⟧, "overflow"
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x.sin()) + 1
""",
        """\
import torch

from graphmend_support import check


class Block(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x * 2
            # `check` raises, in a graph, too; what it gives is True.
            assert check(torch.isfinite(x).all(), AssertionError, "overflow")
        return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x.sin()) + 1
""",
        run="fn = Net()\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="Net.forward",
        gb_id="GB0124",
    ),
    Example(
        "an elif of an inlined function",
        before="""\
import torch


def check(x, n):
    if n == 3:
        x = x + 1
    elif ⟦(x < 0).any()⟧:
        raise ValueError("negative")
    return x


def f(x):
    return check(x, 2) + 1
""",
        after="""\
import torch

from graphmend_support import check as graphmend_check


def check(x, n):
    if n == 3:
        x = x + 1
    else:
        graphmend_check(~(x < 0).any(), ValueError, "negative")
    return x


def f(x):
    return check(x, 2) + 1
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="f",
    ),
    Example(
        "several tensor conditions, joined",
        before="""\
import torch


def check(x):
    if ⟦(x < 0).any()⟧ and (x > 1).any():
        raise ValueError("mixed")
    return x


def f(x):
    return check(x) + 1
""",
        after="""\
import torch

from graphmend_support import check as graphmend_check


def check(x):
    graphmend_check(~((x < 0).any() & (x > 1).any()), ValueError, "mixed")
    return x


def f(x):
    return check(x) + 1
""",
        run="fn = f\ncalls = [(torch.tensor([0.9, -0.1]),), (torch.zeros(2),)]",
        outermost="f",
    ),
    Example(
        "a message that is computed",
        before="""\
import torch


def check(x):
    if ⟦x.min() < 0⟧:
        raise ValueError("negative in {}: ".format(x.shape) + "give positive values")
    return x


def f(x):
    return check(x) + 1
""",
        after="""\
import torch

from graphmend_support import check as graphmend_check


def check(x):
    graphmend_check(
        ~(x.min() < 0),
        lambda shape: ValueError(
            "negative in {}: ".format(shape) + "give positive values"
        ),
        x.shape,
    )
    return x


def f(x):
    return check(x) + 1
""",
        run="fn = f\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="f",
    ),
    Example(
        "a check of a module that another call has in a `try`",
        """\
import torch
from torch import nn


class Check(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        if ⟦torch.isnan(x).any()⟧:
            raise ValueError(self.name)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Check("a")

    def forward(self, x, skip_bad=False):
        if not skip_bad:
            return self.gate(x.sin())
        try:
            return self.gate(x.sin())
        except ValueError:
            return torch.zeros_like(x)
""",
        """\
import torch
from torch import nn

from graphmend_support import check


class Check(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        check(~torch.isnan(x).any(), lambda name: ValueError(name), self.name)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Check("a")

    def forward(self, x, skip_bad=False):
        if not skip_bad:
            return self.gate(x.sin())
        try:
            return self.gate(x.sin())
        except ValueError:
            return torch.zeros_like(x)
""",
        run="fn = Net()\ncalls = [(torch.ones(4),), (torch.zeros(4),)]",
        outermost="forward",
    ),
    Example(
        "an assertion that a list holds something",
        """\
import torch


def product(parts):
    assert ⟦parts⟧, "no parts"
    return parts[0] * parts[1]


def f(x, n):
    y = x.sin()
    return product([y, y + 1] if n > 0 else []) + 1
""",
        """\
import torch


def product(parts):
    assert bool(parts), "no parts"
    return parts[0] * parts[1]


def f(x, n):
    y = x.sin()
    return product([y, y + 1] if n > 0 else []) + 1
""",
        run="fn = f\ncalls = [(torch.arange(4.0), 2), (torch.ones(4), 2)]",
        outermost="f",
        gb_id="GB0112",
    ),
)

REFUSALS = (
    Refusal(
        "sizes compared as lists, with a tensor among them",
        """\
import torch


def fn(x, counts):
    assert ⟦list(x.size()) == [2, counts.max()]⟧, f"{x.size()}"
    return x + 1
""",
        "Python compares `list(x.size())` as a list",
        gb_id="GB6622",
    ),
    Refusal(
        "a check that stands at the end",
        """\
import torch


def f(x):
    y = x.sqrt()
    ⟦if torch.isnan(y).any():
        raise ValueError("nan")⟧
    return y
""",
        "already stands at the end",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "an assert that is in the graph already",
        """\
import torch


def f(x):
    ⟦assert (x > 0).all(), "positive"⟧
    return x.log()
""",
        "already is in the graph",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "an exception that is caught",
        """\
import torch


def f(x):
    try:
        ⟦if torch.isnan(x).any():
            raise ValueError("nan")⟧
    except ValueError:
        x = torch.zeros_like(x)
    return x + 1
""",
        "may catch",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "state is written behind the check",
        """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if ⟦(x < 0).any()⟧:
            raise ValueError("negative", x)
        self.last = x
        return x + 1
""",
        "writes `self.last`",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "an argument changes behind the check",
        """\
import torch


def f(x):
    if ⟦(x < 0).any()⟧:
        raise ValueError("negative", x)
    x.add_(1)
    return x + 1
""",
        "is changed in place",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "something is said behind the check",
        """\
import torch


def f(x):
    if ⟦(x < 0).any()⟧:
        raise ValueError("negative", x)
    print("fine")
    return x + 1
""",
        "says something",
        outermost=None,
        gb_id="GB0170",
    ),
    Refusal(
        "an exception from another one, inlined",
        """\
import torch


def check(x, error):
    if ⟦(x < 0).any()⟧:
        raise ValueError("negative") from error
    return x


def f(x, error=None):
    return check(x, error) + 1
""",
        "raised `from`",
        outermost="f",
        gb_id="GB0170",
    ),
    Refusal(
        "an exception of several arguments, inlined",
        """\
import torch


def check(x):
    if ⟦(x < 0).any()⟧:
        raise ValueError("negative", x)
    return x


def f(x):
    return check(x) + 1
""",
        "carries exactly one message",
        outermost="f",
        gb_id="GB0170",
    ),
    Refusal(
        "a message that is computed, inlined",
        """\
import torch


def check(x, text):
    if ⟦(x < 0).any()⟧:
        raise ValueError(text)
    return x


def f(x):
    return check(x, "a") + 1
""",
        "not known before the run",
        outermost="f",
        gb_id="GB0170",
    ),
    Refusal(
        "Python arithmetic on a tensor's value",
        """\
import torch


def check(x):
    if ⟦x.sum().item()⟧ * 2 < 0:
        raise ValueError("negative")
    return x


def f(x):
    return check(x) + 1
""",
        "computes with a tensor's value in Python",
        outermost="f",
        gb_id="GB0124",
    ),
)
