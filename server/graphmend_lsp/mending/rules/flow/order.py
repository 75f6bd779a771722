"""Values that Python finds by comparing tensors: ``sorted([...])``, ``max(..., key=...)``, ``min(..., key=...)``.

Nothing here knows about truth values (`flow_truth`).
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.rules.flow.value import Value
from graphmend_lsp.mending.syntax.formatting import operand, operand_of_comparison, render
from graphmend_lsp.mending.syntax.imports import is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


def ordered(source: Source, node: ast.AST) -> Value | None:
    """The tensors for what ``sorted`` or ``max``/``min`` with a key gives; None when the node is no such call.

    Raises:
        Refused: when the elements or the key are not understood.
    """
    for one in (node, *source.ancestors(node)):
        if isinstance(one, ast.stmt):
            return None
        if isinstance(one, ast.Call) and is_builtin(source, one.func, "sorted"):
            return _sorted(source, one)
        if isinstance(one, ast.Call) and any(is_builtin(source, one.func, name) for name in ("max", "min")):
            return _extreme(source, one) if any(keyword.arg == "key" for keyword in one.keywords) else None
    return None


def _sorted(source: Source, call: ast.Call) -> Value:
    falling = _reverse(call)
    elements = _elements(source, call.args[:1])
    parent = source.parents.get(call)
    at = _constant_index(parent) if isinstance(parent, ast.Subscript) and parent.value is call else None
    whole = parent if at is not None and isinstance(parent, ast.Subscript) else call
    if elements is not None and len(elements) == 2 and at is not None:
        where, added = spell(source, "torch.where", call)
        a, b = (render(source, one) for one in elements)
        first, second = (operand_of_comparison(text) for text in (a, b))
        test = f"{second} > {first}" if falling else f"{second} < {first}"
        chosen = f"{where}({test}, {b}, {a})" if at in (0, -2) else f"{where}({test}, {a}, {b})"
        if at not in (0, 1, -1, -2):
            raise Refused(f"`{render(source, whole)}` is out of range.")
        return Value(whole, chosen, "Choose the smaller or larger with torch.where", added=added)
    if elements is None:
        tensor = call.args[0] if call.args else None
        if tensor is None or Kinds(source).of(tensor) != "tensor":
            raise Refused(
                f"GraphMend cannot tell what `{render(source, call)}` sorts; stack the tensors and use torch.sort."
            )
        base, added = operand(render(source, tensor)), None
    else:
        stack, added = spell(source, "torch.stack", call)
        base = f"{stack}([{', '.join(render(source, one) for one in elements)}])"
    order = ", descending=True" if falling else ""
    text = f"{base}.sort(dim=0{order}, stable=True).values"
    if at is not None:
        text += f"[{at}]"
    elif not (isinstance(parent, ast.Assign) and isinstance(parent.targets[0], (ast.Tuple, ast.List))):
        text = f"list({text}.unbind())"
    return Value(
        whole, text, "Sort with torch.sort", ("NaN comes last; Python leaves it where the comparisons put it.",), added=added
    )  # fmt: skip


def _extreme(source: Source, call: ast.Call) -> Value:
    elements = _elements(source, call.args[:1]) if len(call.args) == 1 else list(call.args)
    if elements is None or len(elements) != 2 or len(call.keywords) != 1:
        raise Refused("A key can choose between two tensors only; stack the keys, take their argmax, and index_select.")
    key = call.keywords[0].value
    if isinstance(key, ast.Lambda) and len(key.args.args) == 1 and not key.args.defaults:
        parameter = key.args.args[0].arg
        texts = [_applied(source, key.body, parameter, one) for one in elements]
    else:
        raise Refused(f"The key `{render(source, key)}` is no lambda of one argument; write it as a lambda.")
    for one in (*elements, key.body):
        if found := hazards(source, one):
            raise Refused(f"`{render(source, found[0].node)}` {found[0].words}.")
    where, added = spell(source, "torch.where", call)
    a, b = (render(source, one) for one in elements)
    first, second = (operand_of_comparison(text) for text in texts)
    sign = ">" if is_builtin(source, call.func, "max") else "<"
    return Value(call, f"{where}({second} {sign} {first}, {b}, {a})", "Choose by the key with torch.where", added=added)


def _applied(source: Source, body: ast.expr, parameter: str, argument: ast.expr) -> str:
    text = operand(render(source, argument))
    exchange: dict[ast.AST, str] = {
        one: text for one in walk(body) if isinstance(one, ast.Name) and one.id == parameter
    }
    return render(source, body, exchange)


def _elements(source: Source, arguments: list[ast.expr]) -> list[ast.expr] | None:
    """The elements of a list or tuple display; None when the argument is another expression."""
    if not arguments or not isinstance(arguments[0], (ast.List, ast.Tuple)):
        return None
    elements = arguments[0].elts
    if not elements or any(isinstance(one, ast.Starred) for one in elements):
        raise Refused(f"`{render(source, arguments[0])}` has no fixed number of tensors.")
    for one in elements:
        if (found := hazards(source, one)) and found[0].kind in ("effect", "random"):
            raise Refused(f"`{render(source, found[0].node)}` {found[0].words}.")
    return list(elements)


def _reverse(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "reverse" and isinstance(keyword.value, ast.Constant):
            return bool(keyword.value.value)
        raise Refused(f"`{keyword.arg}` decides the order in Python; stack the tensors and use torch.sort.")
    return False


def _constant_index(node: ast.Subscript) -> int | None:
    index = node.slice
    sign = 1
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        sign, index = -1, index.operand
    return sign * index.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else None
