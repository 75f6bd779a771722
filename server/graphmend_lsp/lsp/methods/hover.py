"""textDocument/hover: everything that is known of the break under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.render import hover as words
from graphmend_lsp.lsp.units import from_place, to_range
from graphmend_lsp.model import Span

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def hover(ls: GraphMendServer, params: types.HoverParams) -> types.Hover | None:
    """The narrowest findings at the place."""
    state = ls.state
    file = state.files.get(params.text_document.uri)
    if file is None or not state.settings_at(file.document.path).enable or file.document.is_large:
        return None
    text, encoding = file.document.text, state.client.encoding
    position = from_place(text, params.position, encoding)
    here = [known for known in state.known(file) if known.site.span.overlaps(Span(position, position))]
    if not here:
        return None
    kind = types.MarkupKind.Markdown if state.client.markdown else types.MarkupKind.PlainText
    separator = "\n\n---\n\n" if state.client.markdown else "\n\n"
    value = separator.join(words(known, state.client, state.services.explain, text) for known in here)
    return types.Hover(types.MarkupContent(kind, value), to_range(text, here[0].site.span, encoding))
