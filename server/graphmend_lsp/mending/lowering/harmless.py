"""Operands for which a value could raise on the side of a choice that is not taken, and what to put in their place."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import value_at
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.python_callers import was_whole_number
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_WHOLE = frozenset(("int64", "int32", "int16", "int8"))


def harmless_operand(source: Source, kinds: Kinds, node: ast.AST) -> tuple[ast.expr, str] | None:
    """The operand for which a value could raise, and a number of its dtype for which it does not; None where none is known.

    An index that surely is a whole number and no mask, into a tensor: 0 is in range of all that have elements. A divisor of
    ``//`` or ``%`` that surely is a tensor.
    """
    if isinstance(node, ast.Subscript):
        tensors = kinds.of(node.value) == kinds.of(node.slice) == "tensor" or is_position_in_table(source, node)
        fits = isinstance(node.ctx, ast.Load) and tensors and is_position(source, node.slice)
        return (node.slice, "0") if fits else None
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.FloorDiv, ast.Mod))
        and kinds.of(node.right) == "tensor"
    ):
        reads = any(isinstance(one, ast.Call) and getattr(one.func, "id", "") in ("int", "float") for one in walk(node))
        items = any(isinstance(one, ast.Attribute) and one.attr in ("item", "tolist") for one in walk(node))
        if not (reads or items):
            return node.right, "1"
    return None


def is_position_in_table(source: Source, node: ast.Subscript) -> bool:
    """Whether one number without dimensions chooses from a tensor, by what a run showed.

    TorchDynamo breaks the graph, and inductor fails, where such a tensor is an index and no input.
    """
    table = Seen(source).of(node.value)
    return table is not None and bool(table.rank) and was_whole_number(source, node.slice)


def is_position(source: Source, node: ast.expr) -> bool:
    """Whether an index surely is a tensor of whole numbers: `argmax` and its like, what ``long()`` converts, what ran."""
    fact = Seen(source).of(node)
    if fact is not None and fact.is_tensor and fact.tensor is not None and set(fact.tensor.dtypes) <= _WHOLE:
        Seen(source).believe(node, "a tensor of whole numbers")
        return True
    if isinstance(node, ast.Name):
        value = value_at(source, node)
        return value is not None and is_position(source, value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Mod)):
        sides = (node.left, node.right)
        whole = [isinstance(one, ast.Constant) and type(one.value) is int for one in sides]
        return any(not one for one in whole) and all(
            fits or is_position(source, one) for fits, one in zip(whole, sides, strict=True)
        )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("argmax", "argmin", "long", "int", "count_nonzero", "argsort", "searchsorted")
