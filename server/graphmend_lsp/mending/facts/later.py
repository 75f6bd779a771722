"""What a function does to its names behind a place: binds them anew, or changes what they hold in place.

Pure reading, by the text alone: a view of a tensor that is changed under another name is not seen here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.effects import bindings, is_static, own_nodes, scalar_parameter
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters

CONTAINERS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "update",
        "setdefault",
        "add",
        "discard",
        "sort",
        "reverse",
        "popitem",
        "appendleft",
    ]
)
"""The methods that change a container of Python."""


@dataclass(frozen=True, slots=True)
class Later:
    """What happens to names after a place: bound anew, changed in place as a tensor, changed as a container."""

    rebound: frozenset[str]
    mutated: frozenset[str]
    containers: frozenset[str]


def later(source: Source, function: Function, after: ast.stmt | None) -> Later:
    """What the function does to its names behind a statement, or anywhere when None (a loop comes back)."""
    rebound: set[str] = set()
    mutated: set[str] = set()
    containers: set[str] = set()
    stop = source.range(after)[1] if after is not None else -1
    for node in own_nodes(function):
        if not isinstance(node, (ast.stmt, ast.expr)) or source.range(node)[0] < stop:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            rebound.add(node.id)
        elif isinstance(node, ast.stmt):
            rebound |= assigned(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if not _is_number(source, function, node.target.id):
                mutated.add(node.target.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            name = subject(node.value)
            if name and name not in ("self", "cls"):
                mutated.add(name)
        elif isinstance(node, ast.Call):
            name = subject(node.func.value) if isinstance(node.func, ast.Attribute) else None
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name and method.endswith("_") and not method.startswith("_"):
                mutated.add(name)
            elif name and method in CONTAINERS and isinstance(node.func, ast.Attribute):
                containers.add(name)
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == "out":
                    mutated.add(subject(value) or "")
                if keyword.arg == "inplace" and isinstance(value, ast.Constant) and value.value and node.args:
                    mutated.add(subject(node.args[0]) or "")
    return Later(frozenset(rebound), frozenset(mutated - {""}), frozenset(containers))


def changed_in(function: Function) -> bool:
    """Whether a function changes a tensor in place, by the text: a method that ends with an underscore, or ``+=`` of a name."""
    for node in own_nodes(function):
        method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if method.endswith("_") and not method.startswith("_"):
            return True
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return True
    return False


def root(node: ast.AST) -> str | None:
    """The name that an attribute, subscript or method-call chain starts from."""
    while True:
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        else:
            return node.id if isinstance(node, ast.Name) else None


def subject(node: ast.AST) -> str | None:
    """What a chain is a part of: its first name, or ``self.NAME`` when that is `self`; None for other expressions."""
    name = root(node)
    if name not in ("self", "cls"):
        return name
    first = node
    while not isinstance(first, ast.Name):
        if isinstance(first, ast.Attribute) and isinstance(first.value, ast.Name):
            return f"{name}.{first.attr}"
        first = next(iter(ast.iter_child_nodes(first)))
    return name


def _is_number(source: Source, function: Function, name: str) -> bool:
    """Whether a name holds numbers or texts, which ``+=`` binds anew instead of changing."""
    if name in parameters(function) and not scalar_parameter(function, name):
        return False
    values = bindings(function, name)
    return all(value is not None and (is_static(source, value) or _counts(source, value)) for value in values)


def _counts(source: Source, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and is_builtin(source, value.func, "range")
