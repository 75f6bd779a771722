"""From the place that Dynamo names to the expression that is meant, and from a position to its statement and function.

On Python 3.11 Dynamo gives for a truth test that is no comparison the whole statement; the author wants the operand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.analysis.breaks import find_breaks
from graphmend_lsp.analysis.outline import Function, FunctionNode, outline
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text

_BOM = "\ufeff"
_STATIC_CALLS = frozenset({"isinstance", "issubclass", "hasattr", "callable", "len", "is_compiling", "is_available"})
_STATIC_ATTRIBUTES = frozenset({"dtype", "device", "layout"})
Placed = tuple[ast.expr, Span]


def narrow(source: Text | str, span: Span) -> Span:
    """The operand whose truth was asked, for a span that covers its whole statement or expression.

    The one operand that can be meant; else the whole condition; else, for a span that is no such statement, the span.
    """
    text = source if isinstance(source, Text) else Text(source)
    try:
        tested = _tested_at(text, span)
        if tested is None:
            return span
        whole, operands = tested
        operands = [each for each in operands if not _is_static(each[0])]
        calls = [each for each in operands if not isinstance(each[0], ast.Compare)]
        for candidates in (operands, calls):
            if len(candidates) == 1:
                return candidates[0][1]
        known = {site.span for site in find_breaks(text.value, "") if site.code == "GB0170"}
        meant = [place for _, place in calls or operands if place in known]
        return meant[0] if len(meant) == 1 else whole
    except (RecursionError, MemoryError):
        return span


def statement_at(source: Text | str, position: Position) -> Span | None:
    """The innermost statement around a position, inside a function; None outside of functions."""
    text = source if isinstance(source, Text) else Text(source)
    best: Span | None = None
    for place, node in _nodes(text):
        if (
            isinstance(node, ast.stmt)
            and place.start <= position <= place.end
            and (best is None or best.contains(place))
        ):
            best = place
    return best


def function_at(source: Text | str, position: Position) -> str | None:
    """The qualified name of the innermost function around a position; None outside of functions."""
    text = source if isinstance(source, Text) else Text(source)
    found: tuple[Span, str] | None = None
    for place, function in _functions(text):
        if place.start <= position <= place.end and (found is None or found[0].contains(place)):
            found = (place, function.name)
    return found[1] if found else None


def function_span(source: Text | str, position: Position) -> Span | None:
    """Where the innermost function around a position is, from its ``def``; None outside of functions."""
    text = source if isinstance(source, Text) else Text(source)
    around = [place for place, _ in _functions(text) if place.start <= position <= place.end]
    return min(around, key=lambda place: place.end.line - place.start.line, default=None)


class _Placed:
    """Spans of nodes of one chunk in the text of the file."""

    def __init__(self, text: Text, line: int, marked: bool) -> None:
        self._text, self._line, self._marked = text, line, marked

    def span(self, node: ast.stmt | ast.expr) -> Span:
        return Span(
            self._place(node.lineno, node.col_offset),
            self._place(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )

    def _place(self, line: int, column: int) -> Position:
        shift = 3 if self._marked and self._line + line == 1 else 0
        return self._text.from_utf8(self._line + line, column + shift)


def _functions(text: Text) -> Iterator[tuple[Span, Function]]:
    for placed, function in _placed_functions(text):
        yield placed.span(function.node), function


def _placed_functions(text: Text) -> Iterator[tuple[_Placed, Function]]:
    marked = text.value.startswith(_BOM)
    for line, chunk in outline(text.value.removeprefix(_BOM)):
        placed = _Placed(text, line, marked)
        for function in chunk.functions.values():
            yield placed, function
        for each in chunk.classes.values():
            for method in each.methods.values():
                yield placed, method


def _nodes(text: Text) -> Iterator[tuple[Span, ast.stmt | ast.expr]]:
    for placed, function in _placed_functions(text):
        for node in _within(function.node):
            yield placed.span(node), node


def _within(function: FunctionNode) -> Iterator[ast.stmt | ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, (ast.stmt, ast.expr)):
            yield node


def _tested_at(text: Text, span: Span) -> tuple[Span, list[Placed]] | None:
    """The condition of the test that has exactly this span, and the operands whose truth it asks.

    Also for the span of an operand that is plainly no tensor: Python 3.11 puts the jump of ``static and tensor`` there.
    """
    for placed, function in _placed_functions(text):
        if not placed.span(function.node).contains(span):
            continue
        for node in _within(function.node):
            if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp, ast.BoolOp)) and placed.span(node) == span:
                condition = node if isinstance(node, ast.BoolOp) else node.test
                leaves = node.values[:-1] if isinstance(node, ast.BoolOp) else [condition]
                operands = [(leaf, placed.span(leaf)) for each in leaves for leaf in _leaves(each)]
                return placed.span(condition), operands
            if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
                operands = [(leaf, placed.span(leaf)) for leaf in _leaves(node.test)]
                if any(place == span and _is_static(leaf) for leaf, place in operands):
                    return placed.span(node.test), operands
    return None


def _leaves(condition: ast.expr) -> Iterator[ast.expr]:
    """The expressions under `and`, `or` and `not` whose truth is asked."""
    if isinstance(condition, ast.BoolOp):
        for value in condition.values:
            yield from _leaves(value)
    elif isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        yield from _leaves(condition.operand)
    else:
        yield condition


def _is_static(node: ast.expr) -> bool:
    """Whether an operand is plainly no tensor: a constant, `x is None`, `isinstance(...)`, a string or a dtype compared."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        if any(isinstance(each, ast.Attribute) and each.attr in _STATIC_ATTRIBUTES for each in sides):
            return True
        return all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops) or any(
            isinstance(each, ast.Constant) and isinstance(each.value, str) for each in sides
        )
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        return name in _STATIC_CALLS
    return False
