"""What of the program a where mend is about: the branch around a break, how its blocks end, its comments.

Pure reading of `Source`; nothing is rewritten here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import operand
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


def branch_of(source: Source, node: ast.AST) -> ast.If | ast.While | ast.IfExp | ast.BoolOp | ast.Compare | None:
    """The statement or expression whose condition contains the node; None when the node is in no condition."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return None if isinstance(node, ast.If) and _is_guard(node) else node
    value: ast.BoolOp | ast.Compare | None = None
    one = node
    while isinstance(one, ast.expr):
        parent = source.parents.get(one)
        if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
            if parent.test is not one:
                break
            return None if isinstance(parent, ast.If) and _is_guard(parent) else parent
        if isinstance(parent, ast.Assert):
            return None
        if isinstance(one, ast.BoolOp) or (isinstance(one, ast.Compare) and len(one.ops) > 1):
            value = one
        if parent is None:
            break
        one = parent
    return value


def _is_guard(node: ast.If) -> bool:
    """Whether the statement only raises: that is the guard rule's."""
    return not node.orelse and isinstance(node.body[-1], ast.Raise)


def without_parentheses(line: str, text: str) -> str:
    """The line without the parentheses that stood around the expression and are not needed around `text`."""
    at = line.find(f"({text})")
    if at < 1 or line[at - 1].isalnum() or line[at - 1] in "_)]" or operand(text) != text:
        return line
    return line[:at] + text + line[at + len(text) + 2 :]


def returns(block: Sequence[ast.stmt]) -> bool:
    """Whether a block ends by returning on all its ways."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, ast.Return)


def comments_of(source: Source, *roots: ast.stmt) -> dict[ast.stmt, tuple[str, ...]]:
    """The comments inside a statement, or some that follow each other, each with the innermost statement
    that follows it or shares its line.
    """
    start, end = source.range(roots[0])[0], source.range(roots[-1])[1]
    leaves = sorted(
        (node for root in roots for node in walk(root) if isinstance(node, ast.stmt) and not hasattr(node, "body")),
        key=lambda node: source.range(node),
    )
    found: dict[ast.stmt, tuple[str, ...]] = {}
    for comment in edits.comments(source, start, end):
        owner = next(
            (leaf for leaf in leaves if comment.offset < edits.end_of_line(source, source.range(leaf)[1])), leaves[-1]
        )
        found[owner] = (*found.get(owner, ()), comment.text)
    return found
