"""What the opaque rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CALLS = """\
calls = [(torch.tensor(one),) for one in ([[3, 1, 2, 3, 7, 3], [3, 1, 1, 3, 3, 9]], [[1] * 6, [1, 3] * 3])]
"""
_FLOATS = """\
import torch

calls = [(torch.arange(1.0, 5.0),), (-torch.arange(1.0, 5.0),), (torch.tensor([0.5, 2.5, 30.0, 90.0]),)]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a list filled as often as data says, of an arrangement that a flag decides",
        before="""\
import torch


def positions(sizes, with_turn=False, cached=None):
    if cached is not None and (found := cached.pop("positions", None)) is not None:
        return found
    device = sizes.device
    found = []
    for turns, size, _ in ⟦sizes.tolist()⟧:
        at = torch.arange(size, device=device)
        if with_turn:
            found.append(torch.stack([at * 0 + turns, at, at + 1], dim=-1))
        else:
            found.append(torch.stack([at, at + 1], dim=-1).repeat(turns, 1))
    return torch.cat(found)


def fn(x, sizes):
    return (x.sin() * positions(sizes).sum(0)).cos()
""",
        after='''\
import torch

from graphmend_support import any_size, operator


def positions(sizes, with_turn=False, cached=None):
    if cached is not None and (found := cached.pop("positions", None)) is not None:
        return found
    device = sizes.device
    return _positions_operator(device, sizes.detach(), with_turn)


@operator(
    like=lambda sizes: sizes.new_empty((any_size(), 2), dtype=torch.int64),
    only={"with_turn": False},
)
def _positions_operator(device: torch.device, sizes, with_turn: bool) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    found = []
    for turns, size, _ in sizes.tolist():
        at = torch.arange(size, device=device)
        if with_turn:
            found.append(torch.stack([at * 0 + turns, at, at + 1], dim=-1))
        else:
            found.append(torch.stack([at, at + 1], dim=-1).repeat(turns, 1))
    return torch.cat(found)


def fn(x, sizes):
    return (x.sin() * positions(sizes).sum(0)).cos()
''',
        run="import torch\n\ncalls = [(torch.ones(2), torch.tensor(one)) for one in ([[1, 3, 0], [2, 2, 0]], [[1, 5, 0]])]\n",
        gb_id="GB0033",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("sizes", "int64 ? 3"),
            ("device", "torch.device"),
            ("with_turn", "bool False"),
            ("torch.cat(found)", "int64 ? 2"),
        ),
    ),
    Example(
        "a tensor of named sizes, filled to lengths that data gives",
        before="""\
import torch
import torch.nn.functional as F


def resize(x: torch.Tensor, lengths: torch.LongTensor, longest: int):
    rows = lengths.shape[0]
    width = x.shape[-1] - 1
    kind = x.dtype
    made = torch.empty((rows, longest, width * 2), device=x.device, dtype=kind)
    if x.device.type == "cpu":
        x = x.to(torch.float32)
    x = x.repeat(1, 2)[:, : width * 2].t().unsqueeze(0)
    for i in range(rows):
        length = ⟦lengths[i].item()⟧
        row = F.interpolate(x, size=(length,), mode="linear")[0].t()
        made[i, :length] = row
        made[i, length:] = row[0]
    return made


def fn(x, lengths):
    return resize(x * 2, lengths, 8) + 1
""",
        after="""\
import torch
import torch.nn.functional as F

from graphmend_support import operator


# One operator of the graph: TorchDynamo does not look inside.
@operator(
    like=lambda lengths, x, longest: torch.empty(
        (lengths.shape[0], longest, (x.shape[-1] - 1) * 2),
        device=x.device,
        dtype=x.dtype,
    ),
)
def resize(x: torch.Tensor, lengths: torch.LongTensor, longest: int):
    rows = lengths.shape[0]
    width = x.shape[-1] - 1
    kind = x.dtype
    made = torch.empty((rows, longest, width * 2), device=x.device, dtype=kind)
    if x.device.type == "cpu":
        x = x.to(torch.float32)
    x = x.repeat(1, 2)[:, : width * 2].t().unsqueeze(0)
    for i in range(rows):
        length = lengths[i].item()
        row = F.interpolate(x, size=(length,), mode="linear")[0].t()
        made[i, :length] = row
        made[i, length:] = row[0]
    return made


def fn(x, lengths):
    return resize(x * 2, lengths, 8) + 1
""",
        run="""\
import torch

calls = [(torch.arange(12.0).view(3, 4), torch.tensor(one)) for one in ([5, 7], [8, 2], [7, 7])]
""",
        outermost="fn",
        seen=(
            ("x", "float32 3 4"),
            ("lengths", "int64 2"),
            ("longest", "int"),
            ("made", "float32 2 8 6"),
        ),
    ),
    Example(
        "places of pictures whose sizes data gives, gathered in a list",
        before="""\
import torch


def places(grid):
    device = grid.device
    found = []
    for h, w in ⟦grid.tolist()⟧:
        rows, columns = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
        found.append(torch.stack([rows.flatten(), columns.flatten()], dim=-1))
    return torch.cat(found, dim=0)


def fn(x, grid):
    return x * places(grid).sum(-1, keepdim=True).cos()
""",
        after="""\
import torch

from graphmend_support import any_size, operator


# One operator of the graph: TorchDynamo does not look inside.
@operator(like=lambda grid: grid.new_empty((any_size(), grid.shape[1]), dtype=torch.int64))
def places(grid):
    device = grid.device
    found = []
    for h, w in grid.tolist():
        rows, columns = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
        found.append(torch.stack([rows.flatten(), columns.flatten()], dim=-1))
    return torch.cat(found, dim=0)


def fn(x, grid):
    return x * places(grid).sum(-1, keepdim=True).cos()
""",
        run="""\
import torch

sizes = ([[2, 2], [2, 3]], [[3, 3], [1, 4]], [[1, 1], [2, 2]])
calls = [(torch.ones(sum(h * w for h, w in one), 3), torch.tensor(one)) for one in sizes]
""",
        outermost="fn",
        gb_id="GB0033",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("grid", "int64 2 2"),
            ("torch.cat(found, dim=0)", "int64 10 2"),
        ),
    ),
    Example(
        "a static method, with a number that a caller may leave out",
        before="""\
import torch
from torch import nn


class Cut(nn.Module):
    @staticmethod
    def cut(rows, lengths, fill=0.0):
        # rows without what is behind their lengths
        made = torch.full_like(rows, fill)
        for at, length in enumerate(⟦lengths.tolist()⟧):
            made[at, :length] = rows[at, :length]
        return made

    def forward(self, x, lengths):
        return self.cut(x.sin(), lengths=lengths) + 1
""",
        after="""\
import torch
from torch import nn

from graphmend_support import operator


class Cut(nn.Module):
    @staticmethod
    # One operator of the graph: TorchDynamo does not look inside.
    @operator(like=lambda fill, rows: torch.full_like(rows, fill))
    def cut(rows, lengths, fill: float = 0.0):
        # rows without what is behind their lengths
        made = torch.full_like(rows, fill)
        for at, length in enumerate(lengths.tolist()):
            made[at, :length] = rows[at, :length]
        return made

    def forward(self, x, lengths):
        return self.cut(x.sin(), lengths=lengths) + 1
""",
        run="""\
import torch

fn = Cut()
calls = [(torch.arange(12.0).reshape(3, 4), torch.tensor(one)) for one in ([1, 2, 3], [4, 0, 1])]
""",
        outermost="forward",
        gb_id="GB0033",
        seen=(("rows", "float32 3 4"), ("lengths", "int64 3"), ("fill", "float"), ("made", "float32 3 4")),
    ),
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


