"""What a function has stored before a place where it may raise. Pure reading of `Source`."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.source import Function, Source, parameters


def stored_before(source: Source, function: Function, statement: ast.stmt) -> int | None:
    """The line of the first statement in front of a statement, or around it in a loop, that others can see the effect of."""
    end = source.range(statement)[0]
    for up in source.ancestors(statement):
        if up is function:
            break
        if isinstance(up, (ast.For, ast.While)):
            end = source.range(up)[1]
    own = {id(one) for one in ast.walk(statement)}
    own |= {id(one) for each in ast.walk(function) if isinstance(each, ast.Lambda) for one in ast.walk(each.body)}
    for one in ast.walk(function):
        if id(one) in own or not hasattr(one, "lineno") or source.range(one)[0] >= end:
            continue
        stores = isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load)
        if isinstance(one, ast.AugAssign) and getattr(one.target, "id", "") in parameters(function):
            stores = True
        acts = isinstance(one, ast.Call) and any(
            hazard.node is one and hazard.kind == "effect" for hazard in hazards(source, one)
        )
        if stores or acts or isinstance(one, (ast.Global, ast.Nonlocal)):
            return source.span(one).start.line
    return None
