"""How the result of statements lies in memory: as what it is made of, or row by row. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.opaque.modules import called_of
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

_ROW_BY_ROW = frozenset(
    ("matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "embedding", "stack", "cat", "contiguous")
)
_MODULES = frozenset(("Linear", "Bilinear", "Embedding"))
_DEEP = 8


def is_laid_out_anew(source: Source, statements: Sequence[ast.stmt], text: str) -> bool:
    """Whether a result lies row by row in memory, whatever it is made of: what its first operand comes from decides.

    What works on each element by itself gives a tensor that lies as its first operand does.
    """
    value: ast.expr | None = ast.parse(text, mode="eval").body
    for _ in range(_DEEP):
        if isinstance(value, ast.Name):
            value = _last_value(source, statements, value.id)
        elif isinstance(value, ast.BinOp):
            if isinstance(value.op, ast.MatMult):
                return True
            value = value.right if Kinds(source).of(value.left) == "python" else value.left
        elif isinstance(value, ast.UnaryOp):
            value = value.operand
        elif isinstance(value, ast.Call):
            if _is_row_by_row(source, value):
                return True
            made = operator_called(source, value)
            if made is None or made.form != "elementwise":
                return False
            method = isinstance(value.func, ast.Attribute) and dotted(source, value.func) is None
            value = (
                value.func.value if method and isinstance(value.func, ast.Attribute) else next(iter(value.args), None)
            )
        else:
            return False
    return False


def _last_value(source: Source, statements: Sequence[ast.stmt], name: str) -> ast.expr | None:
    """What the last of the statements that binds a name gives it; None where it is bound in another way."""
    nodes = [one for part in statements for one in walk(part) if isinstance(one, ast.Name) and one.id == name]
    bound = sorted((one for one in nodes if isinstance(one.ctx, ast.Store)), key=source.range)
    made = source.parents.get(bound[-1]) if bound else None
    return made.value if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) else None


def _is_row_by_row(source: Source, call: ast.Call) -> bool:
    if called_of(source, call.func) & _MODULES:
        return True
    name = (
        call.func.attr if isinstance(call.func, ast.Attribute) else (dotted(source, call.func) or "").rpartition(".")[2]
    )
    return name in _ROW_BY_ROW
