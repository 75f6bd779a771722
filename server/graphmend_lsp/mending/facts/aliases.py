"""Which tensors surely have no gradient, and which are surely new: made of sizes, constants, comparisons, whole numbers.

Pure reading of `Source`; what is not known has a gradient.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk

_OVERLAPPING = ("expand", "expand_as", "broadcast_to", "unfold", "as_strided")
"""Of a new tensor, too, they give a tensor with elements that share memory with each other."""
_LIMITS = ("torch.finfo", "torch.iinfo")
_WHOLE_TENSORS = ("LongTensor", "IntTensor", "BoolTensor", "ByteTensor", "ShortTensor")
_NUMBERS = ("range", "len", "int", "enumerate", "zip", "min", "max", "abs", "reversed", "bool", "sum", "list", "tuple")


def makes_new(source: Source, value: ast.expr) -> bool:
    """Whether a value is a tensor that nothing else holds: an operator gives a new one, and only views of it follow."""
    while isinstance(value, ast.Call):
        operator = operator_called(source, value)
        if operator is None or operator.gives != "tensor" or operator.effect:
            return False
        if operator.is_new:
            return True
        if not isinstance(value.func, ast.Attribute) or dotted(source, value.func) is not None:
            return False
        if operator.name in _OVERLAPPING:
            return False
        value = value.func.value
    return False


def has_no_gradient(source: Source, function: Function, name: str) -> bool:
    """Whether all that a function puts under a name, or writes in it, surely has no gradient."""
    return _name(source, function, name, frozenset())


def _name(source: Source, function: Function, name: str, seen: frozenset[str]) -> bool:
    if name in seen:
        return True
    seen |= {name}
    if name in parameters(function):
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        annotation = next((one.annotation for one in arguments if one.arg == name), None)
        words = ast.unparse(annotation) if annotation is not None else ""
        if not (words in ("int", "bool") or words.rpartition(".")[2] in _WHOLE_TENSORS):
            return False
    found = False
    for one in walk(function):
        value: ast.expr | None = None
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            if not any(_stores(target, name) for target in targets):
                continue
            value = one.value
        elif isinstance(one, (ast.For, ast.comprehension)) and name in assigned(one.target):
            value = one.iter
        elif isinstance(one, (ast.With, ast.ExceptHandler)) and name in assigned(one) and not _inside(one, name):
            return False
        elif _writes(one, name):
            assert isinstance(one, ast.Call)
            if not all(_value(source, function, argument, seen) for argument in one.args):
                return False
            continue
        else:
            continue
        found = True
        if value is not None and not _value(source, function, value, seen):
            return False
    return found or name in parameters(function)


def _inside(node: ast.AST, name: str) -> bool:
    """Whether the name is only bound by statements inside a block."""
    if isinstance(node, ast.ExceptHandler):
        return node.name != name
    items = node.items if isinstance(node, ast.With) else []
    return not any(item.optional_vars is not None and name in assigned(item.optional_vars) for item in items)


def _stores(target: ast.expr, name: str) -> bool:
    """Whether a target binds a name, or writes by an index in what it holds."""
    for one in walk(target):
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store):
            return True
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            root: ast.expr = one
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            if isinstance(root, ast.Name) and root.id == name:
                return True
    return False


def _writes(node: ast.AST, name: str) -> bool:
    """Whether a node is a call of an in-place method on a name."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.endswith("_")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    )


def _value(source: Source, function: Function, node: ast.expr, seen: frozenset[str]) -> bool:
    """Whether a value surely has no gradient."""

    def every(*nodes: ast.expr) -> bool:
        return all(_value(source, function, one, seen) for one in nodes)

    if isinstance(node, (ast.Constant, ast.Compare)):
        return True
    if isinstance(node, ast.Name):
        return _name(source, function, node.id, seen)
    if isinstance(node, ast.Attribute):
        of_dtype = isinstance(node.value, ast.Call) and dotted(source, node.value.func) in _LIMITS
        told = of_dtype or node.attr in ("shape", "device", "dtype", "ndim")
        return told or (node.attr in ("T", "mT") and every(node.value))
    if isinstance(node, ast.Subscript):
        return every(node.value)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or every(node.operand)
    if isinstance(node, ast.BinOp):
        return every(node.left, node.right)
    if isinstance(node, ast.BoolOp):
        return every(*node.values)
    if isinstance(node, ast.IfExp):
        return every(node.body, node.orelse)
    if isinstance(node, (ast.Tuple, ast.List)):
        return every(*node.elts)
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return False
    if (dotted(source, node.func) or "").removeprefix("torch.") in _WHOLE_TENSORS:
        return True
    if any(is_builtin(source, node.func, one) for one in _NUMBERS):
        return every(*node.args)
    operator = operator_called(source, node)
    if operator is None or operator.effect:
        return False
    if not operator.carries_gradient:
        return not any(one.arg == "requires_grad" for one in node.keywords)
    method = isinstance(node.func, ast.Attribute) and dotted(source, node.func) is None
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) and method else []
    given = [one.value for one in node.keywords if one.arg not in ("device", "dtype", "dim")]
    return every(*receiver, *node.args, *given) and not any(one.arg == "requires_grad" for one in node.keywords)
