"""What the rows rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ID = "GB0036"
_MODULES = """\
import torch

torch.manual_seed(0)


def whole(*sizes):
    layer = torch.nn.Linear(*sizes, bias=False)
    layer.weight.data.copy_(torch.randint(-3, 4, layer.weight.shape))
    return layer


"""  # products of small whole numbers are exact, in any order
_MIXTURE = (
    _MODULES
    + """\
block = Mixture()
block.experts = torch.nn.ModuleList(whole(4, 4) for _ in range(3))


def doubled(x):
    return x * 2


def fn(x, weights, selected):
    return doubled(block(doubled(x), weights, selected))


calls = [
    (torch.arange(20.0).view(5, 4), torch.arange(1.0, 11.0).view(5, 2), torch.tensor(selected))
    for selected in (
        [[0, 1], [1, 2], [2, 0], [0, 2], [1, 0]],
        [[0, 1], [1, 0], [0, 1], [0, 1], [1, 0]],
        [[2, 1], [2, 1], [2, 1], [2, 1], [2, 1]],
    )
]
"""
)
_ENCODER = (
    _MODULES
    + """\
model = Encoder()
model.layers = torch.nn.ModuleList(whole(4, 4) for _ in range(2))
fn = model.__call__
calls = [
    (torch.arange(24.0).view(2, 3, 4), torch.tensor(mask))
    for mask in ([[1, 1, 0], [1, 0, 0]], [[1, 1, 1], [1, 1, 1]], [[0, 1, 1], [0, 0, 0]])
]
"""
)
_UP = (
    _MODULES
    + """\
model = Model()
model.up = whole(4, 4)
fn = model.__call__
calls = [
    (torch.arange(12.0).view(3, 4), torch.tensor(keep))
    for keep in ([True, False, True], [False, False, False], [True, True, True])
]
"""
)

EXAMPLES: tuple[Example, ...] = (
    Example(
        "experts of a mixture",
        before="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        out = torch.zeros_like(x)
        mask = torch.nn.functional.one_hot(selected, len(self.experts)).permute(2, 1, 0)
        for index, expert in enumerate(self.experts):
            rank, token = ⟦torch.where(mask[index])⟧
            # The router's own weight of this expert, in the place which it has among those that were chosen for a token.
            current = expert(x[token]) * weights[token, rank, None]
            out.index_add_(0, token, current)
        return out
""",
        after="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        out = torch.zeros_like(x)
        mask = torch.nn.functional.one_hot(selected, len(self.experts)).permute(2, 1, 0)
        for index, expert in enumerate(self.experts):
            chosen = mask[index].T != 0
            token = chosen.any(1)
            # The router's own weight of this expert, in the place which it has among those that were chosen for a token.
            current = expert(torch.where(token[:, None], x, 0)) * torch.where(chosen, weights, 0).sum(1, keepdim=True)
            out.add_(torch.where(token[:, None], current, 0))
        return out
""",
        run=_MIXTURE,
        gb_id=_ID,
    ),
    Example(
        "experts that have a token, and a test for none",
        before="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        out = torch.zeros_like(x)
        mask = torch.nn.functional.one_hot(selected, len(self.experts)).permute(2, 0, 1)
        hit = ⟦(mask.sum(dim=(-1, -2)) > 0).nonzero(as_tuple=True)⟧[0].tolist()
        for index in hit:
            token, rank = torch.where(mask[index])
            if token.numel() == 0:
                continue
            # Only those of the tokens which the router has sent to this expert, in whatever place it has among theirs.
            current = self.experts[index](x[None, token].reshape(-1, 4))
            out.index_add_(0, token, current * weights[token, rank].unsqueeze(-1))
        return out
""",
        after="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        out = torch.zeros_like(x)
        mask = torch.nn.functional.one_hot(selected, len(self.experts)).permute(2, 0, 1)
        for index in range(len(mask)):
            chosen = mask[index] != 0
            token = chosen.any(1)
            # Only those of the tokens which the router has sent to this expert, in whatever place it has among theirs.
            current = self.experts[index](torch.where(token[:, None], x, 0).reshape(-1, 4))
            out.add_(torch.where(token[:, None], current * torch.where(chosen, weights, 0).sum(1).unsqueeze(-1), 0))
        return out
