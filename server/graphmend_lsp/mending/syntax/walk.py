"""A node and all below it. Rules ask for the same nodes many times; nothing changes a tree once it is parsed."""

from __future__ import annotations

import ast

_BELOW = "_graphmend_below"
_CHILDREN = "_graphmend_children"


def walk(node: ast.AST) -> tuple[ast.AST, ...]:
    """The node and every node below it, in the order of `ast.walk`; worked out once for each node."""
    known: tuple[ast.AST, ...] | None = node.__dict__.get(_BELOW)
    if known is None:
        waiting = [node]
        for one in waiting:  # which grows
            waiting.extend(_children(one))
        known = node.__dict__[_BELOW] = tuple(waiting)
    return known


def _children(node: ast.AST) -> tuple[ast.AST, ...]:
    known: tuple[ast.AST, ...] | None = node.__dict__.get(_CHILDREN)
    if known is None:
        known = node.__dict__[_CHILDREN] = tuple(ast.iter_child_nodes(node))
    return known
