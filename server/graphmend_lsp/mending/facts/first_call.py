"""State that is set up in a module's first call: a tensor says whether it was, and the branch that asks sets it.

No rewrite of the branch is known to keep the results: chosen by `torch.where`, the state would be made and written in every
call, which a backward pass may notice. So a decline says what to do by hand.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.walk import walk

_ASKING = frozenset(("self", "torch", "bool", "int", "float"))


def advice(source: Source, branch: ast.AST, function: Function) -> str | None:
    """What to do by hand where a branch tests a tensor of the module's and sets it itself; None where it does not."""
    if not isinstance(branch, ast.If):
        return None
    if any(isinstance(one, ast.Name) and one.id not in _ASKING for one in walk(branch.test)):
        return None  # it asks how the state compares with this call's values, not whether it is there
    tested = [name for one in walk(branch.test) if (name := _own(one)) is not None]
    behind = source.range(branch)[0]
    for name in tested:
        if any(_writes(node, name) for node in walk(function) if _is_behind(source, node, behind)):
            return (
                f"`self.{name}` says whether the first call was made. Keep a Python flag beside it (`self.{_flag(name)}`), "
                "set it together with it and after the state is loaded, and test the flag: TorchDynamo knows its value."
            )
    return None


def asked_for(test: ast.expr) -> str:
    """The attribute that ``not hasattr(self, "x")`` and ``self.x is None`` ask for; "" for any other test."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "hasattr":
        on, name = inner.args if len(inner.args) == 2 else (None, None)
        own = isinstance(on, ast.Name) and on.id == "self" and isinstance(name, ast.Constant)
        return str(name.value) if own and isinstance(name, ast.Constant) else ""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        constant = test.comparators[0]
        return (_own(test.left) or "") if isinstance(constant, ast.Constant) and constant.value is None else ""
    return ""


def _is_behind(source: Source, node: ast.AST, place: int) -> bool:
    return isinstance(node, (ast.stmt, ast.expr)) and source.range(node)[0] > place


def _own(node: ast.AST) -> str | None:
    """The attribute that ``self.name`` reads."""
    whole = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if whole and isinstance(node, ast.Attribute) else None


def _writes(node: ast.AST, name: str) -> bool:
    """Whether a node sets the whole tensor ``self.name``, its data, or the attribute itself."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        on = node.func.value
        if isinstance(on, ast.Attribute) and on.attr == "data":
            on = on.value
        return node.func.attr in ("fill_", "copy_", "zero_", "logical_not_", "add_") and _own(on) == name
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _own(node) == name


def _flag(name: str) -> str:
    """What the Python flag beside a buffer would be called: ``is_started`` of ``started``, ``ready`` of ``is_ready``."""
    return name.removeprefix("is_") if name.startswith("is_") else f"is_{name}"
