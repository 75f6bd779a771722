"""What is known of context managers: those out of which a break is resumed, and those that let exceptions through.

Pure reading of `Source`; what is not known may hold an exception back.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, local_names
from graphmend_lsp.mending.syntax.walk import walk

_RESUMED = frozenset(("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast", "record_function", "profile",
                      "nullcontext", "sdpa_kernel"))  # fmt: skip
"""Dynamo enters these again behind a break (measured with torch 2.13)."""

_HOMES = ("torch.", "warnings.", "contextlib.", "threading.", "os.", "tempfile.", "io.")
_OPEN = _RESUMED | {"device", "fork_rng", "catch_warnings", "redirect_stdout", "redirect_stderr", "open", "closing", "Lock",
                    "RLock", "Semaphore", "Condition", "detect_anomaly", "set_detect_anomaly", "emit_nvtx", "range",
                    "stream", "TemporaryDirectory", "chdir"}  # fmt: skip


def is_resumed(source: Source, statement: ast.AST) -> bool:
    """Whether Dynamo can go on behind a break in a statement: a ``with`` of nothing but modes that it knows."""
    return isinstance(statement, ast.With) and all(
        _word(source, item.context_expr) in _RESUMED for item in statement.items
    )


def may_swallow(source: Source, statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a ``with`` may end an exception, so that what stands behind it runs although its body did not end."""
    return not all(_lets_through(source, item.context_expr) for item in statement.items)


def _word(source: Source, node: ast.expr) -> str:
    """The last part of the name of what is entered, without its arguments."""
    return source.code(node).split("(")[0].split(".")[-1]


def _lets_through(source: Source, node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    name = dotted(source, called)
    if name is not None:
        return name.startswith(_HOMES) and name.rpartition(".")[2] in _OPEN
    return is_builtin(source, called, "open") or (isinstance(called, ast.Name) and _own_lets_through(source, called))


def _own_lets_through(source: Source, called: ast.Name) -> bool:
    """The same of a name of this file: a class, a generator under ``contextmanager``, or what holds one of the known."""
    function = source.function(called)
    meant = [one for one in source.tree.body if _binds(one, called.id)]
    if len(meant) != 1 or (function is not None and called.id in local_names(function)):
        return False
    (one,) = meant
    if isinstance(one, ast.ClassDef):
        exits = [method for method in one.body if isinstance(method, ast.FunctionDef) and method.name == "__exit__"]
        return len(exits) == 1 and all(
            value is None or (isinstance(value, ast.Constant) and not value.value)
            for value in (node.value for node in walk(exits[0]) if isinstance(node, ast.Return))
        )
    if isinstance(one, ast.FunctionDef):
        marked = any("contextmanager" in source.code(mark) for mark in one.decorator_list)
        return marked and not any(_ends_exceptions(source, node) for node in walk(one))
    return isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and _lets_through(source, one.value)


def _ends_exceptions(source: Source, node: ast.AST) -> bool:
    """Whether a statement around a ``yield`` may end an exception that comes out of it."""
    if not any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in walk(node)):
        return False
    if isinstance(node, ast.Try):
        return bool(node.handlers) or any(isinstance(one, ast.Return) for line in node.finalbody for one in walk(line))
    return isinstance(node, ast.With) and may_swallow(source, node)


def _binds(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        return statement.name == name
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in walk(statement)
    )
