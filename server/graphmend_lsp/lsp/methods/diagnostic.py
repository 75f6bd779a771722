"""textDocument/diagnostic, for clients that ask."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from graphmend_lsp.lsp.params import at, need_uri
from graphmend_lsp.lsp.workspace import Workspace

_PATIENCE = 5.0  # seconds until an answer is given from what there is


async def diagnostic(workspace: Workspace, params: Any) -> dict[str, Any]:
    """The document's findings, once its text as it is now has been analysed."""
    file = workspace.files.get(need_uri(params))
    if file is None:
        return {"kind": "full", "items": []}
    try:
        await asyncio.wait_for(file.analysed.wait(), _PATIENCE)
    except asyncio.TimeoutError:
        workspace.log("warning", "static analysis takes unusually long")
    items = workspace.diagnostics(file)
    result_id = hashlib.sha1(json.dumps(items).encode("utf-8"), usedforsecurity=False).hexdigest()
    if at(params, "previousResultId") == result_id:
        return {"kind": "unchanged", "resultId": result_id}
    return {"kind": "full", "resultId": result_id, "items": items}
