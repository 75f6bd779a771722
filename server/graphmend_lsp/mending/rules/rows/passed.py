"""Lists of rows that are passed on: what a function of the file does with the one that it gets.

A list that is passed on stays a list, of all rows; reading of `Source` only.
"""

from __future__ import annotations

import ast
from typing import Literal

from graphmend_lsp.mending.rules.rows.list import Selection, names
from graphmend_lsp.mending.syntax.imports import binding
from graphmend_lsp.mending.syntax.source import Function, Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

Role = Literal["takes out", "puts back", "unknown"]


def carries(chosen: Selection, node: ast.expr) -> bool:
    """Whether an argument is the list of rows, or a tuple with it in it."""
    if isinstance(node, ast.Starred):
        return carries(chosen, node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(carries(chosen, one) for one in node.elts)
    return chosen.lists and isinstance(node, ast.Name) and node.id in (chosen.rows, chosen.others)


def is_passed(source: Source, chosen: Selection) -> bool:
    """Whether a single list is an argument of a call other than one that puts rows back in place."""
    function = source.function(chosen.statement)
    if function is None or not chosen.lists or chosen.axis is not None:
        return False
    for one in names(function, chosen.rows):
        parent = source.parents.get(one)
        while isinstance(parent, (ast.Tuple, ast.List, ast.Starred, ast.keyword)):
            parent = source.parents.get(parent)
        called = parent.func if isinstance(parent, ast.Call) else None
        if called is not None and one is not called and not getattr(called, "attr", "").startswith("index_"):
            return (
                not (isinstance(called, ast.Name) and called.id == "len") and getattr(called, "value", None) is not one
            )
    return False


def role_of(source: Source, callee: ast.expr) -> Role:
    """What a function of the file does with a list of rows that it gets."""
    if not isinstance(callee, ast.Name) or binding(source, callee.id, callee) is not None:
        return "unknown"
    scope = source.function(callee)
    if scope is not None and callee.id in local_names(scope):
        return "unknown"
    found = [one for one in source.tree.body if isinstance(one, ast.FunctionDef) and one.name == callee.id]
    if len(found) != 1 or found[0].decorator_list:
        return "unknown"
    function = found[0]
    uses = [
        one
        for one in walk(function)
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id in parameters(function)
    ]
    index = uses[0].slice if len(uses) == 1 else None
    if not isinstance(index, ast.Name) or len(list(names(function, index.id))) != 1:
        return "unknown"
    if isinstance(uses[0].ctx, ast.Store):
        return "puts back" if _into_zeros(source, function, uses[0]) else "unknown"
    return "takes out" if _is_returned(source, function, uses[0]) else "unknown"


def _into_zeros(source: Source, function: Function, place: ast.Subscript) -> bool:
    """Whether rows are stored into a tensor of zeros that nothing else is stored to: ``out[i] = rows``."""
    statement = source.parents.get(place)
    if not (isinstance(statement, ast.Assign) and isinstance(place.value, ast.Name)) or statement not in function.body:
        return False
    if not (isinstance(statement.value, ast.Name) and statement.value.id in parameters(function)):
        return False
    bound = [one for one in names(function, place.value.id) if not isinstance(one.ctx, ast.Load)]
    made = source.statement(bound[0]) if len(bound) == 1 else None
    value = made.value if isinstance(made, ast.Assign) and bound[0] in made.targets else None
    name = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    rest = [one for one in function.body if one not in (made, statement)]
    return name in ("zeros", "new_zeros", "zeros_like") and all(
        isinstance(one, ast.Return) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in rest
    )


def _is_returned(source: Source, function: Function, place: ast.Subscript) -> bool:
    """Whether rows that are gathered are all that a function gives: ``return x.flatten(0, 1)[i]``."""
    statement = source.parents.get(place)
    rest = [one for one in function.body if one is not statement]
    return isinstance(statement, ast.Return) and all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in rest
    )
