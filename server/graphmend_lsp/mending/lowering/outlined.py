"""Statements of one block as a function of their own: what they take and give.

Pure reading of `Source`; what they may do is asked elsewhere.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import is_bound
from graphmend_lsp.mending.facts.liveness import read_after_block, read_first
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.contexts import is_resumed
from graphmend_lsp.mending.syntax.endings import leaving, sets
from graphmend_lsp.mending.syntax.formatting import dedented, first_line
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Site, Source, assigned, free_names, loaded, local_names
from graphmend_lsp.mending.syntax.walk import walk

_OF_THE_FRAME = frozenset(("super", "__class__", "locals", "globals", "vars", "dir", "eval", "exec"))


@dataclass(frozen=True, slots=True)
class Run:
    """A run of statements of one block. `lines` are theirs without indentation; `takes` and `gives` are names.

    `returns` says that the function ends with them, so that what they return is returned. `part` is a run inside
    that is a compiled function of its own. `calls` says that they call what Dynamo may compile.
    """

    first: ast.stmt
    last: ast.stmt
    lines: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    returns: bool = False
    calls: bool = False


def unresumed(source: Source, place: Site) -> ast.stmt:
    """The outermost statement around a break out of which no break can be resumed; the break's own when there is none."""
    around = [one for one in (*place.loops, *place.tries, *place.withs) if not is_resumed(source, one)]
    if isinstance(place.statement, (ast.While, ast.For, ast.With)) and not is_resumed(source, place.statement):
        around.append(place.statement)
    if not around:
        return place.statement
    return min(around, key=lambda one: source.range(one)[0])


def run_of(
    source: Source, function: Function, run: list[ast.stmt], *, returns: bool = False, closed: bool = False
) -> Run:
    """Statements of one block as a function's body. `closed`: no function that they make lives on behind them.

    Raises:
        Refused: when they cannot be one.
    """
    for one in run:
        _refuse(source, one, returns, closed)
    if not all(source.starts_line(one) for one in run):
        raise Refused("The statements share a line with others; put each on its own line.")
    inside = {id(node) for one in run for node in walk(one)}
    locals_ = _locals(source, function)
    stored = frozenset(name for one in run for name in assigned(one))
    _refuse_shared(source, function, run, stored, closed)
    read = [name for name in sorted(stored) if _is_read(source, function, run, name, inside)]
    gives = () if returns else tuple(read)
    certain: set[str] = set()
    takes: list[str] = []
    for one in run:
        takes += sorted((read_first(source, one) | _augmented(one)) & locals_ - certain - set(takes))
        certain |= sets(source, one)
    if not returns and _in_loop(source, function, run):  # what a turn leaves for the next one
        gives = tuple(sorted({*gives, *(name for name in takes if name in stored)}))
    takes += [name for name in gives if name not in certain and name not in takes]
    for name in takes:
        bound = _is_bound(source, function, name, run[0])
        maybe = not bound and _may_be_bound(source, function, run, name, inside)
        if not bound and (maybe or not any(name in assigned(one) for one in run)):
            raise Refused(f"`{name}` may have no value before `{first_line(source, run[0])}`.")
    known = [name for name in takes if _is_bound(source, function, name, run[0])]
    missing = [name for name in gives if name not in known and name not in certain]
    if missing:
        raise Refused(f"`{missing[0]}` may have no value after these statements.")
    order = (["self"] if "self" in known else []) + [name for name in known if name != "self"]
    calls = any(_calls_code(source, one) for statement in run for one in walk(statement))
    return Run(run[0], run[-1], _text(source, run), tuple(order), gives, returns, calls)


def _refuse_shared(
    source: Source, function: Function, run: list[ast.stmt], stored: frozenset[str], closed: bool
) -> None:
    """Refuse names that something else than these statements may change or read while they run."""
    top = function
    while (around := source.function(top)) is not None:
        top = around
    used = stored | {name for one in run for name in loaded(one)}
    moved = {id(one) for statement in run for one in walk(statement)} if closed else set()
    for node in walk(top):
        if id(node) in moved and not isinstance(node, (ast.Global, ast.Nonlocal)):
            continue
        names = set(node.names) if isinstance(node, (ast.Global, ast.Nonlocal)) else set()
        if name := next(iter(sorted(names & (used if isinstance(node, ast.Nonlocal) else stored))), None):
            raise Refused(
                f"`{name}` is {type(node).__name__.lower()} and would be another name in a function of its own."
            )
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and source.function(node) is function:
            names = set(free_names(node))
        elif isinstance(node, ast.GeneratorExp) and not isinstance(source.parents[node], ast.Call):
            names = set(loaded(node))
        if name := next(iter(sorted(names & stored)), None):
            raise Refused(f"`{name}` is read by a function inside `{function.name}`, which would not see it change.")


