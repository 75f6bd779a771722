"""Checks that say something before they raise, or end the program: the operator says it, and raises. Pure reading of `Source`.

``if bad: print(...); raise E(...)`` and ``if bad: print(...); sys.exit(1)`` are such checks. The support module's `check` gets a
function that says the messages and gives the exception, so that nothing comes between the two.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import Effect, blames_caller
from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.facts.speakers import message_of
from graphmend_lsp.mending.facts.stored_before import stored_before
from graphmend_lsp.mending.lowering.capture import capture
from graphmend_lsp.mending.lowering.deferral import expressions, unsuited
from graphmend_lsp.mending.lowering.in_graph import require_given, written
from graphmend_lsp.mending.rules.guard.checks import must_hold
from graphmend_lsp.mending.rules.guard.graph import InGraph
from graphmend_lsp.mending.rules.guard.operator import is_class, is_one_line
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import layout, line_limit
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.model import Assumption


@dataclass(frozen=True, slots=True)
class Spoken:
    """An ``if`` that says `messages`, and then raises `error`, a class as text, made of `given`."""

    statement: ast.If
    messages: tuple[Effect, ...]
    error: str
    given: tuple[ast.expr, ...]


def spoken_check(source: Source, sources: Mapping[str, str], statement: ast.AST) -> Spoken | None:
    """The check that a statement is; None where it is none, or says nothing and raises."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return None
    *before, last = statement.body
    messages = [message_of(source, sources, one) for one in before]
    ended = _ended(source, last)
    if ended is None or not all(messages) or not (messages or ended[0] == "SystemExit"):
        return None
    return Spoken(statement, tuple(one for one in messages if one is not None), *ended)


def _ended(source: Source, last: ast.stmt) -> tuple[str, tuple[ast.expr, ...]] | None:
    """The class of the exception that a statement raises, as text, and what it is made of."""
    made = last.exc if isinstance(last, ast.Raise) and last.cause is None else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and not last.value.keywords:
        exits = dotted(source, last.value.func) == "sys.exit" and len(last.value.args) < 2
        return ("SystemExit", tuple(last.value.args)) if exits else None
    kind, given = (made.func, made.args) if isinstance(made, ast.Call) and not made.keywords else (made, [])
    return (source.code(kind), tuple(given)) if kind is not None and is_class(source, kind) else None


def raise_saying(source: Source, function: Function, check: Spoken, sources: Mapping[str, str]) -> InGraph | str:
    """The check as one of the support module; or why it cannot be one."""
    statement = check.statement
    if (stored := stored_before(source, function, statement, Elsewhere(sources))) is not None:
        return f"Line {stored} stores a value before the check, and a failing check would lose it."
    parts = must_hold(source, statement.test, True)
    if isinstance(parts, str):
        return parts
    if parts.static or parts.shapes or len(parts.tensors) != 1:
        return "Its condition combines several tests; write an `if` for each."
    if comments(source, *source.range(statement)):
        return "There are comments inside the check; move them above it first."
    if not all(is_one_line(source, one.call) for one in check.messages):
        return "A message in the check cannot be written on one line."
    for one in check.messages:
        if (problem := unsuited(source, one) or blames_caller(one)) is not None:
            return problem
    said = [part for one in check.messages for part in expressions(one)]
    try:
        captured = capture(
            source, function, (), later(source, function, statement), keep_inert=False, late=(*said, *check.given)
        )
        if isinstance(captured, str):
            return captured
        require_given(source, captured, (*said, *check.given))
    except Refused as problem:
        return str(problem)
    found = supported(source, statement, "check")
    if found is None:
        return "This file cannot import the support module, which has the operator."
    head = ", ".join(one.name for one in captured.captures)
    words = [written(source, one.call, captured) for one in check.messages]
    words.append(f"{check.error}({', '.join(written(source, one, captured) for one in check.given)})")
    raised = f"({', '.join(words)})[-1]" if len(words) > 1 else words[0]
    values = "".join(f", {one.code}" for one in captured.captures)
    line = f"{found[0]['check']}({parts.tensors[0]}, {f'lambda {head}'.rstrip()}: {raised}{values})"
    base = source.indentation(statement)
    lines = [one.removeprefix(base) for one in layout(base + line, source.indent, line_limit(source))]
    return InGraph(
        (*found[1], replace(source, statement, statement, lines)),
        ("The check runs uncompiled, as one operator of the graph, which CUDA graphs leave out.",),
        assumes=(Assumption("warning-filters"),) if any(one.kind == "warn" for one in check.messages) else (),
    )
