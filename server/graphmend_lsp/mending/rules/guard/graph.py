"""Checks inside the graph: ``torch._assert_async`` for an ``if`` that raises, an ``assert`` of a tensor for an
``assert``.

No break is left, also in inlined functions and loops; the exception becomes a RuntimeError, which is told. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.rules.guard.checks import Assertion, Parts, Raise, must_hold
from graphmend_lsp.mending.syntax.edits import comments, replace, rewrite
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import Assumption, TextEdit


@dataclass(frozen=True, slots=True)
class InGraph:
    """The edits, and what they change in behaviour."""

    edits: tuple[TextEdit, ...]
    changes: tuple[str, ...]
    assumes: tuple[Assumption, ...] = ()


def raise_in_graph(source: Source, check: Raise) -> InGraph | str:
    """The check as an assertion of the graph, or why it cannot be one."""
    if check.error.cause is not None:
        return "It is raised `from` another exception, which an assertion in the graph cannot carry."
    error = check.error.exc
    if not (isinstance(error, ast.Call) and len(error.args) == 1 and not error.keywords):
        return "An assertion in the graph carries exactly one message, and its exception does not."
    message = _constant(source, error.args[0])
    if message is None:
        return f"Its message, `{source.code(error.args[0])}`, is not known before the run; write a constant text."
    parts = must_hold(source, check.statement.test, True)
    if isinstance(parts, str):
        return parts
    if check.statement.body[0] is not check.error:
        return "The check has a condition around it inside; mend the inner one."
    if comments(source, *source.range(check.statement)):
        return "There are comments inside the check; move them above it first."
    called, added = spell(source, "torch._assert_async", check.statement)
    text, changed = message
    inside = [f"{called}({tensor}, {text})" for tensor in parts.tensors]
    lines = under(source, parts, inside, source.code(check.error))
    if source.code(check.statement).startswith("elif"):
        lines = ["else:", *(source.indent + line for line in lines)]
    name = source.code(error.func)
    changes = [
        f"A failing check raises RuntimeError instead of {name}; on CUDA it is raised later, and ends the CUDA context."
    ]
    if changed:
        changes.append(f"The message is the constant {text}.")
    edits = [replace(source, check.statement, check.statement, lines), *([added] if added else [])]
    return InGraph(tuple(edits), tuple(changes))


def assert_in_graph(source: Source, check: Assertion) -> InGraph | str:
    """The assert with a tensor as its condition and a constant as its message; or why it cannot be so."""
    statement = check.statement
    parts = must_hold(source, statement.test, False)
    if isinstance(parts, str):
        return parts
    if parts.static:
        return "Its condition holds for some shapes only; check those in a statement of its own."
    message = _constant(source, statement.msg) if statement.msg is not None else ("", False)
    if message is None:
        assert statement.msg is not None
        return f"Its message, `{source.code(statement.msg)}`, is not known before the run; write a constant text."
    text, changed = message
    changes = [
        "When compiled, a failing check raises RuntimeError instead of AssertionError; on CUDA it is raised later."
    ]
    if changed:
        changes.append(f"The message is the constant {text}.")
    if len(parts.tensors) == 1:
        condition = " and ".join((*parts.shapes, *parts.tensors))
        edits: list[TextEdit] = []
        if condition != source.code(statement.test):
            edits.append(rewrite(source, statement.test, condition))
        if changed and statement.msg is not None:
            edits.append(rewrite(source, statement.msg, text))
        if not edits:
            return "The check already is in the graph."
        return InGraph(tuple(edits), tuple(changes))
    if parts.shapes or comments(source, *source.range(statement)):
        return "Its conditions need statements of their own; write one `assert` for each."
    end = f", {text}" if statement.msg is not None else ""
    lines = [f"assert {tensor}{end}" for tensor in parts.tensors]
    return InGraph((replace(source, statement, statement, lines),), tuple(changes))


def under(source: Source, parts: Parts, inside: list[str], error: str) -> list[str]:
    """The lines `inside` behind the Python conditions of a check, which raise `error` themselves."""
    lines: list[str] = []
    for shape in parts.shapes:
        lines += [f"if {shape.replace(' == ', ' != ')}:", f"{source.indent}{error}"]
    lines += inside
    if parts.static:
        return [f"if {' and '.join(parts.static)}:", *(source.indent + line for line in lines)]
    return lines


def _constant(source: Source, message: ast.expr) -> tuple[str, bool] | None:
    """A message as a constant's text, and whether that differs: values in it become their own text in <>."""
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return source.code(message) if "\n" not in source.code(message) else repr(message.value), False
    text = _told(message)
    if text is None:
        return None
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
    return quoted, True


def _told(message: ast.expr) -> str | None:
    """The words of a message that is computed, each value as its own text in <>; None when they cannot be told."""
    if isinstance(message, ast.Constant):
        return message.value if isinstance(message.value, str) else None
    if isinstance(message, ast.JoinedStr):
        return "".join(
            f"<{ast.unparse(part.value)}>" if isinstance(part, ast.FormattedValue) else str(getattr(part, "value", ""))
            for part in message.values
        )
    if isinstance(message, ast.BinOp) and isinstance(message.op, ast.Add):
        left, right = _told(message.left), _told(message.right)
        return None if left is None or right is None else left + right
    if isinstance(message, ast.BinOp) and isinstance(message.op, ast.Mod):
        values = message.right.elts if isinstance(message.right, ast.Tuple) else [message.right]
        return _filled(_told(message.left), ("%s", "%d", "%r"), values)
    if isinstance(message, ast.Call) and isinstance(message.func, ast.Attribute) and message.func.attr == "format":
        return None if message.keywords else _filled(_told(message.func.value), ("{}",), message.args)
    return None


def _filled(text: str | None, fields: tuple[str, ...], values: Sequence[ast.expr]) -> str | None:
    """A text with its fields replaced by the values' own text, when there are as many."""
    if text is None:
        return None
    parts = re.split("|".join(re.escape(field) for field in fields), text)
    if len(parts) != len(values) + 1:
        return None
    return parts[0] + "".join(f"<{ast.unparse(value)}>{part}" for value, part in zip(values, parts[1:], strict=True))
