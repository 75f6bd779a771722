"""How many dimensions a tensor has, as far as the text of its file tells.

Pure reading of `Source`; None wherever the text does not say it. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.operators import names_that
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk

_SHAPING = frozenset(("view", "reshape", "new_zeros", "new_ones", "new_empty", "expand", "permute"))
_MAKING = frozenset(("zeros", "ones", "empty", "rand", "randn"))
_KEEPING = names_that(lambda one: one.gives == "tensor" and one.keeps_shape and not one.effect) | {"type"}
_BROADCASTING = names_that(lambda one: one.form == "elementwise" and not (one.effect or one.moves))
_ABOUT = ("dtype", "device", "memory_format", "rounding_mode", "alpha", "inplace")
_LIKE = names_that(lambda one: one.form == "makes" and one.name.endswith("_like"))
_DEEP = 12


def dimensions(source: Source, node: ast.expr, at: ast.stmt, depth: int = 0) -> int | None:
    """The number of dimensions of an expression that is evaluated in the statement `at`; None when it is not known."""
    if depth > _DEEP:
        return None
    if isinstance(node, ast.Name):
        return _of_name(source, node, at, depth)
    if isinstance(node, ast.UnaryOp):
        return dimensions(source, node.operand, at, depth + 1)
    if isinstance(node, (ast.BinOp, ast.Compare)):
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
        numbers = [0 if _is_number(source, one) else dimensions(source, one, at, depth + 1) for one in sides]
        return max(one or 0 for one in numbers) if None not in numbers else None
    if isinstance(node, ast.Subscript):
        return _of_subscript(source, node, at, depth)
    if isinstance(node, ast.Attribute):
        return dimensions(source, node.value, at, depth + 1) if node.attr in ("T", "mT", "data") else None
    return _of_call(source, node, at, depth) if isinstance(node, ast.Call) else None


def has_dimensions(source: Source, node: ast.expr) -> bool:
    """Whether an expression surely has dimensions where it stands."""
    statement = source.statement(node)
    return statement is not None and (dimensions(source, node, statement) or 0) > 0


def _of_name(source: Source, name: ast.Name, at: ast.stmt, depth: int) -> int | None:
    value = last_value(source, name.id, at)
    loops = [one for one in source.ancestors(at) if isinstance(one, (ast.For, ast.While))]
    if any(name.id in assigned(one) and not any(part is value for part in walk(one)) for one in loops):
        return None  # a turn before may have left another tensor
    if value is not None:
        return dimensions(source, value, source.statement(value) or at, depth + 1)
    function = source.function(at)
    if function is None or name.id not in parameters(function):
        return None
    if any(isinstance(one, ast.Name) and one.id == name.id and not _loads(one) for one in walk(function)):
        return None
    for one in walk(function):
        if isinstance(one, ast.Assign) and _is_shape_of(one.value, name.id) and isinstance(one.targets[0], ast.Tuple):
            names = one.targets[0].elts
            return len(names) if not any(isinstance(part, ast.Starred) for part in names) else None
    return None


def _is_shape_of(node: ast.expr, name: str) -> bool:
    called = isinstance(node, ast.Call) and not node.args and not node.keywords
    one = node.func if isinstance(node, ast.Call) and called else node
    of = isinstance(one, ast.Attribute) and one.attr == ("size" if called else "shape")
    return of and isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == name


def _of_subscript(source: Source, node: ast.Subscript, at: ast.stmt, depth: int) -> int | None:
    inner = dimensions(source, node.value, at, depth + 1)
    if inner is None:
        return None
    for one in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if isinstance(one, ast.Constant) and one.value is None:
            inner += 1
        elif _is_number(source, one) or counts(source, one):
            inner -= 1
        elif not isinstance(one, ast.Slice):
            return None
    return inner


def _of_call(source: Source, node: ast.Call, at: ast.stmt, depth: int) -> int | None:
    name = dotted(source, node.func)
    arguments = list(node.args)
    if name is not None:
        last = name.rpartition(".")[2]
        if not name.startswith("torch.") or not arguments:
            return None
        if last in _MAKING:
            return _sizes(arguments)
        inner = arguments.pop(0)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_METHODS | {"ravel"}:
        last, inner = node.func.attr, node.func.value
    else:
        return None
    if last in _SHAPING:
        return _sizes(arguments)
    if last == "ravel" or (last == "flatten" and not arguments and not node.keywords):
        return 1
    if last in _BROADCASTING:
        beside = [one for one in arguments if not _is_number(source, one)]
        beside += [one.value for one in node.keywords if one.arg not in _ABOUT and not _is_number(source, one.value)]
        numbers = [dimensions(source, one, at, depth + 1) for one in (inner, *beside)]
        return max(one or 0 for one in numbers) if None not in numbers else None
    if last in _KEEPING | _LIKE:
        return dimensions(source, inner, at, depth + 1)
    if last in ("unsqueeze", "one_hot"):
        known = dimensions(source, inner, at, depth + 1)
        return None if known is None else known + 1
    return None


def _sizes(arguments: list[ast.expr]) -> int | None:
    """How many sizes are told: ``(a, b)``, ``a, b``, or one that surely is a number."""
    if len(arguments) == 1 and isinstance(arguments[0], (ast.Tuple, ast.List)):
        arguments = arguments[0].elts
    elif len(arguments) == 1:
        one = arguments[0]
        return 1 if isinstance(one, (ast.Constant, ast.UnaryOp)) else None
    return len(arguments) if arguments and not any(isinstance(one, ast.Starred) for one in arguments) else None


def _is_number(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(source, node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    return counts(source, node)


def counts(source: Source, node: ast.expr) -> bool:
    """Whether a name is the variable of a loop over ``range`` around it, and bound nowhere else."""
    function = source.function(node)
    if not isinstance(node, ast.Name) or function is None:
        return False
    bound = [one for one in walk(function) if isinstance(one, ast.Name) and one.id == node.id and not _loads(one)]
    loops = [
        one
        for one in walk(function)
        if isinstance(one, ast.For)
        and (one.target in bound or (isinstance(one.target, ast.Tuple) and one.target.elts[0] in bound))
    ]
    return (
        bool(bound)
        and len(loops) == len(bound)
        and all(
            isinstance(one.iter, ast.Call)
            and isinstance(one.iter.func, ast.Name)
            and one.iter.func.id == ("range" if isinstance(one.target, ast.Name) else "enumerate")
            for one in loops
        )
    )


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def same_shape(left: ast.expr, right: ast.expr) -> bool:
    """Whether two expressions surely have one shape: one is the other, or an elementwise method of it without arguments."""
    a, b = ast.dump(left), ast.dump(right)
    for one, other in ((left, b), (right, a)):
        while isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and not (one.args or one.keywords):
            if one.func.attr not in _KEEPING:
                break
            one = one.func.value
        if ast.dump(one) == other:
            return True
    return False
