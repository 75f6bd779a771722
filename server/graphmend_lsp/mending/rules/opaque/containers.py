"""Which expressions make a list, a dict or a set, and what fills one. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.bindings import KEEPERS
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)
_ARRAY_MAKERS = frozenset((
    "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "array", "arange", "linspace", "eye",
    "copy", "argwhere", "concatenate", "stack", "vstack", "hstack", "repeat", "tile", "argsort", "sort", "unique",
))  # fmt: skip
_MAKERS = ("list", "dict", "set")


def makes_container(source: Source, value: ast.expr) -> bool:
    """Whether an expression makes a list, a dict or a set: written out, or ``list()``."""
    made = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, _CONTAINERS) or (
        made is not None and any(is_builtin(source, made, one) for one in _MAKERS)
    )


def binds_container(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement gives a name to a container that it makes."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and _is_unpacked(statement) else [value]
    return all(one is not None and makes_container(source, one) for one in parts)


def value_of(target: ast.Name, statement: ast.AST | None) -> ast.expr | None:
    """What an assignment gives a name, of its own or as one of as many: ``a, b = [], []``; None for anything else."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if target in targets:
        return statement.value
    names, values = targets[0], statement.value
    if (
        len(targets) > 1
        or not isinstance(names, (ast.Tuple, ast.List))
        or not isinstance(values, (ast.Tuple, ast.List))
    ):
        return None
    starred = any(isinstance(one, ast.Starred) for one in (*names.elts, *values.elts))
    if starred or len(names.elts) != len(values.elts) or target not in names.elts:
        return None
    return values.elts[names.elts.index(target)]


def _is_unpacked(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List))


def fills_container(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether statements put something into the container of that name."""
    nodes = [node for statement in statements for node in walk(statement)]
    kept = [one.value for one in nodes if isinstance(one, ast.Attribute) and one.attr in KEEPERS]
    return any(name in changed_by(one) for one in nodes) or any(
        isinstance(one, ast.Name) and one.id == name for one in kept
    )


def makes_array(source: Source, value: ast.expr) -> bool:
    """Whether an expression surely makes a new array of numpy."""
    module, _, name = ((dotted(source, value.func) or "") if isinstance(value, ast.Call) else "").rpartition(".")
    return module == "numpy" and name in _ARRAY_MAKERS
