"""textDocument/didOpen, didChange, willSave, didSave, didClose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer
    from graphmend_lsp.lsp.workspace import OpenFile

_BY_THE_EDITOR = (types.TextDocumentSaveReason.AfterDelay, types.TextDocumentSaveReason.FocusOut)


def did_open(ls: GraphMendServer, params: types.DidOpenTextDocumentParams) -> None:
    """Analyse, and show what is kept of earlier runs; nothing is run on open."""
    opened = params.text_document
    ls.state.opened(ls.state.store.open(opened.uri, opened.language_id, opened.version, opened.text))
    ls.spawn(recall(ls, ls.state.files[opened.uri]), "kept results")


def did_change(ls: GraphMendServer, params: types.DidChangeTextDocumentParams) -> None:
    """Follow the text."""
    state, document = ls.state, params.text_document
    result = state.store.change(document.uri, document.version, params.content_changes, state.client.encoding)
    if result is None:
        state.log("warning", "ignored a change of a document that is not open")
        return
    state.changed(*result)
    after_change(ls, document.uri)


def after_change(ls: GraphMendServer, uri: str) -> None:
    """A document is being edited: what a save will need is made ready."""
    if (file := ls.state.files.get(uri)) is not None and not ls.runs.edited(file):
        ls.spawn(ls.runs.expect(file), "worker start")


def will_save(ls: GraphMendServer, params: types.WillSaveTextDocumentParams) -> None:
    """Note why a document is about to be saved; our extension for VS Code says it of notebooks, too."""
    ls.state.save_reasons[params.text_document.uri] = params.reason


def did_save(ls: GraphMendServer, params: types.DidSaveTextDocumentParams) -> None:
    """Run what reaches the file, when the user's settings say so."""
    run(ls, params.text_document.uri)


def run(ls: GraphMendServer, uri: str) -> None:
    """A document was saved."""
    file, reason = ls.state.files.get(uri), ls.state.save_reasons.pop(uri, None)
    if file is not None:
        ls.spawn(_run(ls, file, by_hand=reason not in _BY_THE_EDITOR), "save")


def did_close(ls: GraphMendServer, params: types.DidCloseTextDocumentParams) -> None:
    """Forget it."""
    ls.state.store.close(params.text_document.uri)
    ls.state.closed(params.text_document.uri)


async def recall(ls: GraphMendServer, file: OpenFile) -> None:
    """Show what is kept of earlier runs of a document."""
    await ls.state.read_project(file)
    await file.analysed.wait()
    await ls.runs.recall(file)


async def _run(ls: GraphMendServer, file: OpenFile, by_hand: bool) -> None:
    await ls.state.read_project(file)
    when = ls.state.settings_at(file.document.path).run
    if when == "onEverySave" or (when == "onSave" and by_hand):
        ls.runs.ask(file.document.uri, anew=False)
