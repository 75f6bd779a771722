"""textDocument/didOpen, didChange, didSave, didClose."""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.params import need_integer, need_list, need_string, need_uri
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.workspace import Workspace


def did_open(workspace: Workspace, params: Any) -> None:
    """Analyse; nothing is run on open."""
    uri = need_uri(params)
    language = need_string(params, "textDocument", "languageId")
    version = need_integer(params, "textDocument", "version")
    workspace.opened(workspace.store.open(uri, language, version, need_string(params, "textDocument", "text")))


def did_change(workspace: Workspace, params: Any) -> None:
    """Follow the text."""
    uri = need_uri(params)
    version = need_integer(params, "textDocument", "version")
    changes = need_list(params, "contentChanges")
    result = workspace.store.change(uri, version, changes, workspace.client.encoding)
    if result is None:
        workspace.log("warning", "a change of a document that is not open was left out")
        return
    workspace.changed(*result)


def did_save(workspace: Workspace, runs: Runs, params: Any) -> None:
    """Run what reaches the file, when the user's settings say so."""
    uri = need_uri(params)
    if workspace.settings.run == "onSave":
        runs.ask(uri)


def did_close(workspace: Workspace, params: Any) -> None:
    """Forget it."""
    uri = need_uri(params)
    workspace.store.close(uri)
    workspace.closed(uri)