def _may_be_bound(source: Source, function: Function, run: list[ast.stmt], name: str, inside: set[int]) -> bool:
    """Whether something outside of the statements may give a name a value before they run."""
    begin, turns = source.range(run[0])[0], _in_loop(source, function, run)
    for one in walk(function):
        stored = isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load)
        around = [each for each in source.ancestors(one) if isinstance(each, ast.comprehension)]
        if stored and any(one in walk(each.target) for each in around):
            continue
        if not stored and name not in (
            getattr(one, "name", None),
            getattr(one, "asname", None),
            getattr(one, "rest", None),
        ):
            continue
        at = one if hasattr(one, "lineno") else source.parents[one]
        if id(one) not in inside and one is not function and (turns or source.range(at)[0] < begin):
            return True
    return False


def _locals(source: Source, function: Function) -> frozenset[str]:
    """The names that a function at the module's level would not see: the function's own and those of functions around."""
    found = local_names(function)
    around = source.function(function)
    return found if around is None else found | _locals(source, around)


def _is_bound(source: Source, function: Function, name: str, before: ast.stmt) -> bool:
    around = source.function(function)
    own = name in local_names(function)
    return is_bound(source, name, before) if own or around is None else _is_bound(source, around, name, function)


def _is_read(source: Source, function: Function, run: list[ast.stmt], name: str, inside: set[int]) -> bool:
    if read_after_block(source, run[-1], name) and not _is_bound_anew(source, function, run[-1], name):
        return True
    return _in_loop(source, function, run) and any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in inside
        for node in walk(function)
    )


def _is_bound_anew(source: Source, function: Function, last: ast.stmt, name: str) -> bool:
    """Whether all that reads a name behind a statement reads what is bound there; False in a loop, a ``try`` or a ``with``."""
    inner = [one for one in walk(function) if isinstance(one, (ast.FunctionDef, ast.Lambda)) and one is not function]
    if any(name in loaded(one) for one in inner):
        return False
    one: ast.AST = last
    while one is not function:
        if not isinstance(source.parents[one], (ast.If, ast.FunctionDef)):
            return False
        for statement in source.after(one) if isinstance(one, ast.stmt) else ():
            if name in read_first(source, statement):
                return False
            if name in sets(source, statement):
                return True
        one = source.parents[one]
    return True


def _in_loop(source: Source, function: Function, run: list[ast.stmt]) -> bool:
    for one in source.ancestors(run[0]):
        if one is function:
            return False
        if isinstance(one, (ast.For, ast.While)):
            return True
    return False


def _calls_code(source: Source, node: ast.AST) -> bool:
    """Whether a node is the call of a module or a function of the program, of whose value something is made."""
    if not isinstance(node, ast.Call) or isinstance(source.parents[node], ast.Expr):
        return False
    root: ast.expr = node.func
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    if root.id == "self":
        return root is not node.func
    whole = node.func
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    known = dotted(source, root) is not None or hasattr(builtins, root.id)
    return isinstance(whole, ast.Name) and not known


def _augmented(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        one.target.id for one in walk(statement) if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
    )


def _refuse(source: Source, statement: ast.stmt, returns: bool, closed: bool) -> None:
    out = {id(one) for one in leaving(statement) if not (returns and isinstance(one, ast.Return))}
    for one in walk(statement):
        if id(one) in out or isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            raise Refused(
                f"`{first_line(source, one)}` leaves the statements, which a function of their own cannot do."
            )
        if closed and isinstance(one, ast.FunctionDef) and not one.decorator_list:
            continue
        if closed and isinstance(one, ast.Delete) and all(isinstance(each, ast.Name) for each in one.targets):
            continue
        if isinstance(
            one, (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef, ast.Delete, ast.Import, ast.ImportFrom)
        ):
            raise Refused(f"`{first_line(source, one)}` would mean something else in a function of its own.")
        if isinstance(one, ast.Name) and one.id in _OF_THE_FRAME:
            raise Refused(f"`{one.id}` would mean something else in a function of its own.")
        name = one.attr if isinstance(one, ast.Attribute) else one.id if isinstance(one, ast.Name) else ""
        if name.startswith("__") and not name.endswith("__"):
            raise Refused(f"`{name}` is private to its class and would mean something else outside of it.")


def text_of(source: Source, run: Run, inner: Run, call: str) -> tuple[str, ...]:
    """The lines of a run, without indentation, with a call in place of the statements of a run inside it."""
    begin, end = source.range(run.first)[0], source.range(run.last)[1]
    start, stop = source.range(inner.first)[0], source.range(inner.last)[1]
    value = source.text.value
    return _dedented(source, run.first, value[begin:start] + call + value[stop:end])


def _text(source: Source, run: list[ast.stmt]) -> tuple[str, ...]:
    """The lines of the statements with the comments between them, without their indentation."""
    return _dedented(source, run[0], source.text.value[source.range(run[0])[0] : source.range(run[-1])[1]])


def _dedented(source: Source, first: ast.stmt, piece: str) -> tuple[str, ...]:
    return dedented(piece, edits.block_indentation(source, first))
