"""A Python test in a branch that only sets names which nobody reads behind the branch: it may run on both sides as it is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.choice_values import refuse_hazards
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


def is_for_itself(source: Source, kinds: Kinds, one: ast.If, root: ast.stmt, changes: list[str]) -> bool:
    """Whether an ``if`` inside the branch `root` is such a test.

    Raises:
        Refused: when it is, but must not run where the branch is not taken.
    """
    function = source.function(root)
    if function is None or not _is_python(source, kinds, one.test):
        return False
    block = [*one.body, *one.orelse]
    if not all(_sets_a_name(statement) for statement in block) or not all(
        _is_gone(source, function, root, name) for name in assigned(one)
    ):
        return False
    refuse_hazards(source, one.test, changes)
    for statement in block:
        if isinstance(statement, ast.Assign):
            refuse_hazards(source, statement.value, changes)
    return True


def _is_python(source: Source, kinds: Kinds, test: ast.expr) -> bool:
    if kinds.of(test) == "python":
        return True
    seen = Seen(source)
    fact = seen.of(test)
    if fact is None or "tensor" in fact.kinds or kinds.of(test) == "tensor":
        return False
    seen.believe(test, "no tensor")
    return True


def _sets_a_name(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and [type(one) for one in statement.targets] == [ast.Name]


def _is_gone(source: Source, function: Function, root: ast.stmt, name: str) -> bool:
    """Whether nobody reads a name behind the branch: not in the next turn of a loop, nor in a function inside."""
    if any(isinstance(one, (ast.For, ast.While)) for one in _between(source, function, root)):
        return False
    inner = [
        one
        for one in walk(function)
        if one is not function
        and isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp))
    ]
    outer = [one for one in walk(function) if isinstance(one, (ast.Global, ast.Nonlocal)) and name in one.names]
    held = any(isinstance(one, ast.Name) and one.id == name for part in inner for one in walk(part))
    return not (outer or held or read_after_block(source, root, name))


def _between(source: Source, function: Function, root: ast.stmt) -> Sequence[ast.AST]:
    around = list(source.ancestors(root))
    return around[: around.index(function)]
