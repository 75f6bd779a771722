"""Loops over a tensor of sizes: ``for height, width in shapes`` goes over the list that the tensor was made of.

Where the function has only the tensor, its callers hand it the list. Nothing here writes arithmetic.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.rules.known.mirror import calls_of, mirror_of, partner_of, told_of
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

Turns = tuple[list[TextEdit], tuple[str, ...]]


def turns(source: Source, node: ast.expr) -> Turns | None:
    """The edits that make a loop around a break go over Python integers; None when the break reads none of its variables.

    Raises:
        Refused: when the tensor is used for more than the loop.
    """
    for loop in source.ancestors(node):
        if not (isinstance(loop, ast.For) and loaded(node) & assigned(loop.target)):
            continue
        over = _over(source, loop)
        function = source.function(loop)
        if over is None or function is None:
            return None
        if not _takes_apart(loop):
            return None
        mirror = mirror_of(source, over) if over.id not in parameters(function) else None
        if mirror is not None:
            return [edits.rewrite(source, over, mirror.text)], ()
        partner = partner_of(source, over.id)
        if over.id in parameters(function) and partner is not None:
            if partner in parameters(function):
                return [edits.rewrite(source, over, partner)], (told_of(partner),)
            return _handed(source, function, over.id, partner)
        return None
    return None


def _over(source: Source, loop: ast.For) -> ast.Name | None:
    over: ast.expr = loop.iter
    if isinstance(over, ast.Call) and is_builtin(source, over.func, "enumerate") and len(over.args) == 1:
        over = over.args[0]
    return over if isinstance(over, ast.Name) else None


def _takes_apart(loop: ast.For) -> bool:
    """Whether the loop takes rows apart into single numbers (their names stand for integers then)."""
    target = loop.target
    if isinstance(loop.iter, ast.Call) and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    return isinstance(target, ast.Tuple) and all(isinstance(one, ast.Name) for one in target.elts)


def _handed(source: Source, function: Function, name: str, partner: str) -> Turns:
    """The edits of the calls that hand the tensor to a function that only goes over it."""
    for one in walk(function):
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load):
            loop = next((up for up in source.ancestors(one) if isinstance(up, ast.For)), None)
            if loop is None or _over(source, loop) is not one or not _takes_apart(loop):
                line = first_line(source, source.statement(one) or one)
                raise Refused(f"`{name}` is also used as a tensor: `{line}`.")
    spots: list[TextEdit] = []
    for call in calls_of(source, function):
        handed = [one for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Name)]
        tensors = [one for one in handed if one.id == name]
        if len(tensors) != 1 or not _has(source, call, partner):
            raise Refused(f"`{first_line(source, call)}` does not have `{partner}` to hand on.")
        spots.append(edits.rewrite(source, tensors[0], partner))
    if not spots:
        raise Refused(f"No call of `{function.name}` is in this file.")
    return spots, (told_of(partner), f"`{function.name}` gets `{partner}` in place of the tensor `{name}`.")


def _has(source: Source, call: ast.Call, partner: str) -> bool:
    function = source.function(call)
    return function is not None and (
        partner in parameters(function)
        or any(partner in assigned(one) for one in function.body)
    )  # fmt: skip
