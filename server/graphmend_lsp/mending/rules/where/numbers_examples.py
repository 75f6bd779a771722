"""Numbers that a tensor chooses: what the where rule mends and declines, its tests and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = "torch.arange(1.0, 5.0)"
_RUN = f"""\
x = {_X}
calls = [(x, torch.tensor([1.0])), (x, torch.tensor(0.0)), (x.long(), torch.tensor(True)), (x.half(), torch.ones(1, 1))]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a conditional expression of numbers",
        before="""\
import torch


def fn(x, loud):
    scale = 2.0 if ⟦loud⟧ else 0.5
    return x * scale + scale
""",
        after="""\
import torch


def fn(x, loud):
    scale = torch.where(loud != 0, 2.0, 0.5).reshape(())
    return x * scale + scale
""",
        run=_RUN,
        assumes=("dtype",),
    ),
    Example(
        "numbers in place",
        before="""\
import torch


def fn(x):
    return x / (2 if ⟦(x > 3).any()⟧ else 4)
""",
        after="""\
import torch


def fn(x):
    return x / torch.where((x > 3).any(), 2, 4)
""",
        run="calls = [(torch.arange(1.0, 5.0),), (torch.zeros(3).half(),), (torch.arange(6),)]",
    ),
    Example(
        "a number beside a tensor without dimensions takes its dtype",
        before="""\
import torch


def fn(x, loud):
    loss = x.square().mean()
    weight = 2.0 if ⟦loud.any()⟧ else 0.0
    return loss * weight
""",
        after="""\
import torch


def fn(x, loud):
    loss = x.square().mean()
    weight = torch.where(loud.any(), 2.0, 0.0)
    return loss * weight.to(loss.dtype)
""",
        run="x, y = torch.ones(3), torch.ones(2)\ncalls = [(x.half(), y), (x.double(), 0 * y), (x, y), (x.bfloat16(), y)]",
    ),
    Example(
        "a whole number beside what may be an integer without dimensions",
        before="""\
import torch


def fn(loss, count):
    factor = 3 if ⟦count > 10⟧ else 1
    return loss * factor
""",
        after="""\
import torch


def fn(loss, count):
    factor_condition = (count > 10).reshape(())
    return torch.where(factor_condition, loss * 3, loss * 1)
""",
        run="calls = [(torch.tensor(7, dtype=torch.int16), torch.tensor(20)), (torch.rand(4), torch.tensor(2))]",
    ),
    Example(
        "a whole number with two uses beside such a tensor",
        before="""\
import torch


def fn(loss: torch.Tensor, count):
    factor = 3 if ⟦count > 10⟧ else 1
    return loss * factor, loss + factor
""",
        after="""\
import torch


def fn(loss: torch.Tensor, count):
    factor = torch.where(count > 10, 3, 1).reshape(())
    return loss * factor.to((loss * 1).dtype), loss + factor.to((loss * 1).dtype)
""",
        run="calls = [(torch.tensor(7, dtype=torch.int16), torch.tensor(20)), (torch.rand(4), torch.tensor(2))]",
    ),
    Example(
        "numbers of two conditions",
        before="""\
import torch


def fn(x, loud):
    scale = 2.0 if ⟦loud.any()⟧ else (1.0 if x.sum() > 0 else -1.0)
    return scale * x
""",
        after="""\
import torch


def fn(x, loud):
    scale = torch.where(loud.any(), 2.0, torch.where(x.sum() > 0, 1.0, -1.0))
    return scale.to((x * 1.0).dtype) * x
""",
        run="calls = [(torch.ones(3), torch.ones(2)), (torch.ones(3), torch.zeros(2)), (-torch.ones(()).half(), torch.zeros(2))]",
    ),
    Example(
        "numbers that a dtype rounds",
        before="""\
import torch


def fn(x, loud):
    rate = 1.0 if ⟦loud⟧ else 0.1  # slowly
    return x - x * rate
""",
        after="""\
import torch


def fn(x, loud):
    rate_condition = (loud != 0).reshape(())  # slowly
    return x - torch.where(rate_condition, x * 1.0, x * 0.1)
""",
        run=_RUN,
    ),
    Example(
        "a flag that may change later",
        before="""\
import torch


def fn(x, flags):
    high = flags > 0
    rate = 3.0 if ⟦high.bool()⟧ else 0.1
    high.logical_not_()
    return x * rate + high
""",
        after="""\
import torch


def fn(x, flags):
    high = flags > 0
    rate_condition = high.bool().reshape(()).clone()
    high.logical_not_()
    return torch.where(rate_condition, x * 3.0, x * 0.1) + high
""",
        run="calls = [(torch.ones(3), torch.tensor([1.0])), (torch.ones(3), torch.tensor([-1.0]))]",
    ),
)