def spans(ids: torch.LongTensor):
    batch, length = ids.shape
    special = ids == 3

    mask = torch.eye(length, device=ids.device).bool().unsqueeze(0).repeat(batch, 1, 1)
    position = torch.zeros((batch, length), device=ids.device)
    _spans_operator(special, length, mask, position, ids)

    return mask, position.to(torch.long)


@operator("mask", "position")
def _spans_operator(special, length: int, mask, position, ids) -> None:
    """Runs uncompiled, as one operator of the graph."""
    # where the separators are
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


class Packer:
    def fill(self, x: torch.Tensor, lengths: torch.LongTensor):
        starts = torch.full((x.shape[0] + 1,), -1, dtype=torch.long)
        keep = torch.zeros(x.shape[:2], dtype=torch.bool)
        Packer._fill_operator(lengths, keep, starts)
        return x * keep[..., None], starts

    @staticmethod
    @operator("keep", "starts")
    def _fill_operator(lengths, keep, starts) -> None:
        """Runs uncompiled, as one operator of the graph."""
        end = 0
        for row, count in enumerate(lengths.tolist()):
            keep[row, :count] = True
            starts[row] = end
            end += count


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


def table(x: torch.Tensor):
    counts = torch.zeros((x.shape[0], 4), dtype=torch.long)
    _table_operator(x.detach(), counts)
    return counts


@operator("counts")
def _table_operator(x: torch.Tensor, counts: torch.Tensor) -> None:
    """Runs uncompiled, as one operator of the graph."""
    for row in range(x.shape[0]):
        for place in x[row].round().long().tolist():
            if 0 <= place < 4:
                counts[row, place] += 1


def fn(x):
    return x.sin(), table(x).cos()
