"""Conditions that are a tensor's in the calls that were seen and a Python value in others that the file shows.

``def f(x, loud=False)`` with ``if loud:`` may be called without `loud`; ``f(x, True)`` stands elsewhere in the file. Then no
tensor operation can take the condition's place. Pure reading of `Source`; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from graphmend_lsp.mending.facts.bindings import value_at
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk

_ASKS = frozenset(("isinstance", "is_tensor", "type", "hasattr"))
_OF_NUMBERS = ("abs", "bool", "float", "int", "max", "min", "round")


def python_elsewhere(source: Source, test: ast.expr) -> str | None:
    """Why a condition may be a Python value in another call, as a sentence; None where the file shows no such call."""
    function = source.function(test)
    if function is None:
        return None
    numbers = {name: words for name, words in _numbers(source, function) if not _is_looked_at(function, name)}
    used = [one.id for one in walk(test) if isinstance(one, ast.Name) and one.id in numbers]
    if not used or not _is_python(source, Kinds(source), test, numbers):
        return None
    return f"{numbers[used[0]]}, and then `{source.code(test)}` is no tensor."


def may_be_number(source: Source, test: ast.expr) -> ast.Name | None:
    """What a comparison compares, where it was a whole number as a tensor and is a Python number in calls that give such.

    That is so where it is a parameter, or computed from parameters, that were such tensors or are said to be numbers.
    """
    name = test.left if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    if not isinstance(name, ast.Name) or not isinstance(test, ast.Compare) or not _is_number(test.comparators[0]):
        return None
    return name if is_number_elsewhere(source, name) else None


def is_number_elsewhere(source: Source, name: ast.Name) -> bool:
    """Whether a name was a whole number as a tensor, and is a Python number in calls that give such."""
    return was_whole_number(source, name) and _stands_for_number(source, name, 0)


def was_whole_number(source: Source, node: ast.expr) -> bool:
    """Whether a run showed that an expression always was a tensor without dimensions of int64."""
    fact = Seen(source).of(node)
    return fact is not None and fact.rank == 0 and fact.tensor is not None and fact.tensor.dtypes == ("int64",)


_DEEPEST = 4  # names that stand for names


def _stands_for_number(source: Source, name: ast.Name, depth: int) -> bool:
    function = source.function(name)
    if function is None or depth > _DEEPEST:
        return False
    value = value_at(source, name)
    if value is not None:
        names = [one for one in walk(value) if isinstance(one, ast.Name) and one.id != "self"]
        odd = [one for one in walk(value) if isinstance(one, (ast.Call, ast.Subscript, ast.Lambda))]
        return not odd and all(_stands_for_number(source, one, depth + 1) for one in names)
    a = function.args
    parameters = {one.arg: one.annotation for one in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
    if name.id not in parameters:
        return False
    said = parameters[name.id]
    words = set() if said is None else {getattr(one, "id", getattr(one, "attr", "")) for one in walk(said)}
    fact = Seen(source).of(name)
    return bool(words & {"int", "float", "bool"}) or (said is None and fact is not None and fact.rank == 0)


def _numbers(source: Source, function: Function) -> Iterator[tuple[str, str]]:
    """The parameters that are a number in some call, with the words for it."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [*zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True)]
    defaults += [
        (arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default is not None
    ]
    for call in _calls(source, function):
        given = [*zip([arg.arg for arg in positional[_bound(source, function) :]], call.args, strict=False)]
        given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None]
        line = source.span(call).start.line
        yield from ((name, f"Line {line} gives `{name}` {source.code(one)}") for name, one in given if _is_number(one))
    for arg, default in defaults:
        if _is_number(default):
            yield arg.arg, f"`{arg.arg}` is {source.code(default)} where it is not given"


def _calls(source: Source, function: Function) -> Iterator[ast.Call]:
    """The calls of the file that surely call the function."""
    owner = source.parents.get(function)
    for node in source.nodes:
        if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
            continue
        name = node.func
        if isinstance(name, ast.Name) and name.id == function.name and owner is source.tree:
            yield node
        elif isinstance(owner, ast.ClassDef) and isinstance(name, ast.Attribute) and name.attr == function.name:
            own = isinstance(name.value, ast.Name) and name.value.id == "self" and source.owner(node) is owner
            yield from (node,) if own else ()


def _bound(source: Source, function: Function) -> int:
    """How many parameters a call of the function does not give."""
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
    return int(isinstance(source.parents.get(function), ast.ClassDef) and not static)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))


def _is_looked_at(function: Function, name: str) -> bool:
    """Whether the function gives the name another value, or asks what type it has."""
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if not isinstance(node, ast.Call) or not any(isinstance(one, ast.Name) and one.id == name for one in node.args):
            continue
        if getattr(node.func, "id", getattr(node.func, "attr", "")) in _ASKS:
            return True
    return False


def _is_python(source: Source, kinds: Kinds, node: ast.expr, numbers: Mapping[str, str]) -> bool:
    """Whether an expression is a Python value when these names are."""

    def among(parts: list[ast.expr]) -> bool:
        return all(_is_python(source, kinds, one, numbers) for one in parts)

    match node:
        case ast.Name() if node.id in numbers:
            return True
        case ast.Constant():
            return True
        case ast.Compare():
            return among([node.left, *node.comparators])
        case ast.BinOp():
            return among([node.left, node.right])
        case ast.UnaryOp():
            return among([node.operand])
        case ast.BoolOp():
            return among(node.values)
        case ast.Call(keywords=[]) if any(is_builtin(source, node.func, name) for name in _OF_NUMBERS):
            return among(node.args)
    return kinds.of(node) == "python"
