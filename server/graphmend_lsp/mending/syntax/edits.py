"""Edits at statements: insert before or after one, replace a run of them, remove one; nothing else moves.

Lines are given without indentation and without line ends; they get the block's indentation and the file's line ends.
Statements that share a line (``a; b``, ``if c: a``) are taken apart where the edit needs it. No rule's knowledge
enters here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit

_SEPARATOR = re.compile(r"[ \t]*;[ \t]*")
_BLANK = re.compile(r"[ \t]*")
_COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Match,
)  # fmt: skip


_MOST_COMMENTS = 20  # lines directly above a statement that may be its comments


def insert_before(source: Source, statement: ast.stmt, lines: Sequence[str]) -> TextEdit:
    """New lines in front of a statement (in front of its decorators, behind comments above it)."""
    first = _first(statement)
    start, _ = source.range(first)
    if source.starts_line(first):
        indent = source.indentation(first)
        return _edit(
            source,
            start,
            start,
            source.newline.join(_indented(lines, indent)).removeprefix(indent) + source.newline + indent,
        )
    if _on_header(source, statement):
        if _simple(lines):
            return _edit(source, start, start, "; ".join(lines) + "; ")
        return _opened(source, statement, lines, before=True)
    gap, indent = _gap_before(source, statement)
    text = "".join(source.newline + line for line in (*_indented(lines, indent), indent))
    return _edit(source, gap, start, text)


def insert_after(source: Source, statement: ast.stmt, lines: Sequence[str]) -> TextEdit:
    """New lines behind a statement, behind a comment on its last line."""
    _, end = source.range(statement)
    if _on_header(source, statement):
        if _simple(lines):
            return _edit(source, end, end, "".join(f"; {line}" for line in lines))
        return _opened(source, statement, lines, before=False)
    indent = block_indentation(source, statement)
    text = "".join(source.newline + line for line in _indented(lines, indent))
    follower = _SEPARATOR.match(source.text.value, end)
    rest = source.after(statement)
    if follower and rest and source.range(_first(rest[0]))[0] == follower.end():
        return _edit(source, end, follower.end(), text + source.newline + indent)
    return _edit(source, end_of_line(source, end), end_of_line(source, end), text)


def replace(source: Source, first: ast.stmt, last: ast.stmt, lines: Sequence[str]) -> TextEdit:
    """New lines in place of the statements from `first` to `last` of one block.

    A comment behind `last` on its line stays when the new text is one line; otherwise it stays behind the last one.
    """
    start, _ = source.range(_first(first))
    _, end = source.range(last)
    if source.starts_line(_first(first)):
        indent = source.indentation(_first(first))
        text = source.newline.join(_indented(lines, indent)).removeprefix(indent)
        follower = _SEPARATOR.match(source.text.value, end)
        if follower and source.after(last) and not _simple(lines):
            return _edit(source, start, follower.end(), text + source.newline + indent)
        return _edit(source, start, end, text)
    if _simple(lines):
        return _edit(source, start, end, "; ".join(lines))
    gap, indent = _gap_before(source, first)
    if _on_header(source, first) and source.block(first)[0] is not first:
        opening, _ = _gap_before(source, source.block(first)[0])
        kept = source.text.value[source.range(source.block(first)[0])[0] : gap]
        return _edit(source, opening, end, "".join(source.newline + line for line in _indented([kept, *lines], indent)))
    return _edit(source, gap, end, "".join(source.newline + line for line in _indented(lines, indent)))


def remove(source: Source, statement: ast.stmt) -> TextEdit:
    """Take a statement out, with its line when it has one of its own; ``pass`` stays where a block would be empty."""
    value = source.text.value
    start, end = source.range(_first(statement))[0], source.range(statement)[1]
    block = source.block(statement)
    if len(block) == 1:
        return _edit(source, start, end, "pass")
    follower = _SEPARATOR.match(value, end)
    if follower and not _at_line_end(value, follower.end()):
        return _edit(source, start, follower.end(), "")
    stop = follower.end() if follower else end
    if source.starts_line(_first(statement)):
        line_start = source.text.starts[source.span(_first(statement)).start.line - 1]
        blank = _BLANK.match(value, stop)
        after = blank.end() if blank else stop
        if value.startswith("#", after):  # the comment behind it keeps its line
            return _edit(source, start, after, "")
        if value.startswith("\r\n", after):
            after += 2
        elif value.startswith("\n", after):
            after += 1
        elif line_start:  # the last line of a file that does not end with a line end
            line_start -= len(source.newline)
        return _edit(source, line_start, after, "")
    gap, _ = _gap_before(source, statement)
    return _edit(source, gap, stop, "")


def remove_commented(source: Source, statement: ast.stmt) -> tuple[TextEdit, tuple[str, ...]]:
    """Take a statement out, with the comments directly above that are about it alone, as a blank line behind it tells.

    The edit, and those comments.
    """
    edit = remove(source, statement)
    last = source.span(statement).end.line
    if last < source.text.line_count and source.text.line(last + 1).strip():
        return edit, ()
    line = source.span(_first(statement)).start.line
    top = source.text.starts[max(line - 1 - _MOST_COMMENTS, 0)]
    above = {source.text.position(one.offset).line: one for one in comments(source, top, source.text.starts[line - 1])}
    found: list[str] = []
    while source.starts_line(_first(statement)) and line - 1 in above and above[line - 1].own_line:
        line -= 1
        found.insert(0, above[line].text)
    if not found:
        return edit, ()
    return _edit(source, source.text.starts[line - 1], source.text.offset(edit.span.end), edit.text), tuple(found)


def rewrite(source: Source, node: ast.expr, text: str) -> TextEdit:
    """Other text for an expression; parentheses around it stay."""
    start, end = source.range(node)
    return _edit(source, start, end, text)


def block_indentation(source: Source, statement: ast.stmt) -> str:
    """The indentation that lines of a statement's block have, also when the block stands on its header's line."""
    for one in source.block(statement):
        if source.starts_line(_first(one)):
            return source.indentation(_first(one))
    parent = source.parents.get(statement)
    if isinstance(parent, (ast.stmt, ast.ExceptHandler)):
        outer = source.indentation(parent)
        return outer + source.indent
    return source.indentation(statement)


def end_of_line(source: Source, offset: int) -> int:
    """The offset just before the line end of the line at `offset`."""
    position = source.text.position(offset)
    return source.text.starts[position.line - 1] + len(source.text.line(position.line))


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, with its hash sign; `offset` is where it starts, `own_line` whether nothing stands before it."""

    offset: int
    text: str
    own_line: bool


