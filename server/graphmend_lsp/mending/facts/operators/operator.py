"""What is known of an operator: a frozen record, and the compact form in which the table writes it down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

Form = Literal["elementwise", "reduction", "scan", "layout", "makes", "other"]
Gives = Literal["tensor", "tensors", "number", "flag", "size", "none", "object"]
Alias = Literal["new", "maybe", "view", "self"]
Dtype: TypeAlias = Literal[
    "same", "promoted", "float", "wide", "truth", "argument", "unknown", "bool", "int64",
    "int32", "int16", "int8", "uint8", "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """One function, method, attribute or Python operator, for operands that are tensors of real numbers."""

    name: str
    form: Form = "other"
    """``elementwise``: an element of the result depends on the elements at its place (after broadcasting) and on
    nothing else. ``reduction``: fewer elements, whatever their order. ``scan``: the shape stays, elements along a
    dimension meet (``cumsum``, ``softmax``). ``layout``: the operand's elements, elsewhere. ``makes``: from sizes."""
    gives: Gives = "tensor"
    """``tensors`` is a tuple of them; for ``max(dim)`` the tensor and the tuple are told as ``tensor``."""
    alias: Alias = "new"
    """``maybe``: for some operands the result shares their storage or is an operand itself (``float``, ``ravel``)."""
    dtype: Dtype = "unknown"
    """Of the (first) result. ``promoted``: as `torch.result_type` of the operands; ``float``: that, or the default
    dtype in place of integers; ``wide``: int64 in place of integers; ``truth``: bool, but uint8 of uint8;
    ``argument``: as an argument says."""
    floats: bool = False
    """Whether it raises for operands that are integers or booleans."""
    wholes: bool = False
    """Whether it raises for operands that are floating-point."""
    nonnegative: bool = False
    """Whether no element of the result is below zero (it can be NaN)."""
    keeps_sign: bool = False
    """Whether no element of the result is below zero where no element of the operands is."""
    linear: bool = False
    """Whether it is linear in its one operand: its derivative is the same everywhere."""
    of_two: bool = False
    """Of an elementwise operator with `safe`: whether it has two operands that are tensors."""
    moves: bool = False
    """Whether the result may be on another device than the operand."""
    dimensionless: bool = False
    """Whether the result never has dimensions."""
    cut: bool = False
    """Whether the result never carries a gradient although its dtype could."""
    raises: bool = False
    """Whether it may raise for values of operands (not for their shapes, dtypes or devices)."""
    nonempty: bool = False
    """Whether it raises for operands without elements."""
    random: bool = False
    effect: bool = False
    """Whether it does more than give a value: changes an operand, or something of the process."""
    neutral: str | None = None
    """Of a reduction: the element that changes nothing, as source text."""
    safe: str | None = None
    """Of an elementwise operator whose value or gradient is not finite everywhere: an operand where both are; of two
    operands, a number for the one that causes it."""
    keeps: bool = False
    """Whether the result has the shape of the (first) operand although it is not elementwise."""
    reads: bool = False
    """Whether it gives a value of Python that the tensor's data decide, not only its shape, dtype or device."""
    inplace: bool = False
    """Whether it takes ``inplace=``: with it, it changes its operand and gives that."""
    twin: str | None = None
    """The method that does the same in place; of one in place, the name of what gives a new tensor."""

    @property
    def is_tensor(self) -> bool:
        """Whether it gives a tensor or several."""
        return self.gives in ("tensor", "tensors")

    @property
    def is_new(self) -> bool:
        """Whether the result surely shares nothing with an operand."""
        return self.alias == "new"

    @property
    def carries_gradient(self) -> bool:
        """Whether the result can carry a gradient of an operand."""
        whole = self.dtype in ("bool", "int64", "int32", "int16", "int8", "uint8")
        return self.is_tensor and not (self.cut or whole or self.form == "makes")

    @property
    def keeps_shape(self) -> bool:
        """Whether the result has the shape of its operands (broadcast)."""
        return self.keeps or self.form in ("elementwise", "scan")


UNKNOWN = Operator("", alias="maybe", raises=True, random=True, effect=True)
"""What is assumed of an operator that the table lacks: everything."""

_FLAGS = frozenset((
    "cut", "raises", "nonempty", "random", "effect", "keeps", "reads", "inplace", "floats", "wholes", "nonnegative", "keeps_sign",
    "linear", "of_two", "moves", "dimensionless",
))  # fmt: skip
_VALUES = ("neutral", "safe")
_FIELDS = {
    **dict.fromkeys(get_args(Form), "form"),
    **dict.fromkeys(get_args(Gives), "gives"),
    **dict.fromkeys(get_args(Alias), "alias"),
    **dict.fromkeys(get_args(Dtype), "dtype"),
    **{one: one for one in _FLAGS},
}


def read(table: str) -> dict[str, Operator]:
    """The operators of a table: lines ``[words that hold for all]``, below each the names; ``#`` starts a remark.

    ``twin`` among the words: each name has a method ``name_`` that does it in place. Raises ValueError for a word that
    says nothing and for a name that is there twice.
    """
    found: dict[str, Operator] = {}
    like = Operator("")
    twins = False
    for line in table.splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            words = text.strip("[]").split()
            twins = "twin" in words
            like = _like([word for word in words if word != "twin"])
        else:
            for one in _named(text.split(), like, twins):
                if one.name in found:
                    raise ValueError(f"{one.name} is in the table twice")
                found[one.name] = one
    return found


def _named(names: list[str], like: Operator, twins: bool) -> Iterator[Operator]:
    for name in names:
        yield replace(like, name=name, twin=f"{name}_" if twins else like.twin)
        if twins:
            form: Form = "elementwise" if like.form == "elementwise" else "other"
            yield replace(
                like, name=f"{name}_", form=form, alias="self", dtype="same", effect=True, twin=name, keeps=False
            )


def _like(words: list[str]) -> Operator:
    fields: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if value and key in _VALUES:
            fields[key] = value
        elif word in _FIELDS:
            fields[_FIELDS[word]] = word if word not in _FLAGS else True
        else:
            raise ValueError(f"no such word in the table of operators: {word}")
    return replace(Operator(""), **fields)
