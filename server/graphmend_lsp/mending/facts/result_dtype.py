"""The dtype that a Python number takes where it meets a tensor, as text; whether a number is a float, from its text alone.

Also which numbers every dtype holds, and whether a tensor keeps its dtype where something is added to it.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Read, Scalars
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


def dtype_beside(
    source: Source, scalars: Scalars, reads: Sequence[Read], node: ast.expr, other: ast.expr
) -> str | None:
    """The dtype that Python's number takes beside a tensor, as text; None where that is not known.

    A float leaves a floating dtype as it is and makes floats of integers; an int leaves both.
    """
    if not isinstance(other, (ast.Name, ast.Attribute)):
        return None
    text = render(source, other)
    if scalars.is_floating(other):
        return f"{text}.dtype"
    if is_float(source, scalars, reads, node):
        return f"({text} * 1.0).dtype"
    bases = {name for read in reads for name in scalars.origins(read.tensor)}
    kept = scalars.origins(other)
    return f"{text}.dtype" if bases and bases <= kept and not scalars.converts(other) else None


def same_kind(scalars: Scalars, reads: Sequence[Read], other: ast.expr) -> bool:
    """Whether `other` and all that is read are computed from the same names alone, so that integers meet integers."""
    bases = {name for read in reads for name in scalars.origins(read.tensor)}
    converted = scalars.converts(other) or any(scalars.converts(read.tensor) for read in reads)
    return bool(bases) and bases == scalars.origins(other) and "self" not in bases and not converted


def is_float(source: Source, scalars: Scalars, reads: Sequence[Read], node: ast.expr) -> bool:
    """Whether a number surely is a float, whatever the tensor's dtype."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.UnaryOp):
        return is_float(source, scalars, reads, node.operand)
    if isinstance(node, ast.BinOp):
        return (
            isinstance(node.op, ast.Div)
            or is_float(source, scalars, reads, node.left)
            or is_float(source, scalars, reads, node.right)
        )
    if isinstance(node, ast.Name):
        values = scalars.values(node)
        return bool(values) and all(is_float(source, scalars, reads, value) for value in values or ())
    for read in reads:
        if read.call is node:
            return read.form == "float" or (read.form == "item" and scalars.is_floating(read.tensor))
    if not isinstance(node, ast.Call):
        return False
    name = dotted(source, node.func) or ""
    if name.startswith("math."):
        return not name.startswith("math.is")
    if is_builtin(source, node.func, "float"):
        return True
    if is_builtin(source, node.func, "round") and len(node.args) != 2:
        return False
    kept = any(is_builtin(source, node.func, one) for one in ("abs", "max", "min", "round"))
    return kept and bool(node.args) and is_float(source, scalars, reads, node.args[0])


def fits_everywhere(node: ast.expr) -> bool:
    """Whether a number is one that every dtype holds, also uint8 and int8."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, float) or (isinstance(value, int) and 0 <= value < 128)


def exact_number(node: ast.expr) -> bool:
    """Whether a constant is exact in every floating-point dtype (eight bits of mantissa)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if not (isinstance(node, ast.Constant) and isinstance(node.value, (int, float))):
        return False
    mantissa, exponent = math.frexp(node.value)
    return math.ldexp(mantissa, 8).is_integer() and -13 < exponent <= 15


def keeps_dtype(source: Source, kinds: Kinds, target: ast.expr, value: ast.expr) -> bool:
    """Whether ``target + value`` surely has the dtype of a tensor: in place it is converted, a new one may be wider."""
    if (
        not isinstance(target, ast.Name)
        or kinds.of(target) != "tensor"
        or kinds.of(value) == "python"
        or isinstance(value, ast.Constant)
    ):
        return True
    scalars, function = Scalars(source, kinds), source.function(target)
    made = [one.value for one in walk(function or value) if isinstance(one, ast.Assign) and target.id in assigned(one)]
    known = frozenset({target.id}).union(*(scalars.origins(one) for one in made))
    return len(known) <= 2 and scalars.origins(value) <= known and not any(map(scalars.converts, (*made, value)))
