"""What statements of a branch read and store, as names and ``self.name``s, and which ways of an ``if`` return.

Pure reading; nothing is refused here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.syntax.branches import returns
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.walk import walk


def read_by(node: ast.AST) -> frozenset[str]:
    """The names and ``self.name``s that an expression or statement reads; ``self.*`` where a method may read any."""
    found = set(loaded(node))
    for one in walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) and isinstance(one.value, ast.Name):
            found.add(f"{one.value.id}.{one.attr}")
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and is_self(one.func.value):
            found |= set() if one.func.attr == "register_buffer" else {"self.*"}
    return frozenset(found)


def called_writes(call: ast.Call) -> frozenset[str]:
    """What a call made for its effect may store in ``self``: anything, or the buffer that it registers."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "register_buffer" and call.args:
        name = call.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return frozenset({f"self.{name.value}"})
    return frozenset({"self.*"})


def stored_names(target: ast.expr) -> frozenset[str]:
    """The names and attributes that a target binds."""
    return frozenset(
        one.id if isinstance(one, ast.Name) else ast.unparse(one)
        for one in walk(target)
        if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store)
    )


def stored_attributes(node: ast.AST) -> frozenset[str]:
    """The attributes that a statement stores in."""
    return frozenset(
        ast.unparse(one) for one in walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    )


def may_return(one: ast.If) -> bool:
    """Whether one way through an ``if`` returns and another goes on."""
    return any(isinstance(node, ast.Return) for node in walk(one)) and not (returns(one.body) and returns(one.orelse))


def holder_of(source: Source, target: ast.Subscript) -> str:
    """What an element is stored in: a name, or an attribute of ``self``; "" for anything that must be computed."""
    inner = target.value
    while isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
        inner = inner.value
    own = isinstance(inner, ast.Attribute) and is_self(inner.value)
    return render(source, inner) if own or isinstance(inner, ast.Name) else ""


def is_self(node: ast.AST) -> bool:
    """Whether an expression is ``self``."""
    return isinstance(node, ast.Name) and node.id == "self"


def moved_by(source: Source, kinds: Kinds, target: ast.expr, value: ast.expr) -> str:
    """``self.a`` of ``self.a = self.a.to(device)``: the same values on another device."""
    if not (isinstance(target, ast.Attribute) and is_self(target.value) and isinstance(value, ast.Call)):
        return ""
    same = isinstance(value.func, ast.Attribute) and ast.unparse(value.func.value) == ast.unparse(target)
    if not (same and isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cuda", "cpu")):
        return ""
    device = [*value.args, *(keyword.value for keyword in value.keywords if keyword.arg == "device")]
    if len(device) > 1 or len(device) != len(value.args) + len(value.keywords):
        return ""
    if any("dtype" in ast.unparse(one) or kinds.of(one) == "tensor" for one in device):
        return ""
    return render(source, target)
