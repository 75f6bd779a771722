"""Of which dtypes a tensor may be, as far as the text of its file tells: bool, int64, other integers, or floating-point.

What an operator makes of its operands' dtypes stands in the table of operators; torch's promotion is written here.
"""

from __future__ import annotations

import ast
from typing import Literal

from graphmend_lsp.mending.facts.operators import Operator, operator_of_ast
from graphmend_lsp.mending.facts.values_of_names import ValuesOfNames
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import parameters
from graphmend_lsp.mending.syntax.walk import walk

DtypeClass = Literal["bool", "narrow", "int64", "floating"]
"""``narrow``: an integer dtype other than int64. ``floating``: also complex, where an operand is."""

_ANY: frozenset[DtypeClass] = frozenset(("bool", "narrow", "int64", "floating"))
_FLOATING: frozenset[DtypeClass] = frozenset(("floating",))
_INT64: frozenset[DtypeClass] = frozenset(("int64",))
_BOOL: frozenset[DtypeClass] = frozenset(("bool",))
_WHOLE: frozenset[DtypeClass] = frozenset(("bool", "narrow", "int64"))
_RANK: dict[DtypeClass, int] = {"bool": 0, "narrow": 1, "int64": 1, "floating": 2}
_OF_NAME: dict[str, frozenset[DtypeClass]] = {
    "bool": _BOOL,
    "truth": frozenset(("bool", "narrow")),
    **dict.fromkeys(("int64", "long"), _INT64),
    **dict.fromkeys(("uint8", "int8", "int16", "int32", "uint16", "uint32", "uint64", "short", "int"), frozenset(("narrow",))),
    **dict.fromkeys(
        (
            "float16", "bfloat16", "float32", "float64", "half", "float", "double",
            "complex32", "complex64", "complex128", "chalf", "cfloat", "cdouble",
        ),
        _FLOATING,
    ),
}  # fmt: skip
_PAIRS = frozenset(("topk", "sort", "kthvalue", "mode", "cummax", "cummin"))
_PAIRS_OF_DIM = frozenset(("max", "min", "median", "nanmedian"))
"""With a dimension these give values and indices, too; with a tensor in its place they do not."""
_PARTS = {"values": 0, "indices": 1}
_OPERANDS = ("input", "other", "min", "max", "tensor", "tensor1", "tensor2", "exponent", "end", "weight")


