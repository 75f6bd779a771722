"""What the where rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ONE = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, 1.0]),),
]
"""
_TWO = """\
calls = [
    (torch.arange(1.0, 5.0), torch.ones(4)),
    (-torch.arange(1.0, 5.0), torch.ones(4)),
    (torch.ones(4), torch.ones(4)),
]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "both sides assign",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        y = x + 1
    else:
        y = x - 1
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y * 2
""",
        run=_ONE,
    ),
    Example(
        "an update without else",
        before="""\
import torch


def fn(x):
    y = x
    if ⟦x.sum() > 0⟧:
        y = x + 1
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = x
    y = torch.where(x.sum() > 0, x + 1, y)
    return y * 2
""",
        run=_ONE,
        assumes=("identity",),
    ),
    Example(
        "early return",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return x + 1
    return x - 1
""",
        after="""\
import torch


def fn(x):
    return torch.where(x.sum() > 0, x + 1, x - 1)
""",
        run=_ONE,
    ),
    Example(
        "early return before other statements",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return x * 2
    y = x + 1
    return y * y
""",
        after="""\
import torch


def fn(x):
    condition = x.sum() > 0
    early = x * 2
    y = x + 1
    return torch.where(condition, early, y * y)
""",
        run=_ONE,
    ),
    Example(
        "conditional expression",
        before="""\
import torch


def fn(x):
    y = x + 1 if ⟦x.sum() > 0⟧ else x - 1
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y * 2
""",
        run=_ONE,
    ),
    Example(
        "elif",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 100⟧:
        y = x + 1
    elif x.sum() > 5:
        y = x + 2
    else:
        y = x + 3
    return y
""",
        after="""\
import torch


def fn(x):
    y = torch.where(x.sum() > 100, x + 1, torch.where(x.sum() > 5, x + 2, x + 3))
    return y
""",
        run=_ONE,
    ),
    Example(
        "nested branches",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        if x.max() > 3.5:
            y = x + 1
        else:
            y = x + 2
    else:
        y = x - 1
    return y
""",
        after="""\
import torch


def fn(x):
    y = torch.where(x.sum() > 0, torch.where(x.max() > 3.5, x + 1, x + 2), x - 1)
    return y
""",
        run=_ONE,
    ),
    Example(
        "elif under a Python test",
        before="""\
import torch


def fn(x, n=1):
    if n > 3:
        y = x
    elif ⟦x.sum() > 0⟧:
        y = x + 1
    else:
        y = x - 1
    return y
""",
        after="""\
import torch


def fn(x, n=1):
    if n > 3:
        y = x
    else:
        y = torch.where(x.sum() > 0, x + 1, x - 1)
    return y
""",
        run=_ONE,
    ),
    Example(
        "and, not",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧ and not (x > 9).any():
        y = x + 1
    else:
        y = x - 1
    return y
""",
        after="""\
import torch


def fn(x):
    y = torch.where((x.sum() > 0) & ~(x > 9).any(), x + 1, x - 1)
    return y
""",
        run=_ONE,
    ),
    Example(
        "a whole statement as the place",
        before="""\
import torch


def fn(x):
    ⟦if not (x > 0).all():
        x = x + 1⟧
    return x * 2
""",
        after="""\
import torch


def fn(x):
    x = torch.where(~(x > 0).all(), x + 1, x)
    return x * 2
""",
        run=_ONE,
        assumes=("identity",),
    ),
    Example(
        "chained comparison, operand evaluated once",
        before="""\
import torch


def fn(x):
    if ⟦0 < x.sum() < 100⟧:
        return x + 1
    return x * 3
""",
        after="""\
import torch


def fn(x):
    x_sum = x.sum()
    return torch.where((0 < x_sum) & (x_sum < 100), x + 1, x * 3)
""",
        run=_ONE,
    ),
    Example(
        "t or u, by value",
        before="""\
import torch


def fn(x):
    y = ⟦x.sum() or torch.ones(())⟧
    return y + 1
""",
        after="""\
import torch


def fn(x):
    x_sum = x.sum()
    y = torch.where(x_sum != 0, x_sum, torch.ones(()))
    return y + 1
""",
        run="""\
calls = [(torch.arange(1.0, 5.0),), (torch.tensor([1.0, -1.0]),)]
""",
    ),
    Example(
        "all of a few conditions",
        before="""\
import torch


def fn(x):
    if ⟦all([x.sum() > 0, not (x > 9).any()])⟧:
        return x + 1
    return x * 2
""",
        after="""\
import torch


def fn(x):
    return torch.where((x.sum() > 0) & ~(x > 9).any(), x + 1, x * 2)
""",
        run=_ONE,
    ),
    Example(
        "any over the elements",
        before="""\
import torch


def fn(x):
    if ⟦any(v > 3 for v in x)⟧:
        return x + 1
    return x * 2
""",
        after="""\
import torch


def fn(x):
    return torch.where((x > 3).any(), x + 1, x * 2)
""",
        run=_ONE,
    ),
    Example(
        "item in the condition",
        before="""\
import torch


def fn(x):
    if ⟦x.sum().item()⟧ > 0 and x.max().item() < 0.1 + 9:
        y = x + 1
    else:
        y = x - 1
    return y
""",
        after="""\
import torch


def fn(x):
    y = torch.where((x.sum() > 0) & (x.max().double() < 0.1 + 9), x + 1, x - 1)
    return y
""",
        run=_ONE,
        gb_id="GB0124",
    ),
    Example(
        "torch.equal, the shapes stay Python",
        before="""\
import torch


def fn(x, y):
    if ⟦torch.equal(x, y)⟧:
        z = x * 2
    else:
        z = y + 1
    return z
""",
        after="""\
import torch


def fn(x, y):
    if x.shape == y.shape:
        z = torch.where((x == y).all(), x * 2, y + 1)
    else:
        z = y + 1
    return z
""",
        run=_TWO,
        gb_id="GB0033",
    ),
    Example(
        "square root of the side not taken",
        before="""\
import torch


def fn(x):
    if ⟦x.min() > 0⟧:
        y = torch.sqrt(x)
    else:
        y = x * 2
    return y
""",
        after="""\
import torch


def fn(x):
    condition = x.min() > 0
    # The inner where makes the side that is not chosen harmless.
    y = torch.where(condition, torch.sqrt(torch.where(condition, x, 1)), x * 2)
    return y
""",
        run=_ONE,
    ),
    Example(
        "division by what may be zero",
        before="""\
import torch


def fn(x):
    total = x.sum()
    if ⟦total > 0⟧:
        x = x / total
    return x
""",
        after="""\
import torch


def fn(x):
    total = x.sum()
    condition = total > 0
    # The inner where makes the side that is not chosen harmless.
    x = torch.where(condition, x / torch.where(condition, total, 1), x)
    return x
""",
        run=_ONE,
        assumes=("identity",),
    ),
    Example(
        "Python test first, set-up inside",
        before="""\
import torch


def fn(hidden_states):
    if hidden_states.dtype == torch.float16 and (
        ⟦torch.isinf(hidden_states).any() or torch.isnan(hidden_states).any()⟧
    ):
        clamp_value = torch.finfo(hidden_states.dtype).max - 1000
        hidden_states = torch.clamp(hidden_states, min=-clamp_value, max=clamp_value)
    return hidden_states + 1
""",
        after="""\
import torch


def fn(hidden_states):
    if hidden_states.dtype == torch.float16:
        clamp_value = torch.finfo(hidden_states.dtype).max - 1000
        hidden_states = torch.where(
            torch.isinf(hidden_states).any() | torch.isnan(hidden_states).any(),
            torch.clamp(hidden_states, min=-clamp_value, max=clamp_value),
            hidden_states,
        )
    return hidden_states + 1
""",
        run="""\
calls = [(torch.tensor([1.0, float("inf")]).half(),), (torch.ones(2).half(),)]
""",
        assumes=("identity",),
    ),
    Example(
        "None check first",
        before="""\
import torch


def fn(x, mask=None):
    if mask is not None and ⟦mask.any()⟧:
        x = x * mask
    return x
""",
        after="""\
import torch


def fn(x, mask=None):
    if mask is not None:
        x = torch.where(mask.any(), x * mask, x)
    return x
""",
        run="""\
calls = [(torch.ones(2), torch.zeros(2)), (torch.ones(2), torch.tensor([0.5, 0.0]))]
""",
        assumes=("identity",),
    ),
    Example(
        "several targets, comments kept",
        before="""\
import torch


def fn(x, y):
    # what follows is kept
    if ⟦x.sum() > 0⟧:  # positive
        a = x + 1
        b = a * 2  # twice
    else:
        # as they were
        a, b = y, y - 1
    return a + b
""",
        after="""\
import torch


def fn(x, y):
    # what follows is kept
    # positive
    # as they were
    condition = x.sum() > 0
    a = torch.where(condition, x + 1, y)
    # twice
    b = torch.where(condition, a * 2, y - 1)
    return a + b
""",
        run=_TWO,
    ),
    Example(
        "numbers",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        scale = 2.0
    else:
        scale = 0.5
    return x * scale
""",
        after="""\
import torch


def fn(x):
    scale = torch.where(x.sum() > 0, 2.0, 0.5)
    return x * scale
""",
        run=_ONE,
        assumes=("dtype",),
    ),
    Example(
        "in-place method on a new tensor",
        before="""\
import torch


def fn(x):
    y = x.clone()
    if ⟦x.sum() > 0⟧:
        y.add_(1)
    return y
""",
        after="""\
import torch


def fn(x):
    y = x.clone()
    y = torch.where(x.sum() > 0, y.add(1), y)
    return y
""",
        run=_ONE,
    ),
    Example(
        "an element",
        before="""\
import torch


def fn(x):
    y = x * 2
    if ⟦x.sum() > 0⟧:
        y[0] = 5.0
    return y
""",
        after="""\
import torch


def fn(x):
    y = x * 2
    y[0] = torch.where(x.sum() > 0, 5.0, y[0])
    return y
""",
        run=_ONE,
    ),
    Example(
        "a submodule runs once",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(4))

    def big(self, x):
        return x * self.weight

    def forward(self, x):
        if ⟦x.mean() > 0⟧:
            out = self.big(x)
        else:
            out = self.big(x * 0.5)
        return out
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(4))

    def big(self, x):
        return x * self.weight

    def forward(self, x):
        out = self.big(torch.where(x.mean() > 0, x, x * 0.5))
        return out
