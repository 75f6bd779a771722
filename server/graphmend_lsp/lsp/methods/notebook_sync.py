"""notebookDocument/didOpen, didChange, didSave, didClose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.documents import LARGEST, difference
from graphmend_lsp.lsp.methods.sync import after_change, recall, run
from graphmend_lsp.lsp.notebooks import Notebook, after, opened

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def did_open(ls: GraphMendServer, params: types.DidOpenNotebookDocumentParams) -> None:
    """Analyse, and show what is kept of earlier runs; nothing is run on open."""
    notebook = opened(params)
    ls.state.notebooks.put(notebook)
    ls.state.opened(ls.state.store.put(notebook.document))
    ls.spawn(recall(ls, ls.state.files[notebook.uri]), "kept results")


def did_change(ls: GraphMendServer, params: types.DidChangeNotebookDocumentParams) -> None:
    """Follow the cells."""
    before = ls.state.notebooks.get(params.notebook_document.uri)
    if before is None:
        ls.state.log("warning", "ignored a change of a notebook that is not open")
        return
    _now(ls, before, after(before, params, ls.state.client.encoding))
    after_change(ls, before.uri)


def did_save(ls: GraphMendServer, params: types.DidSaveNotebookDocumentParams) -> None:
    """Run what reaches the notebook, when the user's settings say so; a cell that is no Python takes no part."""
    notebook = ls.state.notebooks.get(params.notebook_document.uri)
    if notebook is None:
        return
    readable = notebook.readable
    if readable.hidden != notebook.hidden:
        _now(ls, notebook, readable)
    if readable.hidden:
        numbers = [number for number, cell in enumerate(readable.cells, 1) if cell.uri in readable.hidden]
        ls.state.log("info", f"code cells that are no Python take no part in runs: {', '.join(map(str, numbers))}")
    run(ls, notebook.uri)


def did_close(ls: GraphMendServer, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget it."""
    uri = params.notebook_document.uri
    ls.state.store.close(uri)
    ls.state.closed(uri)
    ls.state.notebooks.close(uri)


def _now(ls: GraphMendServer, before: Notebook, now: Notebook) -> None:
    """A notebook reads otherwise, or its cells are others."""
    ls.state.notebooks.put(now)
    ls.state.forget_cells(before, now)
    document = ls.state.store.put(now.document)
    old, new = before.document.text, document.text
    small = len(new.value) <= LARGEST and old.value != new.value
    ls.state.changed(document, (difference(old, new),) if small else ())
