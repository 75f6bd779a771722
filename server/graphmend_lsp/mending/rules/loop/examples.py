"""What the loop rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_X = """\
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, 1.0]),),
    (torch.arange(1.0, 5.0),),
]
"""
_NET = """\
torch.manual_seed(1)
fn = Net()
calls = [(torch.ones(4),), (torch.full((4,), -3.0),), (torch.arange(4.0),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a break",
        before="""\
import torch


def fn(x):
    for _ in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
    return x
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(4):
        x = torch.where(done, x, x * 2)
        done = done | (x.sum() > 20)
    return x
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "a fixed point, with what is stored on the way out",
        before="""\
import torch


def fn(x):
    steps = torch.zeros(())
    for _ in range(5):
        new = (x + 1) / 2
        if ⟦(new - x).abs().max() < 0.5⟧:
            steps = steps + 100
            break  # near enough
        # go on
        x = new
        steps = steps + 1
    return x, steps
""",
        after="""\
import torch


def fn(x):
    steps = torch.zeros(())
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(5):
        new = (x + 1) / 2
        ends = ~done & ((new - x).abs().max() < 0.5)
        steps = torch.where(ends, steps + 100, steps)
        done = done | ends  # near enough
        # go on
        x = torch.where(done, x, new)
        steps = torch.where(done, steps, steps + 1)
    return x, steps
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "the test comes first, and a Python test beside it",
        before="""\
import torch


def fn(x):
    for i in range(4):
        if i > 1 and ⟦x.sum() > 20⟧:
            break
        x = x * 2  # twice
    return x
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for i in range(4):
        if i > 1:
            done = done | (x.sum() > 20)
        x = torch.where(done, x, x * 2)  # twice
    return x
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "else",
        before="""\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
    else:
        x = x + 100
    return x
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for i in range(4):
        x = torch.where(done, x, x * 2)
        done = done | (x.sum() > 20)
    x = torch.where(done, x, x + 100)
    return x
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "a break in the other branch",
        before="""\
import torch


def fn(x):
    for _ in range(4):
        if ⟦x.sum() < 20⟧:
            # grow
            x = x * 2
        else:
            break
    return x
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(4):
        done = done | (~(x.sum() < 20))
        # grow
        x = torch.where(done, x, x * 2)
    return x
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "continue",
        before="""\
import torch


def fn(x):
    y = x * 0
    for i in range(len(x)):
        if ⟦x[i] > 0⟧:
            continue
        y = y + x[i]
    return y
""",
        after="""\
import torch


def fn(x):
    y = x * 0
    for i in range(len(x)):
        skip = x[i] > 0
        y = torch.where(skip, y, y + x[i])
    return y
""",
        run=_X,
        gb_id="GB7000",
    ),
    Example(
        "continue and break",
        before="""\
import torch


def fn(x):
    y = x * 0
    for i in range(x.shape[0]):
        if ⟦x[i] > 0⟧:
            continue
        y = y + x[i]
        if y.sum() < -6:
            break
        y = y * 2
    return y
""",
        after="""\
import torch


def fn(x):
    y = x * 0
    done = torch.zeros((), dtype=torch.bool, device=y.device)
    for i in range(x.shape[0]):
        skip = done | (x[i] > 0)
        y = torch.where(skip, y, y + x[i])
        done = done | (~skip & (y.sum() < -6))
        skip = skip | done
        y = torch.where(skip, y, y * 2)
    return y
""",
        run=_X,
        gb_id="GB7000",
        assumes=("cost",),
    ),
    Example(
        "a return from inside",
        before="""\
import torch


def fn(x):
    for _ in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            return x, x.max()
    y = x - 1
    return y, y.min()
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(4):
        x = torch.where(done, x, x * 2)
        done = done | (x.sum() > 20)
    y = x - 1
    return torch.where(done, x, y), torch.where(done, x.max(), y.min())
""",
        run=_X,
        assumes=("identity", "cost"),
    ),
    Example(
        "values of each iteration, stored where they belong",
        before="""\
import torch


def fn(x):
    out = torch.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] * 2
        if ⟦x[i] < 0⟧:
            break
    return out
""",
        after="""\
import torch


def fn(x):
    out = torch.zeros_like(x)
    done = torch.zeros((), dtype=torch.bool, device=out.device)
    for i in range(x.shape[0]):
        out[i] = torch.where(done, out[i], x[i] * 2)
        done = done | (x[i] < 0)
    return out
""",
        run=_X,
        gb_id="GB7000",
        assumes=("cost",),
    ),
    Example(
        "a running sum of its own tensor, inner loops and Python tests",
        before="""\
import torch


def fn(x):
    total = torch.zeros(4)
    for i in range(4):
        if i > 2:
            break
        for j in range(2):
            total += x * j
        if ⟦total.sum() > 20⟧:
            break
    return total
""",
        after="""\
import torch


def fn(x):
    total = torch.zeros(4)
    done = torch.zeros((), dtype=torch.bool, device=total.device)
    for i in range(4):
        if i > 2:
            break
        for j in range(2):
            total = torch.where(done, total, total.clone().add_(x * j))
        done = done | (total.sum() > 20)
    return total
""",
        run=_X,
        gb_id="GB7000",
        assumes=("cost",),
    ),
    Example(
        "layers until one says enough",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            h = layer(x)
            if ⟦h.norm() < 1.2⟧:
                break
            x = x + torch.relu(h)
        return x
""",
        after="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(4))

    def forward(self, x):
        done = torch.zeros((), dtype=torch.bool, device=x.device)
        for layer in self.layers:
            h = layer(x)
            done = done | (h.norm() < 1.2)
            x = torch.where(done, x, x + torch.relu(h))
        return x
""",
        run=_NET,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "gradients stay finite in turns that are not taken",
        before="""\
import torch


def fn(x):
    for _ in range(3):
        if ⟦x.min() < 0⟧:
            break
        x = x.sqrt() - 0.5
    return x * 2
""",
        after="""\
import torch


def fn(x):
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    for _ in range(3):
        done = done | (x.min() < 0)
        x = torch.where(done, x, torch.where(done, 1, x).sqrt() - 0.5)
    return x * 2
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
    Example(
        "a number of iterations with a largest value",
        before="""\
import torch


def fn(x):
    n = ⟦int(x.abs().max())⟧
    for i in range(min(n, 4)):
        x = x + i
    return x
""",
        after="""\
import torch


def fn(x):
    n = x.abs().max().long()
    for i in range(4):
        x = torch.where(i < n, x + i, x)
    return x
""",
        run=_X,
        gb_id="GB0124",
        assumes=("identity", "cost"),
    ),
    Example(
        "a clamped number of iterations",
        before="""\
import torch


def fn(x):
    n = x.abs().max().clamp(max=4)
    for i in range(1, ⟦int(n)⟧):
        x = x + i
    return x
""",
        after="""\
import torch


def fn(x):
    n = x.abs().max().clamp(max=4)
    turns = n.long()
    for i in range(1, 4):
        x = torch.where(i < turns, x + i, x)
    return x
""",
        run=_X,
        gb_id="GB0124",
        assumes=("identity", "cost"),
    ),
    Example(
        "a number of iterations that is the size of a mask",
        before="""\
import torch


def fn(x):
    for _ in range(⟦(x > 0).sum().item()⟧):
        x = x + 1
    return x
""",
        after="""\
import torch


def fn(x):
    turns = (x > 0).sum()
    for turn in range(x.numel()):
        x = torch.where(turn < turns, x + 1, x)
    return x
""",
        run=_X,
        gb_id="GB0124",
        assumes=("identity", "cost"),
    ),
    Example(
        "while, with a counter beside the tensor",
        before="""\
import torch


def fn(x):
    n = 0
    while ⟦x.sum() > 10⟧ and n < 8:
        x = x / 2
        n += 1
    return x
""",
        after="""\
import torch


def fn(x):
    n = 0
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    while n < 8:
        done = done | ~(x.sum() > 10)
        x = torch.where(done, x, x / 2)
        n += 1
    return x
""",
        assumes=("identity", "cost"),
    ),
    Example(
        "a break in a while that counts",
        before="""\
import torch


def fn(x):
    n = 0
    while n < 6:
        x = x * 1.5
        n += 1
        if ⟦x.sum() > 20⟧:
            break
    return x
""",
        after="""\
import torch


def fn(x):
    n = 0
    done = torch.zeros((), dtype=torch.bool, device=x.device)
    while n < 6:
        x = torch.where(done, x, x * 1.5)
        n += 1
        done = done | (x.sum() > 20)
    return x
""",
        run=_X,
        gb_id="GB7000",
        assumes=("identity", "cost"),
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the loop's variable is read behind it",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
    return x + i
""",
        "`i` is read after the loop",
        gb_id="GB7000",
    ),
    Refusal(
        "a Python number is counted",
        """\
import torch


def fn(x):
    n = 0
    for i in range(4):
        n += i
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
    return x * n
""",
        "`n` is a Python number",
        gb_id="GB7000",
    ),
    Refusal(
        "a list grows",
        """\
import torch


def fn(x):
    seen = []
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
        seen.append(x)
    return x + len(seen)
""",
        "runs on one side only",
        gb_id="GB7000",
    ),
    Refusal(
        "something is said",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
        print(i)
    return x
""",
        "runs on one side only",
        gb_id="GB7000",
    ),
    Refusal(
        "random numbers",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            break
        x = x + torch.rand(4)
    return x
""",
        "draws random numbers",
        gb_id="GB7000",
    ),
    Refusal(
        "an iterator",
        """\
import torch


def fn(x):
    for v in iter(x):
        if ⟦v > 2⟧:
            break
        x = x + v
    return x
""",
        "may be an iterator",
        gb_id="GB7000",
    ),
    Refusal(
        "an index that may be out of range",
        """\
import torch


def fn(x):
    for i in range(4):
        if ⟦x[i] > 2⟧:
            break
        x = x + 1
    return x
""",
        "may raise for an index out of range",
        gb_id="GB7000",
    ),
    Refusal(
        "what is set in the loop alone is read behind it",
        """\
import torch


def fn(x):
    for i in range(4):
        y = x * i
        if ⟦y.sum() > 20⟧:
            break
    return y
""",
        "`y` may have no value",
        gb_id="GB7000",
    ),
    Refusal(
        "a return, and more than a return after the loop",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            return x
    for i in range(2):
        x = x - 1
    return x
""",
        "more than assignments",
    ),
    Refusal(
        "a return and a break",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            return x
        if x.sum() > 10:
            break
    return x - 1
""",
        "more than one way",
        gb_id="GB7000",
    ),
    Refusal(
        "a return of the loop's variable",
        """\
import torch


def fn(x):
    for i in range(4):
        x = x * 2
        if ⟦x.sum() > 20⟧:
            return x * i
    return x
""",
        "reads the loop's own variable",
    ),
    Refusal(
        "what others may hold, and may be a number, changes in place",
        """\
import torch


def fn(x, n):
    for i in range(4):
        n += 1
        x = x * n
        if ⟦x.sum() > 20⟧:
            break
    return x + n
""",
        "may have another name",
        gb_id="GB7000",
    ),
    Refusal(
        "a Python test of what the mask holds back",
        """\
import torch


def fn(x):
    n = x
    for i in range(4):
        if n is None:
            x = x + 1
        n = x * 2
        if ⟦x.sum() > 20⟧:
            break
    return x + n
""",
        "what the mask holds back",
        gb_id="GB7000",
    ),
    Refusal(
        "no largest number of iterations",
        """\
import torch


def fn(x):
    for i in range(⟦int(x.max())⟧):
        x = x + i
    return x
""",
        "no largest number of iterations",
        gb_id="GB0124",
    ),
    Refusal(
        "the number is used elsewhere",
        """\
import torch


def fn(x):
    n = ⟦int(x.max())⟧
    for i in range(min(n, 4)):
        x = x + i
    return x * n
""",
        "counts more than iterations",
        gb_id="GB0124",
    ),
    Refusal(
        "a while that only data ends",
        """\
import torch


def fn(x):
    while ⟦x.sum() < 100⟧:
        x = x * 2
    return x
""",
        "No largest number of iterations is known",
    ),
    Refusal(
        "the counter is read after the loop",
        """\
import torch


def fn(x):
    n = 0
    while ⟦x.sum() > 10⟧ and n < 8:
        x = x / 2
        n += 1
    return x * n
""",
        "`n` counts the iterations",
    ),
)
