"""The statements to put behind a boundary: as few as hold all breaks of one place, what they take and what they give.

Pure reading of `Source`. Which statements break is judged by what they say, on the side of fewer statements.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending import edits
from graphmend_lsp.mending.defer_effects import effect_of
from graphmend_lsp.mending.hoist_calls import kind_of
from graphmend_lsp.mending.imports import dotted, is_builtin
from graphmend_lsp.mending.loop_names import read_after_block
from graphmend_lsp.mending.source import Function, Site, Source, assigned, loaded, local_names
from graphmend_lsp.mending.where_branch import verbatim
from graphmend_lsp.mending.where_condition import Refused
from graphmend_lsp.mending.where_merge import first_line
from graphmend_lsp.mending.where_names import is_bound

_READS = frozenset(("item", "tolist", "numpy", "backward", "requires_grad_", "register_hook", "nonzero", "unique"))
_SYSTEM = ("numpy.", "random.", "time.", "os.", "io.", "json.", "subprocess.", "pickle.", "open", "datetime.", "torch.save",
           "torch.load", "torch.autograd.grad", "warnings.", "gc.", "threading.", "copy.")  # fmt: skip
_APART = 2
"""How many statements that do not break may lie between two that do, to be put behind the boundary with them."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of statements of one block. `lines` are theirs without indentation; `takes` and `gives` are names."""

    first: ast.stmt
    last: ast.stmt
    lines: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


def run_around(source: Source, place: Site) -> Run | None:
    """The run around a break; None when a boundary cannot make it cheaper.

    Raises:
        Refused: when the statements cannot be a function of their own.
    """
    function = place.function
    assert function is not None
    holder = _outermost(source, place)
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
    run = block[first : last + 1]
    alone = sum(breaking[first : last + 1]) < 2
    lost = isinstance(holder, (ast.For, ast.While, ast.Try, ast.With))
    if alone and not lost and not _several(source, holder):
        return None
    kept = {id(one) for statement in run for one in ast.walk(statement)}
    computes = [one for one in ast.walk(function) if isinstance(one, (ast.Call, ast.BinOp)) and id(one) not in kept]
    if not any(one for one in computes if source.statement(one) is not function):
        raise Refused("Nothing that could be compiled stands beside these statements.")
    return _run(source, function, run)


def _outermost(source: Source, place: Site) -> ast.stmt:
    """The outermost statement around a break out of which no break can be resumed; the break's own when there is none."""
    around = [one for one in (*place.loops, *place.tries, *place.withs) if not _is_grad_mode(source, one)]
    if isinstance(place.statement, (ast.While, ast.For, ast.With)) and not _is_grad_mode(source, place.statement):
        around.append(place.statement)
    if not around:
        return place.statement
    return min(around, key=lambda one: source.range(one)[0])


def _is_grad_mode(source: Source, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.With) and all(
        source.code(item.context_expr).split("(")[0].split(".")[-1]
        in ("no_grad", "enable_grad", "autocast", "set_grad_enabled")
        for item in statement.items
    )


