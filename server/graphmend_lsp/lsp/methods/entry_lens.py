"""The lenses above each entry and model that ran: how it is cut, and what can be done about that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.maps import Cut, cut_words
from graphmend_lsp.lsp.offer import GRAPH_MAP, MEASURE, MEND_ALL
from graphmend_lsp.lsp.runs import definition_line
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Mode, Span, Stop

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def entry_lenses(ls: GraphMendServer, file: OpenFile) -> list[types.CodeLens]:
    """ "3 graphs, 2 graph breaks: Mend all", "Graph map" and "Measure" above each; nothing where no run has ended well."""
    if not ls.state.settings_at(file.document.path).code_lens or file.document.path is None:
        return []
    places: dict[int, dict[Mode, tuple[int, int]]] = {}
    text = file.document.text
    for cut in ls.state.maps.about(file.document.path):
        if cut.result.error is not None:
            continue
        for name in dict.fromkeys(_names(cut, file.document.path)):
            line = definition_line(text, name)
            if line > 1 or name in text.line(1):
                places.setdefault(line, {})[cut.result.mode] = ls.state.maps.counts(cut, ls.state.text_at)
    return [lens for line, counts in places.items() for lens in _at(ls, file, line, counts)]


def _names(cut: Cut, path: str) -> Iterator[str]:
    """What of a file an entry is, or calls first: its function, and the class of the model."""
    if cut.result.entry.file == path:
        yield cut.result.entry.function.partition(".")[0]
    for piece in cut.result.strip:
        first = piece.chain[0] if isinstance(piece, Stop) and piece.chain else None
        function, where = (first.function, first.path) if first is not None else ("", "")
        if where == path and "." in function:
            yield function.partition(".")[0]


def _at(
    ls: GraphMendServer, file: OpenFile, line: int, counts: dict[Mode, tuple[int, int]]
) -> Iterable[types.CodeLens]:
    place = to_range(file.document.text, Span.of(line, 1, line, 1), ls.state.client.encoding)
    words, uri = cut_words(counts), [file.document.uri]
    if not any(breaks for _, breaks in counts.values()):
        yield types.CodeLens(place, types.Command(words, GRAPH_MAP, arguments=uri))
        return
    yield types.CodeLens(place, types.Command(f"{words}: Mend all", MEND_ALL, arguments=uri))
    yield types.CodeLens(place, types.Command("Graph map", GRAPH_MAP, arguments=uri))
    yield types.CodeLens(place, types.Command("Measure", MEASURE, arguments=uri))
