"""Statements that cost nothing worth compiling: what Python knows, new tensors, and whole numbers. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque.filled import is_made
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_LIGHT = ("bool", "int", "uint")
_KNOWN = frozenset(("torch.device", "torch.dtype", "torch.Size"))


def computes_little(source: Source, statements: Sequence[ast.stmt]) -> int:
    """The index of the first of a function's statements behind its docstring, if all there are cheap; else how many they are."""
    documented = (
        bool(statements) and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
    )
    rest = statements[documented:]
    return int(documented) if all(_is_light(source, one) for one in rest) else len(statements)


def _is_light(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement only binds names to what costs little."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    if is_made(source, statement.value):
        return True
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    bound = [one for target in targets for one in walk(target) if isinstance(getattr(one, "ctx", None), ast.Store)]
    names = [one for one in bound if not isinstance(one, (ast.Tuple, ast.List))]
    return all(isinstance(one, ast.Name) and _costs_little(source, one) for one in names)


def _costs_little(source: Source, name: ast.Name) -> bool:
    fact = Seen(source).of(name)
    if fact is None or not fact.is_tensor:
        return fact is not None and (fact.is_plain or (bool(fact.classes) and _KNOWN.issuperset(fact.classes)))
    dtypes = fact.tensor.dtypes if fact.tensor is not None else ()
    return bool(dtypes) and all(one.startswith(_LIGHT) for one in dtypes)
