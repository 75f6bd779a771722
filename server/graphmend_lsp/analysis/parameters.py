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
    if not asked:
        return set()
    told: set[str] = set()
    kept = set(asked)
    stored: dict[str, int] = {}
    uses: list[tuple[str, int]] = []
    for part in ast.walk(function.node):
        if isinstance(part, ast.Name) and part.id in asked and not isinstance(part.ctx, ast.Load):
            stored[part.id] = min(stored.get(part.id, part.lineno), part.lineno)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in asked:
            if part.attr in names.TELLING_ATTRIBUTES or part.attr in names.TELLING_METHODS:
                uses.append((part.value.id, part.lineno))
        elif isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id in asked:
            if isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str):
                kept.discard(part.value.id)
            elif isinstance(part.slice, ast.Tuple) and any(isinstance(each, ast.Slice) for each in part.slice.elts):
                uses.append((part.value.id, part.lineno))
        elif (
            isinstance(part, ast.Call) and part.args and isinstance(part.args[0], ast.Name) and part.args[0].id in asked
        ):
            name = part.args[0].id
            called = _called_by(scope, part.func)
            if called == "builtins.isinstance":
                kept.discard(name)
            elif called == "tensor":
                uses.append((name, part.lineno))
    for name, line in uses:
        if name in kept and line <= stored.get(name, line):
            told.add(name)
    return told


def _called_by(scope: Scope, callee: ast.expr) -> str:
    """``tensor`` when the callee takes a tensor first: a layer in an attribute of self, an operator of torch."""
    path: list[str] = []
    while isinstance(callee, ast.Attribute):
        path.insert(0, callee.attr)
        callee = callee.value
    if not isinstance(callee, ast.Name):
        return ""
    owner = scope.names.get(callee.id)
    if owner is not None and owner.tag == "self":
        known = len(path) == 1 and scope.ask("attr", owner.name, path[0], "self") == LAYER
        return "tensor" if known else ""
    kind = scope.ask("name", callee.id) if callee.id not in scope.names else UNKNOWN
    if kind == UNKNOWN and not path:
        return f"builtins.{callee.id}"
    dotted = ".".join([kind.name, *path]) if kind.tag == "ref" else ""
    if not dotted.startswith("torch.") or dotted.rpartition(".")[2] in _ANYTHING:
        return ""
    result = names.torch_call(dotted)
    last = dotted.rpartition(".")[2]
    takes_tensor = is_tensor(result) or last in names.SEQUENCE_FUNCTIONS or last in ("equal", "allclose", "max", "min")
    return "tensor" if takes_tensor and dotted.count(".") <= 3 else ""


# Functions of torch whose first argument need not be a tensor.
_ANYTHING = names.words(
    "tensor as_tensor asarray from_numpy zeros ones empty full rand randn randint arange linspace logspace eye "
    "normal stack cat concat concatenate hstack vstack dstack meshgrid block_diag einsum where broadcast_tensors "
    "cartesian_prod randperm scalar_tensor Parameter Tensor FloatTensor LongTensor IntTensor BoolTensor pow outer "
    "add sub mul div eq ne lt le gt ge clone range tril_indices triu_indices hann_window zeros_like_ "
    "bartlett_window blackman_window hamming_window kaiser_window polar complex full_like_ sparse_coo_tensor "
    "result_type"
)
