"""A second form of a statement, for `torch.compile`, beside the one that runs uncompiled: where it stands in the text.

Pure reading of `Source`; no rule's knowledge enters here.
"""

from __future__ import annotations

import ast
import re

from graphmend_lsp.mending.source import Source
from graphmend_lsp.mending.where_condition import Refused
from graphmend_lsp.mending.where_place import returns


def is_twin(source: Source, target: ast.stmt | ast.expr) -> bool:
    """Whether a statement or expression is what runs uncompiled, beside another form for `torch.compile`."""
    inner: ast.AST = target
    for one in source.ancestors(target):
        if isinstance(one, ast.If) and inner not in one.body and "is_compiling()" in ast.unparse(one.test):
            return True
        inner = one
    statement = source.statement(target)
    assert statement is not None
    block = source.block(statement)
    at = block.index(statement)
    before = block[at - 1] if at else None
    return isinstance(before, ast.If) and returns(before.body) and "is_compiling()" in ast.unparse(before.test)


def line_start(source: Source, statement: ast.stmt) -> int:
    """The offset at which the first line of a statement starts."""
    return source.text.starts[source.span(statement).start.line - 1]


def space_above(source: Source, statement: ast.stmt) -> str:
    """An empty line before a function in front of a statement, where code stands on the line above; else nothing."""
    above = source.text.line(source.span(statement).start.line - 1).strip()
    first = source.block(statement)[0] is statement
    return "" if first or not above or above.startswith("#") else source.newline


def behind_colon(source: Source, test: ast.expr) -> int:
    """The offset behind the colon of the ``if`` or ``while`` with that test.

    Raises:
        Refused: when a comment stands between them.
    """
    found = re.compile(r"[\s)]*:").match(source.text.value, source.range(test)[1])
    if found is None:
        raise Refused("A comment stands inside the condition; put it above it.")
    return found.end()
