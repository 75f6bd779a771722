"""Values that Python computes from the truth of tensors: ``not t``, ``any(...)``, ``all(...)``.

Nothing here knows about order (`flow_order`). Conditions of ``if`` are the where rule's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.conditions import Conditions
from graphmend_lsp.mending.rules.flow.value import Value, refuse_uses
from graphmend_lsp.mending.syntax.formatting import operand, operand_of_junction, render
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source


def truth(source: Source, node: ast.AST) -> Value | None:
    """The tensor for a bool that is made of tensors; None when the node is no such value.

    Raises:
        Refused: when it cannot be a tensor.
    """
    place = _place(source, node)
    if place is None or _is_condition(source, place):
        return None
    kinds = Kinds(source, frozenset({place.operand}) if isinstance(place, ast.UnaryOp) else frozenset())
    conditions = Conditions(source, kinds, _no_names)
    if isinstance(place, ast.UnaryOp):
        test = conditions.take(place)
        if test.static:
            raise Refused("`not torch.equal(...)` is also true for different shapes; compare the shapes first.")
        refuse_uses(source, kinds, place)
        return Value(
            place, _as_operand(source, place, test.predicate), "Negate the tensor", conditions=(place.operand,)
        )
    text = _over_list(source, kinds, place) or conditions.take(place).predicate
    refuse_uses(source, kinds, place)
    name = place.func.id if isinstance(place.func, ast.Name) else "any"
    return Value(place, _as_operand(source, place, text), f"Ask the tensor for {name}", tuple(conditions.told))


def _place(source: Source, node: ast.AST) -> ast.UnaryOp | ast.Call | None:
    """The ``not`` or the ``any(...)`` call at a break: the node, the generator in it, or the operand of ``not``."""
    for one in (node, source.parents.get(node), *source.ancestors(node)):
        if isinstance(one, ast.stmt) and one is not node:
            return None
        if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not):
            return one
        if isinstance(one, ast.Call) and any(is_builtin(source, one.func, name) for name in ("any", "all")):
            return one
        if one is not node and not isinstance(
            one, (ast.GeneratorExp, ast.Call, ast.Compare, ast.ListComp, ast.List, ast.Tuple)
        ):
            return None
    return None


def _is_condition(source: Source, node: ast.expr) -> bool:
    """Whether a value only decides an ``if``, ``while``, ``assert`` or conditional expression."""
    parent = source.parents.get(node)
    while isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
        node, parent = parent, source.parents.get(parent)
    return isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and getattr(parent, "test", None) is node


def _over_list(source: Source, kinds: Kinds, call: ast.Call) -> str:
    """``any([a, b])`` of tensors as ``a | b``; "" when the argument is no list of a few tensors."""
    argument = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if not isinstance(argument, (ast.List, ast.Tuple)) or not argument.elts:
        return ""
    for one in argument.elts:
        if isinstance(one, ast.Starred) or kinds.of(one) != "tensor":
            raise Refused(f"GraphMend cannot tell whether `{render(source, one)}` is a tensor.")
        if not kinds.is_bool(one):
            raise Refused(f"`{render(source, one)}` is not known to be a bool tensor; compare it with zero.")
        if found := hazards(source, one):
            raise Refused(f"`{render(source, found[0].node)}` {found[0].words}.")
    sign = " | " if is_builtin(source, call.func, "any") else " & "
    return sign.join(operand_of_junction(render(source, one)) for one in argument.elts)


def _as_operand(source: Source, node: ast.expr, text: str) -> str:
    """The text with parentheses where the expression around it needs them and has none."""
    inside = isinstance(source.parents.get(node), (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp))
    start, end = source.range(node)
    value = source.text.value
    bracketed = value[:start].rstrip()[-1:] == "(" and value[end:].lstrip()[:1] == ")"
    return operand(text) if inside and not bracketed and not text.startswith("~") else text


_no_names: Callable[[str], str] = str
