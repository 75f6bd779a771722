"""Which names of a loop's body matter after a turn: those read after the loop, and those that a later turn reads.

Pure reading of `Source`, on the side of caution: a name that may be read counts as read. Used by the loop rule to leave
alone what nothing sees once the loop is done.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk

Loop = ast.For | ast.While


def read_after(source: Source, loop: Loop, name: str) -> bool:
    """Whether what a name holds at the end of the loop may be read behind it (an ``else`` included)."""
    inside = {id(node) for statement in loop.body for node in walk(statement)}
    if any(_reads(statement, name) for statement in loop.orelse):
        return True
    one: ast.AST = loop
    while isinstance(one, ast.stmt):
        for statement in source.after(one):
            if _reads(statement, name):
                return True
            if _surely_sets(statement, name):
                return _is_captured(source, loop, name)
        parent = source.parents[one]
        if isinstance(parent, (ast.For, ast.While, ast.Try)) or type(parent).__name__ == "TryStar":
            return any(
                isinstance(node, ast.Name) and node.id == name and id(node) not in inside and _is_load(node)
                for node in walk(parent)
            ) or read_after_block(source, parent, name)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        one = parent
    return _is_captured(source, loop, name)


def read_after_block(source: Source, statement: ast.AST, name: str) -> bool:
    """Whether a name is read anywhere behind a statement's end in its function."""
    function = source.function(statement)
    end = source.range(statement)[1]
    return function is not None and any(
        isinstance(node, ast.Name) and node.id == name and _is_load(node) and source.range(node)[0] >= end
        for node in walk(function)
    )


def is_carried(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a turn may read what an earlier turn (or the code before the loop) left in a name."""
    for statement in body:
        if _reads(statement, name):
            return True
        if _surely_sets(statement, name):
            return False
    return False


def _reads(statement: ast.stmt, name: str) -> bool:
    """Whether a statement may read the name's value from before it."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name:
        return True
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return any(isinstance(node, ast.Name) and node.id == name for node in walk(statement))
    return name in loaded(statement)


def _surely_sets(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.If):
        return all(any(_surely_sets(one, name) for one in block) for block in (statement.body, statement.orelse))
    if isinstance(statement, ast.With):
        return any(_surely_sets(one, name) for one in statement.body)
    simple = isinstance(statement, (ast.Assign, ast.AnnAssign))
    return simple and name in assigned(statement)


def _is_captured(source: Source, loop: Loop, name: str) -> bool:
    """Whether a nested function or class of the same function mentions the name, or it is global or nonlocal."""
    function: Function | None = source.function(loop)
    if function is None:
        return True
    for node in walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        nested = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
        if nested and node is not function and any(isinstance(n, ast.Name) and n.id == name for n in walk(node)):
            return True
    return False


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def read_first(source: Source, statement: ast.AST) -> frozenset[str]:
    """The names whose values from before a statement it may read: not what its comprehensions, its loops or it bind first."""
    return frozenset(_read_first(source, statement, frozenset()))


def _read_first(source: Source, node: ast.AST, own: frozenset[str]) -> Iterator[str]:
    """The names that are read in a node, less those that have a value of its own there."""
    if isinstance(node, ast.Name):
        kept = isinstance(source.parents.get(node), ast.AugAssign)  # and it is read there
        if (kept or not isinstance(node.ctx, ast.Store)) and node.id not in own:
            yield node.id
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        first, *others = node.generators
        yield from _read_first(source, first.iter, own)
        inner = own.union(*(assigned(one.target) for one in node.generators))
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in (*first.ifs, *others, *results):
            yield from _read_first(source, part, inner)
    elif isinstance(node, ast.For):
        yield from _read_first(source, node.iter, own)
        yield from _read_first(source, node.target, own)
        yield from _read_in(source, node.body, own | assigned(node.target))
        yield from _read_in(source, node.orelse, own)
    else:
        for _, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            if isinstance(node, ast.stmt) and parts and isinstance(parts[0], ast.stmt):
                yield from _read_in(source, parts, own)
                continue
            for part in parts:
                if isinstance(part, ast.AST):
                    yield from _read_first(source, part, own)


def _read_in(source: Source, block: Sequence[ast.stmt], own: frozenset[str]) -> Iterator[str]:
    for statement in block:
        yield from _read_first(source, statement, own)
        own |= sets(source, statement)