""",
        run="fn = Net()\n" + _ONE,
    ),
    Example(
        "the same call with another tensor, made once before",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4), persistent=False)
        self.short = self.scale

    def make(self, factor):
        return torch.full((4,), factor), None

    def forward(self, x):
        if ⟦x.sum() > 5⟧:
            if not hasattr(self, "long"):
                self.long, _ = self.make(3.0)
            self.register_buffer("scale", self.long, persistent=False)
        else:
            # also after a move to another device
            self.short = self.short.to(x.device)
            self.register_buffer("scale", self.short, persistent=False)
        return x * self.scale
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4), persistent=False)
        self.short = self.scale

    def make(self, factor):
        return torch.full((4,), factor), None

    def forward(self, x):
        if not hasattr(self, "long"):
            self.long, _ = self.make(3.0)
        # also after a move to another device
        self.short = self.short.to(x.device)
        self.register_buffer(
            "scale", torch.where(x.sum() > 5, self.long, self.short), persistent=False
        )
        return x * self.scale
""",
        run="""\
fn = Net()
long, short = torch.arange(1.0, 5.0), torch.ones(4)
calls = [(long,), (short,), (long,), (short,)]
""",
    ),
    Example(
        "whether anything was found",
        before="""\
import torch


def fn(x):
    if len(⟦(x > 2).nonzero()⟧) > 0:
        x = x + 1
    return x
""",
        after="""\
import torch


def fn(x):
    x = torch.where((x > 2).any(), x + 1, x)
    return x
""",
        run=_ONE,
        gb_id="GB0036",
        assumes=("identity",),
    ),
    Example(
        "a buffer",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            self.mean = self.mean * 0.5 + x * 0.5
        return x - self.mean
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean = torch.where(x.sum() > 0, self.mean * 0.5 + x * 0.5, self.mean)
        return x - self.mean
""",
        run="fn = Net()\n" + _ONE,
        assumes=("shared-buffer",),
    ),
    Example(
        "in place on a tensor that the caller has",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        x += 1
    return x
""",
        after="""\
import torch


def fn(x):
    x.copy_(torch.where(x.sum() > 0, x + 1, x))
    return x
""",
        run=_ONE,
    ),
    Example(
        "in-place method on an alias",
        before="""\
import torch


def fn(x):
    y = x
    if ⟦x.sum() > 0⟧:
        y.add_(1)
    return x + y
""",
        after="""\
import torch


def fn(x):
    y = x
    y.copy_(torch.where(x.sum() > 0, y.add(1), y))
    return x + y
""",
        run=_ONE,
    ),
    Example(
        "a view of the tensor",
        before="""\
import torch


def fn(x):
    y = x * 2
    first = y[0]
    if ⟦x.sum() > 0⟧:
        y.add_(1)
    return y + first
""",
        after="""\
import torch


def fn(x):
    y = x * 2
    first = y[0]
    y.copy_(torch.where(x.sum() > 0, y.add(1), y))
    return y + first
""",
        run=_ONE,
    ),
    Example(
        "a buffer that counts",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            self.seen += 1
        return x * self.seen
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.copy_(torch.where(x.sum() > 0, self.seen + 1, self.seen))
        return x * self.seen
""",
        run="fn = Net()\n" + _ONE,
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a loop",
        source="""\
import torch


def fn(x):
    while ⟦x.sum() < 100⟧:
        x = x * 2
    return x
""",
        reason="The number of iterations of this loop depends on a tensor's data",
    ),
    Refusal(
        "a branch that leaves a loop",
        source="""\
import torch


def fn(x):
    for _ in range(4):
        x = x * 2
        if ⟦x.sum() > 30⟧:
            break
    return x
""",
        reason="Carry a `done` mask through the loop",
    ),
    Refusal(
        "print on one side",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        print("positive")
        x = x + 1
    return x
""",
        reason='`print("positive")` runs on one side only',
    ),
    Refusal(
        "a list grows on one side",
        source="""\
import torch


def fn(x, seen):
    if ⟦x.sum() > 0⟧:
        seen.append(1)
        x = x + 1
    return x
""",
        reason="`seen.append(1)` runs on one side only",
    ),
    Refusal(
        "random numbers",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        x = torch.nn.functional.dropout(x, 0.5)
    return x
""",
        reason="draws random numbers",
    ),
    Refusal(
        "unknown function",
        source="""\
import torch


def fn(x, helper):
    if ⟦x.sum() > 0⟧:
        x = helper(x)
    return x
""",
        reason="calls a function whose effects are not known",
    ),
    Refusal(
        "None on one side",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return None
    return x
""",
        reason="One side gives None",
    ),
    Refusal(
        "text on both sides",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        name = "up"
    else:
        name = "down"
    return x, name
""",
        reason="One side gives text",
    ),
    Refusal(
        "a container on one side",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        parts = [x, x]
    else:
        parts = [x]
    return torch.cat(parts)
""",
        reason="not known to be containers of one structure",
    ),
    Refusal(
        "no value before",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        y = x + 1
    return y
""",
        reason="`y` may have no value when its side is not taken",
    ),
    Refusal(
        "no value in every case before",
        """\
import torch


def fn(x, kind):
    match kind:
        case "up":
            y = x * 2
        case "down":
            y = x / 2
    if ⟦x.sum() > 0⟧:
        y = x + 1
    return y
""",
        "`y` may have no value when its side is not taken",
    ),
    Refusal(
        "a value that `:=` gives before, where it is asked",
        """\
import torch


def fn(x, wide=False):
    far = wide and (y := x * 2).sum()
    if ⟦x.sum() > 0⟧:
        y = x + 1
    return y + far
""",
        "`y` may have no value when its side is not taken",
    ),
    Refusal(
        "None before",
        source="""\
import torch


def fn(x):
    y = None
    if ⟦x.sum() > 0⟧:
        y = x + 1
    return x, y
""",
        reason="`y` is `None` when its side is not taken",
    ),
    Refusal(
        "default None",
        source="""\
import torch


def fn(x, mask=None):
    if ⟦x.sum() > 0⟧:
        mask = x > 1
    return x, mask
""",
        reason="`mask` may be None when its side is not taken",
    ),
    Refusal(
        "changed in place later",
        source="""\
import torch


def fn(x):
    y = x
    if ⟦x.sum() > 0⟧:
        y = x + 1
    y.mul_(2)
    return x
""",
        reason="`y.mul_(2)` changes `y` in place",
    ),
    Refusal(
        "a Python test in or",
        source="""\
import torch


def fn(x, mask):
    if mask is None or ⟦mask.any()⟧:
        x = x + 1
    return x
""",
        reason="`mask is None` is a Python test inside `or`",
    ),
    Refusal(
        "an operand that may be a Python value",
        source="""\
import torch


def fn(x, flag):
    if ⟦x.sum() > 0⟧ and flag:
        x = x + 1
    return x
""",
        reason="GraphMend cannot tell whether `flag` is a tensor or a Python value",
    ),
    Refusal(
        "state that is compared with this call's values",
        source="""\
import torch


class Observer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("top", torch.tensor(1.0))

    def forward(self, x):
        top = x.detach().abs().max()
        if ⟦top > self.top⟧:
            self.top.copy_(top)
        return x / self.top
""",
        reason="`self.top.copy_(top)` changes a tensor in place",
    ),
    Refusal(
        "a flag that need not be given",
        source="""\
import torch


def fn(x, loud=False):
    if ⟦loud⟧:
        x = x * 2
    return x
""",
        reason="`loud` is False where it is not given, and then `loud` is no tensor",
    ),
    Refusal(
        "a limit that is a number elsewhere",
        source="""\
import torch


class Net(torch.nn.Module):
    def grown(self, x, gain):
        if ⟦gain > 1⟧:
            x = x * gain
        return x

    def plain(self, x):
        return self.grown(x, 2.0)
""",
        reason="Line 11 gives `gain` 2.0, and then `gain > 1` is no tensor",
    ),
    Refusal(
        "an index that may be out of range",
        source="""\
import torch


def fn(x, i):
    y = x[0]
    if ⟦x.sum() > 0⟧:
        y = x[i]
    return y
""",
        reason="may raise for an index out of range",
    ),
    Refusal(
        "a parameter that may be None",
        source="""\
import torch


def fn(x, mask=None):
    if ⟦x.sum() > 0⟧:
        x = x * mask
    return x
""",
        reason="`mask` may be None when its side is not taken",
    ),
    Refusal(
        "a division of integers",
        source="""\
import torch


def fn(x, n):
    y = x
    if ⟦x.min() > 0⟧:
        y = x // n
    return y
""",
        reason="may divide integers by zero",
    ),
    Refusal(
        "torch.equal in or",
        source="""\
import torch


def fn(x, y):
    if torch.equal(x, y) or ⟦x.sum() > 0⟧:
        x = x + 1
    return x
""",
        reason="also compares shapes",
    ),
    Refusal(
        "a size that depends on data",
        source="""\
import torch


def fn(x):
    if ⟦x[x > 2]⟧.shape[0] > 1:
        x = x + 1
    return x
""",
        reason="a size that depends on data",
        gb_id="GB0036",
    ),
    Refusal(
        "different dtypes",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        y = x.long()
    else:
        y = x
    return y
""",
        reason="have different dtypes",
    ),
    Refusal(
        "int and float",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        s = 2
    else:
        s = 0.5
    return x * s
""",
        reason="One side gives an int and the other a float",
    ),
    Refusal(
        "a Python number that is returned",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return 1.0
    return 0.0
""",
        reason="Both sides return a Python number",
    ),
    Refusal(
        "a number used as a size",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        n = 2
    else:
        n = 3
    return x.repeat(n)
""",
        reason="`n` is passed to `x.repeat`, which may need a number",
    ),
    Refusal(
        "a value that depends on the other side's name",
        source="""\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            self.seen = x
        return x
""",
        reason="`self.seen` may not exist or be None",
    ),
    Refusal(
        "an exception on one side",
        source="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        if x.max() > 3:
            raise ValueError("large")
        x = x + 1
    return x
""",
        reason="A branch raises",
    ),
    Refusal(
        "one side returns",
        source="""\
import torch


def fn(x):
    for _ in range(2):
        if ⟦x.sum() > 0⟧:
            return x
        x = x + 1
    return x
""",
        reason="One side returns",
    ),
    Refusal(
        "state that the first call sets up",
        source="""\
import torch


class Norm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        y = x.sin()
        if ⟦not self.ready⟧:
            self.mean.copy_(y.mean(0).detach())
            self.ready.fill_(True)
        return y - self.mean
""",
        reason="Keep a Python flag beside it (`self.is_ready`)",
    ),
    Refusal(
        "state that the first call sets up, behind an early return",
        source="""\
import torch


class Codes(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("is_ready", torch.tensor([0]))
        self.register_buffer("codes", torch.zeros(size))

    def set_up(self, x):
        if ⟦self.is_ready.item()⟧:
            return
        self.codes.data.copy_(x.mean(0))
        self.is_ready.data.copy_(torch.tensor([1]))
""",
        reason="Keep a Python flag beside it (`self.ready`)",
    ),
)