''',
        run="calls = [(torch.tensor(one),) for one in ([[0.0, 3, 1], [1, 1, 9]], [[-1.0, 2, 2], [0, 0, 0]])]\n",
        outermost="fn",
        gb_id="GB0124",
    ),
    Example(
        "a loop as long as data says",
        before="""\
import torch


def grown(y):
    steps = 0
    while ⟦y.sum().item()⟧ < 100:
        y = y * 2
        steps += 1
    return y + steps


def fn(x):
    return grown(x.sin() + 2).cos()
""",
        after="""\
import torch

from graphmend_support import operator


# One operator of the graph: TorchDynamo does not look inside.
@operator(like=lambda y: y)
def grown(y):
    steps = 0
    while y.sum().item() < 100:
        y = y * 2
        steps += 1
    return y + steps


def fn(x):
    return grown(x.sin() + 2).cos()
""",
        run=_FLOATS,
        outermost="fn",
        gb_id="GB0124",
        assumes=("result-shapes", "dtype"),
        seen=(("y", "float32 4"), ("steps", "int"), ("y + steps", "float32 4")),
    ),
    Example(
        "gradients inside",
        before="""\
import torch


def fn(x):
    y = ⟦x.detach().clone().requires_grad_()⟧
    (y * y.cos()).sum().backward()
    slope = y.grad
    return slope + x
""",
        after='''\
import torch

from graphmend_support import operator


def fn(x):
    slope = _fn_operator(x.detach())
    return slope + x


@operator(like=lambda x: x)
def _fn_operator(x: torch.Tensor) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    y = x.detach().clone().requires_grad_()
    (y * y.cos()).sum().backward()
    slope = y.grad
    return slope
''',
        run=_FLOATS,
        gb_id="GB8985",
        assumes=("result-shapes", "dtype"),
        seen=(("x", "float32 4"), ("slope", "float32 4")),
    ),
    Example(
        "a new tensor filled part by part, with gradients",
        before="""\
import torch


def fn(x, weight, counts):
    width = weight.shape[-1]
    out = torch.zeros(len(x), width, dtype=x.dtype)
    ends = counts.cumsum(0)
    for at in range(len(weight)):
        rows = slice(ends[at] - counts[at], ends[at])
        out[rows] = ⟦x[rows]⟧ @ weight[at]
    return out + 1
""",
        after='''\
import torch

from graphmend_support import operator


def fn(x, weight, counts):
    width = weight.shape[-1]
    out = _fn_operator(width, x, counts, weight)
    return out + 1


@operator(like=lambda width, x: torch.zeros(len(x), width, dtype=x.dtype))
def _fn_operator(width: int, x, counts, weight) -> torch.Tensor:
    """Runs uncompiled, as one operator of the graph."""
    out = torch.zeros(len(x), width, dtype=x.dtype)
    ends = counts.cumsum(0)
    for at in range(len(weight)):
        rows = slice(ends[at] - counts[at], ends[at])
        out[rows] = x[rows] @ weight[at]
    return out
''',
        run="""\
import torch

calls = [
    (torch.arange(12.0).reshape(4, 3), torch.linspace(-1, 1, 12).reshape(2, 3, 2), torch.tensor(counts))
    for counts in ([1, 3], [4, 0], [2, 2])
]
""",
        gb_id="GB0124",
        seen=(
            ("x", "float32 4 3"),
            ("weight", "float32 2 3 2"),
            ("counts", "int64 2"),
            ("out", "float32 4 2"),
            ("width", "int"),
            ("ends", "int64 2"),
        ),
    ),
    Example(
        "several results of other shapes, and an attribute of the module",
        before="""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.arange(1.0, 4.0))

    def forward(self, x):
        rows = []
        for row in ⟦x.long().tolist()⟧:
            rows.append(self.scale * row if row > 0 else self.scale)
        table = torch.stack(rows)
        largest = max(one.sum() for one in rows)
        return table * x[:, None], largest.sin()


fn = Net()
""",
        after='''\
import torch

from graphmend_support import operator


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.arange(1.0, 4.0))

    def forward(self, x):
        largest, table = Net._forward_operator(x.detach(), self.scale)
        return table * x[:, None], largest.sin()

    @staticmethod
    @operator(
        like=lambda x, scale: (
            x.new_empty(()),
            x.new_empty((x.shape[0], scale.shape[0])),
        ),
    )
    def _forward_operator(x, scale) -> tuple[torch.Tensor, torch.Tensor]:
        """Runs uncompiled, as one operator of the graph."""
        rows = []
        for row in x.long().tolist():
            rows.append(scale * row if row > 0 else scale)
        table = torch.stack(rows)
        largest = max(one.sum() for one in rows)
        return largest, table


