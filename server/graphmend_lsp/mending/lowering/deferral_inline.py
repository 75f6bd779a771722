"""Deferring for a file that cannot import the support module: the two functions written into the file itself. Pure."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.edits import end_of_line
from graphmend_lsp.mending.syntax.imports import add_function, spell
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit

_PENDING, DEFER, WRAP = "_deferred", "_defer", "_runs_deferred"
_TEMPLATE = '''\
_deferred = None


def _defer(effect):
    """Run an effect when the function under `_runs_deferred` is over; at once when none is running."""
    if _deferred is None:
        effect()
    else:
        _deferred.append(effect)


def _runs_deferred(function):
    """Let effects that `function` defers run when it returns or raises, outside of its graphs."""

    @{disable}
    def flush(effects):
        for effect in effects:
            effect()

    @{disable}(recursive=False)
    def run(args, kwargs):
        global _deferred
        if _deferred is not None:
            return function(*args, **kwargs)
        _deferred = []
        try:
            return function(*args, **kwargs)
        finally:
            effects, _deferred = _deferred, None
            flush(effects)

    @{disable}(recursive=False)
    @{wraps}(function)
    def wrapper(*args, **kwargs):
        return run(args, kwargs)

    return wrapper'''


_PLAIN = '    assert hasattr(function, "__code__") and not vars(function).keys() - {"__wrapped__"}\n'


def helpers(source: Source, outer_source: Source, uses_defer: bool, above: bool = False) -> list[TextEdit] | str:
    """The edits that add the functions where they are missing, and import them where the outermost function is.

    `above`: the wrapper stands above other decorators, which may have made more than a function.
    """
    edits: list[TextEdit] = []
    if not has_helpers(source):
        disable, added = spell(source, "torch.compiler.disable", source.tree)
        wraps, also = spell(source, "functools.wraps", source.tree)
        edits += [one for one in (added, also) if one is not None]
        text = _TEMPLATE.format(disable=disable, wraps=wraps)
        if above:
            end = 'outside of its graphs."""\n'
            text = text.replace(end, end + _PLAIN)
        text = text.replace("    ", source.indent)
        edits.append(add_function(source, text.split("\n")))
    if outer_source is not source:
        imported = _import_from(source, outer_source, uses_defer)
        if isinstance(imported, str):
            return imported
        edits += imported
    return edits


def _import_from(source: Source, outer_source: Source, uses_defer: bool) -> list[TextEdit] | str:
    stem = source.path.replace("\\", "/").removesuffix(".py").removesuffix("/__init__")
    names = ", ".join(name for name in (DEFER, WRAP) if (name == WRAP or uses_defer) and name not in outer_source.names)
    for statement in outer_source.tree.body:
        if not (isinstance(statement, ast.ImportFrom) and statement.module):
            continue
        if ("/" + stem.lstrip("/")).endswith("/" + statement.module.replace(".", "/")):
            if not names:
                return []
            at = end_of_line(outer_source, outer_source.range(statement)[1])
            module = "." * statement.level + statement.module
            return [
                TextEdit(
                    outer_source.path,
                    outer_source.between(at, at),
                    f"{outer_source.newline}from {module} import {names}",
                )
            ]
    name = stem.rsplit("/", 1)[-1]
    return f"The outermost compiled function is in another file, which imports nothing from `{name}`; mend it by hand."


def name_taken(source: Source) -> str | None:
    """Why the file cannot have the functions, or None."""
    names = {_PENDING, DEFER, WRAP} & source.names
    if names and not has_helpers(source) and not imports_helpers(source):
        return f"The file already uses the name `{min(names)}`, which the mend needs."
    return None


def has_helpers(source: Source) -> bool:
    """Whether the file has the functions of an earlier mend."""
    found = {one.name for one in source.tree.body if isinstance(one, ast.FunctionDef)}
    return {DEFER, WRAP} <= found and any(
        isinstance(one, ast.Assign) and source.code(one) == f"{_PENDING} = None" for one in source.tree.body
    )


def imports_helpers(source: Source) -> bool:
    """Whether the file imports them from another."""
    return any(
        isinstance(one, ast.ImportFrom) and any(alias.name == WRAP for alias in one.names) for one in source.tree.body
    )
