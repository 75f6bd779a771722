"""textDocument/inlayHint: marks where a graph begins (setting ``graphmend.inlayHints``, off by default)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.maps import Cut
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Graph, Position, Span

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def inlay_hint(ls: GraphMendServer, params: types.InlayHintParams) -> list[types.InlayHint]:
    """At the end of the line in which a graph begins: its number and its operators."""
    state = ls.state
    file = state.files.get(params.text_document.uri)
    if file is None or file.document.path is None:
        return []
    settings = state.settings_at(file.document.path)
    if not (settings.enable and settings.inlay_hints):
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
    """The lines in which graphs begin, as far as they are in this file and read as in the run: a function's first, or that of
    the break before."""
    graphs = [piece for piece in cut.result.strip if isinstance(piece, Graph)]
    then = cut.run.text(path)
    for number, graph in enumerate(graphs, 1):
        if graph.path != path or then is None or graph.line > then.line_count:
            continue
        line = Span.of(graph.line, 1, graph.line, len(then.line(graph.line)) + 1)
        moved = cut.run.moved(path, line, file.document.text)
        if moved is not None:
            yield moved.end.line, f"graph {number} of {len(graphs)}: {graph.ops} operator{'s' * (graph.ops != 1)}"
