"""What the mask rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ID = "GB0036"
_X = """\
import torch
calls = [
    (torch.arange(1.0, 5.0),),
    (-torch.arange(1.0, 5.0),),
    (torch.tensor([3.0, -2.0, 0.0, float("inf")]),),
]
"""
_XM = """\
import torch
calls = [
    (torch.arange(12.0).reshape(3, 4), torch.tensor([True, False, True])),
    (torch.arange(12.0).reshape(3, 4), torch.arange(12).reshape(3, 4) % 2 == 0),
    (torch.arange(12.0).reshape(3, 4), torch.tensor([False, False, False])),
    (torch.arange(9.0).reshape(3, 3), torch.tensor([False, False, True])),
]
"""
_ROWS = """\
import torch
calls = [
    (torch.arange(12.0).reshape(3, 4), torch.tensor([True, False, True])),
    (torch.arange(12.0).reshape(3, 4), torch.tensor([False, False, False])),
    (torch.arange(9.0).reshape(3, 3), torch.tensor([False, False, True])),
]
"""
_XY = """\
import torch
calls = [
    (torch.arange(1.0, 5.0), torch.ones(4)),
    (-torch.arange(1.0, 5.0), torch.ones(4)),
    (torch.arange(3.0), torch.tensor([4.0, float("nan"), 1.0])),
]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a sum",
        before="def fn(x):\n    return ⟦x[x > 2]⟧.sum() + 1\n",
        after="import torch\n\n\ndef fn(x):\n    return torch.where(x > 2, x, 0).sum() + 1\n",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "a mean under a mask with a name",
        before="""\
import torch


def fn(x):
    keep = x > 1
    return x - ⟦x[keep]⟧.mean()
""",
        after="""\
import torch


def fn(x):
    keep = x > 1
    return x - torch.where(keep, x, 0).sum() / keep.sum()
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "arithmetic that NaN must not reach",
        before="""\
import torch


def fn(x, y):
    keep = ~torch.isnan(y)
    return (⟦x[keep]⟧ - y[keep]).pow(2).sum() + 1
""",
        after="""\
import torch


def fn(x, y):
    keep = ~torch.isnan(y)
    mask = keep.reshape(keep.shape + (1,) * (x.dim() - keep.dim())).expand_as(x)
    # The inner where makes the side that is not chosen harmless.
    return (
        torch.where(
            mask, (torch.where(mask, x, 0) - torch.where(mask, y, 0)).pow(2), 0
        ).sum()
        + 1
    )
""",
        run=_XY,
        gb_id=_ID,
    ),
    Example(
        "masked_select",
        before="""\
import torch


def fn(x):
    return ⟦torch.masked_select(x, x > 2)⟧.sum() * 2
""",
        after="""\
import torch


