"""The statements to put behind a boundary: as few as hold all breaks of one place, what they take and what they give.

Pure reading of `Source`. Which statements break is judged by what they say, on the side of fewer statements.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.calls import kind_of
from graphmend_lsp.mending.facts.effects import effect_of
from graphmend_lsp.mending.lowering.outlined import Run, run_of, unresumed
from graphmend_lsp.mending.syntax.endings import leaving, surely_leaves
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source
from graphmend_lsp.mending.syntax.walk import walk

_READS = frozenset(("item", "tolist", "numpy", "backward", "requires_grad_", "register_hook", "nonzero", "unique"))
_SYSTEM = ("numpy.", "random.", "time.", "os.", "io.", "json.", "subprocess.", "pickle.", "open", "datetime.", "torch.save",
           "torch.load", "torch.autograd.grad", "warnings.", "gc.", "threading.", "copy.")  # fmt: skip
_APART = 2
"""How many statements that do not break may lie between two that do, to be put behind the boundary with them."""


def run_around(source: Source, place: Site) -> Run | None:
    """The run around a break; None when a boundary cannot make it cheaper.

    Raises:
        Refused: when the statements cannot be a function of their own.
    """
    function = place.function
    assert function is not None
    holder = unresumed(source, place)
    block = source.block(holder)
    at = block.index(holder)
    breaking = [one is holder or _breaks(source, one) for one in block]
    first = last = at
    for index in range(at - 1, -1, -1):
        if breaking[index] and first - index - 1 <= _APART and all(_is_light(one) for one in block[index + 1 : first]):
            first = index
    for index in range(at + 1, len(block)):
        if breaking[index] and index - last - 1 <= _APART and all(_is_light(one) for one in block[last + 1 : index]):
            last = index
    while isinstance(block[last], ast.Return) and last > at:
        last -= 1
    lost = isinstance(holder, (ast.For, ast.While, ast.Try, ast.With)) or in_comprehension(source, place)
    if sum(breaking[first : last + 1]) < 2 and not lost and not _several(source, holder):
        return None
    returns = any(isinstance(node, ast.Return) for one in block[first : last + 1] for node in leaving(one))
    if returns:
        last = _end(source, function, block, last)
    run = block[first : last + 1]
    return run_of(source, function, run, returns=returns)


def is_all(source: Source, function: Function, run: Run) -> bool:
    """Whether nothing that could be compiled stands beside a run."""
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    return not any(
        isinstance(one, (ast.Call, ast.BinOp)) and not begin <= source.range(one)[0] < end
        for statement in function.body
        for one in walk(statement)
    )


def in_comprehension(source: Source, place: Site) -> bool:
    """Whether a break is in a generator expression or a comprehension, whose frame Dynamo cannot leave half-way."""
    return any(
        isinstance(one, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp))
        for one in (place.node, *source.ancestors(place.node))
        if source.statement(one) is place.statement
    )


def _end(source: Source, function: Function, block: list[ast.stmt], last: int) -> int:
    """The last statement of a run that returns, with which the function ends.

    Raises:
        Refused: when the function may go on behind the run and computes there.
    """
    own = {id(one) for one in walk(function) if source.function(one) is function}
    if isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(one, (ast.Yield, ast.YieldFrom)) and id(one) in own for one in walk(function)
    ):
        raise Refused(f"`{function.name}` is a generator or a coroutine, whose `return` stays its own.")
    if surely_leaves(source, block[last]):
        return last
    if block is not function.body or not all(_is_light(one) for one in block[last + 1 :]):
        found = [node for one in block[: last + 1] for node in leaving(one) if isinstance(node, ast.Return)]
        raise Refused(
            f"`{first_line(source, found[-1])}` leaves the statements, and `{function.name}` computes more after them."
        )
    return len(block) - 1


def _breaks(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement surely or likely breaks the graph where it stands."""
    return any(_is_break(source, one) for one in walk(statement))


def _is_light(statement: ast.stmt) -> bool:
    """Whether a statement computes so little that it is no loss to run it uncompiled: no call, no product of matrices."""
    return not hasattr(statement, "body") and not any(
        isinstance(one, (ast.Call, ast.MatMult)) for one in walk(statement)
    )


def _several(source: Source, statement: ast.stmt) -> bool:
    return sum(_is_break(source, one) for one in walk(statement)) > 1


def _is_break(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return effect_of(source, node) is not None
    if not isinstance(node, ast.Call):
        return False
    name = dotted(source, node.func)
    if name is not None:
        return name.startswith(_SYSTEM) or kind_of(source, node) is not None
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _READS
    return any(is_builtin(source, node.func, one) for one in ("open", "exec", "input", "breakpoint"))
