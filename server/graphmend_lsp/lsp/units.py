"""Positions as LSP writes them, to and from ours. Pure.

LSP: 0-based lines, 0-based characters in units of the negotiated encoding. Ours: `graphmend_lsp.model.Position`.
"""

from __future__ import annotations

from lsprotocol import types

from graphmend_lsp.lsp.uris import Encoding, uri_of
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text


def to_place(text: Text, position: Position, encoding: Encoding) -> types.Position:
    """A position as LSP; one past the line's end is the line's end."""
    line = min(max(position.line, 1), text.line_count)
    content = text.line(line)
    before = content[: max(position.column - 1, 0)] if position.line <= text.line_count else content
    return types.Position(line - 1, length(before, encoding))


def to_range(text: Text, span: Span, encoding: Encoding) -> types.Range:
    """A span as an LSP range."""
    return types.Range(to_place(text, span.start, encoding), to_place(text, span.end, encoding))


def from_place(text: Text, place: types.Position, encoding: Encoding) -> Position:
    """An LSP position as ours.

    Past the line's end is its end, past the last line the text's end, within a character its start.
    """
    line, character = place.line, place.character
    if line >= text.line_count:
        return Position(text.line_count, len(text.line(text.line_count)) + 1)
    content = text.line(line + 1)
    if encoding == "utf-32" or content.isascii():
        return Position(line + 1, min(character, len(content)) + 1)
    for index, letter in enumerate(content):
        character -= length(letter, encoding)
        if character < 0:
            return Position(line + 1, index + 1)
    return Position(line + 1, len(content) + 1)


def from_range(text: Text, place: types.Range, encoding: Encoding) -> Span:
    """An LSP range as a span, in order even when the client gave its ends the wrong way round."""
    ends = from_place(text, place.start, encoding), from_place(text, place.end, encoding)
    return Span(min(ends), max(ends))


def length(content: str, encoding: Encoding) -> int:
    """How many units of the encoding a piece of a line is."""
    if encoding == "utf-32" or content.isascii():
        return len(content)
    if encoding == "utf-8":
        return len(content.encode("utf-8", "surrogatepass"))
    return len(content) + sum(letter > "\uffff" for letter in content)


def location(path: str, uri: str | None, text: Text, span: Span, encoding: Encoding) -> types.Location:
    """An LSP location; `uri` is the open document's own spelling when there is one."""
    return types.Location(uri or uri_of(path), to_range(text, span, encoding))
