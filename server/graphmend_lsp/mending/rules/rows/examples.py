"""What the rows rule mends and declines where chosen rows go through one call: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_ID = "GB0036"
_INSIDE = """\
import torch
calls = [
    (torch.tensor([[1.0, 5.0], [-1.0, 3.0]]), torch.arange(12.0).view(2, 2, 3)),
    (torch.tensor([[0.0, 4.0], [2.0, 3.0]]), torch.arange(12.0).view(2, 2, 3)),
    (torch.tensor([[9.0, 5.0], [-1.0, 7.0]]), torch.arange(12.0).view(2, 2, 3)),
]
"""
_ROWS = """\
import torch
calls = [
    (torch.arange(12.0).reshape(3, 4), torch.tensor([True, False, True])),
    (torch.arange(9.0).reshape(3, 3), torch.tensor([False, False, True])),
    (torch.arange(6.0).reshape(3, 2), torch.tensor([True, True, True])),
]
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "rows through a function of the file, where there are any",
        before="""\
import torch


def placed(x, w):
    steps = torch.cumsum(w.abs(), dim=-1)
    place = (x[..., None] >= steps).sum(dim=-1)
    return x * 2, place.to(x.dtype)


def fn(x, w):
    inside = (x >= 0) & (x <= 4)
    y = torch.zeros_like(x)
    n = torch.zeros_like(x)
    if torch.any(inside):
        y[inside], n[inside] = placed(x[inside], ⟦w[inside, :]⟧)
    return y + n
""",
        after="""\
import torch


def placed(x, w):
    steps = torch.cumsum(w.abs(), dim=-1)
    place = (x[..., None] >= steps).sum(dim=-1)
    return x * 2, place.to(x.dtype)


def fn(x, w):
    inside = (x >= 0) & (x <= 4)
    y = torch.zeros_like(x)
    n = torch.zeros_like(x)
    all_y, all_n = placed(
        x.masked_fill(~inside, 0), w.masked_fill(~inside[..., None], 0)
    )
    y.copy_(torch.where(inside, all_y, y))
    n.copy_(torch.where(inside, all_n, n))
    return y + n
""",
        run=_INSIDE,
        gb_id=_ID,
        assumes=("cost", "layout", "dtype"),
    ),
    Example(
        "rows through a function that checks all of them in the graph",
        before="""\
import torch

from graphmend_support import check


def placed(x, w):
    check(~((torch.min(x) < 0) | (torch.max(x) > 4)), ValueError, "outside")
    return x * w.softmax(dim=-1)[..., 0]


def fn(x, w):
    inside = (x >= 0) & (x <= 4)
    y = torch.zeros_like(x)
    y[inside] = placed(x[inside], ⟦w[inside, :]⟧)
    return y
""",
        after="""\
import torch

from graphmend_support import check


def placed(x, w):
    check(~((torch.min(x) < 0) | (torch.max(x) > 4)), ValueError, "outside")
    return x * w.softmax(dim=-1)[..., 0]


def fn(x, w):
    inside = (x >= 0) & (x <= 4)
    y = torch.zeros_like(x)
    all_y = placed(x.masked_fill(~inside, 0), w.masked_fill(~inside[..., None], 0))
    y.copy_(torch.where(inside, all_y, y))
    return y
""",
        run=_INSIDE.replace("    (torch.tensor([[9.0, 5.0], [-1.0, 7.0]]), torch.arange(12.0).view(2, 2, 3)),\n", ""),
        gb_id=_ID,
        assumes=("cost", "layout", "dtype"),
    ),
    Example(
        "rows with a name that are put back later",
        before="""\
import torch


def scaled(x):
    return x / (1 + x.abs().amax(dim=-1, keepdim=True))


def fn(x, m):
    y = x.clone()
    h = scaled(⟦x[m, :]⟧)
    y[m, :] = h
    return y + 1
""",
        after="""\
import torch


def scaled(x):
    return x / (1 + x.abs().amax(dim=-1, keepdim=True))


def fn(x, m):
    y = x.clone()
    h = scaled(x.masked_fill(~m.bool()[..., None], 0))
    y.copy_(torch.where(m.bool()[..., None], h, y))
    return y + 1
""",
        run=_ROWS,
        gb_id=_ID,
        assumes=("cost", "layout"),
    ),
    Example(
        "rows that are put back in another dtype",
        before="""\
import torch


def share(x, eps):
    return torch.softmax(x, dim=-1) + eps


def fn(x, m, y, eps):
    h = share(⟦x[m]⟧, eps)
    if h.dtype == y.dtype:
        y[m] = h
    else:
        y[m] = h.to(y.dtype)
    return y + 1
""",
        after="""\
import torch


def share(x, eps):
    return torch.softmax(x, dim=-1) + eps


def fn(x, m, y, eps):
    h = share(x.masked_fill(~m[..., None], 0), eps)
    if h.dtype == y.dtype:
        y.copy_(torch.where(m[..., None], h, y))
    else:
        y.copy_(torch.where(m[..., None], h.to(y.dtype), y))
    return y + 1
""",
        run="""\
import torch
masks = [torch.tensor([True, False, True]), torch.tensor([False, False, False])]
outs = [torch.ones(3, 4), torch.ones(3, 4, dtype=torch.float64)]
calls = [(torch.arange(12.0).reshape(3, 4), m, y, 0.5) for m in masks for y in outs]
""",
        gb_id=_ID,
        assumes=("cost", "layout"),
        seen=(("x", "float32 3 4"), ("m", "bool 3"), ("y", "float32 3 4"), ("eps", "float")),
    ),
)


