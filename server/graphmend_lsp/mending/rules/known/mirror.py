"""Tensors that only ever hold Python integers that the program still has: ``shapes = torch.tensor(sizes)``.

Found in one function, or through a whole file when a tensor and its list are always handed on together, under the same names.
Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

_INTEGERS = ("torch.long", "torch.int64", "torch.int", "torch.int32")
_NARROW = ("torch.int", "torch.int32")
_MAKERS = ("torch.tensor", "torch.as_tensor", "torch.LongTensor")
_CHANGERS = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse")


@dataclass(frozen=True, slots=True)
class Mirror:
    """The Python value that a tensor holds the integers of, as text; `handed` says that it is known from the file's calls."""

    text: str
    node: ast.expr
    handed: bool = False


def mirror_of(source: Source, tensor: ast.expr) -> Mirror | None:
    """What a tensor holds, or None when that is not known."""
    if isinstance(tensor, ast.Call):
        held = _made_from(source, tensor)
        return Mirror(render(source, held), held) if held is not None else None
    if not isinstance(tensor, ast.Name):
        return None
    function, statement = source.function(tensor), source.statement(tensor)
    if function is None or statement is None or _changes(function, tensor.id):
        return None
    value = last_value(source, tensor.id, statement)
    if isinstance(value, ast.Call):
        held = _made_from(source, value)
        if held is None or _moves(source, function, held, value, tensor):
            return None
        return Mirror(render(source, held), held)
    pair = partner_of(source, tensor.id)
    if pair is not None and {tensor.id, pair} <= parameters(function):
        return Mirror(pair, ast.Name(pair, ast.Load()), handed=True)
    if pair is not None and tensor.id in parameters(function):
        raise Refused(f"`{tensor.id}` holds what `{pair}` holds; hand `{pair}` to `{function.name}`, too.")
    return None


def wraps(source: Source, node: ast.expr) -> bool:
    """Whether an expression computes with tensors of known integers in int32, which wraps where Python's integers do not."""
    if not any(isinstance(one, ast.BinOp) for one in walk(node)):
        return False
    for one in walk(node):
        statement = source.statement(one) if isinstance(one, ast.Name) else None
        made = last_value(source, one.id, statement) if isinstance(one, ast.Name) and statement is not None else one
        if isinstance(made, ast.Call) and dotted(source, made.func) in _MAKERS:
            kinds = [dotted(source, keyword.value) for keyword in made.keywords if keyword.arg == "dtype"]
            if any(kind in _NARROW for kind in kinds):
                return True
    return False


def partner_of(source: Source, name: str) -> str | None:
    """The list that a tensor's name goes with in the whole file: made of it, and handed on with it in every call."""
    partner: str | None = None
    for function in _functions(source):
        for statement in walk(function):
            if not isinstance(statement, ast.stmt) or name not in _own_assigned(statement):
                continue
            value = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
            held = _made_from(source, value) if isinstance(value, ast.Call) else None
            if not isinstance(held, ast.Name) or (partner is not None and held.id != partner):
                return None
            if _moves(source, function, held, value, function.body[-1]) or _changes(function, name):
                return None
            partner = held.id
    if partner is None:
        return None
    for call in (one for one in source.nodes if isinstance(one, ast.Call)):
        handed = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if name in handed and not (_is_name(handed[name], name) and _is_name(handed.get(partner), partner)):
            return None
        if partner in handed and name not in handed:
            return None
        if any(_is_name(one, name) for one in call.args) and not any(_is_name(one, partner) for one in call.args):
            called = called_function(source, call)
            if called is None and not _is_neutral(source, call):
                return None
            if called is not None and partner in parameters(called):
                return None
    for function in _functions(source):
        if {name, partner} <= parameters(function) and {name, partner} & _stored(function):
            return None
    return partner


def told_of(text: str) -> str:
    """What a mend that relies on a list being handed on says of it."""
    return (
        f"That the tensor holds the integers of `{text}` is read from the calls in this file; a caller elsewhere must "
        "hand on the two together."
    )


def called_function(source: Source, call: ast.Call) -> Function | None:
    """The one function or method of the file that a call by name can mean."""
    name = _called_name(call)
    found = [one for one in _functions(source) if one.name == name]
    return found[0] if len(found) == 1 else None


