"""Whether a block surely fails where a name is None, before it has done anything: it reads an attribute or an element of it.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk

_HARMFUL = ("effect", "random", "compute")


def needs(source: Source, block: Sequence[ast.stmt], name: str) -> bool:
    """Whether all ways through a block use the name as something that is not None, before any effect."""
    for statement in block:
        if isinstance(statement, ast.If):
            if _fails(source, statement.test, name):
                return True
            if statement.orelse and needs(source, statement.body, name) and needs(source, statement.orelse, name):
                return not _acts(source, statement.test)
        elif isinstance(statement, ast.For):
            own = isinstance(statement.iter, ast.Name) and statement.iter.id == name
            if own or _fails(source, statement.iter, name):
                return True
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Return)):
            value = statement.test if isinstance(statement, ast.Assert) else statement.value
            if value is not None and _fails(source, value, name):
                return True
        if not _is_harmless(source, statement) or name in assigned(statement):
            return False
    return False


def _is_harmless(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement only gives values to local names."""
    for one in walk(statement):
        if isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load):
            return False
        if isinstance(one, ast.stmt) and not isinstance(one, (ast.Assign, ast.AnnAssign, ast.If, ast.Assert, ast.Pass)):
            return False
    return not _acts(source, statement)


def _acts(source: Source, node: ast.AST) -> bool:
    return any(one.kind in _HARMFUL for one in hazards(source, node))


def _fails(source: Source, value: ast.expr, name: str) -> bool:
    """Whether an expression surely fails where the name is None, before any effect of its own."""
    uses = [one for one in _always(value) if _is_use(one, name)]
    if not uses:
        return False
    first = min(source.range(one) for one in uses)
    around = {id(one) for use in uses for one in source.ancestors(use)}
    return not any(
        hazard.kind in _HARMFUL and id(hazard.node) not in around and source.range(hazard.node) < first
        for hazard in hazards(source, value)
    )


def _is_use(node: ast.AST, name: str) -> bool:
    """``p.x``, ``p[...]`` or a comprehension over ``p``."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        special = isinstance(node, ast.Attribute) and node.attr.startswith("__")
        return isinstance(node.value, ast.Name) and node.value.id == name and not special
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        over = node.generators[0].iter
        return isinstance(over, ast.Name) and over.id == name
    return False


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that are evaluated whenever it is."""
    yield node
    if isinstance(node, ast.IfExp):
        parts: list[ast.AST] = [node.test]
    elif isinstance(node, ast.BoolOp):
        parts = [node.values[0]]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        parts = [node.generators[0].iter]
    elif isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        parts = []
    else:
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from _always(part)
