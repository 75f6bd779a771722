"""Modules that take statistics over the rows they are given, as far as the file tells how they are made. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


def batch_statistics(source: Source, statement: ast.stmt, module: str, *, in_training: bool) -> str | None:
    """The call, as text, that makes a module which mixes rows: a BatchNorm, in the module ``self.name`` of a statement.

    In training every BatchNorm does; otherwise one that keeps no statistics (``track_running_stats=False``). None when
    there is no such call in the file.
    """
    owner = source.owner(statement)
    name = module.removeprefix("self.")
    if owner is None or name == module:
        return None
    made = (
        one.value
        for one in walk(owner)
        if isinstance(one, ast.Assign)
        and any(isinstance(t, ast.Attribute) and source.code(t) == module for t in one.targets)
    )
    for call in (call for value in made for call in _calls(source, value, set())):
        last = (dotted(source, call.func) or source.code(call.func)).rpartition(".")[2]
        if "BatchNorm" in last and (in_training or _keeps_none(call)):
            return source.code(call)
    return None


def _calls(source: Source, node: ast.AST, seen: set[str]) -> Iterator[ast.Call]:
    """The calls in an expression, and in the classes of the file that it makes things of."""
    for one in walk(node):
        if not isinstance(one, ast.Call):
            continue
        yield one
        name = getattr(one.func, "id", "")
        if name and name not in seen:
            seen.add(name)
            for made in source.tree.body:
                if isinstance(made, ast.ClassDef) and made.name == name:
                    yield from _calls(source, made, seen)


def _keeps_none(call: ast.Call) -> bool:
    """Whether a BatchNorm is told to keep no statistics, or is told what it keeps by a value that is not plain."""
    told = [one.value for one in call.keywords if one.arg == "track_running_stats"]
    return len(call.args) > 4 or any(not (isinstance(one, ast.Constant) and one.value is True) for one in told)
