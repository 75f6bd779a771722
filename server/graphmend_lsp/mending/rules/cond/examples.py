"""What the cond rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ONE = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, 1.0]),),
]
"""
_NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 1)
        self.big = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4))
        self.small = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

"""
_RUN_NET = """\
torch.manual_seed(0)
fn = Net().eval().requires_grad_(False)
calls = [(torch.ones(2, 4),), (-torch.ones(2, 4),), (2 * torch.eye(4)[:2],)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a square root of what the other side keeps away from it",
        before="""\
import torch


def fn(x):
    if ⟦x.min() > 0⟧:
        y = torch.sqrt(x)
    else:
        y = x * 2
    return y + 1
""",
        after="""\
import torch


def fn(x):
    if torch.compiler.is_compiling():
        y = torch.cond(x.min() > 0, lambda: torch.sqrt(x), lambda: x * 2)
    elif x.min() > 0:
        y = torch.sqrt(x)
    else:
        y = x * 2
    return y + 1
""",
        run=_ONE,
    ),
    Example(
        "submodules",
        before=f"""\
{_NET}
    def forward(self, x):
        h = self.gate(x)
        if ⟦h.sum() > 0⟧:
            y = self.big(x)
        else:
            y = self.small(x)
        return y * h
""",
        after=f"""\
{_NET}
    def forward(self, x):
        h = self.gate(x)
        if torch.compiler.is_compiling() and not self.training:
            y = torch.cond(h.sum() > 0, lambda: self.big(x), lambda: self.small(x))
        elif h.sum() > 0:
            y = self.big(x)
        else:
            y = self.small(x)
        return y * h
""",
        run=_RUN_NET,
    ),
    Example(
        "a loop over layers on one side",
        before=f"""\
{_NET}
    def forward(self, x):
        h = self.gate(x)
        if ⟦h.sum() > 0⟧:  # the long way
            for layer in self.layers:
                x = layer(x)
        return x * h
""",
        after=f"""\
{_NET}
    def forward(self, x):
        h = self.gate(x)

        def positive(x):  # the long way
            for layer in self.layers:
                x = layer(x)
            return x

        if torch.compiler.is_compiling() and not self.training:
            x = torch.cond(h.sum() > 0, positive, lambda x: x.clone(), (x,))
        elif h.sum() > 0:
            x = positive(x)
        return x * h
""",
        run=_RUN_NET,
    ),
    Example(
        "several names and values in between",
        before=f"""\
{_NET}
    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            h = self.big(x)
            y = h.relu()
            scale = h.mean()
        else:
            y = self.small(x)  # the short way
            scale = y.max()
        return y * scale
""",
        after=f"""\
{_NET}
    def forward(self, x):
        def positive():
            h = self.big(x)
            y = h.relu()
            scale = h.mean()
            return y, scale

        def otherwise():
            y = self.small(x)  # the short way
            scale = y.max()
            return y, scale

        if torch.compiler.is_compiling() and not self.training:
            y, scale = torch.cond(x.sum() > 0, positive, otherwise)
        else:
            y, scale = positive() if x.sum() > 0 else otherwise()
        return y * scale
""",
        run=_RUN_NET,
    ),
    Example(
        "early return",
        before=f"""\
{_NET}
    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            return self.big(x)
        return x
""",
        after=f"""\
{_NET}
    def forward(self, x):
        if torch.compiler.is_compiling() and not self.training:
            return torch.cond(x.sum() > 0, lambda: self.big(x), lambda: x.clone())
        if x.sum() > 0:
            return self.big(x)
        return x
""",
        run=_RUN_NET,
    ),
    Example(
        "early return of more than a call",
        before=f"""\
{_NET}
    def forward(self, x):
        if ⟦x.sum() > 0⟧:
            h = self.big(x)
            return h + x
        return self.small(x)
""",
        after=f"""\
{_NET}
    def forward(self, x):
        def positive():
            h = self.big(x)
            return h + x

        def otherwise():
            return self.small(x)

        if torch.compiler.is_compiling() and not self.training:
            return torch.cond(x.sum() > 0, positive, otherwise)
        else:
            return positive() if x.sum() > 0 else otherwise()
""",
        run=_RUN_NET,
    ),
    Example(
        "conditional expression",
        before=f"""\
{_NET}
    def forward(self, x):
        y = self.big(x) if ⟦x.sum() > 0⟧ else self.small(x)
        return y * 2
""",
        after=f"""\
{_NET}
    def forward(self, x):
        if torch.compiler.is_compiling() and not self.training:
            y = torch.cond(x.sum() > 0, lambda: self.big(x), lambda: self.small(x))
        else:
            y = self.big(x) if x.sum() > 0 else self.small(x)
        return y * 2
""",
        run=_RUN_NET,
    ),
    Example(
        "a Python test around the tensor",
        before=f"""\
{_NET}
    def forward(self, x, fast=True):
        if fast and ⟦x.sum() > 0⟧:
            x = self.big(x)
        return x
""",
        after=f"""\
{_NET}
    def forward(self, x, fast=True):
        if torch.compiler.is_compiling() and not self.training and fast:
            x = torch.cond(x.sum() > 0, lambda: self.big(x), lambda: x.clone())
        elif fast and x.sum() > 0:
            x = self.big(x)
        return x
""",
        run=_RUN_NET,
    ),
    Example(
        "an index that the condition guards",
        before="""\
import torch


def fn(x, at):
    if ⟦(at < 4).all()⟧:
        y = x.gather(0, at)
    else:
        y = x * 0.5
    return y + 1
""",
        after="""\
import torch


def fn(x, at):
    if torch.compiler.is_compiling():
        y = torch.cond((at < 4).all(), lambda: x.gather(0, at), lambda: x * 0.5)
    elif (at < 4).all():
        y = x.gather(0, at)
    else:
        y = x * 0.5
    return y + 1
""",
        run="""\
x = torch.arange(1.0, 5.0)
calls = [(x, torch.tensor([3, 2, 1, 0])), (x, torch.tensor([3, 2, 1, 9])), (x, torch.tensor([0, 0, 1, 1]))]
""",
    ),
)