def _breaks(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement surely or likely breaks the graph where it stands."""
    return any(_is_break(source, one) for one in ast.walk(statement))


def _is_light(statement: ast.stmt) -> bool:
    """Whether a statement computes so little that it is no loss to run it uncompiled: no call, no product of matrices."""
    return not hasattr(statement, "body") and not any(
        isinstance(one, (ast.Call, ast.MatMult)) for one in ast.walk(statement)
    )


def _several(source: Source, statement: ast.stmt) -> bool:
    return sum(_is_break(source, one) for one in ast.walk(statement)) > 1


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


def _run(source: Source, function: Function, run: list[ast.stmt]) -> Run:
    for one in run:
        _refuse(source, one)
    if not all(source.starts_line(one) for one in run):
        raise Refused("The statements share a line with others; put each on a line of its own.")
    inside = {id(node) for one in run for node in ast.walk(one)}
    locals_ = local_names(function)
    stored = frozenset(name for one in run for name in assigned(one))
    gives = tuple(name for name in sorted(stored) if _is_read(source, function, run, name, inside))
    certain: set[str] = set()
    takes: list[str] = []
    for one in run:
        takes += sorted((loaded(one) | _augmented(one)) & locals_ - certain - set(takes))
        certain |= sets(one)
    takes += [name for name in gives if name not in certain and name not in takes]
    for name in takes:
        bound = is_bound(source, name, run[0])
        begin = source.range(run[0])[0]
        maybe = any(name in assigned(one) and source.range(one)[0] < begin for one in function.body)
        if not bound and (maybe or not any(name in assigned(one) for one in run)):
            raise Refused(f"`{name}` may have no value before `{first_line(source, run[0])}`.")
    known = [name for name in takes if is_bound(source, name, run[0])]
    missing = [name for name in gives if name not in known and name not in certain]
    if missing:
        raise Refused(f"`{missing[0]}` may have no value behind these statements.")
    order = (["self"] if "self" in known else []) + [name for name in known if name != "self"]
    return Run(run[0], run[-1], _text(source, run), tuple(order), gives)


def _is_read(source: Source, function: Function, run: list[ast.stmt], name: str, inside: set[int]) -> bool:
    if read_after_block(source, run[-1], name):
        return True
    looped = any(isinstance(one, (ast.For, ast.While)) for one in source.ancestors(run[0]) if one is not function)
    return looped and any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in inside
        for node in ast.walk(function)
    )


def sets(statement: ast.stmt) -> frozenset[str]:
    """The names that surely have a value behind a statement."""
    if isinstance(statement, ast.If):
        return _sets_all(statement.body) & _sets_all(statement.orelse)
    if isinstance(statement, ast.With):
        return _sets_all(statement.body)
    if isinstance(statement, ast.Try):
        ways = [_sets_all([*statement.body, *statement.orelse])]
        ways += [_sets_all(one.body) for one in statement.handlers if not isinstance(one.body[-1], ast.Raise)]
        return frozenset.intersection(*ways) | _sets_all(statement.finalbody)
    return frozenset() if hasattr(statement, "body") else assigned(statement)


def _sets_all(block: list[ast.stmt]) -> frozenset[str]:
    return frozenset(name for one in block for name in sets(one))


def _augmented(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        one.target.id
        for one in ast.walk(statement)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
    )


def _refuse(source: Source, statement: ast.stmt) -> None:
    inner = [one for one in ast.walk(statement) if isinstance(one, (ast.For, ast.While))]
    held = {id(node) for one in inner for node in ast.walk(one) if node is not one}
    for one in ast.walk(statement):
        leaves = isinstance(one, (ast.Break, ast.Continue)) and id(one) not in held
        if leaves or isinstance(one, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            raise Refused(
                f"`{first_line(source, one)}` leaves the statements, which a function of their own cannot do."
            )
        if isinstance(
            one, (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom)
        ):
            raise Refused(f"`{first_line(source, one)}` would mean something else in a function of its own.")
        if isinstance(one, ast.Name) and one.id in ("super", "__class__", "locals", "globals", "vars"):
            raise Refused(f"`{one.id}` would mean something else in a function of its own.")
        name = one.attr if isinstance(one, ast.Attribute) else one.id if isinstance(one, ast.Name) else ""
        if name.startswith("__") and not name.endswith("__"):
            raise Refused(f"`{name}` is private to its class and would mean something else outside of it.")


def _text(source: Source, run: list[ast.stmt]) -> tuple[str, ...]:
    """The lines of the statements with the comments between them, without their indentation."""
    for one in run:
        verbatim(source, one)  # refuses strings over several lines
    indent = edits.block_indentation(source, run[0])
    start, end = source.range(run[0])[0], source.range(run[-1])[1]
    piece = source.text.value[start:end].replace("\r\n", "\n")
    first, *rest = piece.split("\n")
    return (first, *(line.removeprefix(indent).rstrip() for line in rest))
