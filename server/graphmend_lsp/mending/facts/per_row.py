"""What treats each row for itself: elementwise functions and methods, submodules, functions of the file.

Tables of names and reading of `Source`; nothing is rewritten here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.operators import FUNCTIONAL, FUNCTIONS, METHODS, operators_named
from graphmend_lsp.mending.syntax.imports import binding
from graphmend_lsp.mending.syntax.source import Function, Source, local_names
from graphmend_lsp.mending.syntax.walk import walk

_MEANT = {name: operators_named(name) for name in (*METHODS, *FUNCTIONS, *FUNCTIONAL)}
_ELEMENTWISE = {
    name: meant for name, meant in _MEANT.items() if all(one.form == "elementwise" and not one.effect for one in meant)
}
PER_ROW = frozenset((*_ELEMENTWISE, "type"))
"""Elementwise functions of torch and methods of tensors; `type` is one with a dtype as its argument."""


def is_module(source: Source, node: ast.expr) -> bool:
    """Whether what is called is a part of ``self``: ``self.up``, ``self.experts[i]``, or a name that holds such a part."""
    if isinstance(node, ast.Name):
        for one in source.ancestors(node):
            if isinstance(one, ast.For) and node.id in _targets(one.target):
                parts = [one.iter, *(one.iter.args if isinstance(one.iter, ast.Call) else ())]
                return any(_is_part(part) for part in parts)
        statement = source.statement(node)
        value = last_value(source, node.id, statement) if statement is not None else None
        return value is not None and _is_part(value)
    return _is_part(node)


def own_function(source: Source, callee: ast.expr) -> Function | None:
    """The function of the file that is called by its name: the only one of that name, without decorators."""
    if not isinstance(callee, ast.Name) or binding(source, callee.id, callee) is not None:
        return None
    scope = source.function(callee)
    if scope is not None and callee.id in local_names(scope):
        return None
    found = [one for one in source.tree.body if isinstance(one, ast.FunctionDef) and one.name == callee.id]
    return found[0] if len(found) == 1 and not found[0].decorator_list else None


def _is_part(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        if isinstance(node, ast.Name) and node.id == "self":
            return True
    return False


def _targets(node: ast.expr) -> set[str]:
    return {one.id for one in walk(node) if isinstance(one, ast.Name)}