_START = "import torch\n\n\ndef fn(x, loud):\n"

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a number that a dtype rounds, put in a condition's place",
        source=_START + "    scale = 1.0\n    if ⟦x.sum() > 0⟧:\n        scale = 0.1\n    return x * scale\n",
        reason="`0.1` is rounded in some dtypes",
    ),
    Refusal(
        "a number that a dtype rounds, beside a value without a name",
        source=_START + "    scale = 1.0 if ⟦loud.any()⟧ else 0.1\n    return x.sin() * scale\n",
        reason="`x.sin() * scale` would be computed twice; give `x.sin()` a name",
    ),
    Refusal(
        "a number that a dtype rounds, divided",
        source=_START + "    scale = 1.0 if ⟦loud.any()⟧ else 0.1\n    return scale / x\n",
        reason="its gradient may not be finite",
    ),
    Refusal(
        "a divisor that is 0",
        source=_START + "    return x / (0.1 if ⟦loud.any()⟧ else 0.0)\n",
        reason="divides by 0",
    ),
    Refusal(
        "an int or a float",
        source=_START + "    scale = 2 if ⟦loud.any()⟧ else 0.5\n    return x * scale\n",
        reason="One side gives an int and the other a float",
    ),
    Refusal(
        "a chosen number computed with another number",
        source=_START + "    scale = 2.0 if ⟦loud.any()⟧ else 0.5\n    return x * (scale * 3)\n",
        reason="`scale * 3` is arithmetic of Python numbers, in float64",
    ),
    Refusal(
        "a divisor whose reciprocal is rounded",
        source=_START + "    n = 2.0 if ⟦loud.any()⟧ else 3.0\n    return x / n\n",
        reason="a tensor gives the same bits for powers of two only",
    ),
    Refusal(
        "a power",
        source=_START + "    n = 2 if ⟦loud.any()⟧ else 3\n    return x**n\n",
        reason="may be computed in another way with a tensor",
    ),
    Refusal(
        "a number beside a reduction without a name",
        source=_START + "    scale = 2.0 if ⟦loud.any()⟧ else 0.5\n    return x.mean() * scale\n",
        reason="`x.mean()` has no dimensions, so the number must have its dtype",
    ),
    Refusal(
        "a number beside an attribute that may be a number",
        source="import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, gain):\n        super().__init__()\n"
        "        self.gain = gain\n\n    def forward(self, x):\n        scale = 2.0 if ⟦x.sum() > 0⟧ else 0.5\n"
        "        return x * (self.gain * scale)\n",
        reason="it is not known whether `self.gain` is a tensor or a Python number",
    ),
    Refusal(
        "a chosen number that is returned",
        source=_START + "    return 2.0 if ⟦loud.any()⟧ else 0.5\n",
        reason="is returned to the caller, who may need a number",
    ),
    Refusal(
        "a chosen number that becomes a shape",
        source=_START + "    n = 2 if ⟦loud.any()⟧ else 3\n    return x.repeat(n)\n",
        reason="`n` is passed to `x.repeat`, which may need a number",
    ),
    Refusal(
        "numbers of two conditions that become a shape",
        source=_START + "    n = 2 if ⟦loud.any()⟧ else (3 if x.sum() > 0 else 4)\n    return x.repeat(n)\n",
        reason="`n` is passed to `x.repeat`, which may need a number",
    ),
    Refusal(
        "a chosen number with another value elsewhere",
        source=_START + "    n = 2 if ⟦loud.any()⟧ else 3\n    x = x + n\n    n = n + 1\n    return x * n\n",
        reason="`n + 1` is arithmetic of Python numbers",
    ),
    Refusal(
        "a chosen number in a function of its own",
        source=_START + "    n = 2 if ⟦loud.any()⟧ else 3\n    return [x * n for _ in range(2)]\n",
        reason="`n` is used in a function or comprehension of its own",
    ),
    Refusal(
        "a flag that also decides about a number beside a loss",
        source="import torch\n\n\ndef fn(x, loud, flag=False):\n    loss = x.mean()\n"
        "    w = 2.0 if flag and ⟦loud.any()⟧ else 0.5\n    return loss * w\n",
        reason="`flag` decides too, so what is chosen may be a Python number",
    ),
)
