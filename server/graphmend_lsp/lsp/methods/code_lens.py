"""textDocument/codeLens: says so when a file has breaks and nothing can run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.methods.code_action import needs_entry
from graphmend_lsp.lsp.offer import WRITE_ENTRY
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.model import Span

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def code_lens(ls: GraphMendServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """One lens above the model, where there is no entry."""
    state = ls.state
    file = state.files.get(params.text_document.uri)
    if file is None or not state.settings.enable or not needs_entry(state, file):
        return []
    line = state.stub(file).line
    if line is None:
        return []
    place = to_range(file.document.text, Span.of(line, 1, line, 1), state.client.encoding)
    return [
        types.CodeLens(
            place, types.Command("graphmend: no entry; write one", WRITE_ENTRY, arguments=[file.document.uri])
        )
    ]
