"""What the setup rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_BEFORE = """\
import torch


class Codes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.scale = 2
        self.register_buffer("codes", torch.zeros(8, 4))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def set_up(self, x):
        if ⟦self.ready⟧:
            return
        self.codes.copy_(x[:1].expand(8, 4) * self.scale)
        self.ready.fill_(True)

    def forward(self, x):
        x = self.layer(x)
        self.set_up(x)
        return x + self.codes.sum(0)
"""
_HANDED = (
    _BEFORE.replace("self.scale = 2", 'self.scale = 2\n        self.register_buffer("sums", torch.ones(8, 4))').replace(
        "* self.scale)", "* smoothed(self.sums))"
    )
    + """

def smoothed(sums):
    sums += 1
    return sums / sums.sum()
"""
)


def _mended(before: str, names: str) -> str:
    return (
        before.replace("⟦", "")
        .replace("⟧", "")
        .replace("import torch\n\n\n", "import torch\n\nfrom graphmend_support import state_operator\n\n\n")
        .replace("    def set_up(", f"    @state_operator({names})\n    def set_up(")
    )


_RUN = """\
import torch

torch.manual_seed(0)
fn = Codes()
calls = [(torch.ones(3, 4),), (torch.zeros(3, 4),), (torch.ones(5, 4),)]
"""

_INSIDE = """\
import torch


class Codes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def set_up(self, x):
        self.mean.copy_(x.mean(0))
        self.ready.fill_(True)

    def forward(self, x):
        rows = x.detach()
        if not ⟦self.ready⟧:
            self.set_up(rows)
        return x - self.mean
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a condition in forward",
        before=_INSIDE,
        after="""\
import torch

from graphmend_support import state_operator


class Codes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def set_up(self, x):
        self.mean.copy_(x.mean(0))
        self.ready.fill_(True)

    @state_operator("mean", "ready")
    def _set_up(self, rows):
        if not self.ready:
            self.set_up(rows)

    def forward(self, x):
        rows = x.detach()
        self._set_up(rows)
        return x - self.mean
""",
        run=_RUN,
    ),
    Example(
        "parameters that the first call sets through `.data`",
        before="""\
import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(4))
        self.register_buffer("initialized", torch.tensor(0))

    def initialize(self, x):
        with torch.no_grad():
            self.loc.data.copy_(-x.mean(0))

    def forward(self, x):
        before = self.loc.sum()
        if ⟦self.initialized.item() == 0⟧:
            self.initialize(x)
            self.initialized.fill_(1)
        return (x + self.loc).sin() + before
""",
        after="""\
import torch
from torch import nn

from graphmend_support import state_operator


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(4))
        self.register_buffer("initialized", torch.tensor(0))

    def initialize(self, x):
        with torch.no_grad():
            self.loc.data.copy_(-x.mean(0))

    @state_operator("initialized", "loc")
    def _set_up(self, x):
        if self.initialized.item() == 0:
            self.initialize(x)
            self.initialized.fill_(1)

    def forward(self, x):
        before = self.loc.sum()
        self._set_up(x)
        return (x + self.loc).sin() + before
""",
        run="""\
import torch

torch.manual_seed(0)
fn = ActNorm()
calls = [(torch.ones(3, 4),), (torch.zeros(3, 4),), (torch.randn(5, 4, requires_grad=True),)]
""",
        gb_id="GB0124",
    ),
    Example(
        "buffers that the first call sets up",
        before=_BEFORE,
        after=_mended(_BEFORE, '"codes", "ready"'),
        run=_RUN,
        outermost="Codes.forward",
    ),
    Example(
        "a buffer that another function is given",
        before=_HANDED,
        after=_mended(_HANDED, '"codes", "ready", "sums"'),
        run=_RUN,
        outermost="Codes.forward",
    ),
)


def _refusal(title: str, old: str, new: str, reason: str) -> Refusal:
    return Refusal(title, _BEFORE.replace(old, new), reason, outermost="Codes.forward")


REFUSALS: tuple[Refusal, ...] = (
    _refusal("a gradient in a buffer", "    @torch.no_grad()\n", "", "may put a gradient into a buffer"),
    Refusal(
        "a value that is used behind it",
        _INSIDE.replace("self.set_up(rows)", "y = rows\n            self.set_up(y)").replace("x - self", "y - self"),
        "is bound there, and used elsewhere",
    ),
    Refusal(
        "a text over several lines",
        _INSIDE.replace("self.set_up(rows)", 'self.set_up(rows)\n            print("""a\nb""")'),
        "A string over several lines",
    ),
    _refusal("a value that is returned", "            return\n", "            return x\n", "returns a value"),
    _refusal(
        "an attribute that is stored",
        "self.ready.fill_(True)",
        "self.ready.fill_(True)\n        self.n = 1",
        "is stored",
    ),
    _refusal(
        "a buffer that is exchanged", "self.codes.copy_(x[:1].expand(8, 4) * self.scale)", "self.codes = x", "is stored"
    ),
    _refusal("data that is exchanged", "self.codes.copy_(", "self.codes.data = (", "is stored"),
    _refusal(
        "a parameter that is changed",
        "self.ready.fill_(True)",
        "self.ready.fill_(True)\n        self.weight.zero_()",
        "no buffer that this class registers",
    ),
    Refusal(
        "a parameter that is changed under no_grad, which its graph of gradients sees",
        _BEFORE.replace(
            'self.register_buffer("codes", torch.zeros(8, 4))', "self.codes = torch.nn.Parameter(torch.zeros(8, 4))"
        ),
        "through `.data`",
        outermost="Codes.forward",
    ),
    _refusal("a module that is called", "x[:1].expand", "self.layer(x)[:1].expand", "not a method of this class alone"),
    _refusal(
        "the module itself", "self.ready.fill_(True)", "self.ready.fill_(True)\n        note(self)", "is handed on"
    ),
    _refusal(
        "an attribute that another method sets",
        "        x = self.layer(x)\n",
        "        x = self.layer(x)\n        self.scale = 3\n",
        "another method sets `self.scale`",
    ),
)
