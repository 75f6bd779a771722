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
    return value is not None and makes_container(source, value)


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
