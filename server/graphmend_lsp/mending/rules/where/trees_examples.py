"""Containers, returns inside branches, harmless operands: what the where rule mends and declines of them."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

EXAMPLES: tuple[Example, ...] = (
    Example(
        "an index that is out of range on the side that is not taken",
        """\
import torch


def fn(table, last, step: int):
    before = step - 10
    value = table[before] if ⟦before >= 0⟧ else last
    return value * 2
""",
        """\
import torch


def fn(table, last, step: int):
    before = step - 10
    condition = torch.as_tensor(before) >= 0
    # The inner where makes the side that is not chosen harmless.
    value = torch.where(
        condition,
        table[torch.where(condition, before, 0)[None].to(table.device, torch.int64)][0],
        last,
    )
    return value * 2
""",
        run="table, last = torch.arange(12.0), torch.ones(())\n"
        "calls = [(table, last, step) for step in (torch.tensor(15), torch.tensor(5), 15, 5, torch.tensor(11).int())]",
        seen=(("table", "float32 12"), ("before", "int64"), ("last", "float32")),
    ),
    Example(
        "two lists of one structure",
        before="""\
import torch


def fn(x):
    out = [x * 2, x] if ⟦x.sum() > 0⟧ else [x + 1, x]
    return out[0] + out[1]
""",
        after="""\
import torch


def fn(x):
    out = [torch.where(x.sum() > 0, x * 2, x + 1), x]
    return out[0] + out[1]
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "a dict on both sides",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return {"out": x * 2, "parts": (x.sum(), x.mean())}
    return {"out": x + 1, "parts": (x.mean(), x.sum())}
""",
        after="""\
import torch


def fn(x):
    condition = x.sum() > 0
    return {
        "out": torch.where(condition, x * 2, x + 1),
        "parts": (
            torch.where(condition, x.sum(), x.mean()),
            torch.where(condition, x.mean(), x.sum()),
        ),
    }
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "a named tuple on both sides",
        before="""\
from typing import NamedTuple

import torch


class Output(NamedTuple):
    logits: torch.Tensor
    loss: torch.Tensor


def fn(x):
    if ⟦x.sum() > 0⟧:
        return Output(x * 2, loss=x.mean())
    return Output(x + 1, loss=x.sum())
""",
        after="""\
from typing import NamedTuple

import torch


class Output(NamedTuple):
    logits: torch.Tensor
    loss: torch.Tensor


def fn(x):
    condition = x.sum() > 0
    return Output(
        torch.where(condition, x * 2, x + 1),
        loss=torch.where(condition, x.mean(), x.sum()),
    )
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "a tuple that one side keeps",
        before="""\
import torch


def fn(x):
    state = (x[0], x[1])
    for row in (x[1], x[2]):
        if ⟦row.sum() > 0⟧:
            state = (row + 1, state[0])
    return state[0] + state[1]
""",
        after="""\
import torch


