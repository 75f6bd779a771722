"""textDocument/inlayHint: marks where a graph begins (setting ``graphmend.inlayHints``, off by default)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.maps import Cut
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Graph, Position, Span, Stop

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def inlay_hint(ls: GraphMendServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    """At the end of the line in which a graph begins: its number and its operators."""
    state = ls.state
    file = state.files.get(params.text_document.uri)
    if file is None or file.document.path is None or not (state.settings.enable and state.settings.inlay_hints):
        return []
    marks: dict[int, dict[str, None]] = {}
    for cut in state.maps.about(file.document.path):
        for line, mark in _begins(cut, file, file.document.path):
            marks.setdefault(line, {})[mark] = None
    text, encoding = file.document.text, state.client.encoding
    hints = []
    for line, words in marks.items():
        end = Position(line, len(text.line(line)) + 1)
        place = to_range(text, Span(end, end), encoding).start
        if params.range.start.line <= place.line <= params.range.end.line:
            hints.append(types.InlayHint(place, ", ".join(words), padding_left=True))
    return hints


def _begins(cut: Cut, file: OpenFile, path: str) -> Iterator[tuple[int, str]]:
    """The lines in which graphs begin, as far as they are in this file and read as in the run: a function's first, or the one
    that ended the graph before."""
    total, number = sum(isinstance(piece, Graph) for piece in cut.result.strip), 0
    before: Stop | None = None
    for piece in cut.result.strip:
        if isinstance(piece, Stop):
            before = piece
            continue
        number += 1
        words = f"graph {number} of {total}: {piece.ops} operator{'s' * (piece.ops != 1)}"
        line = Span.of(piece.line, 1, piece.line, 1)
        resumed = before is not None and before.outcome == "resumed" and _function(before) == piece.function
        where, span = (before.path, before.span) if before is not None and resumed else (piece.path, line)
        if where != path or cut.run.text(path) is None:
            continue
        moved = cut.run.moved(path, span, file.document.text)
        if moved is not None:
            yield moved.end.line, words


def _function(stop: Stop) -> str:
    return stop.chain[-1].function if stop.chain else ""
