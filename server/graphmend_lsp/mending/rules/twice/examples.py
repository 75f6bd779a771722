"""What the twice rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_CLASS = """\
import torch


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query_mask, key_mask, scores):
        kept = scores * query_mask[:, :, None] * key_mask[:, None, :]
        ctx.save_for_backward(query_mask, key_mask)
        return kept

    @staticmethod
    def backward(ctx, grad):
        query_mask, key_mask = ctx.saved_tensors
        return None, None, grad * query_mask[:, :, None] * key_mask[:, None, :]


"""
_BEFORE = (
    _CLASS
    + """\
def fn(x, m):
    mask = torch.exp(m)
    return ⟦Attend.apply(mask, mask, x.sin())⟧ + 1
"""
)
_RUN = """\
calls = [
    (torch.arange(18.0).view(2, 3, 3).requires_grad_(), torch.ones(2, 3)),
    (torch.arange(18.0).view(2, 3, 3).requires_grad_(), torch.zeros(2, 3)),
]
"""
_PRODUCT = """\
import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, scale):
        ctx.save_for_backward(a, b)
        ctx.scale = scale
        return torch.mul(a, b.cos()) * scale

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b.cos() * ctx.scale, -grad * a * b.sin() * ctx.scale, None


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 4.0))

    def forward(self, x):
        return ⟦Product.apply(self.weight, self.weight, 2)⟧ * x
"""

EXAMPLES: tuple[Example, ...] = (
    Example(
        "a mask for rows and columns",
        before=_BEFORE,
        after=_BEFORE.replace("⟦Attend.apply(mask, mask, x.sin())⟧", "Attend.apply(mask, mask.view_as(mask), x.sin())"),
        run=_RUN,
        gb_id="GB6297",
    ),
    Example(
        "a parameter, which gets both gradients",
        before=_PRODUCT,
        after=_PRODUCT.replace(
            "⟦Product.apply(self.weight, self.weight, 2)⟧",
            "Product.apply(self.weight, self.weight.view_as(self.weight), 2)",
        ),
        run="fn = Net()\ncalls = [(torch.arange(3.0),), (torch.ones(2, 3),)]\n",
        outermost="forward",
        gb_id="GB6297",
    ),
    Example(
        "a number that is given twice as well",
        before=_BEFORE.replace("key_mask, scores)", "key_mask, scores, low=0, high=0)")
        .replace("return None, None, grad * query_mask[:, :, None] * key_mask[:, None, :]",
                 "return None, None, grad * query_mask[:, :, None] * key_mask[:, None, :], None, None")
        .replace("    mask = torch", "    bound = 3\n    mask = torch")
        .replace("x.sin())⟧", "x.sin(), bound, bound)⟧"),
        after=_BEFORE.replace("key_mask, scores)", "key_mask, scores, low=0, high=0)")
        .replace("return None, None, grad * query_mask[:, :, None] * key_mask[:, None, :]",
                 "return None, None, grad * query_mask[:, :, None] * key_mask[:, None, :], None, None")
        .replace("    mask = torch", "    bound = 3\n    mask = torch")
        .replace("⟦Attend.apply(mask, mask, x.sin())⟧",
                 "Attend.apply(mask, mask.view_as(mask), x.sin(), bound, bound)"),
        run=_RUN,
        gb_id="GB6297",
    ),
)  # fmt: skip


def _forward(line: str) -> str:
    """The program with another statement at the start of `forward`."""
    return _BEFORE.replace("        kept =", f"        {line}\n        kept =")


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "a function that asks whether they are one",
        _forward("query_mask = key_mask.exp() if query_mask is key_mask else key_mask"),
        "`query_mask` gets another value",
        gb_id="GB6297",
    ),
    Refusal(
        "a comparison by identity",
        _forward("ctx.same = query_mask is key_mask"),
        "may tell `query_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "a comparison by identity within `in`",
        _forward("ctx.known = key_mask in [scores]"),
        "may tell `key_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "what is changed in place",
        _forward("key_mask.mul_(2)"),
        "or change it",
        gb_id="GB6297",
    ),
    Refusal(
        "what another function gets",
        _forward("torch.ops.kernels.attend(query_mask, key_mask)"),
        "may tell `query_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "what is kept",
        _forward("ctx.mask = key_mask"),
        "may tell `key_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "whether it is a leaf",
        _forward("ctx.leaf = key_mask.is_leaf"),
        "may tell `key_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "a text",
        _forward('ctx.text = "%s" % query_mask'),
        "may tell `query_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "what is returned as it is",
        _BEFORE.replace("        return kept\n", "        return query_mask\n"),
        "may tell `query_mask` from a view of it",
        gb_id="GB6297",
    ),
    Refusal(
        "a function of another file",
        "import torch\nfrom kernels import Attend\n\n\n" + _BEFORE[len(_CLASS) :],
        "is no class of this file",
        gb_id="GB6297",
    ),
    Refusal(
        "arguments together",
        _BEFORE.replace("forward(ctx, query_mask, key_mask, scores)", "forward(ctx, *masks)")
        .replace("        kept =", "        query_mask, key_mask, scores = masks\n        kept ="),
        "takes its arguments together",
        gb_id="GB6297",
    ),
    Refusal(
        "two names of one tensor",
        _BEFORE.replace("apply(mask, mask, ", "apply(mask, other, ").replace("    return ⟦", "    other = mask\n    return ⟦"),
        "does not show which tensor is given twice",
        gb_id="GB6297",
    ),
    Refusal(
        "what may be None",
        _BEFORE.replace("    mask = torch.exp(m)\n", "").replace("def fn(x, m)", "def fn(x, mask=None)"),
        "`mask` is not known to be a tensor",
        gb_id="GB6297",
    ),
)  # fmt: skip
