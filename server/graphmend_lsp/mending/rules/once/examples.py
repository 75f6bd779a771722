"""What the once rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_LOCK = """\
import threading

import torch

_lock = threading.Lock()


def keep(module, inputs, output):
    module.kept = output.shape


def watch(model):
    if getattr(model, "is_watched", False):
        return

    with ⟦_lock⟧:
        for layer in model.children():
            layer.register_forward_hook(keep)
        model.is_watched = True


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = x.sin()
        watch(self)
        return self.layer(x) * 2
"""
_LAZY = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.is_ready = False

    def keep(self, module, inputs, output):
        self.kept = output.shape

    def forward(self, x):
        x = x.sin()
        if not self.is_ready:
            # the first call
            ⟦self.layer.register_forward_hook(self.keep)⟧
            self.is_ready = True
        return self.layer(x) * 2
"""


_DONE = """\
            self.layer.register_forward_hook(self.keep)
            self.is_ready = True
"""
_DEFINED = """\
    @sets_up("is_ready")
    def _set_up_once(self):
        self.layer.register_forward_hook(self.keep)
        self.is_ready = True

"""


def _plain(text: str) -> str:
    return text.replace("⟦", "").replace("⟧", "")


_RUN = """\
import torch

torch.manual_seed(0)
fn = Net()
calls = [(torch.ones(3, 4),), (torch.zeros(3, 4),), (torch.ones(5, 4),)]
"""

EXAMPLES = (
    Example(
        "hooks under a lock, in a function",
        _LOCK,
        _plain(_LOCK)
        .replace("import torch\n\n", "import torch\n\nfrom graphmend_support import sets_up\n\n")
        .replace(
            "        return\n\n    with",
            '        return\n\n    _watch(model)\n\n\n@sets_up("is_watched")\ndef _watch(model):\n    with',
        ),
        run=_RUN,
        outermost="forward",
        gb_id="GB0142",
        assumes=("inside-effects",),
        seen=(("model", "module model.Net"),),
    ),
    Example(
        "a hook in forward",
        _LAZY,
        _plain(_LAZY)
        .replace("import torch\n\n\n", "import torch\n\nfrom graphmend_support import sets_up\n\n\n")
        .replace("    def forward", f"{_DEFINED}    def forward")
        .replace(_DONE, "            self._set_up_once()\n"),
        run=_RUN,
        gb_id="GB0467",
        assumes=("inside-effects",),
    ),
)
REFUSALS = (
    Refusal(
        "a tensor goes in",
        _LAZY.replace("self.is_ready = True", "self.is_ready = bool(x.sum() > 0)"),
        "`x` goes into what is set up once, and is not known to be a module",
        gb_id="GB0467",
    ),
    Refusal(
        "not known to be a module",
        _LOCK,
        "`model` goes into what is set up once, and is not known to be a module",
        outermost="forward",
        gb_id="GB0142",
    ),
    Refusal(
        "it says something",
        _LOCK.replace(
            "        model.is_watched = True\n", '        model.is_watched = True\n        print("watched")\n'
        ),
        "says something, which would come while TorchDynamo traces",
        outermost="forward",
        gb_id="GB0142",
        seen=(("model", "module model.Net"),),
    ),
    Refusal(
        "it uses what is stored before",
        _LAZY.replace("        x = x.sin()\n", "        self.layer = self.layer.eval()\n"),
        "`layer` is stored before, and used in what is set up once",
        gb_id="GB0467",
    ),
    Refusal(
        "it makes a layer",
        _LAZY.replace("            # the first call\n", "            self.more = torch.nn.Linear(4, 4)\n"),
        "may draw random numbers",
        gb_id="GB0467",
    ),
    Refusal(
        "a name that is used behind it",
        _LAZY.replace("            # the first call\n", "            first = True\n").replace(
            "        return self.layer(x) * 2", "        return self.layer(x) * 2, first"
        ),
        "`first` is bound in what is set up once, and used behind it",
        gb_id="GB0467",
    ),
    Refusal(
        "it returns",
        _LAZY.replace(
            "self.is_ready = True\n", "self.is_ready = True\n            if self.training:\n                return x\n"
        ),
        "`x` goes into what is set up once",
        gb_id="GB0467",
    ),
)