def comments(source: Source, start: int, end: int) -> tuple[Comment, ...]:
    """The comments between two offsets, in order."""
    found: list[Comment] = []
    first_line = source.text.position(start).line
    last_line = source.text.position(end).line
    base = source.text.starts[first_line - 1]
    stop = source.text.starts[last_line] if last_line < source.text.line_count else len(source.text.value)
    piece = source.text.value[base:stop]
    try:
        for token in tokenize.generate_tokens(io.StringIO(piece, newline="").readline):
            if token.type == tokenize.COMMENT:
                line_start = source.text.starts[first_line + token.start[0] - 2]
                offset = line_start + token.start[1]
                if start <= offset < end:
                    own = not source.text.value[line_start:offset].strip()
                    found.append(Comment(offset, token.string.rstrip(), own))
    except (tokenize.TokenError, IndentationError):
        pass  # the piece may stop inside a block: what follows the piece is not ours
    return tuple(found)


def one_line(code: str) -> str:
    """The text of an expression on one line, strings as they are; comments are left out (see `comments`)."""
    if "\n" not in code and "\r" not in code and "#" not in code:
        return code
    out: list[str] = []
    end = (1, 1)
    drop = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = list(tokenize.generate_tokens(io.StringIO(f"({code}\n)").readline))
    kept = [token for token in tokens if token.type not in drop][1:-1]
    for before, token in zip([None, *kept], kept, strict=False):
        text = token.string
        if before is not None:
            same_line = token.start[0] == end[0]
            gap = token.start[1] - end[1] if same_line else 1
            opens = before.string in "([{" and not same_line
            closes = text in (")", "]", "}") and not same_line
            if closes and out[-1] == "," and not _is_tuple_comma(out):
                out.pop()
            if not (opens or closes):
                out.append(" " * gap)
        out.append(text)
        end = token.end
    return "".join(out)


