"""Hints to TorchDynamo about a tensor are given in uncompiled code only.

What it does
------------
``torch._dynamo.mark_static_address(t)``, ``mark_dynamic``, ``maybe_mark_dynamic`` and ``mark_unbacked`` move under
``if not torch.compiler.is_compiling():``, all of the function together.

Why it costs
------------
Dynamo refuses to trace these functions ("Attempt to trace forbidden callable"): it leaves the whole function, and what
calls it, to Python, or the program raises.

Safety
------
A hint changes no value: it says how a graph that takes the tensor as an input is to be compiled. In a graph that makes the
tensor it says nothing. A tensor that leaves the graph has no hint then, so that a later graph may be compiled as for any other.

When it is refused
------------------
When the call is not a statement of its own, or when evaluating its arguments may do something else than read.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.effects import own_statements
from graphmend_lsp.mending.rules.hint import RULE
from graphmend_lsp.mending.rules.hint.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_HINTS = frozenset({"mark_static_address", "mark_dynamic", "maybe_mark_dynamic", "mark_unbacked"})
_HOMES = ("torch._dynamo.", "torch._dynamo.decorators.")


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The hints of the function under a test of `torch.compiler.is_compiling`; empty when the break is at no hint."""
    source, call = place.source, place.node
    if place.function is None or not isinstance(call, ast.Call) or not _names_hint(source, call):
        return ()
    statement = place.site.statement
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        raise Refused(f"`{render(source, call)}` stands inside another statement; make it a statement of its own.")
    if (problem := _problem(source, call)) is not None:
        raise Refused(problem)
    compiling, added = spell(source, "torch.compiler.is_compiling", statement)
    edits = [] if added is None else [added]
    runs = _runs(source, place.function)
    if not any(statement in run for run in runs):
        return ()
    for run in runs:
        lines = [f"if not {compiling}():", *(source.indent + render(source, one.value) for one in run)]
        edits.append(replace(source, run[0], run[-1], lines))
    count = sum(map(len, runs))
    name = (dotted(source, call.func) or "").rpartition(".")[2]
    return (
        Mend(
            rule=RULE.name,
            title=f"Give the hint{f's of `{place.function.name}`' if count > 1 else f' `{name}`'} in uncompiled code only",
            path=source.path,
            span=source.span(call),
            edits=tuple(edits),
            changes=(f"In compiled code the tensor{'s get' if count > 1 else ' gets'} no hint.",),
        ),
    )


def _names_hint(source: Source, call: ast.Call) -> bool:
    name = dotted(source, call.func) or ""
    return any(name == home + hint for home in _HOMES for hint in _HINTS)


def _problem(source: Source, call: ast.Call) -> str | None:
    """Why a hint that is a statement cannot move, if so."""
    given = [*call.args, *(one.value for one in call.keywords)]
    if not all(_is_read(one) for one in given):
        return f"An argument of `{render(source, call)}` does more than read a value; give it a name first."
    if comments(source, *source.range(call)):
        return "There are comments inside the call; move them above it first."
    return None


def _runs(source: Source, function: Function) -> list[list[ast.Expr]]:
    """The function's hints that can move, those that follow each other together: Dynamo refuses each of them alike."""
    runs: list[list[ast.Expr]] = []
    for statement in own_statements(function):
        hint = _hint(source, statement)
        if hint is None:
            continue
        last = runs[-1][-1] if runs else None
        if last is not None and source.after(last)[:1] == [hint] and not _parted(source, last, hint):
            runs[-1].append(hint)
        elif not _tested(source, hint):
            runs.append([hint])
    return runs


def _hint(source: Source, statement: ast.stmt) -> ast.Expr | None:
    if not isinstance(statement, ast.Expr) or not isinstance(call := statement.value, ast.Call):
        return None
    return statement if _names_hint(source, call) and _problem(source, call) is None else None


def _parted(source: Source, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether comments or an empty line stand between two statements."""
    start, end = source.range(first)[1], source.range(second)[0]
    return bool(comments(source, start, end)) or source.text.value.count("\n", start, end) > 1


def _tested(source: Source, hint: ast.stmt) -> bool:
    """Whether the statement is given in uncompiled code only already."""
    return any(
        isinstance(one, ast.If)
        and isinstance(one.test, ast.UnaryOp)
        and isinstance(called := one.test.operand, ast.Call)
        and (dotted(source, called.func) or "").endswith("is_compiling")
        for one in source.ancestors(hint)
    )


def _is_read(node: ast.expr) -> bool:
    """Whether an expression is a name, a constant, or an attribute or item of such."""
    parts = [one for one in walk(node) if isinstance(one, ast.expr)]
    return all(isinstance(one, (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.UnaryOp)) for one in parts)
