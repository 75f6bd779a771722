"""textDocument/diagnostic, for clients that ask."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_PATIENCE = 5.0  # seconds until an answer is given from what there is


async def diagnostic(
    ls: GraphMendServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    """The document's findings, once its text as it is now has been analysed."""
    file = ls.state.files.get(params.text_document.uri)
    if file is None:
        return types.RelatedFullDocumentDiagnosticReport([])
    try:
        await asyncio.wait_for(file.analysed.wait(), _PATIENCE)
    except asyncio.TimeoutError:
        ls.state.log("warning", "static analysis takes unusually long")
    items = ls.state.diagnostics(file)
    result_id = hashlib.sha1(repr(items).encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()
    if params.previous_result_id == result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=result_id)