""",
        run=_MIXTURE,
        gb_id=_ID,
    ),
    Example(
        "experts chosen by a comparison",
        before="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        flat = selected[:, 0].reshape(-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            # One expert for each token, and so nothing has to be added up: what the expert gives for it is stored alone.
            out[flat == index] = expert(⟦x[flat == index]⟧)
        return out
""",
        after="""\
import torch


class Mixture(torch.nn.Module):
    def forward(self, x, weights, selected):
        x = x.view(-1, 4)
        flat = selected[:, 0].reshape(-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            # One expert for each token, and so nothing has to be added up: what the expert gives for it is stored alone.
            rows = flat == index
            # The inner where makes the side that is not chosen harmless.
            out.copy_(torch.where(rows[:, None], expert(torch.where(rows[:, None], x, 0)), out))
        return out
""",
        run=_MIXTURE,
        gb_id=_ID,
    ),
    Example(
        "padding that is taken out and put back",
        before="""\
import torch


class Encoder(torch.nn.Module):
    def forward(self, x, mask):
        batch, length, width = x.shape
        indices = ⟦torch.nonzero(mask.flatten())⟧.flatten()
        hidden = x.view(-1, width)[indices]
        for layer in self.layers:
            hidden = hidden + layer(hidden)
        padded = torch.zeros(batch * length, hidden.shape[-1], dtype=hidden.dtype)
        padded[indices] = hidden
        return padded.view(batch, length, width)
""",
        after="""\
import torch


class Encoder(torch.nn.Module):
    def forward(self, x, mask):
        batch, length, width = x.shape
        indices = mask.flatten() != 0
        hidden = torch.where(indices[:, None], x.view(-1, width), 0)
        for layer in self.layers:
            hidden = hidden + layer(hidden)
        padded = torch.zeros(batch * length, hidden.shape[-1], dtype=hidden.dtype)
        padded.copy_(torch.where(indices[:, None], hidden, padded))
        return padded.view(batch, length, width)
""",
        run=_ENCODER,
        gb_id=_ID,
    ),
    Example(
        "padding that is taken out by a mask, by lengths and by a list, and put back by a function",
        before="""\
import torch


def put_back(rows, indices, batch, length):
    padded = torch.zeros(batch * length, rows.shape[-1])
    padded[indices] = rows
    return padded.view(batch, length, rows.shape[-1])


class Encoder(torch.nn.Module):
    def forward(self, x, mask):
        batch, length, width = x.shape
        kept = mask.bool()
        lengths = ⟦mask.sum(-1).tolist()⟧
        places = torch.cat([self.layers[0].weight[:n] for n in lengths])
        hidden = x[kept] + places
        # Only tokens from here on.
        indices = torch.nonzero(mask.flatten(), as_tuple=False).flatten()
        for layer in self.layers:
            hidden = layer(hidden)
        return put_back(hidden, indices, batch, length)
""",
        after="""\
import torch


def put_back(rows, indices, batch, length):
    padded = torch.zeros(batch * length, rows.shape[-1])
    padded[indices] = rows
    return padded.view(batch, length, rows.shape[-1])


class Encoder(torch.nn.Module):
    def forward(self, x, mask):
        batch, length, width = x.shape
        kept = mask.bool()
        chosen = mask.flatten() != 0
        indices = torch.arange(len(chosen), device=chosen.device)
        placed = self.layers[0].weight[
            ((mask != 0).cumsum(-1) - 1).clamp(min=0).flatten()
        ]
        places = torch.where(chosen.reshape(-1, *(1,) * (placed.dim() - 1)), placed, 0)
        whole = x.flatten(0, mask.dim() - 1)
        hidden = (
            torch.where(chosen.reshape(-1, *(1,) * (whole.dim() - 1)), whole, 0)
            + places
        )
        # Only tokens from here on.
        for layer in self.layers:
            hidden = layer(hidden)
        return put_back(
            torch.where(chosen.reshape(-1, *(1,) * (hidden.dim() - 1)), hidden, 0),
            indices,
            batch,
            length,
        )
""",
        run=_ENCODER,
        gb_id="GB0033",
    ),
    Example(
        "a list of rows that layers get",
        before="""\
import torch


def put_back(rows, indices, batch, length):
    padded = torch.zeros(batch * length, rows.shape[-1])
    padded[indices] = rows
    return padded.view(batch, length, rows.shape[-1])


class Mixed(torch.nn.Module):
    def forward(self, rows, mask, padding):
        return rows + (put_back(rows, *padding) * mask[..., None]).sum(1).repeat_interleave(3, 0)[padding[0]]


class Encoder(torch.nn.Module):
    mixed = Mixed()

    def forward(self, x, mask):
        batch, length, width = x.shape
        indices = ⟦torch.nonzero(mask.flatten())⟧.flatten()
        hidden = x.view(-1, width)[indices]
        hidden = self.mixed(hidden, mask, (indices, batch, length))
        return put_back(hidden, indices, batch, length)
""",
        after="""\
import torch


def put_back(rows, indices, batch, length):
    padded = torch.zeros(batch * length, rows.shape[-1])
    padded[indices] = rows
    return padded.view(batch, length, rows.shape[-1])


class Mixed(torch.nn.Module):
    def forward(self, rows, mask, padding):
        return rows + (put_back(rows, *padding) * mask[..., None]).sum(1).repeat_interleave(3, 0)[padding[0]]


class Encoder(torch.nn.Module):
    mixed = Mixed()

    def forward(self, x, mask):
        batch, length, width = x.shape
        chosen = mask.flatten() != 0
        indices = torch.arange(len(chosen), device=chosen.device)
        hidden = torch.where(chosen[:, None], x.view(-1, width), 0)
        hidden = self.mixed(hidden, mask, (indices, batch, length))
        return put_back(
            torch.where(chosen.reshape(-1, *(1,) * (hidden.dim() - 1)), hidden, 0), indices, batch, length
        )
""",
        run=_ENCODER,
        gb_id=_ID,
    ),
    Example(
        "a mask with a name",
        before="""\
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        x = x.view(-1, 4)
        keep = keep.view(-1)
        h = torch.relu(self.up(⟦x[keep]⟧)) * 2
        out = x.clone()
        out[keep] = h
        return out
""",
        after="""\
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        x = x.view(-1, 4)
        keep = keep.view(-1)
        h = torch.relu(self.up(torch.where(keep[:, None], x, 0))) * 2
        out = x.clone()
        out.copy_(torch.where(keep[:, None], h, out))
        return out
""",
        run=_UP,
        gb_id=_ID,
    ),
    Example(
        "rows that are added, where there are some",
        before="""\
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        x = x.view(-1, 4)
        i = ⟦keep.nonzero()⟧.squeeze(1)
        out = x * 3
        if len(i) > 0:
            out[i] += self.up(x[i])
        return out
""",
        after="""\
import torch


class Model(torch.nn.Module):
    def forward(self, x, keep):
        x = x.view(-1, 4)
        i = keep != 0
        i = i.reshape(len(i))
        out = x * 3
        # The inner where makes the side that is not chosen harmless.
        out.add_(torch.where(i[:, None], self.up(torch.where(i[:, None], x, 0)), 0))
        return out
""",
        run=_UP,
        gb_id=_ID,
    ),
)


