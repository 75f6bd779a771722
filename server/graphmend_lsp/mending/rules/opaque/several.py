"""Names that get one of several new tensors: ``x, at = x.sort()``. Pure reading of `Source`."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source


def one_of_new(source: Source, statement: ast.AST | None, name: str) -> ast.Call | None:
    """The call of an operator that surely gives several new tensors, one of which goes to a name and no other place."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or len(statement.targets) > 1:
        return None
    target, call = statement.targets[0], statement.value
    places = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    given = any(one.arg in ("out", None) for one in call.keywords)
    if given or sum(isinstance(one, ast.Name) and one.id == name for one in places) != 1:
        return None
    of_tensor = dotted(source, call.func) is not None or Kinds(source).of(getattr(call.func, "value", call)) == "tensor"
    made = operator_called(source, call) if of_tensor else None
    return call if made is not None and made.is_tensor and made.is_new and not made.effect else None
