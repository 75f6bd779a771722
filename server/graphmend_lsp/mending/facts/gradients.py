"""Which values lose their gradients by what an expression does to them."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.walk import walk

_CUT = frozenset(("detach", "detach_", "data"))
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def loses_gradients(side: ast.AST) -> bool:
    """Whether a side detaches what does not also reach its value with a gradient, as in ``x * (2 / x.detach())``."""
    value = side.value if isinstance(side, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)) else side
    kept = {ast.dump(one) for one in _terms(value)} if isinstance(value, ast.expr) else set()
    if isinstance(side, ast.AugAssign) and isinstance(side.op, _ARITHMETIC) and isinstance(side.target, ast.Name):
        kept.add(ast.dump(ast.Name(side.target.id, ast.Load())))
    cuts = [one for one in walk(side) if isinstance(one, ast.Attribute) and one.attr in _CUT]
    return any(ast.dump(one.value) not in kept for one in cuts)


def _terms(value: ast.expr) -> list[ast.expr]:
    """What an arithmetic expression computes with, each with its gradient."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        return _terms(value.operand)
    if isinstance(value, ast.BinOp) and isinstance(value.op, _ARITHMETIC):
        return _terms(value.left) + _terms(value.right)
    return [value]
