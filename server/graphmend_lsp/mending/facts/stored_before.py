"""What a function has stored before a place where it may raise. Pure reading of `Source`.

What a constructor stores in the object that it makes goes with the object, which nobody else has yet.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.elsewhere import Elsewhere
from graphmend_lsp.mending.facts.operators import is_arithmetic
from graphmend_lsp.mending.facts.own import is_own
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, parameters
from graphmend_lsp.mending.syntax.walk import walk

_READS = ("os.getenv", "os.environ.get")
_DRAWS = "numpy.random."
"""What draws at once, and not when a graph has run: TorchDynamo leaves it to Python."""
_KEPT_NOWHERE = ("torch.distributions.", "torch.nn.Module")
"""Classes whose constructors store in their own object only."""


def stored_before(
    source: Source, function: Function, statement: ast.stmt, elsewhere: Elsewhere | None = None
) -> int | None:
    """The line of the first statement in front of a statement, or around it in a loop, that others can see the effect of.

    Functions that are called are read where `elsewhere` knows them.
    """
    end = source.range(statement)[0]
    for up in source.ancestors(statement):
        if up is function:
            break
        if isinstance(up, (ast.For, ast.While)):
            end = source.range(up)[1]
    own = {id(one) for one in walk(statement)}
    own |= {id(one) for each in walk(function) if isinstance(each, ast.Lambda) for one in walk(each.body)}
    own |= {id(one) for each in walk(function) if _leaves(source, function, each) for one in walk(each)}
    for one in walk(function):
        if id(one) in own or not hasattr(one, "lineno") or source.range(one)[0] >= end:
            continue
        stores = isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load)
        if _makes_its_object(source, function, one) or _fills_its_tensor(source, one):
            continue
        if isinstance(one, ast.AugAssign) and getattr(one.target, "id", "") in parameters(function):
            stores = True
        acts = (
            isinstance(one, ast.Call)
            and not _is_arithmetic(source, one)
            and dotted(source, one.func) not in _READS
            and not (dotted(source, one.func) or "").startswith(_DRAWS)
            and any(hazard.node is one and hazard.kind == "effect" for hazard in hazards(source, one))
            and not (elsewhere is not None and elsewhere.only_gives(source, one))
        )
        if stores or acts or isinstance(one, (ast.Global, ast.Nonlocal)):
            return source.span(one).start.line
    return None


def _is_arithmetic(source: Source, call: ast.Call) -> bool:
    """Whether a call is of a function of numpy that computes a number of numbers."""
    return is_arithmetic(dotted(source, call.func) or "") and not call.keywords


def _fills_its_tensor(source: Source, node: ast.AST) -> bool:
    """Whether a node stores elements in a tensor that the function has made, and nothing else holds."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)):
        return False
    statement = source.statement(node)
    return statement is not None and is_own(source, node.value.id, statement)


def _leaves(source: Source, function: Function, node: ast.AST) -> bool:
    """Whether a node raises out of the function: what comes behind it is never reached."""
    return isinstance(node, ast.Raise) and not any(isinstance(one, ast.Try) for one in _inside(source, function, node))


def _inside(source: Source, function: Function, node: ast.AST) -> list[ast.AST]:
    around = list(source.ancestors(node))
    return around[: around.index(function)] if function in around else []


def _makes_its_object(source: Source, function: Function, node: ast.AST) -> bool:
    """Whether a node stores in the object that a constructor makes: ``self.name = ...``, ``super().__init__(...)``."""
    owner = source.owner(function)
    if function.name != "__init__" or owner is None or source.parents.get(function) is not owner:
        return False
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        first = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][:1]
        own = isinstance(node.value, ast.Name) and [node.value.id] == first
        return own and not any(getattr(one, "name", "") == "__setattr__" for one in owner.body)
    return isinstance(node, ast.Call) and _is_super(source, node, owner)


def _is_super(source: Source, call: ast.Call, owner: ast.ClassDef) -> bool:
    """Whether a call is ``super()``, or ``super().__init__(...)`` of a class that keeps nothing elsewhere."""
    if is_builtin(source, call.func, "super"):
        return not call.args
    on = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" else None
    if not (isinstance(on, ast.Call) and is_builtin(source, on.func, "super") and not on.args):
        return False
    return all((dotted(source, one) or "").startswith(_KEPT_NOWHERE) for one in owner.bases)
