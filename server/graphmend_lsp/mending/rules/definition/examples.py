"""What the definition rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a class of options",
        before="""\
import torch


def fn(x):
    y = x.sin()

    ⟦class Options:
        scale = 2  # twice
        names = ("a", "b")⟧

    return y * Options.scale + len(Options.names)
""",
        after="""\
import torch


class Options:
    scale = 2  # twice
    names = ("a", "b")


def fn(x):
    y = x.sin()

    return y * Options.scale + len(Options.names)
""",
        run=_X,
        gb_id="GB8977",
    ),
    Example(
        "a class of functions",
        before="""\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        ⟦class Steps:
            def double(value):
                return value * 2

            @staticmethod
            def shift(value, by=1):
                return torch.add(value, by)⟧

        return Steps.shift(Steps.double(x))


fn = Net()
""",
        after="""\
import torch


class Steps:
    def double(value):
        return value * 2

    @staticmethod
    def shift(value, by=1):
        return torch.add(value, by)


class Net(torch.nn.Module):
    def forward(self, x):
        return Steps.shift(Steps.double(x))


fn = Net()
""",
        run=_X,
        gb_id="GB8977",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "what the call brings",
        """\
import torch


def fn(x, n):
    ⟦class Options:
        scale = n⟧

    return x * Options.scale
""",
        "may be something else in each call",
        gb_id="GB8977",
    ),
    Refusal(
        "a list that may be changed",
        """\
import torch


def fn(x):
    ⟦class Options:
        sizes = [1]⟧

    return x * Options.sizes[0]
""",
        "may be something else in each call",
        gb_id="GB8977",
    ),
    Refusal(
        "a function of what is around it",
        """\
import torch


def fn(x, n):
    ⟦class Steps:
        def shift(value):
            return value + n⟧

    return Steps.shift(x)
""",
        "may be something else in each call",
        gb_id="GB8977",
    ),
    Refusal(
        "an object of the class",
        """\
import torch


def fn(x):
    ⟦class Options:
        scale = 2⟧

    options = Options()
    return x * options.scale
""",
        "`Options()` uses more of `Options`",
        gb_id="GB8977",
    ),
    Refusal(
        "an attribute that is set",
        """\
import torch


def fn(x):
    ⟦class Options:
        scale = 2⟧

    Options.scale = 3
    return x * Options.scale
""",
        "uses more of `Options`",
        gb_id="GB8977",
    ),
    Refusal(
        "the class itself",
        """\
import torch


def fn(x, seen):
    ⟦class Options:
        scale = 2⟧

    seen.append(Options)
    return x * Options.scale
""",
        "uses more of `Options`",
        gb_id="GB8977",
    ),
    Refusal(
        "what Python gives a class",
        """\
import torch


def fn(x):
    ⟦class Options:
        scale = 2⟧

    return x * len(Options.__qualname__)
""",
        "uses more of `Options`",
        gb_id="GB8977",
    ),
    Refusal(
        "a base class",
        """\
import torch


def fn(x):
    ⟦class Scaled(torch.nn.Module):
        scale = 2⟧

    return x * Scaled.scale
""",
        "has a base class",
        gb_id="GB8977",
    ),
    Refusal(
        "a decorator",
        """\
import torch


def fn(x, keep):
    @keep
    ⟦class Options:
        scale = 2⟧

    return x * Options.scale
""",
        "has a decorator",
        gb_id="GB8977",
    ),
    Refusal(
        "a name of the file",
        """\
import torch


Options = 3


def fn(x):
    ⟦class Options:
        scale = 2⟧

    return x * Options.scale
""",
        "is a name of the file already",
        gb_id="GB8977",
    ),
    Refusal(
        "a class on one side",
        """\
import torch


def fn(x, flag):
    if flag:
        ⟦class Options:
            scale = 2⟧

        x = x * Options.scale
    return x
""",
        "stands inside another statement",
        gb_id="GB8977",
    ),
    Refusal(
        "a class that is bound again",
        """\
import torch


def fn(x):
    ⟦class Options:
        scale = 2⟧

    for Options in range(2):
        x = x + 1
    return x
""",
        "uses more of `Options`",
        gb_id="GB8977",
    ),
    Refusal(
        "a function that is handed on",
        """\
import torch


def fn(x, apply):
    ⟦class Steps:
        def double(value):
            return value * 2⟧

    return apply(Steps.double, x)
""",
        "hands on a function",
        gb_id="GB8977",
    ),
    Refusal(
        "names that are read as text",
        """\
import torch


def fn(x):
    ⟦class Options:
        scale = 2⟧

    return x * locals()['Options'].scale
""",
        "may read every name",
        gb_id="GB8977",
    ),
    Refusal(
        "a special name",
        """\
import torch


def fn(x):
    ⟦class Options:
        __slots__ = ()⟧

    return x * len(Options.__slots__)
""",
        "has a meaning of its own",
        gb_id="GB8977",
    ),
)
