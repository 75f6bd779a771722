"""What the opaque rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CALLS = """\
calls = [(torch.tensor(one),) for one in ([[3, 1, 2, 3, 7, 3], [3, 1, 1, 3, 3, 9]], [[1] * 6, [1, 3] * 3])]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a mask filled from one separator to the next",
        before="""\
import torch


def spans(ids: torch.LongTensor):
    batch, length = ids.shape
    special = ids == 3
    # where the separators are
    found = ⟦torch.nonzero(special)⟧

    mask = torch.eye(length, device=ids.device).bool().unsqueeze(0).repeat(batch, 1, 1)
    position = torch.zeros((batch, length), device=ids.device)
    last = 0
    for i in range(found.shape[0]):
        row, column = found[i]
        if (column == 0) or (column == length - 1):
            mask[row, column, column] = True
            position[row, column] = 0
        else:
            mask[row, last + 1 : column + 1, last + 1 : column + 1] = True
            # from one separator to the next
            position[row, last + 1 : column + 1] = torch.arange(0, column - last, device=ids.device)
        last = column

    return mask, position.to(torch.long)


def fn(ids):
    mask, position = spans(ids)
    return mask.sum(-1) + position
""",
        after='''\
import torch

from graphmend_support import operator


@operator("mask", "position")
def _spans_operator(
    special: torch.Tensor,
    length: int,
    mask: torch.Tensor,
    position: torch.Tensor,
    ids: torch.Tensor,
) -> None:
    """Runs uncompiled, as one operator of the graph."""
    found = torch.nonzero(special)
    last = 0
    for i in range(found.shape[0]):
        row, column = found[i]
        if (column == 0) or (column == length - 1):
            mask[row, column, column] = True
            position[row, column] = 0
        else:
            mask[row, last + 1 : column + 1, last + 1 : column + 1] = True
            # from one separator to the next
            position[row, last + 1 : column + 1] = torch.arange(0, column - last, device=ids.device)
        last = column


def spans(ids: torch.LongTensor):
    batch, length = ids.shape
    special = ids == 3
    # where the separators are

    mask = torch.eye(length, device=ids.device).bool().unsqueeze(0).repeat(batch, 1, 1)
    position = torch.zeros((batch, length), device=ids.device)
    _spans_operator(special, length, mask, position, ids)

    return mask, position.to(torch.long)


def fn(ids):
    mask, position = spans(ids)
    return mask.sum(-1) + position
''',
        run=_CALLS,
        outermost="fn",
        gb_id="GB0036",
    ),
    Example(
        "lengths read one by one",
        before="""\
import torch


class Packer:
    def fill(self, x: torch.Tensor, lengths: torch.LongTensor):
        starts = torch.full((x.shape[0] + 1,), -1, dtype=torch.long)
        keep = torch.zeros(x.shape[:2], dtype=torch.bool)
        end = 0
        for row, count in enumerate(⟦lengths.tolist()⟧):
            keep[row, :count] = True
            starts[row] = end
            end += count
        return x * keep[..., None], starts


def fn(x, lengths):
    return Packer().fill(x, lengths)
""",
        after='''\
import torch

from graphmend_support import operator


@operator("keep", "starts")
def _fill_operator(
    lengths: torch.Tensor, keep: torch.Tensor, starts: torch.Tensor
) -> None:
    """Runs uncompiled, as one operator of the graph."""
    end = 0
    for row, count in enumerate(lengths.tolist()):
        keep[row, :count] = True
        starts[row] = end
        end += count


class Packer:
    def fill(self, x: torch.Tensor, lengths: torch.LongTensor):
        starts = torch.full((x.shape[0] + 1,), -1, dtype=torch.long)
        keep = torch.zeros(x.shape[:2], dtype=torch.bool)
        _fill_operator(lengths, keep, starts)
        return x * keep[..., None], starts


def fn(x, lengths):
    return Packer().fill(x, lengths)
''',
        run="calls = [(torch.ones(3, 4, 2), torch.tensor(one)) for one in ([1, 4, 2], [4, 4, 0], [1, 4, 2])]\n",
        outermost="fn",
        gb_id="GB0124",
    ),
    Example(
        "two loops, and a tensor of which only the whole numbers are read",
        before="""\
import torch


def table(x: torch.Tensor):
    counts = torch.zeros((x.shape[0], 4), dtype=torch.long)
    for row in range(x.shape[0]):
        for place in ⟦x[row].round().long().tolist()⟧:
            if 0 <= place < 4:
                counts[row, place] += 1
    return counts


def fn(x):
    return x.sin(), table(x).cos()
""",
        after='''\
import torch

from graphmend_support import operator


@operator("counts")
def _table_operator(x: torch.Tensor, counts: torch.Tensor) -> None:
    """Runs uncompiled, as one operator of the graph."""
    for row in range(x.shape[0]):
        for place in x[row].round().long().tolist():
            if 0 <= place < 4:
                counts[row, place] += 1


def table(x: torch.Tensor):
    counts = torch.zeros((x.shape[0], 4), dtype=torch.long)
    _table_operator(x.detach(), counts)
    return counts


def fn(x):
    return x.sin(), table(x).cos()
''',
        run="calls = [(torch.tensor(one),) for one in ([[0.0, 3, 1], [1, 1, 9]], [[-1.0, 2, 2], [0, 0, 0]])]\n",
        outermost="fn",
        gb_id="GB0124",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "what is written may have a gradient",
        """\
import torch


def fn(x, lengths: torch.LongTensor):
    out = torch.zeros(x.shape)
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = x[row, :count]
    return out
""",
        "What is written in `out` may have a gradient",
        gb_id="GB0124",
    ),
    Refusal(
        "the caller's tensor",
        """\
import torch


def fn(out: torch.LongTensor, lengths: torch.LongTensor):
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = 1
    return out * 2
""",
        "`out` is the caller's tensor",
        gb_id="GB0124",
    ),
    Refusal(
        "a tensor that is known by another name",
        """\
import torch


def fn(lengths: torch.LongTensor):
    out = torch.zeros((lengths.shape[0], 9))
    first = out[0]
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = first[0] + 1
    return out * 2
""",
        "may give `out` another name",
        gb_id="GB0124",
    ),
    Refusal(
        "random numbers",
        """\
import torch


def fn(lengths: torch.LongTensor):
    out = torch.zeros((lengths.shape[0], 9))
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = torch.rand(count)
    return out * 2
""",
        "draws random numbers",
        gb_id="GB0124",
    ),
    Refusal(
        "something is said",
        """\
import torch


def fn(lengths: torch.LongTensor):
    out = torch.zeros((lengths.shape[0], 9))
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = 1
        print(row)
    return out * 2
""",
        "does more than writing in a tensor",
        gb_id="GB0124",
    ),
    Refusal(
        "an option of the module",
        """\
import torch


class Filler:
    value = 1

    def fill(self, lengths: torch.LongTensor):
        out = torch.zeros((lengths.shape[0], 9))
        for row, count in enumerate(⟦lengths.tolist()⟧):
            out[row, :count] = 2 if self.value else 1
        return out * 2
""",
        "The statements read `self`",
        outermost="fill",
        gb_id="GB0124",
    ),
    Refusal(
        "a function of the file",
        """\
import torch


def value(row):
    return row


def fn(lengths: torch.LongTensor):
    out = torch.zeros((lengths.shape[0], 9))
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = value(row)
    return out * 2
""",
        "`value` is not known to compute only",
        gb_id="GB0124",
    ),
    Refusal(
        "a statement between that reads what data decides",
        """\
import torch


def fn(ids):
    found = ⟦torch.nonzero(ids == 3)⟧
    out = torch.zeros(9)
    out = out + found.shape[0]
    for i in range(found.shape[0]):
        out[i] = 1
    return out
""",
        "`return out` gives what data decides",
        gb_id="GB0036",
    ),
)
