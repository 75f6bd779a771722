"""textDocument/hover: everything that is known of the break under the cursor."""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.params import need_place, need_uri
from graphmend_lsp.lsp.render import hover as words
from graphmend_lsp.lsp.units import from_place, to_range
from graphmend_lsp.lsp.workspace import Workspace
from graphmend_lsp.model import Span


def hover(workspace: Workspace, params: Any) -> dict[str, Any] | None:
    """The narrowest findings at the place."""
    file = workspace.files.get(need_uri(params))
    place = need_place(params, "position")
    if file is None or not workspace.settings.enable:
        return None
    text, encoding = file.document.text, workspace.client.encoding
    position = from_place(text, place, encoding)
    here = [known for known in workspace.known(file) if known.site.span.overlaps(Span(position, position))]
    if not here:
        return None
    kind = "markdown" if workspace.client.markdown else "plaintext"
    separator = "\n\n---\n\n" if workspace.client.markdown else "\n\n"
    value = separator.join(words(known, workspace.client) for known in here)
    return {
        "contents": {"kind": kind, "value": value},
        "range": to_range(text, here[0].site.span, encoding),
    }
