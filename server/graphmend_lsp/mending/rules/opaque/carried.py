"""Tensors that the statements of an operator fill in place, and that the function made before: the operator gives them anew.

It fills copies, and the names get the copies: what nothing else holds can have another tensor in its place. Pure reading.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.own import is_own
from graphmend_lsp.mending.rules.opaque.sizes import follows_data
from graphmend_lsp.mending.syntax.source import Source, assigned


def carried(source: Source, statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """The names of tensors that statements fill by an index or change by ``+=``, do not bind, and alone hold."""
    filled = {name for statement in statements for one in ast.walk(statement) for name in changed_by(one)}
    bound = {name for statement in statements for name in _bound(statement)}
    return tuple(
        name
        for name in sorted(filled - bound)
        if all(_is_filling(one) for part in statements for one in _changes(part, name))
        and is_own(source, name, statements[0])
        and read_after_block(source, statements[-1], name)
    )


def unsized(source: Source, statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that statements bind to what has another size for other data."""
    return frozenset(
        name
        for statement in statements
        if isinstance(statement, ast.Assign) and follows_data(source, [statement]) is not None
        for name in assigned(statement)
    )


def _changes(statement: ast.stmt, name: str) -> list[ast.AST]:
    return [one for one in ast.walk(statement) if name in changed_by(one)]


def _bound(statement: ast.stmt) -> frozenset[str]:
    """The names that a statement binds by more than a change in place."""
    changed = [one.target for one in ast.walk(statement) if isinstance(one, ast.AugAssign)]
    names = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    in_place = {one.id for one in changed if isinstance(one, ast.Name)}
    other = {one.id for one in names if not any(one is each for each in changed)}
    return assigned(statement) - (in_place - other)


def _is_filling(node: ast.AST) -> bool:
    """Whether a change stores elements, which leaves a tensor's shape, dtype and place in memory; ``@=`` makes another tensor."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return not isinstance(node.op, ast.MatMult)
    part = node.target if isinstance(node, ast.AugAssign) else node
    return isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and isinstance(part.ctx, ast.Store)
