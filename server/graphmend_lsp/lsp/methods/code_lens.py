"""textDocument/codeLens: says so when a file has breaks and nothing can run them."""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.methods.code_action import needs_entry
from graphmend_lsp.lsp.params import need_uri
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.workspace import Workspace
from graphmend_lsp.model import Span

WRITE_ENTRY = "graphmend.writeEntry"


def code_lens(workspace: Workspace, params: Any) -> list[dict[str, Any]]:
    """One lens above the model, where there is no entry."""
    file = workspace.files.get(need_uri(params))
    if file is None or not workspace.settings.enable or not needs_entry(workspace, file):
        return []
    line = workspace.stub(file).line
    if line is None:
        return []
    span = Span.of(line, 1, line, 1)
    command = {"title": "graphmend: no entry; write one", "command": WRITE_ENTRY, "arguments": [file.document.uri]}
    return [{"range": to_range(file.document.text, span, workspace.client.encoding), "command": command}]
