"""Assertions that something is there: ``assert parts, "no parts"`` is ``assert bool(parts), "no parts"``.

Dynamo takes what an `assert` asks for a tensor and fails for containers of tensors and for objects, where the function then runs
uncompiled. It knows their truth all the same. Pure.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.rules.guard.checks import Assertion
from graphmend_lsp.mending.syntax.edits import rewrite
from graphmend_lsp.mending.syntax.source import Site, Source, assigned, local_names
from graphmend_lsp.model import TextEdit

GB_IDS = frozenset(("GB0055", "GB0112"))
_WITH_BOOL = frozenset(("torch", "numpy", "jax.numpy"))  # modules of which `import *` may bind another `bool`


def truth(source: Source, place: Site, check: Assertion) -> TextEdit | None:
    """The edit of an assertion that is itself where the graph breaks; None for others.

    `bool` gives what `assert` asks, for every value: only what Dynamo does with it differs.
    """
    test = check.statement.test
    if place.node not in (test, check.statement) or not isinstance(test, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    function = source.function(test)
    while function is not None:
        if "bool" in local_names(function):
            return None
        function = source.function(function)
    for statement in source.tree.body:
        star = isinstance(statement, ast.ImportFrom) and any(one.name == "*" for one in statement.names)
        if "bool" in assigned(statement) or (star and getattr(statement, "module", None) in _WITH_BOOL):
            return None
    return rewrite(source, test, f"bool({source.code(test)})")


def is_asked(check: Assertion) -> bool:
    """Whether the assertion asks `bool` already."""
    test = check.statement.test
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "bool"