def _through(
    title: str, function: str, reason: str, body: str = "y[m, :] = f(⟦x[m, :]⟧)", seen: tuple[tuple[str, str], ...] = ()
) -> Refusal:
    lines = "".join(f"    {line}\n" for line in function.split("\n"))
    inner = "".join(f"    {line}\n" for line in body.split("\n"))
    source = f"import torch\n\n\ndef f(x, w=None):\n{lines}\n\ndef fn(x, m, y, w):\n{inner}    return y\n"
    return Refusal(title, source, reason, gb_id=_ID, seen=seen)


REFUSALS: tuple[Refusal, ...] = (
    _through("a function that takes a mean over rows", "return x - x.mean(dim=0)", "may mix or count the rows"),
    _through("a function that sums rows", "total = x.sum()\nreturn x / total", "`x.sum()` may mix or count the rows"),
    _through("a function that counts rows", "return x / x.shape[0]", "`x.shape[0]` may mix or count the rows"),
    _through("a function that sorts", "return x.sort(0)[0]", "may mix or count the rows"),
    _through("a function that draws for rows", "return x + torch.rand_like(x)", "draws random numbers for rows"),
    _through("a function that says something", "print(1)\nreturn x", "calls a function whose effects are not known"),
    _through(
        "a function that branches on rows",
        "if x.min() < 0:\n    x = x + 1\nreturn x",
        "which way is taken depends on all rows at once",
    ),
    _through("a function that writes elsewhere", "w[..., 0] = 1\nreturn x", "is written to, which others may see"),
    _through("a function that gives no rows", "return x.max()", "does not give rows for each of `y`"),
    _through(
        "rows beside elements of them",
        "return x * w",
        "puts rows with 1 and 2 dimensions beside each other",
        body="y[m, :] = f(⟦x[m, :]⟧, w[m])",
    ),
    _through(
        "rows in one branch only",
        "if w is None:\n    y = x\nelse:\n    y = w\nreturn y * 2",
        "`y` is not known to have rows",
    ),
    _through(
        "a function that gets the mask too",
        "return x * 2",
        "gets `m` itself beside the rows that it chooses",
        body="y[m, :] = f(⟦x[m, :]⟧, m)",
    ),
    _through(
        "rows that are used otherwise",
        "return x * 2",
        "`h` holds chosen rows and is not used only to put them back",
        body="h = f(⟦x[m, :]⟧)\ny[m, :] = h\ny = y + h.sum()",
    ),
    _through(
        "rows put back by another mask",
        "return x * 2",
        "`y[w, :]` is not where the rows were chosen",
        body="y[w, :] = f(⟦x[m, :]⟧)",
    ),
    _through(
        "rows beside a sum of all",
        "return x / x.max()",
        "puts each row beside a value of all rows",
    ),
    _through(
        "rows of two kinds of sizes put into one",
        "return x.sum(-1)",
        "`y` has rows of other dimensions",
        seen=(("x", "float32 3 4"), ("m", "bool 3"), ("y", "float32 3 4")),
    ),
    _through(
        "a function that counts dimensions from the front",
        "return x / x.sum(1, keepdim=True)",
        "counts dimensions from the front, and the mask may have several",
    ),
    _through(
        "a mask that changes before rows are put back",
        "return x * 2",
        "`m` is changed before the rows are put back",
        body="h = f(⟦x[m, :]⟧)\nm = ~m\ny[m, :] = h",
    ),
)
