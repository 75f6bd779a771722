"""The spellings that Dynamo does not trace, each with an equal one that it does.

Found by ``python bench/spellings.py``, which asks Dynamo about some hundred builtins, operators and library calls. Each row was
compared over eleven dtypes, tensors without dimensions and without elements, NaN and infinities, strides, and tensors that ask
for gradients: value, dtype, strides, gradient function and exception are the same (`tests/mending/test_spelling.py`). A row that
differs anywhere does not belong here: ``len(t)`` for ``operator.length_hint(t)`` differs for a tensor without dimensions,
``t.abs().dtype`` for ``t.dtype.to_real()`` for bool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["any", "plain", "tensor", "sizes", "size", "list", "dict", "tensors", "whole", "fraction"]
"""What a capital letter stands for.

*any* expression; a *plain* name, attribute or constant, which may be evaluated in another order; what is surely a *tensor*; the
*sizes* of a tensor (``t.shape``, ``t.size()``, a slice of them); a *size*, one of them, ``len(...)`` or a number that is not
negative; a *list* or *dict* made in the function; a list of *tensors* that is written out; a number that is *whole* or
a *fraction*.
"""

SUCH_AS: dict[Kind, tuple[str, ...]] = {
    "any": ("t",),
    "plain": ("t",),
    "tensor": ("t",),
    "sizes": ("t.shape", "t.size()", "t.shape[1:]"),
    "size": ("t.numel()", "3"),
    "list": ("[t, t]", "[]"),
    "dict": ("{'a': t}", "{}"),
    "tensors": ("[t, t]", "[t]"),
    "whole": ("1", "-3"),
    "fraction": ("1.5", "-0.0"),
}
"""With what each kind is tried."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """`before` and `after` are Python with capital letters for parts; `where` says what those are, *any* when it does not.

    ``*R`` is the rest of the arguments. `only` are the ids of breaks that show what the parts are: GB0208 is about operators of
    torch alone. `such_as` is what letters are tried with where their kind says too little.
    """

    before: str
    after: str
    where: Mapping[str, Kind] = field(default_factory=dict)
    only: frozenset[str] = frozenset()
    such_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_OF_TORCH = frozenset({"GB0208"})
_NUMBERS = (
    "[1, 2]",
    "[1.5, -2.0]",
    "[]",
    "[[1, 2], [3, 4]]",
    "[True]",
    "[float('nan')]",
    "[2**40]",
    "[t.detach().sum()]",
    "[None]",
)

_LEGACY = {
    "LongTensor": "int64", "IntTensor": "int32", "FloatTensor": "float32", "DoubleTensor": "float64", "BoolTensor": "bool",
    "ByteTensor": "uint8",
}  # fmt: skip
"""Types of tensors from before there were dtypes, of which Dynamo makes none of sizes that data decides."""

SPELLINGS: tuple[Spelling, ...] = (
    Spelling("pow(A, B)", "A ** B", such_as={"A": ("t", "2", "0.5"), "B": ("t", "2", "0.5", "-1", "0")}),
    Spelling("operator.inv(A)", "~A"),
    Spelling("operator.call(F, *R)", "F(*R)", such_as={"F": ("torch.sin", "torch.neg"), "R": ("t",)}),
    Spelling(
        "operator.setitem(A, B, C)",
        "A[B] = C",
        where={"A": "plain", "B": "plain", "C": "plain"},
        such_as={"A": ("t",), "B": ("0", "..."), "C": ("1", "t")},
    ),
    Spelling("operator.indexOf(A, B)", "A.index(B)", where={"A": "sizes", "B": "size"}, such_as={"B": ("4", "0")}),
    Spelling("A.is_signed()", "A.dtype.is_signed", only=_OF_TORCH),
    Spelling("torch.Tensor.is_signed(A)", "A.dtype.is_signed", only=_OF_TORCH),
    Spelling("torch.is_signed(A)", "A.dtype.is_signed", only=_OF_TORCH),
    Spelling("torch.is_same_size(A, B)", "A.shape == B.shape", only=_OF_TORCH, such_as={"B": ("t.clone()", "t[:1]")}),
    Spelling("torch.get_device(A)", "A.get_device()", only=_OF_TORCH),
    Spelling("torch.result_type(A, B)", "(A + 1).dtype", where={"B": "whole"}, only=_OF_TORCH),
    Spelling("torch.result_type(A, B)", "(A * 1.5).dtype", where={"B": "fraction"}, only=_OF_TORCH),
    Spelling("torch.autograd.Variable(A)", "A.detach()", where={"A": "tensor"}),
    Spelling("torch.autograd.Variable(A, requires_grad=False)", "A.detach()", where={"A": "tensor"}),
    *(
        Spelling(
            f"torch.{name}(A)",
            f'torch.tensor(A, dtype=torch.{dtype}, device="cpu")',
            where={"A": "list"},
            such_as={"A": _NUMBERS},
        )
        for name, dtype in _LEGACY.items()
    ),
    Spelling("torch.typename(A)", "A.type()", where={"A": "tensor"}),
    Spelling("numpy.ndim(A)", "A.ndim", only=_OF_TORCH),
    Spelling("A.__array__()", "A.numpy()", where={"A": "tensor"}),
    Spelling("int(numpy.prod(A))", "math.prod(A)", where={"A": "sizes"}),
    *(
        Spelling(f"{kind}(numpy.prod({made}(A)))", after, where={"A": "sizes"})
        for kind, after in (("int", "math.prod(A)"), ("float", "float(math.prod(A))"))
        for made in ("list", "tuple")
    ),
    *(
        Spelling(
            f"A.new().resize_as_(B).{fills}",
            f"A.new_empty(B.shape).{fills}",
            where={"A": "tensor", "B": "tensor"},
            such_as={"B": ("t[:1]", "t.detach()"), "C": filled},
        )
        for fills, filled in (("fill_(C)", ("1", "0.5")), ("zero_()", ()), ("copy_(C)", ("t[:1].detach()",)))
    ),
    Spelling("float(numpy.prod(A))", "float(math.prod(A))", where={"A": "sizes"}),
    Spelling("int(numpy.sum(A))", "sum(A)", where={"A": "sizes"}),
    Spelling("int(numpy.max(A))", "max(A)", where={"A": "sizes"}),
    Spelling("int(numpy.min(A))", "min(A)", where={"A": "sizes"}),
    Spelling("bool(numpy.all(A))", "all(A)", where={"A": "sizes"}),
    Spelling("torch.arange(A).tolist()", "list(range(A))", where={"A": "size"}),
    Spelling("numpy.arange(A).tolist()", "list(range(A))", where={"A": "size"}),
    Spelling("copy.copy(A)", "A.copy()", where={"A": "list"}),
    Spelling("copy.copy(A)", "A.copy()", where={"A": "dict"}),
    Spelling("torch.utils.data.default_collate(A)", "torch.stack(A)", where={"A": "tensors"}),
)