def _is_tuple_comma(out: list[str]) -> bool:
    """Whether the last comma makes a one-element tuple: no other comma at its depth, and the bracket is no call's."""
    depth = 0
    for index in range(len(out) - 2, -1, -1):
        text = out[index]
        if text in (")", "]", "}"):
            depth += 1
        elif text in ("(", "[", "{"):
            if depth == 0:
                before = "".join(out[:index]).rstrip()
                called = before != "" and (before[-1].isalnum() or before[-1] in "_)]")
                return called if text == "[" else text == "(" and not called
            depth -= 1
        elif text == "," and depth == 0:
            return False
    return True


def _first(statement: ast.stmt) -> ast.AST:
    """Where a statement begins: at its first decorator's expression when it has one."""
    decorators = getattr(statement, "decorator_list", None)
    return decorators[0] if decorators else statement


def _indented(lines: Sequence[str], indent: str) -> list[str]:
    return [indent + line if line.strip() else "" for line in lines]


def _on_header(source: Source, statement: ast.stmt) -> bool:
    """Whether the statement's block stands on its header's line (``if c: a; b``)."""
    return not source.starts_line(_first(source.block(statement)[0])) and source.parents.get(statement) != source.tree


def _simple(lines: Sequence[str]) -> bool:
    """Whether lines are statements that may share a line: one line each, none compound, no comment."""
    try:
        body = ast.parse("\n".join(lines)).body
    except SyntaxError:
        return False
    plain = not any(isinstance(one, _COMPOUND) or one.lineno != one.end_lineno for one in body)
    return plain and len(body) == len(lines) and not any("#" in line for line in lines)


def _opened(source: Source, statement: ast.stmt, lines: Sequence[str], before: bool) -> TextEdit:
    """A block on its header's line put on lines of its own up to `statement`, with new lines before or after that."""
    block = source.block(statement)
    gap, indent = _gap_before(source, block[0])
    start, end = source.range(statement)
    first = source.range(block[0])[0]
    value = source.text.value
    if before:
        kept = [value[first:start].rstrip("; \t")] if first < start else []
        new, stop, tail = [*kept, *lines, ""], start, indent
    else:
        follower = _SEPARATOR.match(value, end)
        more = bool(follower) and statement is not block[-1]
        new = [value[first:end], *lines, *([""] if more else [])]
        stop, tail = (follower.end(), indent) if follower and more else (end, "")
    text = "".join(source.newline + line for line in _indented(new, indent))
    return _edit(source, gap, stop, text + tail)


def _gap_before(source: Source, statement: ast.stmt) -> tuple[int, str]:
    """Where the separator before a statement starts that does not start its line, and its block's indentation."""
    block = source.block(statement)
    index = block.index(statement)
    start, _ = source.range(statement)
    value = source.text.value
    if index:
        gap = source.range(block[index - 1])[1]
    else:
        gap = len(value[:start].rstrip(" \t"))
    return gap, block_indentation(source, statement)


def _at_line_end(value: str, offset: int) -> bool:
    blank = _BLANK.match(value, offset)
    at = blank.end() if blank else offset
    return at >= len(value) or value[at] in "\r\n#"


def _edit(source: Source, start: int, end: int, text: str) -> TextEdit:
    return TextEdit(source.path, source.between(start, end), text)