def fn(x):
    state = (x[0], x[1])
    for row in (x[1], x[2]):
        condition = row.sum() > 0
        state = (
            torch.where(condition, row + 1, state[0]),
            torch.where(condition, state[0], state[1]),
        )
    return state[0] + state[1]
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
        assumes=("identity",),
    ),
    Example(
        "a list that one side makes",
        before="""\
import torch


def fn(x):
    parts = [x, x * 2]
    if ⟦x.sum() > 0⟧:
        parts = [part / 2 for part in parts]
    return torch.cat(parts)
""",
        after="""\
import torch


def fn(x):
    parts = [x, x * 2]
    parts = [torch.where(x.sum() > 0, part / 2, part) for part in parts]
    return torch.cat(parts)
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
        assumes=("identity",),
    ),
    Example(
        "an item of a dict",
        before="""\
import torch


def fn(x):
    out = {"total": x.sum() + 1}
    if ⟦x.sum() > 0⟧:
        out["total"] = out["total"] * 2
    return out
""",
        after="""\
import torch


def fn(x):
    out = {"total": x.sum() + 1}
    out["total"] = torch.where(x.sum() > 0, out["total"] * 2, out["total"])
    return out
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "an item that both sides add",
        before="""\
import torch


def fn(x, out):
    if ⟦x.sum() > 0⟧:
        out["y"] = x * 2
    else:
        out["y"] = x + 1
    return out["y"]
""",
        after="""\
import torch


def fn(x, out):
    out["y"] = torch.where(x.sum() > 0, x * 2, x + 1)
    return out["y"]
""",
        run="import torch\n\ncalls = [(torch.ones(3), {}), (-torch.ones(3), {})]\n",
    ),
    Example(
        "calls in branches of a branch",
        before="""\
import torch


def fn(x):
    parts = []
    if ⟦x.sum() > 0⟧:
        if x.max() > 2:
            parts.append(x * 2)
        else:
            parts.append(x * 3)
    else:
        parts.append(x * 4)
    return parts[0]
""",
        after="""\
import torch


def fn(x):
    parts = []
    parts.append(
        torch.where(x.sum() > 0, torch.where(x.max() > 2, x * 2, x * 3), x * 4)
    )
    return parts[0]
""",
        run="import torch\n\ncalls = [(torch.ones(3),), (torch.ones(3) * 5,), (-torch.ones(3),)]\n",
    ),
    Example(
        "a return inside a branch",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        if x.max() > 2:
            return x / 2
        x = x + 1
    return x - 1
""",
        after="""\
import torch


def fn(x):
    condition = x.sum() > 0
    condition_2 = x.max() > 2
    x = torch.where(condition, torch.where(condition_2, x, x + 1), x)
    return torch.where(condition, torch.where(condition_2, x / 2, x - 1), x - 1)
""",
        run="import torch\n\ncalls = [(torch.ones(3),), (torch.ones(3) * 5,), (-torch.ones(3),)]\n",
        assumes=("identity",),
    ),
    Example(
        "statements of all kinds behind an early return",
        before="""\
import torch


def fn(x):
    if ⟦x.sum() < 0⟧:
        return x, None
    # doubled
    parts = [x, x]
    parts[0] = parts[0] * 2
    return parts[0] + parts[1], None
""",
        after="""\
import torch


def fn(x):
    # doubled
    parts = [x, x]
    parts[0] = parts[0] * 2
    return torch.where(x.sum() < 0, x, parts[0] + parts[1]), None
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "an index that is in range where it is used",
        before="""\
import torch


def fn(x):
    at = x.sum().long()
    if ⟦at < 3⟧:
        y = x[at]
    else:
        y = x[0]
    return y * 2
""",
        after="""\
import torch


def fn(x):
    at = x.sum().long()
    condition = at < 3
    # The inner where makes the side that is not chosen harmless.
    y = torch.where(condition, x[torch.where(condition, at, 0)], x[0])
    return y * 2
""",
        run="import torch\n\ncalls = [(torch.zeros(3, 4),), (torch.ones(3, 4),)]\n",
    ),
    Example(
        "a division by what may be zero elsewhere",
        before="""\
import torch


def fn(x):
    count = (x > 0).sum()
    share = 100 // count if ⟦count > 0⟧ else count + 1
    return x * share
""",
        after="""\
import torch


def fn(x):
    count = (x > 0).sum()
    condition = count > 0
    # The inner where makes the side that is not chosen harmless.
    share = torch.where(condition, 100 // torch.where(condition, count, 1), count + 1)
    return x * share
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
    Example(
        "one of some numbers",
        before="""\
import torch


def fn(x):
    if ⟦x.argmax() in (0, 2)⟧:
        x = x * 2
    return x + 1
""",
        after="""\
import torch


def fn(x):
    x_argmax = x.argmax()
    x = torch.where((x_argmax == 0) | (x_argmax == 2), x * 2, x)
    return x + 1
""",
        run="import torch\n\ncalls = [(torch.tensor([3.0, 1, 2]),), (torch.tensor([1.0, 3, 2]),)]\n",
        assumes=("identity",),
    ),
    Example(
        "none of the numbers of a name",
        before="""\
import torch


KEPT = [0, 2]


def fn(x):
    kind = x.argmax()
    if ⟦kind not in KEPT⟧:
        x = x * 2
    return x + 1
""",
        after="""\
import torch


KEPT = [0, 2]


def fn(x):
    kind = x.argmax()
    x = torch.where(~torch.stack([kind == number for number in KEPT]).any(), x * 2, x)
    return x + 1
""",
        run="import torch\n\ncalls = [(torch.tensor([3.0, 1, 2]),), (torch.tensor([1.0, 3, 2]),)]\n",
        assumes=("identity",),
    ),
    Example(
        "a name that is a number first",
        before="""\
import torch


def fn(x):
    total = 0
    total = total + x.sum()
    if ⟦total > 1⟧:
        total = total * 2
    total = total + 1
    return x * total
""",
        after="""\
import torch


def fn(x):
    total = 0
    total = total + x.sum()
    total = torch.where(total > 1, total * 2, total)
    total = total + 1
    return x * total
""",
        run="import torch\n\ncalls = [(torch.ones(3, 4),), (-torch.ones(3, 4),)]\n",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a chosen item that is changed in place later",
        """\
import torch


def fn(x):
    left, right = x * 1, x + 1
    pair = [left, right] if ⟦x.sum() > 0⟧ else [right, left]
    pair[0].add_(1)
    return left + right
""",
        reason="changes `pair[0]` in place",
    ),
    Refusal(
        "what is chosen is changed in place later",
        """\
import torch


def fn(x):
    left, right = x * 1, x + 1
    if ⟦x.sum() > 0⟧:
        pair = (left, right)
    else:
        pair = (right, left)
    left += 1
    return pair[0]
""",
        reason="changes `left` in place",
    ),
    Refusal(
        "what was put in a list is changed in place later",
        """\
import torch


def fn(x):
    parts, h = [], x * 2
    if ⟦x.sum() > 0⟧:
        parts.append(h)
    else:
        parts.append(x)
    h.mul_(3)
    return parts[0]
""",
        reason="changes `h` in place",
    ),
    Refusal(
        "a list that has another name",
        """\
import torch


def fn(x):
    parts = [x, x * 2]
    kept = parts
    if ⟦x.sum() > 0⟧:
        parts = [part / 2 for part in parts]
    kept.append(x)
    return torch.cat(parts)
""",
        reason="not known to be containers of one structure",
    ),
    Refusal(
        "a number in a container where the other has a tensor",
        """\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return {"out": x, "loss": x.mean()}
    return {"out": x * 2, "loss": 0.0}
""",
        reason="would turn a Python value into a tensor",
    ),
    Refusal(
        "dicts with other keys",
        """\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        return {"out": x}
    return {"out": x * 2, "loss": x.mean()}
""",
        reason="not known to be containers of one structure",
    ),
    Refusal(
        "items of other dtypes",
        """\
import torch


def fn(x):
    pair = [x * 2, x > 0] if ⟦x.sum() > 0⟧ else [x * 3, x + 1]
    return pair
""",
        reason="have different dtypes",
    ),
    Refusal(
        "a class that does something when it is made",
        """\
from dataclasses import dataclass

import torch


@dataclass
class Output:
    out: torch.Tensor

    def __post_init__(self):
        print("made")


def fn(x):
    if ⟦x.sum() > 0⟧:
        return Output(x)
    return Output(x * 2)
""",
        reason="effects are not known",
    ),
    Refusal(
        "an item that may not exist",
        """\
import torch


def fn(x, out):
    if ⟦x.sum() > 0⟧:
        out["y"] = x * 2
    return out
""",
        reason="may not exist when its side is not taken",
    ),
    Refusal(
        "an item that is a number",
        """\
import torch


def fn(x):
    out = {"n": 0}
    if ⟦x.sum() > 0⟧:
        out["n"] = x.sum()
    return out
""",
        reason="is not known to be a tensor when its side is not taken",
    ),
    Refusal(
        "a count in a dict",
        """\
import torch


STATE = {"n": 0}


def fn(x):
    if ⟦x.sum() > 0⟧:
        STATE["n"] += 1
    return x * 2
""",
        reason="may count a Python number",
    ),
    Refusal(
        "membership in a set",
        """\
import torch


def fn(x):
    if ⟦x.argmax() in {0, 2}⟧:
        x = x * 2
    return x
""",
        reason="has no tensor form",
    ),
    Refusal(
        "membership among tensors",
        """\
import torch


def fn(x):
    total = x.sum()
    kept = [total, x.mean()]
    if ⟦total in kept⟧:
        x = x * 2
    return x
""",
        reason="has no tensor form",
    ),
    Refusal(
        "an index that may be a mask",
        """\
import torch


def fn(x, at):
    y = x
    if ⟦x.sum() > 0⟧:
        y = x[at]
    return y
""",
        reason="may raise for an index out of range",
    ),
    Refusal(
        "much behind a return inside a branch",
        """\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        if x.max() > 2:
            return x / 2
        x = x + 1
    a = x + 1
    b = a * 2
    c = b - a
    d = c * b
    e = d + c
    f = e * d
    return f - e
""",
        reason="much code follows it",
    ),
)