def _refused(title: str, body: str, reason: str) -> Refusal:
    """A refusal in the forward of a module, of tensors ``x``, ``m`` and ``y``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    head = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, m, y):\n"
    return Refusal(title, head + lines, reason, gb_id=_ID)


REFUSALS: tuple[Refusal, ...] = (
    _refused("rows that are returned", "i = ⟦torch.where(m)⟧[0]\nreturn self.up(x[i])", "are returned"),
    _refused(
        "a function that may mix rows",
        "i = ⟦torch.where(m)⟧[0]\ny[i] = self.up(x[i]).softmax(0)\nreturn y",
        "`.softmax()` may mix the rows",
    ),
    _refused(
        "a function of the file",
        "i = ⟦torch.where(m)⟧[0]\ny[i] = mixed(x[i])\nreturn y",
        "`mixed` may mix the rows",
    ),
    _refused(
        "a matrix of rows by rows",
        "i = ⟦torch.where(m)⟧[0]\nh = self.up(x[i])\ny[i] = x @ h\nreturn y",
        "Line 8: `x @ h` depends on how many rows are chosen",
    ),
    _refused(
        "their number",
        "i = ⟦torch.where(m)⟧[0]\nh = self.up(x[i])\ny[i] = h / h.shape[0]\nreturn y",
        "`h.shape[0]` depends on how many rows are chosen",
    ),
    _refused(
        "rows in a list",
        "i = ⟦torch.where(m)⟧[0]\nh = self.up(x[i])\ny[i] = torch.cat([h, h])[:3]\nreturn y",
        "`[h, h]` depends on how many rows are chosen",
    ),
    _refused(
        "rows of a comprehension",
        "i = ⟦torch.where(m)⟧[0]\nh = self.up(x[i])\ny[i] = sum([one for one in h])\nreturn y",
        "depends on how many rows are chosen",
    ),
    _refused(
        "no dimension for one row",
        "i = ⟦m.nonzero()⟧.squeeze()\ny[i] = self.up(x[i])\nreturn y",
        "has no dimension when one row is chosen; write `.squeeze(1)`",
    ),
    _refused(
        "rows that are not put back",
        "i = ⟦torch.where(m)⟧[0]\nh = self.up(x[i])\nreturn x",
        "are not put back",
    ),
    _refused(
        "other rows",
        "i = ⟦torch.where(m)⟧[0]\nj = torch.where(~m)[0]\ny[j] = self.up(x[i])\nreturn y",
        "is not the rows that were chosen",
    ),
    _refused(
        "a pair that is stored",
        "i, j = ⟦torch.where(m)⟧\ny[i] = self.up(x[i])\nreturn y",
        "may be stored more than once for a row",
    ),
    _refused(
        "a list that is bound again",
        "i = ⟦torch.where(m)⟧[0]\ni = i + 1\ny[i] = self.up(x[i])\nreturn y",
        "bound in more than one place",
    ),
    _refused(
        "a mask of unknown dimensions",
        "y[m] = self.up(⟦x[m]⟧)\nreturn y",
        "cannot tell whether `m` has one dimension",
    ),
    _refused(
        "a mask that is changed",
        "m = m.view(-1)\nh = self.up(⟦x[m]⟧)\nm[0] = False\ny[m] = h\nreturn y",
        "`m` is changed in place",
    ),
    _refused(
        "a count of experts with rows",
        "i = ⟦torch.where(m)⟧[0]\nn = 0\nif len(i) > 0:\n    y[i] = self.up(x[i])\n    n += 1\nreturn y * n",
        "Line 10 would also run where no row is chosen",
    ),
    _refused(
        "a name that is set where there are rows",
        "i = ⟦torch.where(m)⟧[0]\nh = x\nif len(i) > 0:\n    h = self.up(x[i])\n    y[i] = h\nreturn y * h.sum()",
        "`h` would also be set where no row is chosen",
    ),
    _refused(
        "a loop that does more than its rows",
        "for i in ⟦(m.sum(dim=(-1, -2)) > 0).nonzero(as_tuple=True)⟧[0].tolist():\n    k, t = torch.where(m[i])\n"
        "    y.index_add_(0, t, self.up(x[t]))\n    print(i)\nreturn y",
        "Line 9 would also run where no row is chosen",
    ),
    _refused(
        "a list that is used otherwise",
        "hit = ⟦(m.sum(dim=(-1, -2)) > 0).nonzero(as_tuple=True)⟧[0].tolist()\nfor i in hit:\n    k, t = torch.where(m[i])\n"
        "    y.index_add_(0, t, self.up(x[t]))\nreturn y, len(hit)",
        "`hit` is not used only by a loop over it",
    ),
    _refused(
        "rows of some iterations only",
        "i = ⟦torch.where(m)⟧[0]\nh = y\nfor layer in self.layers:\n    y = layer(h)\n    h = x[i]\nreturn y",
        "holds chosen rows in some iterations and not in others",
    ),
    _refused(
        "lengths that are used for more",
        "i = ⟦torch.nonzero(m.flatten())⟧.flatten()\nn = m.sum(-1).tolist()\np = torch.cat([x[:k] for k in n])\n"
        "y[i] = self.up(p) * max(n)\nreturn y",
        "Line 9: `n` is used for more than the first elements of each row",
    ),
    _refused(
        "rows put back by the mask itself",
        "k = m.bool()\ni = ⟦torch.nonzero(m.flatten())⟧.flatten()\nh = self.up(x[i])\ny[k] = h\nreturn y",
        "puts rows back by the mask, others by their list",
    ),
    _refused(
        "a list that a function of another file gets",
        "i = ⟦torch.nonzero(m.flatten())⟧.flatten()\nh = self.up(x[i])\nreturn packed(h, i)",
        "what `packed` does with the list of rows is not known",
    ),
    _refused(
        "padding that is put back by two rules",
        "k = m.bool()\ni = ⟦torch.nonzero(m.flatten())⟧.flatten()\nm += 1\ny[i] = self.up(x[k])\nreturn y",
        "`m` is bound in more than one place",
    ),
    Refusal(
        "a function that puts rows among others",
        """\
import torch


def put_back(rows, indices, old):
    old[indices] = rows
    return old


class Model(torch.nn.Module):
    def forward(self, x, m, y):
        i = ⟦torch.nonzero(m.flatten())⟧.flatten()
        return put_back(self.up(x[i]), i, y)
""",
        "what `put_back` does with the list of rows is not known",
        gb_id=_ID,
    ),
)
