"""What a function's parameters hold: by annotation, by default, by what its callers pass, and by how it uses them.

A parameter with no annotation is a tensor only when the function does something with it that needs one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.analysis import names
from graphmend_lsp.analysis.kinds import (
    LAYER,
    NONE,
    PYTHON,
    TENSOR,
    UNKNOWN,
    Kind,
    is_tensor,
    of_annotation,
)
from graphmend_lsp.analysis.outline import Function
from graphmend_lsp.analysis.scope import Scope


def bind_parameters(scope: Scope, function: Function, passed: dict[str, Kind]) -> None:
    """Give every parameter its kind in the scope; `passed` is what all callers in the file agree on."""
    asked = []
    for index, (argument, default) in enumerate(parameters(function.node)):
        if index == 0 and function.owner is not None and not is_static(function):
            tag = "class" if _has_decorator(function, "classmethod") else "self"
            scope.names[argument.arg] = Kind(tag, function.owner)
            continue
        kind = of_annotation(argument.annotation)
        if kind == UNKNOWN and argument.annotation is None:
            kind = _of_default(default)
            given = passed.get(argument.arg, UNKNOWN)
            if kind in (UNKNOWN, NONE):
                kind = given if given not in (UNKNOWN, NONE) else UNKNOWN
                if kind == UNKNOWN and given != NONE:
                    asked.append(argument.arg)
        scope.names[argument.arg] = kind
    for name in _told_by_use(scope, function, frozenset(asked)):
        scope.names[name] = TENSOR
    arguments = function.node.args
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            scope.names[rest.arg] = UNKNOWN


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters in order with their defaults, `*` and `**` left out."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*padding, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def is_static(function: Function) -> bool:
    """Whether a method takes no instance."""
    return _has_decorator(function, "staticmethod")


def is_property(function: Function) -> bool:
    """Whether reading the attribute runs the method."""
    return _has_decorator(function, "property") or _has_decorator(function, "cached_property")


def _has_decorator(function: Function, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name) or (isinstance(each, ast.Attribute) and each.attr == name)
        for each in function.decorators
    )


def _of_default(default: ast.expr | None) -> Kind:
    if default is None:
        return UNKNOWN
    if isinstance(default, ast.Constant):
        return NONE if default.value is None else PYTHON
    if isinstance(default, ast.UnaryOp) and isinstance(default.operand, ast.Constant):
        return PYTHON
    return UNKNOWN


def _told_by_use(scope: Scope, function: Function, asked: frozenset[str]) -> set[str]:
    """The parameters that the function uses as only a tensor can be used, before it stores anything else in them."""
    if not asked:
        return set()
    foreign: set[str] = set()
    kept: set[int] = set()
    stored: dict[str, int] = {}
    uses: list[tuple[str, int]] = []
    for part in ast.walk(function.node):
        if isinstance(part, ast.Assign) and _keeps(part):
            kept.add(id(part.targets[0]))
        elif isinstance(part, ast.Name):
            if part.id in asked and not isinstance(part.ctx, ast.Load) and id(part) not in kept:
                stored[part.id] = min(stored.get(part.id, part.lineno), part.lineno)
        elif isinstance(part, (ast.Attribute, ast.Subscript, ast.Call)):
            name = _told(scope, part)
            if name in asked:
                uses.append((name, part.lineno))
            foreign |= _denied(part)
    return {name for name, line in uses if name not in foreign and line <= stored.get(name, line)}


def _told(scope: Scope, part: ast.Attribute | ast.Subscript | ast.Call) -> str:
    """The name that this use tells to be a tensor; empty when it tells nothing."""
    if isinstance(part, ast.Attribute):
        if isinstance(part.value, ast.Compare):
            return _name_of(part.value.left) if part.attr in names.SURE_METHODS else ""
        return _name_of(part.value) if part.attr in names.TELLING_ATTRIBUTES | names.TELLING_METHODS else ""
    if isinstance(part, ast.Subscript):
        name = _name_of(part.value)
        by_mask = isinstance(part.slice, ast.Compare) and _name_of(part.slice.left) == name
        by_axes = isinstance(part.slice, ast.Tuple) and any(isinstance(each, ast.Slice) for each in part.slice.elts)
        return name if by_mask or by_axes else ""
    return _name_of(part.args[0]) if part.args and _takes_tensor(scope, part.func) else ""


def _denied(part: ast.Attribute | ast.Subscript | ast.Call) -> set[str]:
    """The names that this use tells to be perhaps something else: a dict, or what `isinstance` decides."""
    if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str):
        return {_name_of(part.value)}
    if isinstance(part, ast.Call) and _name_of(part.func) == "isinstance" and part.args:
        return {_name_of(part.args[0])}
    return set()


def _keeps(statement: ast.Assign) -> bool:
    """Whether an assignment is arithmetic on what the name held: `x = x * 2` keeps a tensor a tensor."""
    name, value = _name_of(statement.targets[0]), statement.value
    return bool(name) and isinstance(value, ast.BinOp) and name in (_name_of(value.left), _name_of(value.right))


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _takes_tensor(scope: Scope, callee: ast.expr) -> bool:
    """Whether the callee takes a tensor first: a layer in an attribute of self, an operator of torch."""
    path: list[str] = []
    while isinstance(callee, ast.Attribute):
        path.insert(0, callee.attr)
        callee = callee.value
    if not isinstance(callee, ast.Name) or not path:
        return False
    owner = scope.names.get(callee.id)
    if owner is not None:
        return owner.tag == "self" and len(path) == 1 and scope.ask("attr", owner.name, path[0], "self") == LAYER
    kind = scope.ask("name", callee.id)
    dotted = ".".join([kind.name, *path]) if kind.tag == "ref" else ""
    last = path[-1]
    if not dotted.startswith("torch.") or last in _ANYTHING or dotted.count(".") > 3:
        return False
    return (
        is_tensor(names.torch_call(dotted))
        or last in names.SEQUENCE_FUNCTIONS
        or last in names.REDUCING
        or last in ("equal", "allclose")
    )


# Functions of torch whose first argument need not be a tensor.
_ANYTHING = names.words(
    "tensor as_tensor asarray from_numpy zeros ones empty full rand randn randint arange linspace logspace eye "
    "normal stack cat concat concatenate hstack vstack dstack meshgrid block_diag einsum where broadcast_tensors "
    "cartesian_prod randperm scalar_tensor Parameter Tensor FloatTensor LongTensor IntTensor BoolTensor pow outer "
    "add sub mul div eq ne lt le gt ge clone range tril_indices triu_indices hann_window zeros_like_ "
    "bartlett_window blackman_window hamming_window kaiser_window polar complex full_like_ sparse_coo_tensor "
    "result_type"
)
