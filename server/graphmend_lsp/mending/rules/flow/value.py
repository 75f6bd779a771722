"""What the flow rule writes, and whether a tensor may stand where a Python bool stood.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass(frozen=True, slots=True)
class Value:
    """A new text for an expression. `added` is an import that it needs."""

    node: ast.expr
    text: str
    title: str
    cautions: tuple[str, ...] = ()
    conditions: tuple[ast.expr, ...] = ()
    added: TextEdit | None = None


def refuse_uses(source: Source, kinds: Kinds, node: ast.expr) -> None:
    """Refuse a bool that is used where a tensor does not serve.

    Raises:
        Refused: with the use.
    """
    parent = source.parents.get(node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        function = source.function(node)
        for one in walk(function) if function is not None else ():
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load):
                _refuse_use(source, kinds, one)
        return
    _refuse_use(source, kinds, node)


def _refuse_use(source: Source, kinds: Kinds, node: ast.expr) -> None:
    parent = source.parents.get(node)
    if isinstance(parent, (ast.BinOp, ast.Compare)):
        others = (parent.left, parent.right) if isinstance(parent, ast.BinOp) else (parent.left, *parent.comparators)
        if any(one is not node and kinds.of(one) != "python" for one in others):
            return
    if isinstance(parent, ast.Call) and node in parent.args:
        name = dotted(source, parent.func) or ""
        tensor = isinstance(parent.func, ast.Attribute) and kinds.of(parent.func.value) == "tensor"
        if name.startswith("torch.") or tensor or is_builtin(source, parent.func, "bool"):
            return
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)) and parent.test is node:
        return
    if isinstance(parent, (ast.UnaryOp, ast.BoolOp)) and not isinstance(getattr(parent, "op", None), ast.USub):
        _refuse_use(source, kinds, parent)
        return
    place = source.statement(node) or node
    line = source.span(place).start.line
    raise Refused(f"Line {line}: `{first_line(source, place)}` needs a Python bool, not a tensor.")
