"""Conditions that say of each plane of a mask whether it holds anything: ``m.sum((-1, -2)) > 0``.

A reduction whose neutral element is zero gives zero for a plane of zeros; over all dimensions but the first of a mask without
negative elements it gives zero for no other plane. Pure reading of `Source`; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.operators import operator_of_function, operator_of_method
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source

_EMPTY = ("0", "False")
_ABOVE = {ast.Gt: 0, ast.NotEq: 0, ast.GtE: 1}
_COMPARISONS = {"gt": 0, "greater": 0, "ne": 0, "not_equal": 0, "ge": 1, "greater_equal": 1}


def planes_with_some(source: Source, condition: ast.expr) -> str | None:
    """The name of the mask of which a condition is true for the planes that hold anything; None for another condition.

    What is nonzero counts as true, as in ``condition.nonzero()``. That no element of the mask is negative the caller says.
    """
    reduced = _above_zero(source, condition)
    if not isinstance(reduced, ast.Call):
        return None
    found = _operand(source, reduced)
    if found is None:
        return None
    mask, rest, name = found
    operator = operator_of_function(name) if "." in name else operator_of_method(name)
    if (
        operator is None
        or operator.form != "reduction"
        or operator.neutral not in _EMPTY
        or not isinstance(mask, ast.Name)
    ):
        return None
    axes = _axes(reduced, rest)
    if not axes or sorted(axes) not in (list(range(1, len(axes) + 1)), list(range(-len(axes), 0))):
        return None
    fact = Seen(source).of(mask)
    return mask.id if fact is None or fact.rank in (None, len(axes) + 1) else None


def _above_zero(source: Source, condition: ast.expr) -> ast.expr:
    """What is compared with zero, or the condition itself, which then is zero or not."""
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        least = _ABOVE.get(type(condition.ops[0]))
        right = condition.comparators[0]
        return condition.left if least is not None and _number(right) == least else condition
    found = _operand(source, condition) if isinstance(condition, ast.Call) else None
    if found is None:
        return condition
    operand, rest, name = found
    name = name.rpartition(".")[2]
    if name == "bool" and not rest:
        return operand
    return operand if name in _COMPARISONS and _numbers(rest) == [_COMPARISONS[name]] else condition


def _operand(source: Source, call: ast.Call) -> tuple[ast.expr, list[ast.expr], str] | None:
    """The tensor that a method or torch's function gets, what else it gets by position, and its name (a function's in full)."""
    name = dotted(source, call.func)
    if name is not None:
        return (call.args[0], call.args[1:], name) if name.startswith("torch.") and call.args else None
    return (call.func.value, call.args, call.func.attr) if isinstance(call.func, ast.Attribute) else None


def _axes(call: ast.Call, rest: list[ast.expr]) -> list[int] | None:
    """The dimensions that a reduction is made over; None where they are not written as numbers, or it is told more than them."""
    given = [*rest, *(one.value for one in call.keywords if one.arg in ("dim", "axis"))]
    if len(given) - len(rest) != len(call.keywords) or not given:
        return None
    return _numbers(given[0].elts if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else given)


def _numbers(nodes: list[ast.expr]) -> list[int] | None:
    found = [number for one in nodes if (number := _number(one)) is not None]
    return found if len(found) == len(nodes) else None


def _number(node: ast.expr) -> int | None:
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    bare = node.operand if sign < 0 and isinstance(node, ast.UnaryOp) else node
    value = bare.value if isinstance(bare, ast.Constant) else None
    return sign * value if type(value) is int else None
