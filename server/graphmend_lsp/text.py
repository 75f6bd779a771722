"""Source text and its arithmetic: lines, positions in any unit, and edits. Pure; used by every room of the server.

Only ``\\n``, ``\\r\\n`` and ``\\r`` end a line, as for the Python tokenizer and for LSP (`str.splitlines` also splits at form
feeds, U+2028 and others, which shifts every line after them).
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from graphmend_lsp.model import Position, Span, TextEdit

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Text:
    """An immutable source text with an index of its lines.

    Offsets are 0-based code points into `value`. Positions are `Position`s: 1-based, columns in code points.
    """

    value: str

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of the first character of every line; a text that ends with a line end has an empty last line."""
        return (0, *(match.end() for match in _LINE_END.finditer(self.value)))

    @property
    def line_count(self) -> int:
        """How many lines there are (at least 1)."""
        return len(self.starts)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """The offset behind the last character of every line, its line end not counted."""
        return (*(match.start() for match in _LINE_END.finditer(self.value)), len(self.value))

    def line(self, number: int) -> str:
        """The 1-based line without its line end; empty when the text has no such line."""
        if not 1 <= number <= len(self.starts):
            return ""
        return self.value[self.starts[number - 1] : self._ends[number - 1]]

    def offset(self, position: Position) -> int:
        """The offset of a position; columns past the end of the line mean its end, lines past the end the text's."""
        if position.line < 1:
            return 0
        if position.line > len(self.starts):
            return len(self.value)
        return min(self.starts[position.line - 1] + max(position.column - 1, 0), self._ends[position.line - 1])

    def position(self, offset: int) -> Position:
        """The position of an offset."""
        offset = min(max(offset, 0), len(self.value))
        line = bisect_right(self.starts, offset)
        return Position(line, offset - self.starts[line - 1] + 1)

    def slice(self, span: Span) -> str:
        """The text of a span."""
        return self.value[self.offset(span.start) : self.offset(span.end)]

    def from_utf8(self, line: int, column: int) -> Position:
        """A place as `ast` gives it (1-based line, 0-based UTF-8 byte column) as a position."""
        content = self.line(line)
        if content.isascii():
            return Position(line, min(column, len(content)) + 1)
        return Position(line, len(content.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")) + 1)

    def to_utf8(self, position: Position) -> tuple[int, int]:
        """A position as `ast` counts: 1-based line, 0-based UTF-8 byte column."""
        content = self.line(position.line)[: position.column - 1]
        return position.line, len(content.encode("utf-8", "surrogatepass"))

    def span_from_utf8(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """A stretch as `ast` gives it as a span."""
        return Span(self.from_utf8(line, column), self.from_utf8(end_line, end_column))


class OverlappingEditsError(ValueError):
    """Two edits of one change touch the same text."""


def apply_edits(value: str, edits: Iterable[TextEdit]) -> str:
    """The text after all `edits`, which refer to `value` and must not overlap.

    Insertions at one place keep the order in which they are given.

    Raises:
        OverlappingEditsError: when two edits overlap.
    """
    text = Text(value)
    placed = [(text.offset(edit.span.start), text.offset(edit.span.end), edit.text) for edit in edits]
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(placed, key=lambda edit: (edit[0], edit[1])):
        if start < at:
            raise OverlappingEditsError(f"edits overlap at offset {start}")
        parts += (value[at:start], new)
        at = end
    return "".join([*parts, value[at:]])


def smallest_edits(path: str, old: Text, new: str) -> tuple[TextEdit, ...]:
    """Edits that turn `old` into `new`, hunk by hunk, each as small as can be."""
    after = Text(new)
    before_lines = _lines(old)
    after_lines = _lines(after)
    head = 0
    while head < min(len(before_lines), len(after_lines)) and before_lines[head] == after_lines[head]:
        head += 1
    tail = 0
    limit = min(len(before_lines), len(after_lines)) - head
    while tail < limit and before_lines[-1 - tail] == after_lines[-1 - tail]:
        tail += 1
    a = before_lines[head : len(before_lines) - tail]
    b = after_lines[head : len(after_lines) - tail]
    edits: list[TextEdit] = []
    for kind, a_from, a_to, b_from, b_to in difflib.SequenceMatcher(None, a, b, autojunk=len(a) > 2000).get_opcodes():
        if kind == "equal":
            continue
        removed, added = "".join(a[a_from:a_to]), "".join(b[b_from:b_to])
        start = old.starts[head + a_from] if head + a_from < len(old.starts) else len(old.value)
        shared = 0
        while shared < min(len(removed), len(added)) and removed[shared] == added[shared]:
            shared += 1
        rest = min(len(removed), len(added)) - shared
        end = 0
        while end < rest and removed[-1 - end] == added[-1 - end]:
            end += 1
        # An edit must not fall between the two characters of one line end.
        if shared and removed[shared - 1 : shared] == "\r":
            shared -= 1
        if (
            end
            and removed[len(removed) - end : len(removed) - end + 1] == "\n"
            and removed[: len(removed) - end].endswith("\r")
        ):
            end -= 1
        if end and added[len(added) - end : len(added) - end + 1] == "\n" and added[: len(added) - end].endswith("\r"):
            end -= 1
        span = Span(old.position(start + shared), old.position(start + len(removed) - end))
        edits.append(TextEdit(path, span, added[shared : len(added) - end]))
    return tuple(edits)


def line_before(old: str, new: str, line: int) -> int:
    """The 1-based line of `old` from which a line of `new` came; where it is new, the line that it took the place of."""
    a, b = _lines(Text(old)), _lines(Text(new))
    for _, a_from, a_to, b_from, b_to in difflib.SequenceMatcher(None, a, b, autojunk=len(a) > 2000).get_opcodes():
        if b_from < line <= b_to:
            return min(a_from + line - b_from, max(a_to, a_from + 1), max(len(a), 1))
    return line


def _lines(text: Text) -> list[str]:
    ends = [*text.starts[1:], len(text.value)]
    lines = [text.value[start:end] for start, end in zip(text.starts, ends, strict=True)]
    return lines[:-1] if lines[-1] == "" else lines
