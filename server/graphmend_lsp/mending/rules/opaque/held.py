"""Which results of statements may be tensors that there are already: an operator's results are copies of those. Pure reading."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from graphmend_lsp.mending.facts.bindings import is_kept, makes_tensor, operator_called
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.outlined import Run
from graphmend_lsp.mending.rules.opaque.callee import called_here
from graphmend_lsp.mending.rules.opaque.filled import OTHER_SHAPE
from graphmend_lsp.mending.rules.opaque.modules import gives_new
from graphmend_lsp.mending.rules.opaque.several import one_of_new
from graphmend_lsp.mending.rules.opaque.sizes import was_mask
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk

_DEEP = 3


def returns_of(source: Source, function: Function, statements: Sequence[ast.stmt]) -> list[ast.Return]:
    """What returns from the function among statements, in the order of the text."""
    nodes = (one for statement in statements for one in walk(statement))
    found = [one for one in nodes if isinstance(one, ast.Return) and source.function(one) is function]
    return sorted(found, key=source.range)


def returned(statement: ast.Return) -> list[ast.expr]:
    """The values that a statement returns."""
    if statement.value is None:
        return []
    return statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]


def known_elsewhere(source: Source, function: Function, run: Run, statements: Sequence[ast.stmt]) -> str:
    """A result that may be a tensor that there is already, where somebody may see that it is one; "" for none."""
    if run.returns:
        parts = [part for one in returns_of(source, function, statements) for part in returned(one)]
        return next((source.code(one) for one in parts if not _is_new(source, run.takes, statements, one)), "")
    end = source.range(run.last)[1]
    behind = [one for one in walk(function) if isinstance(one, (ast.expr, ast.stmt)) and source.range(one)[0] >= end]
    changed = any(changed_by(one) for one in behind)
    for name in run.gives:
        if _is_new(source, run.takes, statements, ast.Name(name, ast.Load())):
            continue
        uses = [one for one in behind if isinstance(one, ast.Name) and one.id == name]
        seen = any(is_kept(source, one) or isinstance(source.parents.get(one), ast.Return) for one in uses)
        if seen or changed or any(isinstance(one, (ast.For, ast.While)) for one in source.ancestors(run.first)):
            return name
    return ""


def _is_new(
    source: Source, taken: Collection[str], statements: Sequence[ast.stmt], value: ast.expr, depth: int = 0
) -> bool:
    """Whether a result is surely made by the statements, which take these names, and by no other name of theirs."""
    if not isinstance(value, ast.Name):
        return makes_tensor(source, value) or _is_given_new(source, value, depth)
    binding = [at for at, one in enumerate(statements) if value.id in assigned(one)]
    last = statements[binding[-1]] if binding else None
    if last is not None and hasattr(value, "lineno") and source.range(value)[0] < source.range(last)[0]:
        return False  # it is returned before
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        return len(last.targets) == 1 and _is_fresh(source, last.value)  # whatever the name held before
    if one_of_new(source, last, value.id) is not None:
        return True
    stored = [
        one for part in statements for one in walk(part)
        if isinstance(one, ast.Name) and one.id == value.id and isinstance(one.ctx, ast.Store)
    ]  # fmt: skip
    made = [source.parents.get(one) for one in stored]
    made = [one for one in made if not isinstance(one, ast.AugAssign)]  # in place, of what the others made
    plain = [one.value for one in made if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
    if len(plain) != len(made):
        return False
    first = _made_always(source, statements, value.id)
    if first is not None:  # what it held before is no more
        later = [one for one in plain if source.range(one)[0] > source.range(first)[0]]
        return all(_is_fresh(source, one, value.id) for one in later)
    return value.id not in taken and bool(plain) and all(_is_fresh(source, one) for one in plain)


def _made_always(source: Source, statements: Sequence[ast.stmt], name: str) -> ast.Assign | None:
    """The last of the statements that gives a name a new tensor whatever happens."""
    found = [
        one
        for one in statements
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
        and one.targets[0].id == name and _is_fresh(source, one.value)
    ]  # fmt: skip
    return found[-1] if found else None


def _is_given_new(source: Source, value: ast.expr, depth: int) -> bool:
    """Whether an expression calls a function of the file that surely makes all that it returns, one tensor."""
    made = called_here(source, value) if isinstance(value, ast.Call) and depth < _DEEP else None
    if made is None or (made.decorator_list and made in source.tree.body):
        return False
    given = [returned(one) for one in returns_of(source, made, made.body)]
    return bool(given) and all(
        len(one) == 1 and _is_new(source, parameters(made), made.body, one[0], depth + 1) for one in given
    )


def _is_fresh(source: Source, value: ast.expr, own: str = "") -> bool:
    """Whether an expression surely gives a new tensor, or a part of a new one that has no name, or the name `own`."""
    while not (makes_tensor(source, value) or _chooses(source, value) or _is_of_module(source, value)):
        if isinstance(value, ast.Subscript) and Kinds(source).of(value.value) == "tensor":
            value = value.value  # an element of a list may be any tensor
            continue
        made = operator_called(source, value) if isinstance(value, ast.Call) else None
        itself = (
            isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and _gives_itself(value.func.attr)
        )
        part = made is not None and made.is_tensor and (itself or not made.effect)
        if not (part and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
            return False
        if dotted(source, value.func) is not None:
            return False
        value = value.func.value
        if isinstance(value, ast.Name) and value.id == own:
            return True
    return True


def _is_of_module(source: Source, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and gives_new(source, value.func)


def _gives_itself(method: str) -> bool:
    """Whether a method changes the elements of a tensor in place, and gives it."""
    return method.endswith("_") and not method.endswith("__") and method not in OTHER_SHAPE


def _chooses(source: Source, value: ast.expr) -> bool:
    """Whether an expression chooses elements by a mask, which copies them: ``x[m]``, ``x[:, m]``."""
    if not (isinstance(value, ast.Subscript) and Kinds(source).of(value.value) == "tensor"):
        return False
    parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    return any(
        not isinstance(one, (ast.Slice, ast.Constant))
        and Kinds(source).of(one) == "tensor"
        and (Kinds(source).is_bool(one) or _was_bool(source, one))
        for one in parts
    )


def _was_bool(source: Source, node: ast.expr) -> bool:
    if was_mask(source, node):
        Seen(source).believe(node, "a mask")
        return True
    return False


def marked(source: Source, run: Run, name: str) -> list[ast.Assign]:
    """The assignments of a name to what is told to have a gradient."""
    function = source.function(run.first)
    return [
        one
        for one in (walk(function) if function is not None else ())
        if isinstance(one, ast.Assign)
        and name in assigned(one)
        and any(
            (isinstance(each, ast.Attribute) and each.attr == "requires_grad_")
            or (isinstance(each, ast.keyword) and each.arg == "requires_grad")
            for each in walk(one.value)
        )
    ]
