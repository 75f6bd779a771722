"""The block around a break inside a loop, a ``try`` or a ``with``, as a compiled function: there only the break is lost.

Pure reading of `Source`.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.liveness import read_after_block
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.lowering.outlined import Run, run_of
from graphmend_lsp.mending.rules.isolate.run import in_comprehension
from graphmend_lsp.mending.syntax.contexts import is_resumed, may_swallow
from graphmend_lsp.mending.syntax.endings import leaving, surely_leaves
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk

_ENOUGH = 3
"""How many operations beside the break make up for the graphs of their own that a block gets."""

_ALIKE = frozenset(("KeyError", "IndexError", "LookupError", "AttributeError", "ImportError", "ModuleNotFoundError", "OSError",
                    "FileNotFoundError", "ZeroDivisionError", "StopIteration", "UnicodeError", "EOFError"))  # fmt: skip
"""Exceptions that compiled code raises where uncompiled code does. A ``RuntimeError`` or ``ValueError`` of an operator on
tensors comes as a `TorchRuntimeError` with another text (measured with torch 2.13)."""

_BLOCKS = (ast.For, ast.While, ast.Try, ast.With)


def part_in(source: Source, place: Site, run: Run) -> Run | None:
    """The statements around the break to compile by themselves; None where that is no gain or would not be the same."""
    function = place.function
    found = _block(source, place, run)
    if function is None or found is None or in_comprehension(source, place):
        return None
    block, child = found
    first = last = block.index(child)
    if not _may_move(child):
        return None
    while first > 0 and _may_move(block[first - 1]):
        first -= 1
    while last + 1 < len(block) and _may_move(block[last + 1]):
        last += 1
    taken = block[first : last + 1]
    if sum(_operations(source, one) for one in taken if one is not child or hasattr(one, "body")) < _ENOUGH:
        return None
    try:
        part = run_of(source, function, taken)
    except Refused:
        return None
    return part if all(_is_same(source, function, one, part) for one in _around(source, part, run)) else None


def _block(source: Source, place: Site, run: Run) -> tuple[list[ast.stmt], ast.stmt] | None:
    """The body of the innermost statement of the run that a break cannot be resumed in, and the break's place in it."""
    one: ast.stmt = place.statement
    if isinstance(one, _BLOCKS) and not is_resumed(source, one):
        return None  # the break is in its first line, which stays
    while source.range(run.first)[0] < source.range(one)[0]:
        parent = source.parents[one]
        if isinstance(parent, _BLOCKS) and not is_resumed(source, parent):
            return (parent.body, one) if one in parent.body else None
        above = source.statement(parent)
        if above is None or not isinstance(parent, ast.stmt):
            return None
        one = above
    return None


def _may_move(statement: ast.stmt) -> bool:
    return not leaving(statement) and not isinstance(statement, (ast.Global, ast.Nonlocal, ast.Pass))


def _operations(source: Source, statement: ast.stmt) -> int:
    """How many operators on tensors a statement seems to hold."""
    found = 0
    for one in walk(statement):
        if isinstance(one, ast.Call):
            name = dotted(source, one.func)
            method = name is None and isinstance(one.func, ast.Attribute) and one.func.attr in TENSOR_METHODS
            found += method or (name is not None and name.startswith("torch."))
        found += isinstance(one, (ast.BinOp, ast.AugAssign))
    return found


def _around(source: Source, part: Run, run: Run) -> list[ast.AST]:
    """What stands around the part, up to the run's own statement."""
    begin = source.range(run.first)[0]
    return [one for one in source.ancestors(part.first) if isinstance(one, ast.stmt) and source.range(one)[0] >= begin]


def _is_same(source: Source, function: Function, around: ast.AST, part: Run) -> bool:
    """Whether an exception that comes out of the part does in a statement around it what it did.

    Of what a part stored before it raised its caller sees nothing. What raises in a graph may be another exception.
    """
    if isinstance(around, ast.With):
        return not may_swallow(source, around)
    if not isinstance(around, ast.Try):
        return type(around).__name__ != "TryStar"
    later = [*around.handlers, *around.finalbody]
    if any(name in loaded(one) for name in part.gives for one in later):
        return False
    if not all(_is_python_alone(source, one) for one in around.handlers):
        return False
    going_on = [one for one in around.handlers if not any(surely_leaves(source, line) for line in one.body)]
    looped = any(isinstance(one, (ast.For, ast.While)) for one in source.ancestors(around) if one is not function)
    return all(
        all(any(name in _plainly_set(line) for line in one.body) for one in going_on)
        or not (looped or read_after_block(source, around, name))
        for name in part.gives
    )


def _is_python_alone(source: Source, handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes only what a graph raises as Python does."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(one, ast.Name) and one.id in _ALIKE and is_builtin(source, one, one.id) for one in kinds)


def _plainly_set(statement: ast.stmt) -> frozenset[str]:
    return assigned(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else frozenset()