fn = Net()
''',
        run=_FLOATS,
        gb_id="GB0109",
        assumes=("result-shapes", "dtype"),
        seen=(
            ("x", "float32 4"),
            ("self.scale", "float32 3"),
            ("rows", "list"),
            ("table", "float32 4 3"),
            ("largest", "float32"),
        ),
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
        "`x` is not known to be a tensor or a number",
        gb_id="GB0124",
    ),
    Refusal(
        "a tensor that is known by another name",
        """\
import torch


def fn(lengths: torch.LongTensor):
    out = torch.rand((lengths.shape[0], 9))
    first = out[0]
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = first[0] + 1
    return out * 2
""",
        "draws random numbers",
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
        "`print(row)` may do more than give a value",
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
        "`self.value` is not known to be a tensor or a number",
        outermost="fill",
        gb_id="GB0124",
    ),
    Refusal(
        "a function of the file",
        """\
import torch


def value(row):
    print(row)
    return row


def fn(lengths: torch.LongTensor):
    out = torch.rand((lengths.shape[0], 9))
    for row, count in enumerate(⟦lengths.tolist()⟧):
        out[row, :count] = value(row)
    return out * 2
""",
        "calls a function whose effects are not known",
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
        "`ids` is not known to be a tensor or a number",
        gb_id="GB0036",
    ),
    Refusal(
        "a number that is read in another block",
        """\
import torch


def fn(x):
    if len(x) > 2:
        count = ⟦x.sum().item()⟧
    return x.sin() + count
""",
        "code after the statements reads it",
        gb_id="GB0124",
        seen=(("x", "float32 4"), ("y", "float32 4"), ("count", "float")),
    ),
    Refusal(
        "random numbers in the loop",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y + torch.rand(4)
    return y.cos()
""",
        "draws random numbers",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a message in the loop",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * 2
        print('again')
    return y.cos()
""",
        "may do more than give a value",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a store in a list of others",
        """\
import torch


def fn(x, kept):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * 2
        kept[0] = 1
    return y.cos()
""",
        "is stored in what others may hold",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4"), ("kept", "int")),
    ),
    Refusal(
        "a global that may change",
        """\
import torch

state = {"scale": 2}


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * state["scale"]
    return y.cos()
""",
        "comes from outside of the function",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a function of the file with an effect",
        """\
import torch

calls = []


def twice(y):
    calls.append(1)
    return y * 2


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = twice(y)
    return y.cos()
""",
        "may do more than give a value",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "what tells of gradients",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * 2 if y.requires_grad else y + 2
    return y.cos()
""",
        "reads gradients",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "the text of a tensor",
        """\
import torch


def fn(x):
    y = ⟦x + len(repr(x))⟧
    return y.cos()
""",
        "reads gradients",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a check in the loop",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * 2
        assert len(y) > 2, y
    return y.cos()
""",
        "mend the check by itself",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "no tensor is returned in one place",
        """\
import torch


def fn(x):
    y = x.sin()
    if ⟦y.sum() > 3⟧:
        return None
    return torch.tensor(y.tolist())
""",
        "an operator gives tensors only",
        seen=(("x", "float32 4"), ("y", "float32 4"), ("torch.tensor(y.tolist())", "float32 4")),
    ),
    Refusal(
        "a number that the statements count on, beside a tensor that they change",
        """\
import torch


def fn(x):
    count = len(x) + 1
    y = x * 2
    if ⟦x.sum() > 3⟧:
        count += 1
        y += 1
    return y, count
""",
        "count",
        seen=(("x", "float32 4"), ("count", "int"), ("y", "float32 4")),
    ),
    Refusal(
        "a return from the loop",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * 2
        if len(y) > 2:
            return y
""",
        "leaves the statements",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a module that is called",
        """\
import torch


def fn(self, x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = self.layer(y)
    return y.cos()
""",
        "may do more than give a value",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a view that is changed",
        """\
import torch


def fn(x):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        v = y[0]
        v[0] = 1
    return y.cos()
""",
        "is stored in what others may hold",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "what nothing shows to be a tensor",
        """\
import torch


def fn(x, other):
    y = x.sin()
    while ⟦y.sum() < 100⟧:
        y = y * other
    return y.cos()
""",
        "is not known to be a tensor or a number",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a backward pass whose gradient is kept by another tensor",
        """\
import torch


def fn(x):
    y = x.sin()
    ⟦y.sum().backward()⟧
    return y.cos()
""",
        "reads no tensor that they give",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4")),
    ),
    Refusal(
        "a result into the memory of another tensor",
        """\
import torch


def fn(x):
    y = x.sin()
    z = torch.add(y, ⟦y.sum().item()⟧, out=x)
    return z.cos()
""",
        "`out=` changes what others may hold",
        gb_id="GB0007",
        seen=(("x", "float32 4"), ("y", "float32 4"), ("z", "float32 4")),
    ),
)
