"""Operators whose statements call modules and methods, or skip what a flag kept from running. Part of the rule's examples."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a layer that is applied until its result no longer changes",
        before="""\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.most = 50

    def forward(self, x):
        z = torch.zeros_like(x)
        for _ in range(self.most):
            new = torch.tanh(self.linear(z) + x)
            change = (new - z).norm()
            z = new
            if ⟦change < 1e-2⟧:
                break
        return z * 2
""",
        after='''\
import torch
from torch import nn

from graphmend_support import operator


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.most = 50

    def forward(self, x):
        z = torch.zeros_like(x)
        z = Layer._forward_operator(x, z, self.most, self.linear)
        return z * 2

    @staticmethod
    @operator(like=lambda z: z.new_empty(z.shape))
    def _forward_operator(x, z, most: int, linear: nn.Module) -> torch.Tensor:
        """Runs uncompiled, as one operator of the graph."""
        for _ in range(most):
            new = torch.tanh(linear(z) + x)
            change = (new - z).norm()
            z = new
            if change < 1e-2:
                break
        return z
''',
        run="""\
torch.manual_seed(0)
layer = Layer()


def fn(x):
    return layer(x)


calls = [(torch.randn(3, 4),), (torch.zeros(3, 4),)]
""",
        gb_id="GB0170",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 3 4"),
            ("z", "float32 3 4"),
            ("new", "float32 3 4"),
            ("change", "float32"),
            ("self.linear", "module torch.nn.modules.linear.Linear"),
            ("self.linear(z)", "float32 3 4"),
            ("self.most", "int"),
        ),
    ),
    Example(
        "an expert of the file for each row that asks for it",
        before="""\
import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.expert = Expert()

    def forward(self, x):
        rows = []
        for row in x:
            if ⟦row.sum() > 0⟧:
                rows.append(self._scaled(self.expert(row)))
            else:
                rows.append(row)
        return torch.stack(rows) * 2

    def _scaled(self, row):
        return row / row.norm()
""",
        after='''\
import torch
from torch import nn

from graphmend_support import operator


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.expert = Expert()

    def forward(self, x):
        return Net._forward_operator(self, x, self.expert)

    @operator(
        like=lambda x: x.new_empty(x.shape),
        modules=("Expert",),
        methods=("Net._scaled",),
    )
    def _forward_operator(self, x: torch.Tensor, expert: nn.Module) -> torch.Tensor:
        """Runs uncompiled, as one operator of the graph."""
        rows = []
        for row in x:
            if row.sum() > 0:
                rows.append(self._scaled(expert(row)))
            else:
                rows.append(row)
        return torch.stack(rows) * 2

    def _scaled(self, row):
        return row / row.norm()
''',
        run="""\
torch.manual_seed(0)
net = Net()


def fn(x):
    return net(x)


calls = [(torch.tensor([[1.0, 2, 3, 4], [-1, -2, 0, 1]]),)]
""",
        gb_id="GB0170",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 2 4"),
            ("row", "float32 4"),
            ("rows", "list"),
            ("self.expert", "module model.Expert"),
            ("torch.stack(rows) * 2", "float32 2 4"),
        ),
    ),
    Example(
        "what is only reported where somebody asks for it",
        before="""\
import torch


def fn(x, limit, report=None):
    steps, sizes = [], []
    while ⟦x.norm() > limit⟧:
        x = x * 0.5
        steps.append(x.sum())
        if report is not None:
            report(len(steps), x)
    return torch.stack([x.mean(), *steps]).sum()
""",
        after='''\
import torch

from graphmend_support import operator


def fn(x, limit, report=None):
    return _fn_operator(limit, report, x)


@operator(like=lambda x: x.new_empty(()), only={"report": None})
def _fn_operator(limit: float, report: object, x: torch.Tensor) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    steps, sizes = [], []
    while x.norm() > limit:
        x = x * 0.5
        steps.append(x.sum())
        if report is not None:
            report(len(steps), x)
    return torch.stack([x.mean(), *steps]).sum()
''',
        run="""\
import torch

calls = [(torch.tensor([3.0, 4.0]), 1.0), (torch.tensor([1.0, 2.0]), 1.0)]
""",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 2"),
            ("limit", "float"),
            ("report", "None"),
            ("steps", "list"),
            ("torch.stack([x.mean(), *steps]).sum()", "float32"),
        ),
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a module that keeps what it was given",
        source="""\
import torch
from torch import nn


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.counting = Counting()

    def forward(self, x):
        while ⟦x.norm() > 1⟧:
            x = self.counting(x) * 0.5
        return x.sum()
""",
        reason="`self.counting(x)` is computed in every call, and may do more than give a value.",
        seen=(("x", "float32 4"), ("self.counting", "module model.Counting"), ("x.sum()", "float32")),
    ),
    Refusal(
        "a method that reads its object",
        source="""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = 0.5

    def forward(self, x):
        while ⟦x.norm() > 1⟧:
            x = self.less(x)
        return x.sum()

    def less(self, x):
        return x * self.by
""",
        reason="`self.less(x)` is computed in every call, and may do more than give a value.",
        seen=(("x", "float32 4"), ("x.sum()", "float32")),
    ),
)
