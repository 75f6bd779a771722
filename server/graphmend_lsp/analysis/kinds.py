"""What the static tier knows of a value: a tensor, a Python value, a module, a name of torch - or nothing.

Pure vocabulary and its join, with the reading of annotations. No walking of programs and no detectors here.
"Nothing known" is always the safe answer: a detector speaks only about values that are certainly tensors.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One abstract value.

    `tag` is one of ``unknown``, ``python`` (certainly no tensor), ``none``, ``tensor``, ``seq`` (a list or tuple of
    `items`; one item means any length), ``ref`` (the dotted name `name` of an import or a built-in), ``function`` and
    ``class`` (of this file, by qualified name), ``module`` (an instance of the class `name`), ``logger``.
    For tensors `name` is the element type as far as it is known: ``bool``, ``int`` or nothing.
    """

    tag: str
    name: str = ""
    items: tuple[Kind, ...] = ()


UNKNOWN = Kind("unknown")
PYTHON = Kind("python")
NONE = Kind("none")
TENSOR = Kind("tensor")
MASK = Kind("tensor", "bool")
INTEGER = Kind("tensor", "int")
LOGGER = Kind("logger")
TENSORS = Kind("seq", "", (TENSOR,))
# A torch layer whose call gives one tensor, whatever layer it is.
LAYER = Kind("module", "torch.nn.*")


def sequence(*items: Kind) -> Kind:
    """A tuple of exactly these kinds (one item: a list of any length)."""
    return Kind("seq", "fixed" if len(items) != 1 else "", items)


def is_tensor(kind: Kind) -> bool:
    """Whether the value is certainly a tensor."""
    return kind.tag == "tensor"


def join(left: Kind, right: Kind) -> Kind:
    """What is known of a value that is either one; a tensor or None counts as a tensor (None is never reported)."""
    if left == right:
        return left
    if left.tag == "none":
        return right if right.tag != "python" else UNKNOWN
    if right.tag == "none":
        return left if left.tag != "python" else UNKNOWN
    if left.tag == right.tag == "tensor":
        return TENSOR
    if left.tag == right.tag == "seq":
        return Kind("seq", "", (join(element(left), element(right)),))
    if left.tag == right.tag == "module" and "torch.nn.*" in (left.name, right.name):
        return LAYER if left.name.startswith("torch.nn.") and right.name.startswith("torch.nn.") else UNKNOWN
    return UNKNOWN


def join_all(kinds: list[Kind]) -> Kind:
    """The join of all; unknown of none."""
    if not kinds:
        return UNKNOWN
    result = kinds[0]
    for kind in kinds[1:]:
        result = join(result, kind)
    return result


def element(kind: Kind) -> Kind:
    """What iterating over the value gives."""
    if kind.tag == "tensor":
        return kind
    if kind.tag == "seq":
        return join_all(list(kind.items))
    return PYTHON if kind.tag == "python" else UNKNOWN


_PYTHON_NAMES = frozenset(
    {"bool", "int", "float", "str", "bytes", "complex", "Callable", "Size", "dtype", "device", "Literal", "range"}
)
_TENSOR_NAMES = {
    "Tensor": TENSOR,
    "Parameter": TENSOR,
    "Buffer": TENSOR,
    "FloatTensor": TENSOR,
    "HalfTensor": TENSOR,
    "DoubleTensor": TENSOR,
    "BFloat16Tensor": TENSOR,
    "LongTensor": INTEGER,
    "IntTensor": INTEGER,
    "ShortTensor": INTEGER,
    "ByteTensor": TENSOR,
    "BoolTensor": MASK,
}
_SEQUENCES = frozenset({"list", "List", "Sequence", "Iterable", "Iterator", "Collection"})
# jaxtyping's and torchtyping's names, which are subscripted with the array type first.
_SHAPED = {
    **dict.fromkeys(("Float", "Shaped", "Num", "Inexact", "Real", "Complex", "Float16", "Float32", "Float64"), TENSOR),
    **dict.fromkeys(("BFloat16", "UInt8"), TENSOR),
    **dict.fromkeys(("Int", "Integer", "Int8", "Int16", "Int32", "Int64", "UInt"), INTEGER),
    "Bool": MASK,
}


def of_annotation(node: ast.expr | None) -> Kind:
    """What an annotation promises; unknown where it promises nothing certain (`Union[Tensor, float]`)."""
    if node is None:
        return UNKNOWN
    if isinstance(node, ast.Constant):
        if node.value is None:
            return NONE
        if isinstance(node.value, str):
            try:
                return of_annotation(ast.parse(node.value.strip(), mode="eval").body)
            except (SyntaxError, ValueError):
                return UNKNOWN
        return UNKNOWN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either([of_annotation(node.left), of_annotation(node.right)])
    name = _last_name(node)
    if name in _TENSOR_NAMES:
        return _TENSOR_NAMES[name]
    if name == "Logger":
        return LOGGER
    if isinstance(node, ast.Subscript):
        return _of_subscript(_last_name(node.value), node.slice)
    return PYTHON if name in _PYTHON_NAMES else UNKNOWN


def _of_subscript(name: str, inner: ast.expr) -> Kind:
    arguments = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if not arguments:
        return UNKNOWN
    if name == "Optional":
        return _either([of_annotation(inner), NONE])
    if name == "Union":
        return _either([of_annotation(each) for each in arguments])
    if name in _SHAPED and _last_name(arguments[0]) in _TENSOR_NAMES:
        return _SHAPED[name]
    if name in ("Annotated", "Final", "ClassVar"):
        return of_annotation(arguments[0])
    if name == "TensorType":
        return TENSOR
    if name in _SEQUENCES:
        return Kind("seq", "", (of_annotation(arguments[0]),))
    if name in ("tuple", "Tuple"):
        variadic = isinstance(arguments[-1], ast.Constant) and arguments[-1].value is Ellipsis
        kinds = [of_annotation(each) for each in arguments[: -1 if variadic else None]]
        return Kind("seq", "", (join_all(kinds),)) if variadic else sequence(*kinds)
    return PYTHON if name in _PYTHON_NAMES else UNKNOWN


def _either(kinds: list[Kind]) -> Kind:
    """A union of annotations: like a join, but "a number or None" is still no tensor."""
    some = [kind for kind in kinds if kind.tag != "none"]
    return join_all(some) if some else NONE


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
