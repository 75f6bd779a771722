"""Positions and URIs as LSP writes them, to and from ours. Pure.

LSP: 0-based lines, 0-based characters in units of the negotiated encoding. Ours: `graphmend_lsp.model.Position`.
"""

from __future__ import annotations

import os
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text

Encoding = Literal["utf-8", "utf-16", "utf-32"]


def to_place(text: Text, position: Position, encoding: Encoding) -> dict[str, int]:
    """A position as LSP; one past the line's end is the line's end."""
    line = min(max(position.line, 1), text.line_count)
    content = text.line(line)
    before = content[: max(position.column - 1, 0)] if position.line <= text.line_count else content
    return {"line": line - 1, "character": length(before, encoding)}


def to_range(text: Text, span: Span, encoding: Encoding) -> dict[str, dict[str, int]]:
    """A span as an LSP range."""
    return {"start": to_place(text, span.start, encoding), "end": to_place(text, span.end, encoding)}


def from_place(text: Text, place: tuple[int, int], encoding: Encoding) -> Position:
    """An LSP position as ours.

    Past the line's end is its end, past the last line the text's end, within a character its start.
    """
    line, character = place
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


def from_range(text: Text, ends: tuple[tuple[int, int], tuple[int, int]], encoding: Encoding) -> Span:
    """An LSP range as a span."""
    return Span(from_place(text, ends[0], encoding), from_place(text, ends[1], encoding))


def length(content: str, encoding: Encoding) -> int:
    """How many units of the encoding a piece of a line is."""
    if encoding == "utf-32" or content.isascii():
        return len(content)
    if encoding == "utf-8":
        return len(content.encode("utf-8", "surrogatepass"))
    return len(content) + sum(letter > "\uffff" for letter in content)


def path_of(uri: str) -> str | None:
    """The file that a ``file:`` URI names, None for anything else (``untitled:``, ``vscode-notebook-cell:``)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file":
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/") if path[2:3] == ":" else f"//{parts.netloc}{path}"
        return os.path.normpath(path)
    return os.path.normpath(path) if path.startswith("/") else None


def uri_of(path: str) -> str:
    """The ``file:`` URI of an absolute path."""
    posix = path.replace("\\", "/") if os.name == "nt" else path
    if posix.startswith("//"):
        return "file:" + quote(posix)
    return "file://" + quote(posix if posix.startswith("/") else "/" + posix)


def location(path: str, uri: str | None, text: Text, span: Span, encoding: Encoding) -> dict[str, Any]:
    """An LSP location; `uri` is the open document's own spelling when there is one."""
    return {"uri": uri or uri_of(path), "range": to_range(text, span, encoding)}
