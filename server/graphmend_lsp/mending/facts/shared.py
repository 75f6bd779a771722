"""Which names of a function may hold the same tensor, and what changes one of them in place later.

Pure reading of `Source`; a call whose result is not known to be new may hand on what it was given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mending.facts.bindings import KEEPERS, operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


def aliased(source: Source, node: ast.AST) -> set[str]:
    """The names and ``self.name``s whose tensors the value of an expression may be, or may hold, or view."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return {f"self.{node.attr}"} if own else aliased(source, node.value)
    if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
        return aliased(source, node.value)
    if isinstance(node, ast.Call):
        return _aliased_by_call(source, node)
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.List, ast.Tuple)):
        parts = [*node.elts]
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        parts = [*node.values]
    return {name for one in parts if one is not None for name in aliased(source, one)}


def _aliased_by_call(source: Source, call: ast.Call) -> set[str]:
    """What a call may hand on: all that it is given, unless its operator is known to make something new."""
    operator = operator_called(source, call)
    if operator is not None and operator.is_new:
        return set()
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    own = isinstance(receiver, ast.Name) and receiver.id == "self"
    parts = [
        *([receiver] if receiver is not None and not own else []),
        *call.args,
        *(one.value for one in call.keywords),
    ]
    return {name for one in parts for name in aliased(source, one)}


def changed_later(source: Source, names: frozenset[str], root: ast.stmt, kinds: Kinds) -> tuple[ast.AST, str] | None:
    """What changes a tensor in place behind `root`, or in another turn, that one of the names may hold; None for nothing.

    Names of ``self`` are followed through the whole class, others through the function.
    """
    function = source.function(root)
    if function is None:
        return None
    own = any(name.startswith("self.") for name in names)
    where = (source.owner(root) if own else None) or function
    known = _known_by(source, function, names)
    loops = [one for one in source.ancestors(root) if isinstance(one, (ast.For, ast.While))]
    again = {id(node) for loop in loops[:1] for node in walk(loops[-1])}
    inside = {id(node) for node in walk(root)}
    end = root.end_lineno or root.lineno
    for node in walk(where):
        if id(node) in inside:
            continue
        in_function = function.lineno <= getattr(node, "lineno", 0) <= (function.end_lineno or 0)
        if in_function and id(node) not in again and getattr(node, "lineno", end + 1) <= end and not own:
            continue
        for changed in _changed(node, kinds):
            found = sorted(aliased(source, changed) & (known if in_function else names))
            if found:
                return node, ast.unparse(changed)
    return None


def _known_by(source: Source, function: ast.AST, names: frozenset[str]) -> frozenset[str]:
    """The names that may hold what the names hold: what is bound to what they are bound to, in both directions."""
    pairs: list[tuple[set[str], set[str]]] = []
    for one in walk(function):
        if isinstance(one, ast.Assign):
            pairs += [(_stored(source, target), aliased(source, one.value)) for target in one.targets]
        elif isinstance(one, (ast.AnnAssign, ast.NamedExpr)) and one.value is not None:
            pairs.append((_stored(source, one.target), aliased(source, one.value)))
        elif isinstance(one, (ast.For, ast.comprehension)):
            pairs.append((_stored(source, one.target), aliased(source, one.iter)))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in KEEPERS:
            pairs += [(aliased(source, one.func.value), aliased(source, argument)) for argument in one.args]
    known = set(names)
    size = 0
    while size != len(known):
        size = len(known)
        for targets, values in pairs:
            if values & known:
                known |= targets
            if targets & known:
                known |= values
    return frozenset(known)


def _stored(source: Source, target: ast.expr) -> set[str]:
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        return aliased(source, target)
    return set(assigned(target))


def _changed(node: ast.AST, kinds: Kinds) -> Iterator[ast.expr]:
    """The tensors that running one node changes in place."""
    if isinstance(node, ast.Call):
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Attribute) and method.endswith("_") and not method.endswith("__"):
            yield node.func.value
            if method.removesuffix("_") not in TENSOR_METHODS:
                yield from node.args  # torch.nn.init.normal_(t), F.relu_(t)
        for one in node.keywords:
            if one.arg == "out":
                yield one.value
            elif one.arg == "inplace" and not (isinstance(one.value, ast.Constant) and not one.value.value):
                yield from node.args
    elif isinstance(node, ast.AugAssign) and kinds.of(node.target) != "python":
        yield node.target
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and kinds.of(node.value) != "python":
        yield node.value
