"""Why a number must stay a number where it is used, in words for the user.

Nothing is decided here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.source import Source


def why_number(source: Source, node: ast.expr, parent: ast.AST | None) -> str:
    """What is done with `node` that needs a number, as words that follow a line's number; `parent` is what does it."""
    text = render(source, node)
    for one in (parent, *(source.ancestors(parent) if parent is not None else ())):
        if isinstance(one, (ast.JoinedStr, ast.FormattedValue)):
            return f"`{text}` is put into a text"
        if isinstance(one, ast.Slice):
            return f"`{text}` is the bound of a slice, so a shape depends on it"
        if isinstance(one, ast.Subscript):
            return f"`{text}` is an index of `{render(source, one.value)}`, which is not known to be a tensor or a list"
        if isinstance(one, ast.Dict):
            return f"`{text}` is put into a dict"
        if isinstance(one, ast.Call):
            if is_builtin(source, one.func, "range"):
                return f"`{text}` is the number of iterations of a loop"
            if isinstance(one.func, ast.Attribute) and one.func.attr in ("append", "extend", "insert", "add"):
                return f"`{text}` is put into `{render(source, one.func.value)}`, whose users may need a number"
            return f"`{text}` is passed to `{render(source, one.func)}`, which may need a number"
        if isinstance(one, ast.Return):
            return f"`{text}` is returned to the caller, who may need a number"
        if isinstance(one, ast.While):
            return f"`{text}` decides how often a loop runs"
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            return f"`{text}` is stored where other code may need a number"
        if isinstance(one, ast.stmt):
            break
    return f"`{text}` is used where a number is needed"
