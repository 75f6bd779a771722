"""Which expressions make a list, a dict or a set. Pure reading of `Source`."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source

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


def makes_array(source: Source, value: ast.expr) -> bool:
    """Whether an expression surely makes a new array of numpy."""
    module, _, name = ((dotted(source, value.func) or "") if isinstance(value, ast.Call) else "").rpartition(".")
    return module == "numpy" and name in _ARRAY_MAKERS
