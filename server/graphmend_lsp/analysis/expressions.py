"""Walking through expressions: what each one's value is; calls, subscripts and tests are shown to the detectors.

Evaluates every part once, in Python's order. Only `evaluate`, `test`, `fixed` and
`bind` are for others.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from graphmend_lsp.analysis import calls, names
from graphmend_lsp.analysis.kinds import (
    LAYER,
    MASK,
    NONE,
    PYTHON,
    TENSOR,
    UNKNOWN,
    Kind,
    element,
    is_tensor,
    join,
    join_all,
    of_annotation,
    sequence,
)
from graphmend_lsp.analysis.narrowing import narrow
from graphmend_lsp.analysis.scope import Call, Scope, path_of

_BUILTINS = frozenset(dir(builtins))


def evaluate(scope: Scope, node: ast.expr) -> Kind:
    """The kind of the expression's value."""
    walker = _WALKERS.get(type(node))
    kind = walker(scope, node) if walker is not None else _walk_parts(scope, node)
    scope.kinds[id(node)] = kind
    return kind


def test(scope: Scope, node: ast.expr) -> None:
    """Walk an expression whose truth decides what runs next."""
    if isinstance(node, ast.BoolOp):
        kept = dict(scope.names)
        for value in node.values:
            test(scope, value)
            narrow(scope, value, isinstance(node.op, ast.And), evaluate)
            if fixed(scope, value) is (not isinstance(node.op, ast.And)):
                break
        scope.names = _with_walrus(kept, scope, node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        test(scope, node.operand)
    else:
        evaluate(scope, node)
        scope.show("test", node)


def fixed(scope: Scope, node: ast.expr) -> bool | None:
    """The truth of an expression that is the same whenever Dynamo traces (`is_compiling()`), None for all others."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = fixed(scope, node.operand)
        return None if value is None else not value
    if isinstance(node, ast.BoolOp):
        values = [fixed(scope, value) for value in node.values]
        stop = isinstance(node.op, ast.Or)
        if stop in values:
            return stop
        return None if None in values else not stop
    quiet = scope.kinds.get(id(node.func if isinstance(node, ast.Call) else node))
    if quiet is None and isinstance(node, (ast.Call, ast.Name, ast.Attribute)):
        scope.quiet += 1
        evaluate(scope, node)
        scope.quiet -= 1
    if isinstance(node, ast.Call):
        return names.is_guard_name(scope.dotted(node.func))
    if isinstance(node, ast.Name) and node.id not in scope.names:
        constant = scope.ask("const", node.id)
        if constant.tag == "python":
            return constant.name == "True"
    dotted = scope.dotted(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return names.is_guard_name(dotted) if dotted in ("typing.TYPE_CHECKING", "builtins.__debug__") else None


def bind(scope: Scope, target: ast.expr, kind: Kind) -> None:
    """Store a value of this kind in a target of an assignment, a loop or a `with`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        parts: tuple[Kind, ...] = ()
        if kind.tag == "seq" and kind.name == "fixed" and len(kind.items) == len(target.elts):
            parts = kind.items
        for index, each in enumerate(target.elts):
            bind(scope, each, parts[index] if parts else element(kind))
    elif isinstance(target, ast.Starred):
        bind(scope, target.value, Kind("seq", "", (element(kind),)))
    elif isinstance(target, ast.Subscript):
        evaluate(scope, target.value)
        evaluate(scope, target.slice)
    else:
        if isinstance(target, ast.Attribute) and evaluate(scope, target.value).tag == "self":
            scope.store(target.attr, kind)
        path = path_of(target)
        if path:
            scope.names[path] = kind


def _with_walrus(kept: dict[str, Kind], scope: Scope, node: ast.expr) -> dict[str, Kind]:
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
            kept[part.target.id] = scope.names.get(part.target.id, UNKNOWN)
    return kept


def _walk_parts(scope: Scope, node: ast.AST) -> Kind:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            evaluate(scope, part)
    return UNKNOWN


def _constant(_scope: Scope, node: ast.Constant) -> Kind:
    return NONE if node.value is None else PYTHON


def _name(scope: Scope, node: ast.Name) -> Kind:
    known = scope.names.get(node.id)
    if known is not None:
        return known
    kind = scope.ask("name", node.id)
    if kind is UNKNOWN and node.id in _BUILTINS:
        return Kind("ref", f"builtins.{node.id}")
    return kind


def _attribute(scope: Scope, node: ast.Attribute) -> Kind:
    base = evaluate(scope, node.value)
    known = scope.names.get(path_of(node))
    if known is not None:
        return known
    return attribute_of(scope, base, node.attr)


def attribute_of(scope: Scope, base: Kind, name: str) -> Kind:
    """What an attribute of a value of this kind holds."""
    if base.tag == "tensor":
        return names.tensor_attribute(name, base)
    if base.tag == "ref":
        dotted = f"{base.name}.{name}"
        if base.name == "torch" and dotted in ("torch.pi", "torch.inf", "torch.nan", "torch.e"):
            return PYTHON
        return Kind("ref", dotted)
    if base.tag in ("self", "module", "class", "super"):
        if base == LAYER:
            return TENSOR if name in ("weight", "bias") else UNKNOWN
        kind = scope.ask("attr", base.name, name, base.tag)
        if kind.tag == "property":
            scope.calls[Call(kind.name, (Kind("self", base.name),))] = None
            return scope.ask("return", kind.name)
        return kind
    return PYTHON if base.tag == "python" and name in ("T",) else UNKNOWN


def _call(scope: Scope, node: ast.Call) -> Kind:
    function = node.func
    callee = evaluate(scope, function)
    given = [evaluate(scope, each.value if isinstance(each, ast.Starred) else each) for each in node.args]
    keywords = {each.arg or "**": evaluate(scope, each.value) for each in node.keywords}
    for kind in [*given, *keywords.values()]:
        if kind.tag in ("function", "method"):
            scope.calls[Call(kind.name, known=False)] = None
    starred = any(isinstance(each, ast.Starred) for each in node.args) or "**" in keywords
    kind = _result(scope, node, callee, given, keywords, starred)
    if (
        isinstance(function, ast.Attribute)
        and function.attr in ("register_buffer", "register_parameter")
        and len(given) > 1
    ):
        _register(scope, function, node.args[0], given[1])
    scope.kinds[id(node)] = kind
    scope.show("call", node)
    return kind


def _register(scope: Scope, function: ast.Attribute, name: ast.expr, kind: Kind) -> None:
    """A buffer or parameter: torch lets it hold nothing but a tensor or None."""
    if scope.kind(function.value).tag == "self" and isinstance(name, ast.Constant) and isinstance(name.value, str):
        scope.stores[name.value] = kind if is_tensor(kind) else TENSOR


def _result(
    scope: Scope, node: ast.Call, callee: Kind, given: list[Kind], keywords: dict[str, Kind], starred: bool
) -> Kind:
    if callee.tag == "ref":
        if callee.name == "builtins.super":
            owner = scope.function.owner if scope.function else None
            return Kind("super", owner) if owner else UNKNOWN
        if callee.name == "typing.cast" and len(node.args) == 2:
            return of_annotation(node.args[0])
        return calls.of_function(callee.name, given, keywords)
    if callee.tag in ("function", "method"):
        receiver = [Kind("self", callee.items[0].name)] if callee.tag == "method" and callee.items else []
        arguments = (*receiver, *given)
        scope.calls[Call(callee.name, arguments, tuple(keywords.items()), not starred)] = None
        return scope.ask("return", callee.name)
    if callee == LAYER:
        return TENSOR
    if callee.tag in ("module", "self"):
        forward = scope.ask("attr", callee.name, "forward", "module")
        if forward.tag == "method":
            scope.calls[
                Call(forward.name, (Kind("self", callee.name), *given), tuple(keywords.items()), not starred)
            ] = None
            return scope.ask("return", forward.name)
        return UNKNOWN
    if callee.tag == "class":
        return scope.ask("instance", callee.name)
    if isinstance(node.func, ast.Attribute):
        return _method_result(scope, node.func, given, keywords)
    return UNKNOWN


def _method_result(scope: Scope, function: ast.Attribute, given: list[Kind], keywords: dict[str, Kind]) -> Kind:
    receiver = scope.kind(function.value)
    if receiver.tag == "unknown" and function.attr in names.SURE_METHODS:
        receiver = scope.kinds[id(function.value)] = TENSOR
        path = path_of(function.value)
        if path in scope.names:
            scope.names[path] = TENSOR
    if is_tensor(receiver):
        return calls.of_method(function.attr, receiver, given, keywords)
    if receiver.tag == "seq":
        if function.attr in ("append", "extend", "insert") and given:
            added = element(given[-1]) if function.attr == "extend" else given[-1]
            path = path_of(function.value)
            if path:
                scope.names[path] = Kind("seq", "", (join(element(receiver), added) if receiver.items else added,))
            return NONE
        return element(receiver) if function.attr == "pop" else UNKNOWN
    return PYTHON if receiver.tag in ("python", "logger") else UNKNOWN


def _subscript(scope: Scope, node: ast.Subscript) -> Kind:
    base = evaluate(scope, node.value)
    index = evaluate(scope, node.slice)
    if base.tag == "ref" and base.name.endswith(("ACT2FN", "ACT2CLS", "activations")):
        return LAYER
    kind = UNKNOWN
    if is_tensor(base):
        kind = base
    elif base.tag == "seq":
        if isinstance(node.slice, ast.Slice):
            kind = base if base.name != "fixed" else Kind("seq", "", (element(base),))
        elif base.name == "fixed" and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            kind = base.items[node.slice.value] if -len(base.items) <= node.slice.value < len(base.items) else UNKNOWN
        elif index.tag in ("python", "unknown"):
            kind = element(base)
    elif base.tag == "python":
        kind = PYTHON
    scope.kinds[id(node)] = kind
    if isinstance(node.ctx, ast.Load):
        scope.show("subscript", node)
    return kind


def _binary(scope: Scope, node: ast.BinOp) -> Kind:
    left, right = evaluate(scope, node.left), evaluate(scope, node.right)
    text = isinstance(node.left, ast.JoinedStr) or (
        isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    )
    if text and isinstance(node.op, ast.Mod):
        return PYTHON
    return calls.of_operator(type(node.op).__name__, left, right)


def _unary(scope: Scope, node: ast.UnaryOp) -> Kind:
    if isinstance(node.op, ast.Not):
        evaluate(scope, node.operand)
        scope.show("negation", node)
        return PYTHON
    return evaluate(scope, node.operand)


def _compare(scope: Scope, node: ast.Compare) -> Kind:
    kinds = [evaluate(scope, each) for each in (node.left, *node.comparators)]
    if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return PYTHON
    if any(
        isinstance(each, ast.Constant) and (each.value is None or isinstance(each.value, str))
        for each in node.comparators
    ):
        return PYTHON
    scope.show("comparison", node)
    if any(map(is_tensor, kinds)):
        return MASK
    return PYTHON if all(kind.tag in ("python", "none") for kind in kinds) else UNKNOWN


def _boolean(scope: Scope, node: ast.BoolOp) -> Kind:
    kept = dict(scope.names)
    kinds = []
    for value in node.values[:-1]:
        test(scope, value)
        kinds.append(evaluate_again(scope, value))
        narrow(scope, value, isinstance(node.op, ast.And), evaluate)
    kinds.append(evaluate(scope, node.values[-1]))
    scope.names = _with_walrus(kept, scope, node)
    return join_all(kinds)


def evaluate_again(scope: Scope, node: ast.expr) -> Kind:
    """The kind of an expression that was just tested."""
    known = scope.kinds.get(id(node))
    if known is not None:
        return known
    return PYTHON if isinstance(node, ast.UnaryOp) else UNKNOWN


def _either(scope: Scope, node: ast.IfExp) -> Kind:
    test(scope, node.test)
    value = fixed(scope, node.test)
    kept = dict(scope.names)
    kinds = []
    for branch, truth in ((node.body, True), (node.orelse, False)):
        narrow(scope, node.test, truth, evaluate)
        if value is not (not truth):
            kinds.append(evaluate(scope, branch))
        scope.names = dict(kept)
    return join_all(kinds)


def _display(scope: Scope, node: ast.Tuple | ast.List | ast.Set) -> Kind:
    kinds = [evaluate(scope, each) for each in node.elts]
    if any(isinstance(each, ast.Starred) for each in node.elts):
        kinds = [
            element(kind) if isinstance(each, ast.Starred) else kind
            for each, kind in zip(node.elts, kinds, strict=True)
        ]
        return Kind("seq", "", (join_all(kinds),))
    return sequence(*kinds) if isinstance(node, ast.Tuple) or len(kinds) > 1 else Kind("seq", "", tuple(kinds))


def _comprehension(scope: Scope, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Kind:
    kept = dict(scope.names)
    for generator in node.generators:
        bind(scope, generator.target, element(evaluate(scope, generator.iter)))
        for condition in generator.ifs:
            test(scope, condition)
            narrow(scope, condition, True, evaluate)
    if isinstance(node, ast.DictComp):
        evaluate(scope, node.key)
        evaluate(scope, node.value)
        kind = UNKNOWN
    else:
        kind = Kind("seq", "", (evaluate(scope, node.elt),))
    scope.names = _with_walrus(kept, scope, node)
    return kind


def _named(scope: Scope, node: ast.NamedExpr) -> Kind:
    kind = evaluate(scope, node.value)
    bind(scope, node.target, kind)
    return kind


def _text(scope: Scope, node: ast.JoinedStr) -> Kind:
    _walk_parts(scope, node)
    return PYTHON


def _starred(scope: Scope, node: ast.Starred) -> Kind:
    return evaluate(scope, node.value)


def _lambda(_scope: Scope, _node: ast.Lambda) -> Kind:
    return UNKNOWN


_WALKERS: dict[type[ast.expr], Callable[[Scope, Any], Kind]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _either,
    ast.Tuple: _display,
    ast.List: _display,
    ast.Set: _display,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.NamedExpr: _named,
    ast.JoinedStr: _text,
    ast.Starred: _starred,
    ast.Lambda: _lambda,
}