class Dtypes(ValuesOfNames):
    """Which dtypes the expressions of a file may be of."""

    def dtypes(self, node: ast.expr) -> frozenset[DtypeClass]:
        """The classes of dtypes of one of which a tensor is; all of them where nothing is known, or for no tensor."""
        if isinstance(node, ast.Constant):
            return _ANY
        if self.kinds.is_bool(node):
            return _BOOL
        if isinstance(node, ast.UnaryOp):
            return self.dtypes(node.operand)
        if isinstance(node, ast.BinOp):
            operator = operator_of_ast(type(node.op))
            return self._of(operator, [node.left, node.right]) if operator is not None else _ANY
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return self._of_part(node)
        return self._of_call(node) if isinstance(node, ast.Call) else _ANY

    def is_whole(self, node: ast.expr) -> bool:
        """Whether a tensor surely holds integers or booleans."""
        return self.dtypes(node) <= _WHOLE

    def is_integer(self, node: ast.expr) -> bool:
        """Whether a tensor surely holds integers, no booleans."""
        return self.dtypes(node) <= _WHOLE - _BOOL

    def is_int64(self, node: ast.expr) -> bool:
        """Whether a tensor surely is of int64."""
        return self.dtypes(node) <= _INT64

    def is_floating(self, node: ast.expr) -> bool:
        """Whether a tensor surely is floating-point."""
        return self.dtypes(node) <= _FLOATING

    def holds_arithmetic(self, node: ast.expr) -> bool:
        """Whether a tensor surely is floating-point or int64, so that Python's arithmetic with its numbers does not wrap."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name) and self.all_values(node, self.holds_arithmetic):
            return True
        return self.dtypes(node) <= _FLOATING | _INT64

    def widens_integers(self, node: ast.expr) -> bool:
        """Whether an expression may be of int64 where what it is computed from is of a narrower integer dtype."""
        calls = (one for part in self.chain(node) for one in walk(part) if isinstance(one, ast.Call))
        return not self.is_floating(node) and any(
            one is not None and one.dtype in ("wide", "int64") for one in map(self.operator, calls)
        )

    def _of_part(self, node: ast.Subscript | ast.Attribute) -> frozenset[DtypeClass]:
        """Of ``x.max(0)[1]``, ``x.sort().indices``, and of an element of a tensor."""
        if isinstance(node.value, ast.Call):
            at = _PARTS.get(node.attr) if isinstance(node, ast.Attribute) else _index(node.slice)
            if (found := self._of_pair(node.value, at)) is not None:
                return found
        of_tensor = isinstance(node, ast.Subscript) and self.kinds.of(node.value) == "tensor"
        return self.dtypes(node.value) if of_tensor else _ANY

    def _of_pair(self, call: ast.Call, at: int | None) -> frozenset[DtypeClass] | None:
        """Of the values (0) or the indices (1) of a call that gives both; None for another call."""
        name, arguments = self.called(call)
        dims = [one.value for one in call.keywords if one.arg == "dim"] or arguments[1:2]
        whole = bool(dims) and _number(dims[0]) == _INT64
        if dims == arguments[1:2] and dotted(self.source, call.func) is None:  # which an array of numpy takes, too
            whole = whole and self.kinds.of(arguments[0]) == "tensor"
        if at is None or not (name in _PAIRS or (name in _PAIRS_OF_DIM and whole)):
            return None
        return _INT64 if at in (1, -1) else self.dtypes(arguments[0]) if arguments and at in (0, -2) else None

    def _of_unpacked(self, node: ast.Name) -> frozenset[DtypeClass]:
        """Of a name that is bound to one of such a pair, wherever it is bound: ``_, at = x.max(0)``."""
        function = self.source.function(node)
        if function is None or node.id in parameters(function):
            return _ANY
        found: set[DtypeClass] = set()
        for one in walk(function):
            if not (isinstance(one, ast.Name) and one.id == node.id) or isinstance(one.ctx, ast.Load):
                continue
            target = self.source.parents.get(one)
            holder = self.source.parents.get(target) if isinstance(target, ast.Tuple) else None
            call = holder.value if isinstance(holder, ast.Assign) and isinstance(holder.value, ast.Call) else None
            if call is None or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                return _ANY
            found |= self._of_pair(call, target.elts.index(one)) or _ANY
        return frozenset(found) or _ANY

    def _of_name(self, node: ast.Name) -> frozenset[DtypeClass]:
        found: set[DtypeClass] = set()

        def adds(value: ast.expr) -> bool:
            found.update(self.dtypes(value))
            return True

        known = self.all_values(node, adds)
        if not known and not found:
            return _FLOATING if self._refuses_whole(node) else self._of_unpacked(node)
        return _FLOATING if self._refuses_whole(node) else frozenset(found) if known else _ANY

    def _of_call(self, node: ast.Call) -> frozenset[DtypeClass]:
        operator, (name, arguments) = self.operator(node), self.called(node)
        if operator is None or operator.gives != "tensor":
            return _ANY
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        given = [one for one in (*arguments, *named.values()) if (dotted(self.source, one) or "").startswith("torch.")]
        said = [_OF_NAME[last] for one in given if (last := ast.unparse(one).rpartition(".")[2]) in _OF_NAME]
        if said:
            return said[0]
        if "dtype" in named:
            value = named["dtype"]
            return self.dtypes(value.value) if isinstance(value, ast.Attribute) and value.attr == "dtype" else _ANY
        if operator.dtype == "argument":
            return self._converted(name, arguments)
        if named.get("rounding_mode") is not None:
            return _ANY
        if not arguments and operator.form != "makes":
            return _ANY
        return self._of(operator, [*arguments, *(value for key, value in named.items() if key in _OPERANDS)])

    def _converted(self, name: str, arguments: list[ast.expr]) -> frozenset[DtypeClass]:
        """Of ``t.to(u.dtype)``, ``t.to(u.device)``, ``t.type_as(u)``."""
        if len(arguments) != 2:
            return _ANY
        like = arguments[1]
        if name == "type_as":
            return self.dtypes(like)
        if name == "to" and isinstance(like, ast.Attribute) and like.attr in ("dtype", "device"):
            return self.dtypes(like.value if like.attr == "dtype" else arguments[0])
        return _ANY

    def _of(self, operator: Operator, operands: list[ast.expr]) -> frozenset[DtypeClass]:
        if operator.dtype == "float":
            return _FLOATING
        if operator.dtype in _OF_NAME:
            return _OF_NAME[operator.dtype]
        if operator.dtype == "promoted" and operator.form in ("elementwise", "other"):
            return self._promoted(operands)
        first = self.dtypes(operands[0]) if operands and operator.dtype in ("same", "wide") else _ANY
        if operator.dtype == "wide":
            return frozenset("int64" if one != "floating" else one for one in first)
        return _FLOATING if operator.floats else first

    def _promoted(self, operands: list[ast.expr]) -> frozenset[DtypeClass]:
        """What torch makes of operands of several dtypes; a Python number is wider only where its kind of number is."""
        found: frozenset[DtypeClass] | None = None
        given = [one for one in operands if not (isinstance(one, ast.Constant) and one.value is None)]
        for one in sorted(given, key=lambda operand: isinstance(operand, ast.Constant)):
            number = _number(one)
            more = number or self.dtypes(one)
            found = (
                more if found is None else frozenset(new for a in found for b in more for new in _wider(a, b, number))
            )
        return found if found is not None else _ANY

    def _refuses_whole(self, node: ast.Name) -> bool:
        """Whether the function computes of the name, which is bound once, what is refused for integers."""
        function = self.source.function(node)
        if function is None:
            return False
        bound = [
            one
            for one in walk(function)
            if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
        ]
        if len(bound) + (node.id in parameters(function)) != 1:
            return False
        for one in walk(function):
            operator = self.operator(one) if isinstance(one, ast.Call) else None
            if operator is not None and operator.floats and operator.form in ("reduction", "scan"):
                assert isinstance(one, ast.Call)
                arguments = self.called(one)[1]
                cast = any(keyword.arg == "dtype" for keyword in one.keywords)
                first = arguments[0] if arguments else None
                if isinstance(first, ast.Name) and first.id == node.id and not cast:
                    return True
        return False


def _number(node: ast.expr) -> frozenset[DtypeClass] | None:
    """The class of a Python number that is written out; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _number(node.operand)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (int, float, complex)):
        return None
    return _BOOL if isinstance(node.value, bool) else _INT64 if isinstance(node.value, int) else _FLOATING


def _index(node: ast.expr) -> int | None:
    """The whole number that an index is, where it is written out."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def _wider(one: DtypeClass, other: DtypeClass, number: object) -> tuple[DtypeClass, ...]:
    """What two operands may give: the wider kind; of two kinds of integers either, because dimensions decide."""
    if _RANK[one] != _RANK[other]:
        return (one if _RANK[one] > _RANK[other] else other,)
    return (one,) if one == other or number is not None else (one, other)
