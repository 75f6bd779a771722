"""What the caller rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a number that decides about modules",
        before="""\
import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.near = torch.nn.Linear(4, 4)
        self.far = torch.nn.Linear(4, 4)

    def forward(self, x, mask=None):
        chosen = mask > 0
        any_chosen = ⟦chosen.any().item()⟧
        x = self.near(x)
        if any_chosen:
            x = self.far(x).sin()
        return x * chosen


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.encoder = Encoder()

    def forward(self, x, mask):
        x = self.first(x)
        doubled = mask * 2
        x = self.encoder(x, mask=doubled)
        return x + 1
""",
        after="""\
import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.near = torch.nn.Linear(4, 4)
        self.far = torch.nn.Linear(4, 4)

    def forward(self, x, mask=None, any_chosen=None):
        chosen = mask > 0
        if any_chosen is None:
            any_chosen = chosen.any().item()
        x = self.near(x)
        if any_chosen:
            x = self.far(x).sin()
        return x * chosen


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.encoder = Encoder()

    def forward(self, x, mask):
        x = self.first(x)
        doubled = mask * 2
        any_chosen = (doubled > 0).any().item()
        x = self.encoder(x, mask=doubled, any_chosen=any_chosen)
        return x + 1
""",
        run="torch.manual_seed(0)\nfn = Net()\ncalls = [(torch.ones(2, 4), torch.ones(4)), (torch.ones(2, 4), torch.zeros(4))]",
        outermost="Net.forward",
        gb_id="GB0124",
    ),
    Example(
        "a length that a function reads",
        before="""\
import torch


def cut(x, lengths):
    longest = ⟦int(lengths.max())⟧
    return x[:, :longest]


def fn(x, lengths):
    y = x.sin()
    return cut(
        y,
        lengths,
    ).cos()
""",
        after="""\
import torch


def cut(x, lengths, longest=None):
    if longest is None:
        longest = int(lengths.max())
    return x[:, :longest]


def fn(x, lengths):
    y = x.sin()
    longest = int(lengths.max())
    return cut(
        y,
        lengths,
        longest=longest,
    ).cos()
""",
        run="calls = [(torch.ones(2, 4), torch.tensor([1, 3])), (torch.ones(2, 4), torch.tensor([2, 2]))]",
        outermost="fn",
        gb_id="GB0124",
    ),
    Example(
        "a method of the same class, a name that the caller has",
        before="""\
import torch


class Net(torch.nn.Module):
    def head(
        self,
        x,
        n
    ):
        \"\"\"The first rows.\"\"\"
        count = ⟦n.item()⟧
        return x[:count]

    def forward(self, x, sizes):
        count = sizes + 1
        if x.dim() > 1:
            x = self.head(x.sin(), count)
        return x * count
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def head(
        self,
        x,
        n,
        count=None
    ):
        \"\"\"The first rows.\"\"\"
        if count is None:
            count = n.item()
        return x[:count]

    def forward(self, x, sizes):
        count = sizes + 1
        if x.dim() > 1:
            count_2 = count.item()
            x = self.head(x.sin(), count, count=count_2)
        return x * count
""",
        run="fn = Net()\ncalls = [(torch.ones(5, 2), torch.tensor(1)), (torch.ones(5, 2), torch.tensor(2))]",
        outermost="forward",
        gb_id="GB0124",
    ),
)

_FUNCTION = (
    "import torch\n\n\ndef cut(x, lengths{more}):\n{front}    n = ⟦lengths.max().item()⟧\n    return x[:n]\n\n\n"
)
_CALLED = _FUNCTION.format(more="", front="")


def _refusal(title: str, source: str, reason: str) -> Refusal:
    return Refusal(title, source, reason, outermost="fn", gb_id="GB0124")


REFUSALS: tuple[Refusal, ...] = (
    _refusal(
        "a call in a loop",
        _CALLED + "def fn(x, lengths):\n    for _ in range(2):\n        x = cut(x, lengths)\n    return x\n",
        "Line 10: `cut` is called in a loop, a `try` or a `with`",
    ),
    _refusal(
        "an argument without a name",
        _CALLED + "def fn(x, lengths):\n    return cut(x, lengths + 1)\n",
        "`lengths` is given as `lengths + 1`; give it a name",
    ),
    _refusal(
        "an argument with an effect",
        _CALLED + "def fn(x, lengths):\n    return cut(lengths.add_(1), lengths)\n",
        "changes a tensor in place; give it a name",
    ),
    _refusal(
        "a call that is not always made",
        _CALLED + "def fn(x, lengths, flag=True):\n    return cut(x, lengths) if flag else x\n",
        "decides whether it is called",
    ),
    _refusal(
        "unpacked arguments",
        _CALLED + "def fn(*both):\n    return cut(*both)\n",
        "gets `*` or `**` arguments",
    ),
    _refusal(
        "a function with any arguments",
        _FUNCTION.format(more=", **more", front="") + "def fn(x, lengths):\n    return cut(x, lengths)\n",
        "takes any arguments",
    ),
    _refusal(
        "a change before the read",
        _FUNCTION.format(more="", front="    lengths.add_(1)\n") + "def fn(x, lengths):\n    return cut(x, lengths)\n",
        "comes before the read and does more than name a value",
    ),
    _refusal(
        "another value of the parameter",
        _FUNCTION.format(more="", front="    lengths = lengths * 2\n")
        + "def fn(x, lengths):\n    return cut(x, lengths)\n",
        "binds `lengths` again",
    ),
    _refusal(
        "a decorated function",
        _CALLED.replace("def cut", "@torch.no_grad()\ndef cut") + "def fn(x, lengths):\n    return cut(x, lengths)\n",
        "`cut` is decorated",
    ),
    _refusal(
        "a function that has another value somewhere",
        _CALLED + "def fn(x, lengths):\n    return cut(x, lengths)\n\n\nif torch.cuda.is_available():\n    cut = fn\n",
        "may be another function",
    ),
    _refusal(
        "an override",
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def cut(self, x, n):\n        n_max = ⟦n.max().item()⟧\n"
        "        return x[:n_max]\n\n    def fn(self, x, n):\n        return self.cut(x, n)\n\n\n"
        "class Other(Net):\n    def cut(self, x, n):\n        return x\n",
        "`Other` overrides `Net.cut`",
    ),
    _refusal(
        "a submodule of unknown class",
        "import torch\n\n\nclass Part(torch.nn.Module):\n    def forward(self, x, n):\n        n_max = ⟦n.max().item()⟧\n"
        "        return x[:n_max]\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, part):\n        self.part = part\n\n"
        "    def fn(self, x, n):\n        return self.part.forward(x, n)\n",
        "may be another function",
    ),
    _refusal(
        "a number of the module",
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def cut(self, x):\n        n = ⟦self.sizes.max().item()⟧\n"
        "        return x[:n]\n\n    def fn(self, x):\n        return self.cut(x)\n",
        "`self` is not an argument of the call",
    ),
)
