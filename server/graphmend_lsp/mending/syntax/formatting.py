"""The text of a where mend: expressions on one line with parts exchanged, parentheses, lines broken as black does."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping

from graphmend_lsp.mending.syntax.edits import one_line
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple)


def render(source: Source, node: ast.AST, exchange: Mapping[ast.AST, str] | None = None) -> str:
    """The text of an expression on one line, with some of its nodes replaced by other text."""
    spots: list[tuple[int, int, str]] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if exchange and one in exchange:
            spots.append((*source.range(one), exchange[one]))
            continue
        pending.extend(ast.iter_child_nodes(one))
    start, end = source.range(node)
    parts: list[str] = []
    at = start
    for first, last, text in sorted(spots):
        parts += (source.text.value[at:first], text)
        at = last
    return one_line("".join([*parts, source.text.value[at:end]]))


def is_atom(text: str) -> bool:
    """Whether an expression needs no parentheses as an operand."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    if isinstance(node, (ast.Constant, ast.Tuple)):
        return not isinstance(node, ast.Tuple) and not text.startswith("-")
    return isinstance(node, _ATOMS)


def operand(text: str) -> str:
    """The expression as an operand of any operator."""
    return text if is_atom(text) else f"({text})"


def line_limit(source: Source) -> int:
    """How long lines may be: as long as the file's longest, between 88 and 120."""
    longest = max((len(source.text.line(number)) for number in range(1, source.text.line_count + 1)), default=0)
    return min(max(longest, 88), 120)


def layout(line: str, indent: str, limit: int) -> list[str]:
    """A statement's line, broken at its last brackets until its lines are short enough; `indent` is one level."""
    if len(line) <= limit:
        return [line]
    split = _last_brackets(line)
    if split is None:
        return [line]
    head, body, tail = split
    if tail.rstrip(",:") not in (")", "]", "}"):
        return [line]
    base = line[: len(line) - len(line.lstrip(" \t"))]
    inner = base + indent
    whole = inner + ", ".join(body)
    if len(whole) <= limit and len(body) > 0:
        return [head, whole, base + tail]
    lines = [head]
    for part in body:
        lines += layout(f"{inner}{part},", indent, limit)
    return [*lines, base + tail]


def _last_brackets(line: str) -> tuple[str, list[str], str] | None:
    """The text up to the last top-level ``(`` (or a display's ``[``, ``{``) with something behind it, its parts, and the rest."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline))
    except (tokenize.TokenError, IndentationError):
        return None
    lead = len(line) - len(line.lstrip(" \t"))
    depth = 0
    opened = closed = -1
    commas: list[int] = []
    unnamed = 0  # lambdas whose parameters are being read
    found: tuple[int, int, list[int]] | None = None
    for token in tokens:
        column = token.start[1] + lead
        if token.string in ("lambda", ":") and depth == 1:
            unnamed += 1 if token.string == "lambda" else -min(unnamed, 1)
        if token.type != tokenize.OP or token.start[0] != 1:
            continue
        if token.string in "([{":
            if depth == 0:
                opened, commas = column, []
            depth += 1
        elif token.string in ")]}":
            depth -= 1
            display = token.string in "]}" and bool(commas) and line[opened - 1 : opened] in (" ", "(", "")
            if depth == 0 and (token.string == ")" or display) and line[opened + 1 : column].strip():
                closed = column
                found = (opened, closed, commas)
        elif token.string == "," and depth == 1 and not unnamed:
            commas.append(column)
    if found is None:
        return None
    opened, closed, commas = found
    edges = [opened, *commas, closed]
    parts = [line[edges[at] + 1 : edges[at + 1]].strip() for at in range(len(edges) - 1)]
    parts = [part for part in parts if part]
    if len(parts) == 1 and _last_brackets(parts[0]) is None and not commas and line[:opened].rstrip()[-1:] in ("", "="):
        return None
    return line[: opened + 1], parts, line[closed:]


def first_line(source: Source, node: ast.AST) -> str:
    """The first line of a node's text, for messages."""
    lines = source.code(node).splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "")


def verbatim(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """The lines of a statement as written, without its own indentation.

    Raises:
        Refused: when a string goes over lines, whose white space must not move.
    """
    if any(
        node.lineno != node.end_lineno
        for node in ast.walk(statement)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ):  # fmt: skip
        raise Refused("A string over several lines stands in a part that would move.")
    indent = source.indentation(statement)
    first, *rest = source.code(statement).replace("\r\n", "\n").split("\n")
    return (first, *(line.removeprefix(indent) for line in rest))
