"""A roll by a number that is read from a tensor: the same elements by their indices, for which a tensor will do.

``torch.roll(x, n, d)[i]`` is ``x[(i - n) % size]`` along it: a copy either way, and gradients go back to their places.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.scalars import plain
from graphmend_lsp.mending.lowering.number_calls import Following
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, spell


def rolled(flow: Following, node: ast.expr, call: ast.Call, given: str) -> str | None:
    """The text of a roll along one dimension by the whole number whose text is `given`; None for other calls."""
    tensor, rest = _rolls(flow, call)
    named = {one.arg: one.value for one in call.keywords}
    shifts = named.get("shifts", next(iter(rest), None))
    dims = named.get("dims", next(iter(rest[1:]), None))
    if shifts is not node or not isinstance(tensor, (ast.Name, ast.Attribute)) or not _is_constant(dims):
        return None
    if not all(one.form == "int" or flow.scalars.is_whole(one.tensor) for one in flow.reads):
        return None
    assert dims is not None
    arange, edit = spell(flow.source, "torch.arange", call)
    flow.imports += [edit] if edit is not None else []
    text = plain(given).replace(".detach()", "")  # nothing has a gradient through an index
    size = f"{render(flow.source, tensor)}.shape[{render(flow.source, dims)}]"
    behind = f"+ {text[1:]}" if text.startswith("-") else f"- {operand(text)}"
    name = render(flow.source, tensor)
    return (
        f"{name}.index_select({render(flow.source, dims)}, ({arange}({size}, device={name}.device) {behind}) % {size})"
    )


def _rolls(flow: Following, call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """The tensor that a call rolls, and its other arguments without a keyword."""
    if dotted(flow.source, call.func) == "torch.roll":
        named = next((one.value for one in call.keywords if one.arg == "input"), None)
        return (named, call.args) if named is not None else (next(iter(call.args), None), call.args[1:])
    method = call.func if isinstance(call.func, ast.Attribute) and call.func.attr == "roll" else None
    return (method.value, call.args) if method is not None and flow.kinds.of(method.value) == "tensor" else (None, [])


def _is_constant(node: ast.expr | None) -> bool:
    """Whether an expression is a whole number that is written out."""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int
