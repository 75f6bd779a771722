"""Whether an index by a loop's variable is in range in every iteration, and whether a loop goes over something that stays.

``for i in range(x.shape[1])`` never takes ``x[:, i]`` out of range. Pure reading of `Source`; knows no rule.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


def is_in_range(source: Source, node: ast.Subscript) -> bool:
    """Whether every index that is a name runs over the size of its dimension, in a loop that leaves the tensor alone."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(one, ast.Constant) and one.value in (None, Ellipsis) for one in parts):
        return False
    return all(_plain(one) or _runs_over(source, node, one, at) for at, one in enumerate(parts))


def iterates_statically(source: Source, over: ast.expr) -> bool:
    """Whether a loop over an expression takes the same turns in every call of the same shapes, and takes nothing away.

    ``range`` of Python numbers, ``enumerate``/``zip``/``reversed`` of such things, tensors and modules of ``self``, literals,
    and slices of them. A name that may hold an iterator is none.
    """
    if isinstance(over, (ast.Tuple, ast.List)):
        return not any(isinstance(one, ast.Starred) for one in over.elts)
    if isinstance(over, ast.Call):
        if is_builtin(source, over.func, "range"):
            return True
        if any(is_builtin(source, over.func, name) for name in ("enumerate", "zip", "reversed", "list", "tuple")):
            return all(iterates_statically(source, one) for one in over.args)
        method = over.func.attr if isinstance(over.func, ast.Attribute) else ""
        return method in ("unbind", "chunk", "split", "items", "keys", "values")
    if isinstance(over, ast.Attribute):
        return isinstance(over.value, ast.Name) and over.value.id == "self"
    if isinstance(over, ast.Subscript):
        return iterates_statically(source, over.value) or isinstance(over.slice, ast.Slice)
    return isinstance(over, ast.Name) and _is_collection(source, over)


def is_size(source: Source, node: ast.expr) -> bool:
    """Whether an expression is a name that was unpacked from a shape (``batch, length, _ = x.shape``)."""
    statement = source.statement(node)
    return isinstance(node, ast.Name) and statement is not None and _unpacked(source, node.id, statement) is not None


def _is_collection(source: Source, name: ast.Name) -> bool:
    """Whether a name holds something with a length: a literal, an annotation or a use says so, or it is an argument.

    (An argument may be an iterator; that all of it is used up is told by the rule.)
    """
    function, statement = source.function(name), source.statement(name)
    if function is None or statement is None:
        return False
    value = last_value(source, name.id, statement)
    if isinstance(value, (ast.List, ast.Tuple, ast.ListComp)):
        return True
    a = function.args
    for one in (*a.posonlyargs, *a.args, *a.kwonlyargs):
        if one.arg == name.id and one.annotation is not None:
            return not any(word in ast.unparse(one.annotation) for word in ("Iterator", "Iterable", "Generator"))
        if one.arg == name.id and value is None:
            return True
    for node in walk(function):
        if not (isinstance(node, ast.Name) and node.id == name.id and node is not name):
            continue
        parent = source.parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in ("shape", "size", "dtype", "device", "sum", "unbind"):
            return True
        if isinstance(parent, ast.BinOp) and any(isinstance(one, ast.Constant) for one in (parent.left, parent.right)):
            return True
        if isinstance(parent, ast.Call) and is_builtin(source, parent.func, "len"):
            return True
    return False


def _plain(index: ast.expr) -> bool:
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.operand, ast.Constant)
    if isinstance(index, ast.Slice):
        return all(one is None or isinstance(one, (ast.Constant, ast.Name)) for one in (index.lower, index.upper))
    return isinstance(index, ast.Constant)


def _runs_over(source: Source, node: ast.Subscript, index: ast.expr, dimension: int) -> bool:
    if not isinstance(index, ast.Name):
        return False
    for loop in source.ancestors(node):
        if isinstance(loop, ast.For) and index.id in assigned(loop.target):
            held = {one.id for one in walk(node.value) if isinstance(one, ast.Name)}
            if held & frozenset(name for statement in loop.body for name in assigned(statement)):
                return False
            return _bounds(source, loop, index.id, _model_of(source, node.value, loop), dimension)
    return False


