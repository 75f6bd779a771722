"""Tensors that a function has made and that nothing else holds by some statement: what is written in them nobody else sees."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphmend_lsp.mending.facts.bindings import is_kept, last_value, makes_tensor
from graphmend_lsp.mending.syntax.source import Source, parameters
from graphmend_lsp.mending.syntax.walk import walk


def is_own(source: Source, name: str, at: ast.stmt, is_new: Callable[[Source, ast.expr], bool] = makes_tensor) -> bool:
    """Whether a name surely holds such a tensor in front of a statement, by whichever of its assignments.

    `is_new` says whether an expression gives a new tensor.
    """
    function = source.function(at)
    if function is None or any(isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in source.ancestors(at)):
        return False
    uses = [one for one in walk(function) if isinstance(one, ast.Name) and one.id == name]
    if any(isinstance(one, (ast.Global, ast.Nonlocal)) and name in one.names for one in walk(function)):
        return False
    if any(source.function(one) is not function for one in uses):
        return False
    end = source.range(at)[0]
    last = last_value(source, name, at)
    if last is not None and is_new(source, last):
        begin = source.range(last)[1]
    else:
        values = [
            _plain(source, one) for one in uses
            if not isinstance(one.ctx, ast.Load) and source.range(one)[0] < end and not _is_augmented(source, one)
        ]  # fmt: skip
        if name in parameters(function) or not values:
            return False
        if not all(value is not None and is_new(source, value) for value in values):
            return False
        begin = 0
    return not any(
        isinstance(one.ctx, ast.Load) and begin <= source.range(one)[0] < end and _is_held(source, one) for one in uses
    )


def _plain(source: Source, target: ast.Name) -> ast.expr | None:
    """What a plain assignment gives a name."""
    made = source.parents.get(target)
    return made.value if isinstance(made, ast.Assign) and made.targets == [target] else None


def _is_augmented(source: Source, target: ast.Name) -> bool:
    """Whether a statement changes what the name holds in place: of a new tensor it makes no other one."""
    change = source.parents.get(target)
    return isinstance(change, ast.AugAssign) and change.target is target


def _is_held(source: Source, use: ast.Name) -> bool:
    """Whether something may hold the tensor or a view of it behind a use; not where its elements are copied elsewhere."""
    part = source.parents.get(use)
    copy = source.parents.get(part) if isinstance(part, ast.Subscript) and part.value is use else None
    if (
        isinstance(copy, ast.Assign)
        and copy.value is part
        and all(isinstance(one, ast.Subscript) for one in copy.targets)
    ):
        return False
    return is_kept(source, use)
