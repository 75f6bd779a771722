"""textDocument/codeLens: says so when a file has breaks and nothing can run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.methods.code_action import needs_entry
from graphmend_lsp.lsp.methods.entry_lens import entry_lenses
from graphmend_lsp.lsp.offer import WRITE_ENTRY
from graphmend_lsp.lsp.runs import definition_line
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Entry, Failure, Span

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_SHOWN = 120  # characters of a reason


def code_lens(ls: GraphMendServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Lenses above each entry and model that ran; above each model that no inputs were found for; and above the model where
    there is no entry at all."""
    state = ls.state
    file = state.files.get(params.text_document.uri)
    if file is None or not state.settings_at(file.document.path).enable or file.document.is_large:
        return []
    if file.unmade and not file.entries:
        return [_unmade(ls, file, entry, failure) for entry, failure in file.unmade] + entry_lenses(ls, file)
    if lenses := entry_lenses(ls, file):
        return lenses
    if not needs_entry(state, file):
        return []
    line = state.stub(file).line
    if line is None:
        return []
    return [_lens(ls, file, line, "GraphMend has nothing to run here. Add an example call")]


def _unmade(ls: GraphMendServer, file: OpenFile, entry: Entry, failure: Failure) -> types.CodeLens:
    """The lens of an entry that could not be made up: why, and that its stub is one click away."""
    line = definition_line(file.document.text, entry.function.partition(".")[0])
    why = failure.message.partition(": ")[2].rstrip(".") or failure.message
    why = why if len(why) <= _SHOWN else why[: _SHOWN - 2] + " …"
    return _lens(ls, file, line, f"GraphMend could not guess inputs for {entry.function} ({why}). Add an example call")


def _lens(ls: GraphMendServer, file: OpenFile, line: int, title: str) -> types.CodeLens:
    place = to_range(file.document.text, Span.of(line, 1, line, 1), ls.state.client.encoding)
    return types.CodeLens(place, types.Command(title, WRITE_ENTRY, arguments=[file.document.uri]))
