"""Moving statements to the end of the function that Dynamo compiles: values stay where they are, the saying moves.

Used for effects and for guards. The return value is computed first; the moved statements keep their order and their
text. Pure; knows neither what an effect nor what a guard is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.later import later
from graphmend_lsp.mending.lowering.capture import Captured, Replacement, capture
from graphmend_lsp.mending.syntax.edits import comments, insert_after, insert_before, remove, replace
from graphmend_lsp.mending.syntax.source import Function, Source, local_names
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass(frozen=True, slots=True)
class Item:
    """A statement to move. `nodes` are its expressions that always run, `conditional` those under its own condition.

    `late` are conditional ones that are evaluated as a whole at the end.

    `whole` is the name for an expression of `nodes` that can be evaluated in place as it is.
    """

    statement: ast.stmt
    nodes: tuple[ast.expr, ...]
    conditional: tuple[ast.expr, ...] = ()
    late: tuple[ast.expr, ...] = ()
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """The edits of a move, and the names of what is copied because it changes in place later."""

    edits: tuple[TextEdit, ...]
    copied: tuple[str, ...]


def move(source: Source, function: Function, items: Sequence[Item], staying: Sequence[ast.stmt] = ()) -> Moved | str:
    """The edits that move statements of the function's own block to its end, or why that cannot be done.

    `staying` are statements between them that may leave the function before its end.
    """
    problem = _exits(source, function, items, staying)
    if problem:
        return problem
    planned: list[tuple[Item, Captured]] = []
    taken: set[str] = set()
    for item in items:
        coming = later(source, function, item.statement)
        captured = capture(
            source,
            function,
            item.nodes,
            coming,
            keep_inert=True,
            conditional=item.conditional,
            late=item.late,
            taken=taken,
            whole=item.whole,
        )
        if isinstance(captured, str):
            return captured
        taken |= {one.name for one in captured.captures}
        planned.append((item, captured))
    copied = tuple(dict.fromkeys(source.code(c.node) for _, p in planned for c in p.captures if c.copied))
    kept = {id(item.statement): _kept(captured) for item, captured in planned}
    moved = [_text(source, item.statement, captured.replacements) for item, captured in planned]
    last = function.body[-1]
    result = _fresh_local(source, function, "result", taken)
    tail = [*_tail_before(source, last, result), *moved, *_tail_after(last, result)]
    apart = all(source.starts_line(one) for one in (*(item.statement for item in items), last))
    if not apart:
        return _one_run(source, function, items, kept, tail, copied)
    edits = [
        replace(source, item.statement, item.statement, kept[id(item.statement)])
        if kept[id(item.statement)]
        else remove(source, item.statement)
        for item, _ in planned
    ]
    if not isinstance(last, ast.Return):
        edits.append(insert_after(source, last, moved))
    elif simple(last.value):
        edits.append(insert_before(source, last, moved))
    else:
        edits.append(replace(source, last, last, tail))
    return Moved(tuple(edits), copied)


def at_end(function: Function, items: Sequence[Item]) -> bool:
    """Whether nothing but the items stands between the first of them and the end of the function."""
    own = {id(item.statement) for item in items}
    start = function.body.index(items[0].statement)
    rest = [one for one in function.body[start:] if id(one) not in own]
    return not rest or (len(rest) == 1 and isinstance(rest[0], ast.Return) and simple(rest[0].value))


def simple(value: ast.expr | None) -> bool:
    """Whether computing a return value adds nothing to a graph: names, constants, attributes and tuples of them."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(simple(one) for one in value.elts)
    if isinstance(value, ast.Attribute):
        return simple(value.value)
    if isinstance(value, ast.Dict):
        return all(simple(one) for one in (*value.keys, *value.values))
    return value is None or isinstance(value, (ast.Name, ast.Constant))


def leaves(statement: ast.AST) -> ast.stmt | None:
    """The first ``return`` or ``raise`` of the same function in a statement."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop(0)
        if isinstance(node, (ast.Return, ast.Raise)):
            return node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack = [*ast.iter_child_nodes(node), *stack]
    return None


def _exits(source: Source, function: Function, items: Sequence[Item], staying: Sequence[ast.stmt]) -> str | None:
    if isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(one, (ast.Yield, ast.YieldFrom)) and source.function(one) is function for one in walk(function)
    ):
        return f"`{function.name}` is a generator or a coroutine, which has no single end."
    block = function.body
    own = {id(one) for one in (*(item.statement for item in items), *staying)}
    for statement in block[block.index(items[0].statement) :]:
        if id(statement) in own or (statement is block[-1] and isinstance(statement, ast.Return)):
            continue
        found = leaves(statement)
        if found is not None:
            return f"Line {source.span(found).start.line} leaves `{function.name}` before its end."
    return None


def _kept(captured: Captured) -> list[str]:
    """The lines that take values in place."""
    return [f"{one.name} = {one.code}" for one in captured.captures if not one.plain]


def _text(source: Source, statement: ast.stmt, replacements: Sequence[Replacement]) -> str:
    start, end = source.range(statement)
    parts: list[str] = []
    for one in sorted(replacements, key=lambda one: one.start):
        parts += (source.text.value[start : one.start], one.text)
        start = one.end
    return "".join([*parts, source.text.value[start:end]])


def _tail_before(source: Source, last: ast.stmt, result: str) -> list[str]:
    """What stands before the moved statements in place of the last one."""
    if not isinstance(last, ast.Return):
        return [source.code(last)]
    if simple(last.value):
        return []
    return [f"{result} = {source.code(last)[len('return') :].lstrip()}"]


def _tail_after(last: ast.stmt, result: str) -> list[str]:
    if not isinstance(last, ast.Return):
        return []
    if last.value is None:
        return ["return"]
    return [f"return {ast.unparse(last.value)}" if simple(last.value) else f"return {result}"]


def _one_run(
    source: Source,
    function: Function,
    items: Sequence[Item],
    kept: dict[int, list[str]],
    tail: list[str],
    copied: tuple[str, ...],
) -> Moved | str:
    """The move for statements that share lines: the whole run from the first item to the end is written anew."""
    first, last = items[0].statement, function.body[-1]
    start, end = source.range(first)[0], source.range(last)[1]
    if comments(source, start, end):
        return "Statements that share a line have comments between them; put each statement on its own line."
    lines: list[str] = []
    for statement in function.body[function.body.index(first) : -1]:
        lines += kept[id(statement)] if id(statement) in kept else [source.code(statement)]
    if id(last) in kept:
        return "The statement is the last one of its block."
    return Moved((replace(source, first, last, [*lines, *tail]),), copied)


def _fresh_local(source: Source, function: Function, wanted: str, taken: set[str]) -> str:
    known = local_names(function) | taken | {one.id for one in source.nodes if isinstance(one, ast.Name)}
    name, number = wanted, 1
    while name in known:
        number += 1
        name = f"{wanted}_{number}"
    return name
