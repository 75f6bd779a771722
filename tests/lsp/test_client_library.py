"""The server as client libraries see it: pytest-lsp reads every message with the protocol's own types."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.lsp.wire import FAKE

CLIENTS = ["visual_studio_code", "neovim@v0.7", "neovim@v0.11", "emacs"]
SOURCE = "x = '𝒜'; foo\ndef graphmend_entry(): ...\n"


@pytest_lsp.fixture(params=CLIENTS, config=ClientServerConfig(server_command=[sys.executable, *FAKE[1:]]))
async def client(request, lsp_client: LanguageClient) -> AsyncIterator[None]:  # type: ignore[no-untyped-def]
    for method in ("graphmend/status", "client/registerCapability", "workspace/codeLens/refresh"):
        lsp_client.feature(method)(lambda _client, _params=None: None)
    capabilities = client_capabilities(request.param)
    result = await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    lsp_client.encoding = str(result.capabilities.position_encoding)
    yield
    await lsp_client.shutdown_session()


def offset_of(line: str, place: types.Position, encoding: str) -> int:
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    name = encoding if encoding == "utf-8" else f"{encoding}-le"
    return len(line.encode(name)[: place.character * width].decode(name))


@pytest.mark.slow
async def test_open_fix_and_close(client: LanguageClient, tmp_path: Path) -> None:
    uri = (tmp_path / "model.py").as_uri()
    document = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=SOURCE)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    pulls = client.capabilities.text_document and client.capabilities.text_document.diagnostic
    refreshes = client.capabilities.workspace and client.capabilities.workspace.diagnostics
    if pulls and refreshes and refreshes.refresh_support:
        report = await client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        )
        found = list(report.items)
    else:
        await client.wait_for_notification("textDocument/publishDiagnostics")
        found = list(client.diagnostics[uri])
    assert [each.code for each in found] == ["GB0170"]
    line = SOURCE.split("\n")[0]
    start = offset_of(line, found[0].range.start, client.encoding)
    assert client.encoding in ("utf-8", "utf-16", "utf-32")
    assert line[start : start + 3] == "foo"
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(uri), found[0].range, types.CodeActionContext(diagnostics=[])
    )
    actions = await client.text_document_code_action_async(params)
    assert actions
    assert all(action.title for action in actions)
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), found[0].range.start)
    )
    assert hover is not None
    assert "foo breaks the graph" in str(hover.contents)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    assert list(lenses or []) == []
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