def _refused(title: str, body: str, reason: str) -> Refusal:
    return Refusal(title, source=f"{_NET}\n    def forward(self, x):\n{body}", reason=reason)


REFUSALS: tuple[Refusal, ...] = (
    _refused(
        "print on one side",
        """\
        if ⟦x.sum() > 0⟧:
            print("positive")
            x = self.big(x)
        return x
""",
        'A side contains `print("positive")`',
    ),
    _refused(
        "a side that stores",
        """\
        if ⟦x.sum() > 0⟧:
            self.seen = self.big(x)
        return x
""",
        "changes what is outside of a side",
    ),
    _refused(
        "a change in place",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                x += layer(x)
        return x
""",
        "changes a tensor in place",
    ),
    _refused(
        "random numbers",
        """\
        if ⟦x.sum() > 0⟧:
            x = nn.functional.dropout(self.big(x))
        return x
""",
        "draws others for the gradient",
    ),
    _refused(
        "a second test of a tensor",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                x = layer(x)
            if x.max() > 1:
                x = x * 2
        return x
""",
        "cannot hold a second break",
    ),
    _refused(
        "a number read from a tensor",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                x = layer(x) * x.max().item()
        return x
""",
        "reads a number from a tensor",
    ),
    _refused(
        "an elif",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                x = layer(x)
        elif x.min() < 0:
            x = self.small(x)
        return x
""",
        "has two sides",
    ),
    _refused(
        "a list",
        """\
        if ⟦x.sum() > 0⟧:
            y = [self.big(x)]
        else:
            y = [self.small(x), x]
        return y[0]
""",
        "which is no tensor",
    ),
    _refused(
        "no value before",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                y = layer(x)
        return y
""",
        "may have no value",
    ),
    _refused(
        "statements behind an early return",
        """\
        if ⟦x.sum() > 0⟧:
            return self.layers[0](x)
        x = self.layers[1](x)
        return x + 1
""",
        "Statements follow the early return",
    ),
    _refused(
        "a context on one side",
        """\
        if ⟦x.sum() > 0⟧:
            with torch.no_grad():
                x = self.big(x)
        return x
""",
        "a side of `torch.cond` may only compute",
    ),
    _refused(
        "an effect that is not known",
        """\
        if ⟦x.sum() > 0⟧:
            x = report(self.big(x))
        return x
""",
        "calls a function whose effects are not known",
    ),
    _refused(
        "a value that is changed in place later",
        """\
        if ⟦x.sum() > 0⟧:
            for layer in self.layers:
                x = layer(x)
        x += 1
        return x
""",
        "it may have another name",
    ),
)