def fn(x):
    return torch.where(x > 2, x, 0).sum() * 2
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "a mask of rows, or of elements",
        before="""\
import torch


def fn(x, m):
    return ⟦x[m]⟧.sum() + 1
""",
        after="""\
import torch


def fn(x, m):
    mask = m.bool().reshape(m.shape + (1,) * (x.dim() - m.dim())).expand_as(x)
    return torch.where(mask, x, 0).sum() + 1
""",
        run=_XM,
        gb_id=_ID,
    ),
    Example(
        "any, over what is compared",
        before="""\
import torch


def fn(x):
    return x * (⟦x[x > 1]⟧ < 3).any()
""",
        after="""\
import torch


def fn(x):
    # The inner where makes the side that is not chosen harmless.
    return x * torch.where(x > 1, torch.where(x > 1, x, 0) < 3, False).any()
""",
        run=_X.replace('float("inf")', "5.0"),
        gb_id=_ID,
    ),
    Example(
        "a loss of chosen elements",
        before="""\
import torch.nn.functional as F


def fn(x):
    y = x.round()
    m = y > 0
    return F.mse_loss(⟦x[m]⟧, y[m]) + 1
""",
        after="""\
import torch
import torch.nn.functional as F


def fn(x):
    y = x.round()
    m = y > 0
    # The inner where makes the side that is not chosen harmless.
    return (
        torch.where(
            m,
            F.mse_loss(torch.where(m, x, 0), torch.where(m, y, 0), reduction="none"),
            0,
        ).sum()
        / m.sum()
        + 1
    )
""",
        run=_X.replace('float("inf")', "5.5"),
        gb_id=_ID,
    ),
    Example(
        "chosen elements with a name",
        before="""\
import torch


def fn(x):
    y = x.cos()
    m = x > 1
    one = ⟦x[m]⟧
    other = y[m]
    # how far apart they are
    return (one - other).abs().mean()
""",
        after="""\
import torch


def fn(x):
    y = x.cos()
    m = x > 1
    # how far apart they are
    return (
        torch.where(m, (torch.where(m, x, 0) - torch.where(m, y, 0)).abs(), 0).sum()
        / m.sum()
    )
""",
        run=_X.replace('float("inf")', "5.0"),
        gb_id=_ID,
    ),
    Example(
        "an update of a tensor of its own",
        before="""\
import torch


def fn(x):
    y = x.clone()
    m = y > 2
    y[m] = ⟦y[m]⟧ * 2  # louder
    return y + 1
""",
        after="""\
import torch


def fn(x):
    y = x.clone()
    m = y > 2
    y = torch.where(m, y * 2, y)  # louder
    return y + 1
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "an update of a tensor that others hold",
        before="""\
import torch


def fn(x):
    y = x.clone()
    kept = [y]
    m = y > 2
    y[m] = ⟦y[m]⟧.sqrt()
    return y + kept[0]
""",
        after="""\
import torch


def fn(x):
    y = x.clone()
    kept = [y]
    m = y > 2
    # The inner where makes the side that is not chosen harmless.
    y.copy_(torch.where(m, torch.where(m, y, 1).sqrt(), y))
    return y + kept[0]
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "an update from another tensor",
        before="""\
import torch


def fn(x):
    y = torch.zeros_like(x)
    m = x > 2
    y[m] = ⟦x[m]⟧ + 1
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = torch.zeros_like(x)
    m = x > 2
    y = torch.where(m, x + 1, y)
    return y * 2
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "an update by an operator",
        before="""\
import torch


def fn(x):
    y = x * 2
    ⟦y[y > 2]⟧ += 1
    return y * 2
""",
        after="""\
import torch


def fn(x):
    y = x * 2
    y = torch.where(y > 2, y + 1, y)
    return y * 2
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "rows, of which several tensors are reduced",
        before="""\
import torch


def fn(x, m):
    y = x.cos()
    return (⟦x[m, :]⟧ * y[m, :].square()).sum()
""",
        after="""\
import torch


def fn(x, m):
    y = x.cos()
    mask = m.bool().reshape(m.shape + (1,) * (x.dim() - m.dim())).expand_as(x)
    # The inner where makes the side that is not chosen harmless.
    return torch.where(
        mask, torch.where(mask, x, 0) * torch.where(mask, y, 0).square(), 0
    ).sum()
""",
        run=_ROWS,
        gb_id=_ID,
    ),
    Example(
        "rows that are updated",
        before="""\
import torch


def fn(x, m):
    y = x + 1
    y[m, :] = ⟦x[m, :]⟧.tanh()
    return y * 2
""",
        after="""\
import torch


def fn(x, m):
    y = x + 1
    mask = m.bool().reshape(m.shape + (1,) * (y.dim() - m.dim())).expand_as(y)
    # The inner where makes the side that is not chosen harmless.
    y.copy_(torch.where(mask, torch.where(mask, x, 0).tanh(), y))
    return y * 2
""",
        run=_ROWS,
        gb_id=_ID,
    ),
    Example(
        "a column of the rows",
        before="""\
import torch


def fn(x, m):
    y = x + 1
    y[m, 0] = ⟦x[m, 1]⟧ * 2
    return y * 2
""",
        after="""\
import torch


def fn(x, m):
    y = x + 1
    mask = (
        m.bool()
        .reshape(m.shape + (1,) * (y.select(m.dim(), 0).dim() - m.dim()))
        .expand_as(y.select(m.dim(), 0))
    )
    y.select(m.dim(), 0).copy_(
        torch.where(mask, x.select(m.dim(), 1) * 2, y.select(m.dim(), 0))
    )
    return y * 2
""",
        run=_ROWS,
        gb_id=_ID,
    ),
    Example(
        "a column of an argument, whose rows may share memory",
        before="""\
import torch


def fn(x, m):
    x[m, 0] = ⟦x[m, 1]⟧ * 2
    return x + 1
""",
        after="""\
import torch


def fn(x, m):
    mask = (
        m.bool()
        .reshape(m.shape + (1,) * (x.select(m.dim(), 0).dim() - m.dim()))
        .expand_as(x.select(m.dim(), 0))
    )
    x.select(m.dim(), 0).copy_(
        torch.where(mask, x.select(m.dim(), 1) * 2, x.select(m.dim(), 0))
    )
    return x + 1
""",
        run=_ROWS,
        gb_id=_ID,
        assumes=("layout",),
    ),
    Example(
        "labels that are looked up by chosen numbers",
        before="""\
import torch


def fn(scores, labels):
    best, which = scores.max(1)
    sure = best > 0.5
    found = torch.zeros_like(which)
    found[sure] = labels[⟦which[sure]⟧]
    return found + 1
""",
        after="""\
import torch


def fn(scores, labels):
    best, which = scores.max(1)
    sure = best > 0.5
    found = torch.zeros_like(which)
    # The inner where makes the side that is not chosen harmless.
    found.copy_(torch.where(sure, labels[torch.where(sure, which, 0)], found))
    return found + 1
""",
        run="calls = [(torch.eye(3) * k, torch.tensor([4, 5, 6])) for k in (0.2, 0.7)]\n"
        "calls += [(torch.eye(3)[:, [2, 0, 1]], torch.tensor([7, 8, 9]))]\n",
        gb_id=_ID,
        assumes=("shapes",),
        seen=(("which", "int64 3"), ("sure", "bool 3"), ("labels", "int64 3")),
    ),
    Example(
        "rows that are looked up, of one mask with others",
        before="""\
import torch


def fn(x, table, near, m):
    y = x + 1
    y[m] = y[m] - table[⟦near[m]⟧]
    return y
""",
        after="""\
import torch


def fn(x, table, near, m):
    y = x + 1
    mask = m.bool().reshape(m.shape + (1,) * (y.dim() - m.dim())).expand_as(y)
    y.copy_(torch.where(mask, y - table[torch.where(m, near, 0)], y))
    return y
""",
        run="m = torch.tensor([True, False, True])\n"
        "calls = [(torch.randn(3, 2), torch.randn(4, 2), torch.tensor([3, 9, 0]), m),"
        " (torch.randn(3, 2), torch.randn(4, 2), torch.tensor([9, 9, 9]), ~m & m)]\n",
        gb_id=_ID,
        assumes=("shapes",),
        seen=(("near", "int64 3"), ("m", "bool 3"), ("table", "float32 4 2")),
    ),
    Example(
        "rows that are listed and updated",
        before="""\
import torch


def fn(x):
    y = x.clone()
    rows = ⟦torch.where(x > 2)⟧[0]
    y[rows] = y[rows] * 2
    return y + 1
""",
        after="""\
import torch


def fn(x):
    y = x.clone()
    rows = x > 2
    rows = rows.reshape(len(rows))
    mask = rows.bool().reshape(rows.shape + (1,) * (y.dim() - rows.dim())).expand_as(y)
    y = torch.where(mask, y * 2, y)
    return y + 1
""",
        run=_X + "calls += [(torch.arange(4.0).reshape(4, 1),)]",
        gb_id=_ID,
    ),
    Example(
        "rows of a mask with one dimension",
        before="""\
import torch


def fn(x):
    (rows,) = ⟦torch.where(x > 2)⟧
    return x[rows].sum() + x
""",
        after="""\
import torch


def fn(x):
    rows = x > 2
    return torch.where(rows, x, 0).sum() + x
""",
        run=_X.replace('float("inf")', "5.0"),
        gb_id=_ID,
    ),
    Example(
        "how many",
        before="""\
def fn(x):
    n = len(⟦x[x > 2]⟧)
    return x * n
""",
        after="""\
def fn(x):
    n = (x > 2).sum()
    return x * n
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "whether there are any",
        before="""\
import torch


def fn(x):
    found = ⟦(x > 2).nonzero()⟧
    if len(found) > 0:
        x = x + 1
    return x * 2
""",
        after="""\
import torch


def fn(x):
    found = x > 2
    x = torch.where(found.any(), x + 1, x)
    return x * 2
""",
        run=_X,
        gb_id=_ID,
        assumes=("identity",),
    ),
    Example(
        "whether there are none",
        before="""\
import torch


def fn(x):
    index = ⟦torch.where(x > 2)⟧[0]
    if index.numel() == 0:
        return x + 1
    return x * index.shape[0]
""",
        after="""\
import torch


def fn(x):
    index = x > 2
    return torch.where(~index.any(), x + 1, x * index.sum())
""",
        run=_X,
        gb_id=_ID,
    ),
    Example(
        "a mask without a name, of two tensors",
        before="""\
import torch


def fn(x, y):
    return (⟦x[x > 2]⟧ * y[x > 2]).sum()
""",
        after="""\
import torch


def fn(x, y):
    mask = x > 2
    mask = mask.reshape(mask.shape + (1,) * (x.dim() - mask.dim())).expand_as(x)
    # The inner where makes the side that is not chosen harmless.
    return torch.where(mask, torch.where(mask, x, 0) * torch.where(mask, y, 0), 0).sum()
""",
        run=_XY,
        gb_id=_ID,
    ),
    Example(
        "chosen elements of a tensor whose name gets another value",
        before="""\
import torch


def fn(x):
    x = x.sin()
    kept = ⟦x[x > 0]⟧
    x = x + 1
    return x + kept.sum()
""",
        after="""\
import torch


def fn(x):
    x = x.sin()
    kept_values = x
    kept_mask = x > 0
    x = x + 1
    mask = kept_mask.reshape(
        kept_mask.shape + (1,) * (kept_values.dim() - kept_mask.dim())
    ).expand_as(kept_values)
    return x + torch.where(mask, kept_values, 0).sum()
""",
        run=_X,
        gb_id=_ID,
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal("returned", "def fn(x):\n    return ⟦x[x > 2]⟧ + 1\n", "and it is used as it is", gb_id=_ID),
    Refusal(
        "the largest of none",
        "def fn(x):\n    return x + ⟦x[x > 2]⟧.max()\n",
        "raises when the mask chooses nothing",
        gb_id=_ID,
    ),
    Refusal(
        "beside as many elements",
        "def fn(x, w):\n    return (⟦x[x > 2]⟧ * w).sum() + 1\n",
        "`w` beside `x[x > 2]` is not known to be a number",
        gb_id=_ID,
    ),
    Refusal(
        "looked up by numbers of other dimensions",
        "def fn(x, table, near, m):\n    y = x + 1\n    y[m] = table[⟦near[m]⟧]\n    return y\n",
        "is more than elementwise arithmetic",
        gb_id=_ID,
        seen=(("near", "int64 3 2"), ("m", "bool 3"), ("table", "float32 4 2")),
    ),
    Refusal(
        "looked up by what may be a mask",
        "def fn(x, table, near, m):\n    y = x + 1\n    y[m] = table[⟦near[m]⟧]\n    return y\n",
        "is more than elementwise arithmetic",
        gb_id=_ID,
        seen=(("m", "bool 3"), ("table", "float32 4 2"), ("near", "bool 3")),
    ),
    Refusal(
        "rows beside elements",
        "def fn(x, y, m):\n    return (⟦x[m, :]⟧ * y[m]).sum() + 1\n",
        "`y[m]` may have other dimensions than `x[m, :]`",
        gb_id=_ID,
    ),
    Refusal(
        "elements written to rows",
        "def fn(x, y, m):\n    z = y + 1\n    z[m, :] = ⟦x[m]⟧ * 2\n    return z\n",
        "`z[m, :]` may have other dimensions than what is written to it",
        gb_id=_ID,
    ),
    Refusal(
        "a list beside the mask",
        "def fn(x, m, i):\n    return ⟦x[m, i]⟧.sum() + 1\n",
        "only when the mask comes first and `:`, `...` and numbers follow it",
        gb_id=_ID,
    ),
    Refusal(
        "a name that may hold something else",
        "def fn(x, y):\n    kept = ⟦x[x > 0]⟧\n    if y.sum() > 0:\n        kept = y\n    return kept.sum()\n",
        "Line 5: `kept` may hold another value there",
        gb_id=_ID,
    ),
    Refusal(
        "a mask without a name behind a call",
        "def fn(x, y, f):\n    return f(x) + (⟦x[x > 0]⟧ * y[x > 0]).sum()\n",
        "give the mask a name first",
        gb_id=_ID,
    ),
    Refusal(
        "a mask behind another index",
        "def fn(x, m):\n    return ⟦x[:, m]⟧.sum() + 1\n",
        "only when the mask comes first and `:`, `...` and numbers follow it",
        gb_id=_ID,
    ),
    Refusal(
        "a number beside a mask without a name",
        "def fn(x, m):\n    return ⟦x[m > 0, 1]⟧.sum() + 1\n",
        "`m > 0` may have any number of dimensions; give it a name first",
        gb_id=_ID,
    ),
    Refusal(
        "a parameter that elements left out could spoil",
        "def fn(x, m, w):\n    return (⟦x[m]⟧ - w.sum()).log().sum() + 1\n",
        "The gradient of `w.sum()` goes through",
        gb_id=_ID,
    ),
    Refusal(
        "a reduction without a form",
        "def fn(x):\n    return x + ⟦x[x > 2]⟧.std()\n",
        "has no form over all elements",
        gb_id=_ID,
    ),
    Refusal(
        "indices that are used",
        "import torch\n\n\ndef fn(x):\n    rows, columns = ⟦torch.where(x > 2)⟧\n    return rows + columns\n",
        "as many as the mask chooses; use the mask itself",
        gb_id=_ID,
    ),
    Refusal(
        "indices with a name that are used",
        "def fn(x):\n    index = ⟦(x > 2).nonzero()⟧\n    return index + 1\n",
        "is used for more than their number",
        gb_id=_ID,
    ),
    Refusal(
        "rows that are given to a module",
        "import torch\n\n\ndef fn(x, f):\n    y = x.clone()\n    rows = ⟦torch.where(x > 2)⟧[0]\n    y[rows] = f(y[rows])\n"
        "    return y\n",
        "is more than elementwise arithmetic",
        gb_id=_ID,
    ),
    Refusal(
        "a tensor that changes before its elements are used",
        "def fn(x):\n    y = x.clone()\n    m = y > 2\n    kept = ⟦y[m]⟧\n    y.add_(1)\n    return kept.sum() + y\n",
        "`y` is changed in place",
        gb_id=_ID,
    ),
    Refusal(
        "an update from something else",
        "def fn(x, f):\n    y = x.clone()\n    m = y > 2\n    y[m] = f(⟦y[m]⟧)\n    return y\n",
        "is more than elementwise arithmetic",
        gb_id=_ID,
    ),
)
