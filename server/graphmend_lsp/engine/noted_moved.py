"""What a run noted of values, for the text that mends made of the program: the next round's rules ask for facts, too.

A value on a line that stays is what it was, as mends keep what a program computes; but what a changed line binds, and what is
computed of that, may be another kind of value (a tensor in the place of a number), so of these nothing is known.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from graphmend_lsp.worker.wire import CallerData, NotedFunction, NotedValue

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def moved(noted: Iterable[NotedFunction], old: Mapping[str, str], new: Mapping[str, str]) -> tuple[NotedFunction, ...]:
    """The notes of a run of the `old` texts, with the lines of the `new` ones; `new` are the files that changed."""
    kept = list(noted)
    files = {path: _File.of(old.get(path, ""), text) for path, text in new.items()}
    other = {name for file in files.values() if file is not None for name in file.changed}
    own = {one["function"].rpartition(".")[2] for one in kept}
    own |= {one.name for file in files.values() if file is not None for one in file.functions.values()}
    given: set[str] = set()  # of the program's functions: a method of a tensor is what it was
    while not (more := {name for one in kept for name in _given(one, files, other | given)} & own) <= given:
        given |= more
    found: list[NotedFunction] = []
    for one in kept:
        if one["function"].rpartition(".")[2] in given:
            continue
        callers = [_caller(each, files) for each in one["callers"]]
        if one["file"] not in files:
            found.append({**one, "callers": callers})
            continue
        file = files[one["file"]]
        line = file.lines.get(one["line"]) if file is not None else None
        function = file.functions.get(line) if file is not None and line is not None else None
        if file is None or line is None or function is None:
            continue
        names = file.unlike(function, other | given)
        places = {place: node for node in ast.walk(function) if (place := _place(node)) is not None}
        values = [value for each in one["values"] if (value := file.value(each, places, names)) is not None]
        found.append({**one, "line": line, "callers": callers, "values": values})
    return tuple(found)


@dataclass(frozen=True)
class _File:
    """A changed file: where its old lines are now, its functions by line, the lines that are new, and what these make other.

    `changed` are the names of functions that hold a changed line, `bound` the names that the old text bound on such lines.
    """

    lines: Mapping[int, int]
    functions: Mapping[int, _Function]
    fresh: frozenset[int]
    changed: frozenset[str]
    bound: frozenset[str]

    @staticmethod
    def of(old: str, new: str) -> _File | None:
        """None for a text that cannot be read."""
        try:
            before, after = ast.parse(old), ast.parse(new)
        except (SyntaxError, ValueError):
            return None
        a, b = old.splitlines(), new.splitlines()
        lines = {
            first + step + 1: second + step + 1
            for first, second, size in difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
            for step in range(size)
        }
        fresh = frozenset(range(1, len(b) + 1)) - frozenset(lines.values())
        gone = frozenset(range(1, len(a) + 1)) - frozenset(lines)
        functions = {one.lineno: one for one in ast.walk(after) if isinstance(one, _Function)}
        changed = {one.name for one in functions.values() if not fresh.isdisjoint(_range(one))}
        changed |= {
            one.name for one in ast.walk(before) if isinstance(one, _Function) and not gone.isdisjoint(_range(one))
        }
        bound = frozenset(
            name for one in _simple(before) if not gone.isdisjoint(_range(one)) for name in _names(one, stored=True)
        )
        return _File(lines, functions, fresh, frozenset(changed), bound)

    def unlike(self, function: _Function, other: Iterable[str]) -> frozenset[str]:
        """The names and attributes of a function that may hold another kind of value than they did; `other` among them."""
        statements = list(_simple(function))
        fresh = [one for one in statements if not self.fresh.isdisjoint(_range(one))]
        found = {*self.bound, *other, *(name for one in fresh for name in _names(one, stored=True))}
        size = -1
        while size < len(found):
            size = len(found)
            of_those = [one for one in statements if not found.isdisjoint(_names(one))]
            found |= {name for one in of_those for name in _names(one, stored=True)}
        return frozenset(found)

    def value(
        self, noted: NotedValue, places: Mapping[tuple[int, int, int, int], ast.AST], names: frozenset[str]
    ) -> NotedValue | None:
        """A note where it is now; None where it is of a line that changed, or may be of another kind."""
        first, column, last, end = noted["at"]
        line = self.lines.get(first)
        if line is None or any(self.lines.get(first + step) != line + step for step in range(last - first + 1)):
            return None
        if noted["name"]:
            return None if noted["name"] in names else {**noted, "at": [line, column, line + last - first, end]}
        place = (line, column, line + last - first, end)
        node = places.get(place)
        if node is None or not names.isdisjoint({*_names(node), *_names(node, stored=True)}):
            return None
        return {**noted, "at": list(place)}


def _given(noted: NotedFunction, files: Mapping[str, _File | None], other: Iterable[str]) -> Iterator[str]:
    """The names of the functions that a function now gives, or may give, another kind of value."""
    file = files.get(noted["file"])
    line = file.lines.get(noted["line"]) if file is not None else None
    function = file.functions.get(line) if file is not None and line is not None else None
    if file is None or function is None:
        return
    names = file.unlike(function, other)
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and any(
            not names.isdisjoint(_names(each)) for each in (*one.args, *(keyword.value for keyword in one.keywords))
        ):
            yield from (each for each in _names(one.func) if each == ast.unparse(one.func).rpartition(".")[2])


def _caller(caller: CallerData, files: Mapping[str, _File | None]) -> CallerData:
    file = files.get(caller["file"])
    return caller if file is None else {**caller, "line": file.lines.get(caller["line"], caller["line"])}


def _simple(tree: ast.AST) -> Iterator[ast.stmt | ast.For | ast.With]:
    """The statements that bind: those without a block, and the heads of loops and of `with`."""
    heads = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
    whole = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete)
    return (one for one in ast.walk(tree) if isinstance(one, (*heads, *whole)))


def _range(node: ast.stmt) -> range:
    """The lines of a statement; of a loop or a `with` those of its head."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
        return range(node.lineno, max(node.lineno + 1, node.body[0].lineno))
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _names(node: ast.AST, *, stored: bool = False) -> Iterator[str]:
    """The names and attributes in an expression or statement: those that are bound or changed, or those that are read."""
    for one in _head(node):
        for part in ast.walk(one):
            if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load) is not stored:
                yield part.id if isinstance(part, ast.Name) else part.attr


def _head(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.target, node.iter]
    return list(node.items) if isinstance(node, (ast.With, ast.AsyncWith)) else [node]


def _place(node: ast.AST) -> tuple[int, int, int, int] | None:
    if not isinstance(node, (ast.expr, ast.arg, ast.stmt)):
        return None
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0
