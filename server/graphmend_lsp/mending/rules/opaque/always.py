"""What statements read in any case: an attribute of an object that is read only where a condition holds need not be there else.

A loop is taken for one that turns, a comprehension too. Pure reading of the syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from graphmend_lsp.mending.syntax.walk import walk

_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try)


def reads_always(statements: Sequence[ast.stmt], reads: Callable[[ast.expr], bool]) -> bool:
    """Whether statements come to an expression that `reads`, whatever their conditions say."""
    for one in statements:
        if _always(one, reads):
            return True
        if any(isinstance(each, _LEAVES) for each in walk(one)):
            return False
    return False


def _always(node: ast.AST, reads: Callable[[ast.expr], bool]) -> bool:
    if isinstance(node, ast.expr) and reads(node):
        return True
    if isinstance(node, ast.If):
        return _always(node.test, reads) or (reads_always(node.body, reads) and reads_always(node.orelse, reads))
    if isinstance(node, ast.IfExp):
        return _always(node.test, reads) or (_always(node.body, reads) and _always(node.orelse, reads))
    if isinstance(node, (ast.For, ast.While)):
        head = node.iter if isinstance(node, ast.For) else node.test
        return _always(head, reads) or reads_always(node.body, reads)
    if isinstance(node, ast.BoolOp):
        return _always(node.values[0], reads)
    if isinstance(node, _LATER):
        return False
    return any(_always(one, reads) for one in ast.iter_child_nodes(node))
