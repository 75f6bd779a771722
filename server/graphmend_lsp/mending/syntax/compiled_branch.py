"""A second form of a branch or loop, for `torch.compile`, beside the one that runs uncompiled: where it stands in the text.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast
import re

from graphmend_lsp.mending.syntax.branches import branch_of, returns
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source


def branch_without_twin(place: Place) -> tuple[Source, ast.AST, ast.AST] | None:
    """The source, the node that breaks and the branch or loop that it decides; None for other breaks and for twins."""
    source, node = place.source, place.node
    if isinstance(node, ast.stmt) and source.span(node).start != place.span.start:
        return None
    branch = branch_of(source, node)
    if not isinstance(branch, (ast.If, ast.IfExp, ast.While)) or is_twin(source, branch):
        return None
    return source, node, branch


def not_training(source: Source, node: ast.AST) -> str:
    """The test that keeps the uncompiled form in training, where modules may draw random numbers or store something.

    Raises:
        Refused: when ``self`` is no module, which knows that.
    """
    owner = source.owner(node)
    if owner is not None and not owner.bases:
        raise Refused(
            f"`{owner.name}` is no `nn.Module`, so `self.training` does not tell whether what it calls is in training."
        )
    return "not self.training"


def is_twin(source: Source, target: ast.stmt | ast.expr) -> bool:
    """Whether a statement or expression is what runs uncompiled, beside another form for `torch.compile`."""
    inner: ast.AST = target
    for one in (target, *source.ancestors(target)):
        if isinstance(one, ast.While) and _is_switched_off(source, one):
            return True
        if isinstance(one, ast.If) and inner not in one.body and "is_compiling()" in ast.unparse(one.test):
            return True
        inner = one
    statement = source.statement(target)
    assert statement is not None
    block = source.block(statement)
    at = block.index(statement)
    before = block[at - 1] if at else None
    return isinstance(before, ast.If) and returns(before.body) and "is_compiling()" in ast.unparse(before.test)


def _is_switched_off(source: Source, loop: ast.While) -> bool:
    """Whether a loop turns only where a name in front of it says that nothing is compiled: ``while not in_graph and ...``."""
    first = loop.test.values[0] if isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And) else None
    flag = first.operand if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.Not) else None
    block = source.block(loop)
    return isinstance(flag, ast.Name) and any(
        isinstance(one, ast.Assign)
        and [ast.unparse(target) for target in one.targets] == [flag.id]
        and "is_compiling()" in ast.unparse(one.value)
        for one in block[: block.index(loop)]
    )


def line_start(source: Source, statement: ast.stmt) -> int:
    """The offset at which the first line of a statement starts."""
    return source.text.starts[source.span(statement).start.line - 1]


def space_above(source: Source, statement: ast.stmt) -> str:
    """An empty line before a function in front of a statement, where code stands on the line above; else nothing.

    The first statement of a function needs none; that of another block does.
    """
    above = source.text.line(source.span(statement).start.line - 1).strip()
    parent = source.parents.get(statement)
    first = isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and parent.body[0] is statement
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