def calls_of(source: Source, function: Function) -> list[ast.Call]:
    """The calls in the file that mean a function by its name."""
    if sum(one.name == function.name for one in _functions(source)) != 1:
        return []
    calls = (one for one in source.nodes if isinstance(one, ast.Call))
    return [one for one in calls if _called_name(one) == function.name]


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _made_from(source: Source, call: ast.Call) -> ast.expr | None:
    """The Python integers that a call makes a tensor of."""
    if dotted(source, call.func) not in _MAKERS or len(call.args) != 1:
        return None
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if not keywords.keys() <= {"dtype", "device"}:
        return None
    kind = dotted(source, keywords["dtype"]) if "dtype" in keywords else None
    held = call.args[0]
    if "dtype" in keywords and kind not in _INTEGERS:
        return None
    certain = kind is not None or dotted(source, call.func) == "torch.LongTensor" or _is_integers(source, held)
    return held if certain and _is_plain(held) else None


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression can be written again: names, attributes, indices, displays, constants, ``len``."""
    allowed = (
        ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub,
        ast.BinOp, ast.operator, ast.Slice,
    )  # fmt: skip
    return all(isinstance(one, allowed) or _is_len(one) for one in walk(node))


def _is_len(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        getattr(node.func, "id", "") == "len" or getattr(node.func, "attr", "") in ("size", "numel", "dim")
    )


def _is_integers(source: Source, node: ast.expr) -> bool:
    """Whether an expression surely holds Python integers: sizes, lengths, integer constants and displays of them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(_is_integers(source, one) for one in node.elts)
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "ndim")
    if isinstance(node, ast.Subscript):
        return _is_integers(source, node.value)
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.Div) and _is_integers(source, node.left) and _is_integers(source, node.right)
    if isinstance(node, ast.Call):
        return is_builtin(source, node.func, "len") or (
            isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "numel", "dim")
        )
    if isinstance(node, ast.Name):
        statement = source.statement(node)
        value = last_value(source, node.id, statement) if statement is not None else None
        return value is not None and not isinstance(value, ast.Name) and _is_integers(source, value)
    return False


def _moves(source: Source, function: Function, held: ast.expr, made: ast.AST | None, use: ast.AST) -> bool:
    """Whether what a tensor was made of may have changed between its making and a use (the end of the text of `use`)."""
    names = {one.id for one in walk(held) if isinstance(one, ast.Name)}
    begin = source.range(made)[1] if made is not None else 0
    end = source.range(use)[1]
    for one in walk(function):
        if not isinstance(one, (ast.Name, ast.Attribute)) or not begin <= source.range(one)[0] < end:
            continue
        if isinstance(one, ast.Name) and one.id in names and isinstance(one.ctx, ast.Store):
            return True
        if isinstance(one, ast.Attribute) and _is_any(one.value, names) and one.attr in _CHANGERS:
            return True
        parent = source.parents.get(one)
        if _is_any(one, names) and isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            return True
    return False


def _changes(function: Function, name: str) -> bool:
    """Whether a function may change a tensor in place."""
    for one in walk(function):
        if isinstance(one, ast.AugAssign) and _root(one.target) == name:
            return True
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store) and _root(one) == name:
            return True
        method = one.func if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) else None
        if method is not None and _root(method.value) == name and method.attr[-1:] == "_" and method.attr[-2:] != "__":
            return True
    return False


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_neutral(source: Source, call: ast.Call) -> bool:
    name = dotted(source, call.func) or ""
    builtin = any(is_builtin(source, call.func, one) for one in ("len", "enumerate", "isinstance", "zip", "print"))
    return builtin or name.startswith("torch.")


def _functions(source: Source) -> Iterator[Function]:
    return (one for one in source.nodes if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _stored(function: Function) -> frozenset[str]:
    return frozenset(name for statement in function.body for name in assigned(statement)) & local_names(function)


def _own_assigned(statement: ast.stmt) -> frozenset[str]:
    """What a statement binds itself, not what statements in it do."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return assigned(statement.target)
    return frozenset() if hasattr(statement, "body") else assigned(statement)


def _is_name(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_any(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names
