"""Operators whose results have sizes that values decide, or that differ from call to call. Part of the rule's examples."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a rotation for each of a batch, as many as the loop counts",
        before="""\
import torch


def aligned(scores, source):
    rotations = []
    for i in range(source.size(0)):
        u, s, v = torch.svd(scores[i])
        r = v @ u.t()
        if ⟦torch.det(r) < 0⟧:
            r = -r
        rotations.append(r)
    stacked = torch.stack(rotations)
    return stacked @ source


def fn(scores, source):
    return aligned(scores.sin(), source).cos()
""",
        after='''\
import torch

from graphmend_support import operator


def aligned(scores, source):
    stacked = _aligned_operator(scores, source.detach())
    return stacked @ source


@operator(
    like=lambda scores, source: scores.new_empty(
        (source.shape[0], scores.shape[1], scores.shape[2])
    ),
)
def _aligned_operator(scores: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    rotations = []
    for i in range(source.size(0)):
        u, s, v = torch.svd(scores[i])
        r = v @ u.t()
        if torch.det(r) < 0:
            r = -r
        rotations.append(r)
    stacked = torch.stack(rotations)
    return stacked


def fn(scores, source):
    return aligned(scores.sin(), source).cos()
''',
        run="""\
import torch

torch.manual_seed(0)
calls = [(torch.randn(4, 3, 3), torch.randn(4, 3, 5)) for _ in range(2)]
""",
        gb_id="GB0170",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("scores", "float32 4 3 3"),
            ("source", "float32 4 3 5"),
            ("stacked", "float32 4 3 3"),
            ("stacked @ source", "float32 4 3 5"),
        ),
    ),
    Example(
        "chosen elements, up to where they become one number",
        before="""\
import torch


def fn(loss, target):
    chosen, order = ⟦loss.view(-1)[target >= 0]⟧.sort()
    threshold = max(chosen[min(2, chosen.numel() - 1)], 0.5)
    kept = chosen[chosen >= threshold]
    return kept.mean() * 2
""",
        after="""\
import torch

from graphmend_support import operator


# One operator of the graph: TorchDynamo does not look inside.
@operator(like=lambda loss: loss.new_empty(()))
def fn(loss, target):
    chosen, order = loss.view(-1)[target >= 0].sort()
    threshold = max(chosen[min(2, chosen.numel() - 1)], 0.5)
    kept = chosen[chosen >= threshold]
    return kept.mean() * 2
""",
        run="""\
import torch

calls = [(torch.tensor(one), torch.tensor([0, -1, 1, 0])) for one in ([0.1, 9.0, 0.7, 0.9], [2.0, 0.2, 0.1, 0.3])]
""",
        gb_id="GB0036",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("loss", "float32 4"),
            ("target", "int64 4"),
            ("chosen", "float32 ?"),
            ("order", "int64 ?"),
            ("kept", "float32 ?"),
            ("kept.mean() * 2", "float32"),
        ),
    ),
    Example(
        "rows repeated as often as data says, padded by a function of the file",
        before="""\
import torch


def padded(rows, value):
    count = len(rows)
    longest = max(row.size(0) for row in rows)
    made = rows[0].new(count, longest, *rows[0].size()[1:]).fill_(value)
    for i in range(count):
        made[i, : rows[i].size(0)] = rows[i]
    return made


def regulated(x, times):
    return padded([⟦torch.repeat_interleave(row, n, dim=0)⟧ for row, n in zip(x, times)], 0.0)


def fn(x, times):
    return regulated(x.sin(), times).sum(1)
""",
        after="""\
import torch

from graphmend_support import any_size, operator


def padded(rows, value):
    count = len(rows)
    longest = max(row.size(0) for row in rows)
    made = rows[0].new(count, longest, *rows[0].size()[1:]).fill_(value)
    for i in range(count):
        made[i, : rows[i].size(0)] = rows[i]
    return made


# One operator of the graph: TorchDynamo does not look inside.
@operator(like=lambda x: x.new_empty((x.shape[0], any_size(), x.shape[2])))
def regulated(x, times):
    return padded([torch.repeat_interleave(row, n, dim=0) for row, n in zip(x, times)], 0.0)


def fn(x, times):
    return regulated(x.sin(), times).sum(1)
""",
        run="""\
import torch

x = torch.arange(12.0).reshape(2, 3, 2)
calls = [(x, torch.tensor(one)) for one in ([[1, 2, 1], [2, 0, 1]], [[1, 0, 1], [1, 1, 1]])]
""",
        outermost="fn",
        gb_id="GB0036",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 2 3 2"),
            ("times", "int64 2 3"),
            ("padded([torch.repeat_interleave(row, n, dim=0) for row, n in zip(x, times)], 0.0)", "float32 2 ? 2"),
        ),
    ),
    Example(
        "a loop with a check, whose variable another loop has, too",
        before="""\
import torch


class TooLong(ValueError):
    pass


def fn(x, sizes):
    parts = [x[i] * 2 for i in range(2)]
    total = x.sum(dim=0)
    for i, size in enumerate(⟦sizes.tolist()⟧):
        if size > 99:
            raise TooLong()
        total = total + x[i] * size
    for i in range(2):
        total = total + parts[i]
    return total
""",
        after='''\
import torch

from graphmend_support import operator


class TooLong(ValueError):
    pass


def fn(x, sizes):
    parts = [x[i] * 2 for i in range(2)]
    total = x.sum(dim=0)
    total = _fn_operator(sizes.detach(), total, x)
    for i in range(2):
        total = total + parts[i]
    return total


@operator(like=lambda total: total)
def _fn_operator(sizes, total, x) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    for i, size in enumerate(sizes.tolist()):
        if size > 99:
            raise TooLong()
        total = total + x[i] * size
    return total
''',
        run="""\
import torch

calls = [(torch.arange(6.0).reshape(2, 3), torch.tensor(one)) for one in ([1, 2], [0, 3])]
""",
        gb_id="GB0033",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 2 3"),
            ("sizes", "int64 2"),
            ("total", "float32 3"),
            ("parts[i]", "float32 3"),
        ),
    ),
)
