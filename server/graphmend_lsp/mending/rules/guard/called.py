"""Checks that torch makes: ``torch._check_tensor_all(ok)`` raises where one of the values is false, by reading them.

`check` of the support module raises the same exception with the same text from inside the graph. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.facts.stored_before import stored_before
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.rules.guard.graph import InGraph
from graphmend_lsp.mending.rules.guard.operator import exception_given, is_class, is_one_line, needed
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import TextEdit

_NO_SUPPORT = "This file cannot import the support module."
_FIRST = {"torch._check_tensor_all": (), "torch._check_tensor_all_with": ("error_type",)}


@dataclass(frozen=True, slots=True)
class Called:
    """A statement that calls torch's check of a tensor: its condition, the exception's class, and what makes the message."""

    statement: ast.Expr
    condition: ast.expr
    error: ast.expr | None
    message: ast.expr | None


def called_check(source: Source, place: Site | None) -> Called | None:
    """The check of torch that a site's statement is; None where it is another statement."""
    statement = place.statement if place is not None else None
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    first = _FIRST.get(dotted(source, call.func) or "")
    if first is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    names = (*first, "cond", "message")
    given = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in given:
            return None
        given[keyword.arg] = keyword.value
    if len(call.args) > len(names) or not {*first, "cond"} <= given.keys() <= set(names):
        return None
    return Called(statement, given["cond"], given.get("error_type"), given.get("message"))


def raise_called(request: Request, source: Source, function: Function, check: Called) -> InGraph | str:
    """The check as one of the support module that raises the same; or why it cannot be one."""
    if (stored := stored_before(source, function, check.statement, Elsewhere(request.sources))) is not None:
        return f"Line {stored} stores a value before the check, and a failing check would lose it."
    if comments(source, *source.range(check.statement)):
        return "There are comments inside the check; move them above it first."
    error = "RuntimeError" if check.error is None else source.code(check.error)
    if check.error is not None and not is_class(source, check.error):
        return f"`{error}` is not known to be a class; name the exception's class."
    if check.message is None or (isinstance(check.message, ast.Constant) and check.message.value is None):
        return _renamed(source, check, error)
    if (said := _said(check.message)) is None or not is_one_line(source, said):
        return f"`{source.code(check.message)}` makes its message; write a lambda that gives one text."
    if (unknown := needed(source, function, said)[1]) is not None:
        return f"Its message is made of `{unknown}`, which an operator of the graph does not get."
    try:
        given = exception_given(source, function, check.statement, (error, [said]))
    except Refused as problem:
        return str(problem)
    found = supported(source, check.statement, "check")
    if found is None:
        return _NO_SUPPORT
    line = f"{found[0]['check']}({operand(source.code(check.condition))}._is_all_true(), {given})"
    return _replaced(source, check, line, found[1])


def _renamed(source: Source, check: Called, error: str) -> InGraph | str:
    """The call of the support module's function in the place of torch's, where there is no message."""
    found = supported(source, check.statement, "check_tensor_all")
    if found is None:
        return _NO_SUPPORT
    line = f"{found[0]['check_tensor_all']}({source.code(check.condition)}{f', {error}' * (error != 'RuntimeError')})"
    return _replaced(source, check, line, found[1])


def _replaced(source: Source, check: Called, line: str, spots: Sequence[TextEdit]) -> InGraph:
    base = source.indentation(check.statement) if source.starts_line(check.statement) else ""
    lines = [part.removeprefix(base) for part in layout(base + line, source.indent, line_limit(source))]
    return InGraph(
        (*spots, replace(source, check.statement, check.statement, lines)),
        ("The check runs uncompiled, as one operator of the graph, which CUDA graphs leave out.",),
    )


def _said(message: ast.expr) -> ast.expr | None:
    """The text that a message is, as an expression; None where it cannot be told."""
    if not isinstance(message, ast.Lambda) or any(ast.iter_child_nodes(message.args)):
        return None
    body = message.body
    is_text = isinstance(body, ast.JoinedStr) or (isinstance(body, ast.Constant) and isinstance(body.value, str))
    return body if is_text else None