def _model_of(source: Source, tensor: ast.expr, at: ast.stmt) -> ast.expr:
    """The tensor whose shape a tensor has: of ``out = torch.zeros_like(x)`` it is ``x``."""
    value = last_value(source, tensor.id, at) if isinstance(tensor, ast.Name) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr.endswith("_like") and value.args:
            return value.args[0]
        if value.func.attr in ("clone", "detach") and not value.args:
            return value.func.value
    return tensor


def _bounds(source: Source, loop: ast.For, name: str, tensor: ast.expr, dimension: int) -> bool:
    over = loop.iter
    if not isinstance(over, ast.Call) or over.keywords:
        return False
    if is_builtin(source, over.func, "enumerate") and isinstance(loop.target, ast.Tuple) and len(over.args) == 1:
        first = loop.target.elts[0]
        return isinstance(first, ast.Name) and first.id == name and dimension == 0 and _same(over.args[0], tensor)
    if not is_builtin(source, over.func, "range") or not isinstance(loop.target, ast.Name) or len(over.args) > 2:
        return False
    start = over.args[0] if len(over.args) == 2 else None
    if start is not None and not (
        isinstance(start, ast.Constant) and isinstance(start.value, int) and start.value >= 0
    ):
        return False
    return _is_size(source, over.args[-1], tensor, dimension, loop)


def _is_size(source: Source, size: ast.expr, tensor: ast.expr, dimension: int, at: ast.stmt) -> bool:
    """Whether an expression is ``tensor``'s size in a dimension, or that less something."""
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Sub) and isinstance(size.right, ast.Constant):
        return _is_size(source, size.left, tensor, dimension, at)
    if isinstance(size, ast.Call) and len(size.args) == 1:
        if is_builtin(source, size.func, "len"):
            return dimension == 0 and _same(size.args[0], tensor)
        if isinstance(size.func, ast.Attribute) and size.func.attr == "size":
            return _same(size.func.value, tensor) and _is_number(size.args[0], dimension)
        return False
    if isinstance(size, ast.Subscript) and isinstance(size.value, ast.Attribute) and size.value.attr == "shape":
        return _same(size.value.value, tensor) and _is_number(size.slice, dimension)
    if isinstance(size, ast.Name):
        if (value := last_value(source, size.id, at)) is not None:
            return not isinstance(value, ast.Name) and _is_size(source, value, tensor, dimension, at)
        return _unpacked(source, size.id, at) == (ast.dump(tensor), dimension)
    return False


def _unpacked(source: Source, name: str, at: ast.stmt) -> tuple[str, int] | None:
    """The tensor (dumped) and dimension whose size a name got from ``b, t, c = x.shape`` in the function's own block."""
    function = source.function(at)
    found: list[tuple[str, int] | None] = []
    for one in walk(function) if function is not None else ():
        if isinstance(one, ast.stmt) and not isinstance(one, (ast.FunctionDef, ast.If, ast.For, ast.While, ast.With)):
            if name not in assigned(one):
                continue
            shape: ast.expr | None = one.value if isinstance(one, ast.Assign) else None
            if isinstance(shape, ast.Call) and isinstance(shape.func, ast.Attribute) and not shape.args:
                shape = shape.func if shape.func.attr == "size" else None
            target = one.targets[0] if isinstance(one, ast.Assign) else None
            if isinstance(shape, ast.Attribute) and shape.attr in ("shape", "size") and isinstance(target, ast.Tuple):
                names = [getattr(part, "id", "") for part in target.elts]
                found.append((ast.dump(shape.value), names.index(name)) if name in names else None)
            else:
                found.append(None)
    return found[0] if len(set(found)) == 1 else None


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _is_number(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value
