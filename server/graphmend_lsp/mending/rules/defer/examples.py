"""The examples and refusals of the rule `defer`: its tests and its pages of the manual."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES = (
    Example(
        "a print in the compiled function",
        """\
import torch


def f(x):
    y = x.sin()
    ⟦print("y", y, y.shape)⟧
    return y + 1
""",
        """\
import torch


def f(x):
    y = x.sin()
    result = y + 1
    print("y", y, y.shape)
    return result
""",
        run="fn = f\ncalls = [(torch.arange(4.0, requires_grad=True),), (torch.arange(4.0) - 2,)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "a setting that is changed in between, read where it stands",
        before="""\
import torch
from torch import nn

SETTINGS = {"scale": 2.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {"large": 0}

    def note(self, x):
        SETTINGS["scale"] *= 1.5
        if x.shape[0] > 16:
            self.seen["large"] += 1
        return x.relu()

    def forward(self, x):
        h = x * 2
        ⟦print(f"scale {SETTINGS['scale']}")⟧
        h = self.note(h)
        return h * 3
""",
        after="""\
import torch
from torch import nn

SETTINGS = {"scale": 2.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {"large": 0}

    def note(self, x):
        SETTINGS["scale"] *= 1.5
        if x.shape[0] > 16:
            self.seen["large"] += 1
        return x.relu()

    def forward(self, x):
        h = x * 2
        scale = SETTINGS["scale"]
        h = self.note(h)
        result = h * 3
        print(f"scale {scale}")
        return result
""",
        gb_id="GB0291",
    ),
    Example(
        "a container that a method may change in between",
        before="""\
import torch
from torch import nn

SETTINGS = {"scale": 2.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {"large": 0}

    def note(self, x):
        SETTINGS["scale"] *= 1.5
        if x.shape[0] > 16:
            self.seen["large"] += 1
        return x.relu()

    def forward(self, x):
        h = x * 2
        ⟦print("seen", self.seen)⟧
        h = self.note(h)
        return h * 3
""",
        after="""\
import torch
from torch import nn

SETTINGS = {"scale": 2.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {"large": 0}

    def note(self, x):
        SETTINGS["scale"] *= 1.5
        if x.shape[0] > 16:
            self.seen["large"] += 1
        return x.relu()

    def forward(self, x):
        h = x * 2
        seen = self.seen
        h = self.note(h)
        result = h * 3
        print("seen", seen)
        return result
""",
        gb_id="GB0291",
        assumes=("late-reading",),
    ),
    Example(
        "a text for a stream of the program's own",
        before="""\
import torch


def fn(x, log):
    h = x * 2
    ⟦print("input", file=log)⟧
    h = torch.relu(h)
    return h * 3
""",
        after="""\
import torch


def fn(x, log):
    h = x * 2
    h = torch.relu(h)
    result = h * 3
    print("input", file=log)
    return result
""",
        gb_id="GB0291",
        assumes=("message-order",),
    ),
    Example(
        "a name that gets another value later",
        """\
import torch


def f(x):
    y = x.sin()
    ⟦print("before", y)⟧  # what came in
    y = y.exp()
    return y * 2, y
""",
        """\
import torch


def f(x):
    y = x.sin()
    y_then = y  # what came in
    y = y.exp()
    result = y * 2, y
    print("before", y_then)
    return result
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "a value that changes in place later",
        """\
import torch


def f(x):
    y = x.sin()
    ⟦print("y", y)⟧
    y.add_(1)
    return y.cos()
""",
        """\
import torch


def f(x):
    y = x.sin()
    y_then = y.clone()
    y.add_(1)
    result = y.cos()
    print("y", y_then)
    return result
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "a text that reads a tensor's value",
        """\
import torch


def f(x, scale: int = 2):
    y = x.sin()
    ⟦print(f"mean {y.mean().item():.3f} times {scale}")⟧
    # the real work
    return (
        y
        * scale
    )  # scaled
""",
        """\
import torch


def f(x, scale: int = 2):
    y = x.sin()
    mean = y.mean()
    # the real work
    result = (
        y
        * scale
    )
    print(f"mean {mean.item():.3f} times {scale}")
    return result  # scaled
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "several texts keep their order",
        """\
import logging
import sys

import torch

logger = logging.getLogger(__name__)


def f(x):
    ⟦logger.info("in %s", x.shape)⟧
    y = x.sin()
    sys.stdout.write("half\\n")
    y = y + 1
    logger.warning("out %s", y)
    return y.cos()
""",
        """\
import logging
import sys

import torch

logger = logging.getLogger(__name__)


def f(x):
    y = x.sin()
    y = y + 1
    result = y.cos()
    logger.info("in %s", x.shape)
    sys.stdout.write("half\\n")
    logger.warning("out %s", y)
    return result
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0291",
    ),
    Example(
        "a text under a setting",
        """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.verbose = True
        self.step = 0

    def forward(self, x):
        self.step += 1
        y = x.sin()
        if self.verbose:
            ⟦print("y", y)⟧
        return y + self.step
""",
        """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.verbose = True
        self.step = 0

    def forward(self, x):
        self.step += 1
        y = x.sin()
        verbose = self.verbose
        result = y + self.step
        if verbose:
            print("y", y)
        return result
""",
        run="fn = Net()\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "a text under a condition on a tensor",
        """\
import torch


def f(x):
    if ⟦x.sum() > 0⟧:
        print("positive")
    return x.sin()
""",
        """\
import torch


def f(x):
    condition = x.sum() > 0
    result = x.sin()
    if condition:
        print("positive")
    return result
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0170",
    ),
    Example(
        "a text in a loop",
        """\
import torch


def f(x):
    for i in range(3):
        x = x + i
        ⟦print("round", i, x.sum().item())⟧
    return x
""",
        """\
import torch

from graphmend_support import defer, runs_deferred


@runs_deferred
def f(x):
    for i in range(3):
        x = x + i
        # Runs after the compiled function: it would break the graph.
        defer(lambda i=i, x_sum=x.sum(): print("round", i, x_sum.item()))
    return x
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB7000",
    ),
    Example(
        "a text under a condition on a tensor, in a loop",
        """\
import torch


def f(x):
    for i in range(3):
        x = x + i
        if ⟦x.min() < 0⟧:
            print("negative in round", i)
    return x.exp()
""",
        """\
import torch

from graphmend_support import defer, runs_deferred


@runs_deferred
def f(x):
    for i in range(3):
        x = x + i
        # Runs after the compiled function: it would break the graph.
        defer(
            lambda condition=x.min() < 0, i=i: (
                print("negative in round", i) if condition else None
            ),
        )
    return x.exp()
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB7000",
    ),
    Example(
        "a text in a try, with several returns",
        """\
import torch


def f(x):
    try:
        ⟦print("try", x)⟧
        y = x.sin()
    except ValueError:
        return x
    if x.shape[0] > 4:
        return y + 1
    return y
""",
        """\
import torch

from graphmend_support import defer, runs_deferred


@runs_deferred
def f(x):
    try:
        # Runs after the compiled function: it would break the graph.
        defer(lambda x=x: print("try", x))
        y = x.sin()
    except ValueError:
        return x
    if x.shape[0] > 4:
        return y + 1
    return y
""",
        run="fn = f\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0059",
    ),
    Example(
        "a text in a module that is inlined",
        """\
import torch


class Block(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        y = x.sin()
        ⟦print(f"{self.name}: {y.mean():.3f}", y)⟧
        return y + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block("first")
        self.second = Block("second")

    def forward(self, x):
        x = self.first(x)
        print("half", x)
        return self.second(x)
""",
        """\
import torch

from graphmend_support import defer, runs_deferred


class Block(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        y = x.sin()
        # Runs after the compiled function: it would break the graph.
        defer(
            lambda name=self.name, mean=y.mean(), y=y: print(f"{name}: {mean:.3f}", y)
        )
        return y + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block("first")
        self.second = Block("second")

    @runs_deferred
    def forward(self, x):
        x = self.first(x)
        defer(lambda x=x: print("half", x))
        return self.second(x)
""",
        run="fn = Net()\ncalls = [(torch.arange(4.0),), (torch.arange(4.0) - 2,), (torch.arange(4.0),)]",
        outermost="Net.forward",
        gb_id="GB0059",
        assumes=("message-order", "message-order"),
    ),
    Example(
        "a message that is logged once",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


class Net(torch.nn.Module):
    def forward(self, x, use_cache: bool = True):
        if use_cache:
            ⟦logger.warning_once(
                "`use_cache=True` is not used here. "
                "Setting `use_cache=False`..."  # as ever
            )⟧
        return x.sin()
""",
        """\
import logging

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_logger_warning_once = while_tracing(
    lambda *args, **kwargs: logger.warning_once(*args, **kwargs)
)

logger = logging.getLogger(__name__)


class Net(torch.nn.Module):
    def forward(self, x, use_cache: bool = True):
        if use_cache:
            _logger_warning_once(
                "`use_cache=True` is not used here. "
                "Setting `use_cache=False`..."  # as ever
            )
        return x.sin()
""",
        run=None,
        outermost=None,
        gb_id="GB0291",
    ),
    Example(
        "a message that is logged once, made of sizes",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


def pad(x, size: int):
    length = x.shape[0]
    missing = (size - length % size) % size
    if missing > 0:
        ⟦logger.warning_once(f"Padded from {length} to {length + missing}.")⟧
        x = torch.nn.functional.pad(x, (0, missing))
    return x


def f(x):
    return pad(x.sin(), 3) + 1
""",
        """\
import logging

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_logger_warning_once = while_tracing(
    lambda *args, **kwargs: logger.warning_once(*args, **kwargs)
)

logger = logging.getLogger(__name__)


def pad(x, size: int):
    length = x.shape[0]
    missing = (size - length % size) % size
    if missing > 0:
        _logger_warning_once(f"Padded from {length} to {length + missing}.")
        x = torch.nn.functional.pad(x, (0, missing))
    return x


def f(x):
    return pad(x.sin(), 3) + 1
""",
        run=None,
        outermost="f",
        gb_id="GB0291",
    ),
    Example(
        "a warning",
        """\
import warnings

import torch


def f(x):
    y = x.sin()
    ⟦warnings.warn("`f` will be removed", FutureWarning)⟧
    return y + 1
""",
        """\
import warnings

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_warnings_warn = while_tracing(lambda *args, **kwargs: warnings.warn(*args, **kwargs))


def f(x):
    y = x.sin()
    _warnings_warn("`f` will be removed", FutureWarning)
    return y + 1
""",
        run="fn = f\ncalls = [(torch.arange(4.0),)]",
        outermost=None,
        gb_id="GB0007",
        assumes=("warning-filters",),
    ),
    Example(
        "a message that is logged once, made of what an object holds",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


class Net(torch.nn.Module):
    @property
    def loss_function(self):
        loss_type = getattr(self, "loss_type", None)
        if loss_type not in ("mse", "l1"):
            ⟦logger.warning_once(f"`loss_type={loss_type}` is not known, `mse` is taken.")⟧
            loss_type = "mse"
        return getattr(torch.nn.functional, f"{loss_type}_loss")

    def forward(self, x, y):
        return self.loss_function(x.sin(), y)
""",
        """\
import logging

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_logger_warning_once = while_tracing(
    lambda *args, **kwargs: logger.warning_once(*args, **kwargs)
)

logger = logging.getLogger(__name__)


class Net(torch.nn.Module):
    @property
    def loss_function(self):
        loss_type = getattr(self, "loss_type", None)
        if loss_type not in ("mse", "l1"):
            _logger_warning_once(
                f"`loss_type={loss_type}` is not known, `mse` is taken."
            )
            loss_type = "mse"
        return getattr(torch.nn.functional, f"{loss_type}_loss")

    def forward(self, x, y):
        return self.loss_function(x.sin(), y)
""",
        run=None,
        outermost="forward",
        gb_id="GB0291",
    ),
    Example(
        "a warning in a loop, made of a count",
        """\
import warnings

import torch


def check(inputs):
    for index, one in enumerate(inputs):
        if not one.requires_grad:
            ⟦warnings.warn("Input %d asks for no gradient." % index)⟧


def f(x, y):
    z = x.sin()
    check((x, y))
    return z + y
""",
        """\
import warnings

import torch

from graphmend_support import while_tracing

# Called while TorchDynamo traces, not in the graph.
_warnings_warn = while_tracing(lambda *args, **kwargs: warnings.warn(*args, **kwargs))


def check(inputs):
    for index, one in enumerate(inputs):
        if not one.requires_grad:
            _warnings_warn("Input %d asks for no gradient." % index)


def f(x, y):
    z = x.sin()
    check((x, y))
    return z + y
""",
        run="fn = f\ncalls = [(torch.arange(4.0), torch.ones(4))]",
        outermost="f",
        gb_id="GB0007",
        assumes=("warning-filters",),
    ),
)

REFUSALS = (
    Refusal(
        "a warning about the caller's line",
        """\
import warnings

import torch


def old(x):
    for _ in range(2):
        ⟦warnings.warn("`old` will be removed", DeprecationWarning, stacklevel=2)⟧
        x = x * 2
    return x


def f(x):
    return old(x.sin()).cos()
""",
        "`stacklevel` names a caller's line",
        outermost="f",
        gb_id="GB0059",
    ),
    Refusal(
        "the text is at the end already",
        """\
import torch


def f(x):
    y = x.sin()
    ⟦print("y", y)⟧
    return y
""",
        "already stands at the end",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "the text is at the end of a function without a return",
        """\
import torch


def f(x):
    x.add_(1)
    ⟦print("done")⟧
""",
        "already stands at the end",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "the exception being handled",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


def f(x):
    try:
        y = x.sin()
    except ValueError:
        ⟦logger.exception("failed")⟧
        y = x
    return y + 1
""",
        "exception or the stack of its moment",
        outermost=None,
        gb_id="GB0291",
    ),
    Refusal(
        "a message with the stack",
        """\
import logging

import torch

log = logging.getLogger("x")


def f(x):
    ⟦log.info("here", stack_info=True)⟧
    return x.sin() + 1
""",
        "exception or the stack of its moment",
        outermost=None,
        gb_id="GB0291",
    ),
    Refusal(
        "a redirected stream",
        """\
import contextlib

import torch


def f(x, out):
    with contextlib.redirect_stdout(out):
        ⟦print("y", x)⟧
    return x.sin()
""",
        "is over at the end",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a file that is closed at the end",
        """\
import torch


def f(x, path):
    with open(path, "w") as out:
        ⟦print("y", x, file=out)⟧
    return x.sin()
""",
        "is over at the end",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a list that changes later",
        """\
import torch


def f(x):
    seen = [1]
    ⟦print("seen", seen)⟧
    seen.append(2)
    return x.sin() + len(seen)
""",
        "is changed after this place",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a value that needs a break of its own",
        """\
import torch


def scale(value):
    return value * 2


def f(x):
    ⟦print("scaled", scale(x.sum().item()))⟧
    return x.sin()
""",
        "reads a tensor's value before the end",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a generator",
        """\
import torch


def f(x):
    for i in range(3):
        ⟦print("round", i)⟧
        yield x + i
""",
        "generator or a coroutine",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a name bound in the text",
        """\
import torch


def f(x):
    ⟦print(f"{(n := x.sum().item())}")⟧
    return x * 2
""",
        "binds a name",
        outermost=None,
        gb_id="GB0059",
    ),
    Refusal(
        "a value that is read only on a condition",
        """\
import torch


def f(x, mask=None):
    ⟦print(mask.sum().item() if x.sum() > 0 else 0)⟧
    return x.sin()
""",
        "only under a condition",
        outermost=None,
        gb_id="GB0059",
    ),
)
