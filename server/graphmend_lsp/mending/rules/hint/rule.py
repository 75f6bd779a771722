"""Hints to TorchDynamo about a tensor are given in uncompiled code only.

What it does
------------
``torch._dynamo.mark_static_address(t)``, ``mark_dynamic``, ``maybe_mark_dynamic`` and ``mark_unbacked`` move under
``if not torch.compiler.is_compiling():``.

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

from graphmend_lsp.mending.rules.hint import RULE
from graphmend_lsp.mending.rules.hint.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.edits import comments, replace
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.model import Declined, Mend

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_HINTS = frozenset({"mark_static_address", "mark_dynamic", "maybe_mark_dynamic", "mark_unbacked"})
_HOMES = ("torch._dynamo.", "torch._dynamo.decorators.")


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The hint under a test of `torch.compiler.is_compiling`; empty when the break is at no hint."""
    source, call = place.source, place.node
    if place.function is None or not isinstance(call, ast.Call):
        return ()
    name = dotted(source, call.func) or ""
    if not any(name == home + hint for home in _HOMES for hint in _HINTS):
        return ()
    statement = place.site.statement
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        raise Refused(f"`{render(source, call)}` stands inside another statement; make it a statement of its own.")
    given = [*call.args, *(one.value for one in call.keywords)]
    if not all(_is_read(one) for one in given):
        raise Refused(f"An argument of `{render(source, call)}` does more than read a value; give it a name first.")
    if comments(source, *source.range(statement)):
        raise Refused("There are comments inside the call; move them above it first.")
    compiling, added = spell(source, "torch.compiler.is_compiling", statement)
    lines = [f"if not {compiling}():", source.indent + render(source, call)]
    edit = replace(source, statement, statement, lines)
    return (
        Mend(
            rule=RULE.name,
            title=f"Give the hint `{name.rpartition('.')[2]}` in uncompiled code only",
            path=source.path,
            span=source.span(call),
            edits=(*((added,) if added is not None else ()), edit),
            changes=("In compiled code the tensor gets no hint.",),
        ),
    )


def _is_read(node: ast.expr) -> bool:
    """Whether an expression is a name, a constant, or an attribute or item of such."""
    parts = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    return all(isinstance(one, (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.UnaryOp)) for one in parts)
