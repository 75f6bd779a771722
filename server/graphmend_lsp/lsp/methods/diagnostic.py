"""textDocument/diagnostic and workspace/diagnostic, for clients that ask."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_HELD = 30.0  # seconds a question about the workspace waits for news
_PATIENCE = 5.0  # seconds until an answer is given from what there is


async def diagnostic(
    ls: GraphMendServer, params: types.DocumentDiagnosticParams
) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
    """The document's findings, once its text as it is now has been analysed."""
    uri = params.text_document.uri
    file = ls.state.files.get(ls.state.notebooks.owner(uri))
    if file is None:
        return types.RelatedFullDocumentDiagnosticReport([])
    try:
        await asyncio.wait_for(file.analysed.wait(), _PATIENCE)
    except asyncio.TimeoutError:
        ls.state.log("warning", "static analysis takes unusually long")
    items = ls.state.shown(file).get(uri, [])
    result_id = _name_of(items)
    if params.previous_result_id == result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=result_id)


async def workspace(ls: GraphMendServer, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
    """What runs found in files that are not open; a client that asks again waits until that changes, or for long."""
    before = {told.uri: told.value for told in params.previous_result_ids}
    end = asyncio.get_running_loop().time() + _HELD
    while True:
        shown = ls.state.closed_diagnostics()
        names = {uri: _name_of(shown.get(uri, [])) for uri in before.keys() | shown.keys() if uri not in ls.state.files}
        left = end - asyncio.get_running_loop().time()
        if not before or left <= 0 or any(before.get(uri) != name for uri, name in names.items()):
            break
        await ls.state.moves(left)
    reports: list[types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport] = []
    for uri, name in sorted(names.items()):
        if before.get(uri) == name:
            reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, name))
        else:
            reports.append(types.WorkspaceFullDocumentDiagnosticReport(uri, shown.get(uri, []), result_id=name))
    return types.WorkspaceDiagnosticReport(reports)


def _name_of(items: list[types.Diagnostic]) -> str:
    return hashlib.sha1(repr(items).encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()
