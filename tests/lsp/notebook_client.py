"""A notebook as a client has it: its cells, and what it tells the server of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lsp.test_features import apply_changes
from tests.lsp.wire import NEOVIM, Client

CAPABILITIES: dict[str, Any] = {
    **NEOVIM,
    "workspace": {**NEOVIM["workspace"], "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]}},
    "notebookDocument": {"synchronization": {"dynamicRegistration": True}},
}


class Notebook:
    """Code cells named by letters: `cells["a"]` is the text of the cell `uris["a"]`."""

    def __init__(self, client: Client, path: Path, **cells: str) -> None:
        self.client = client
        self.uri = path.as_uri()
        self.version = 1
        self.cells = dict(cells)
        self.versions = dict.fromkeys(cells, 1)
        documents = [self._document(name) for name in cells]
        notebook = {
            "uri": self.uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": self.cell(name)} for name in cells],
        }
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents})

    def cell(self, name: str) -> str:
        """The URI of a cell."""
        return f"vscode-notebook-cell:{self.uri.removeprefix('file://')}#{name}"

    def _document(self, name: str) -> dict[str, Any]:
        return {"uri": self.cell(name), "languageId": "python", "version": 1, "text": self.cells[name]}

    def _changed(self, **cells: Any) -> None:
        self.version += 1
        told = {"notebookDocument": {"uri": self.uri, "version": self.version}, "change": {"cells": cells}}
        self.client.notify("notebookDocument/didChange", told)

    def insert(self, at: int, name: str, text: str) -> None:
        self.cells[name], self.versions[name] = text, 1
        array = {"start": at, "deleteCount": 0, "cells": [{"kind": 2, "document": self.cell(name)}]}
        self._changed(structure={"array": array, "didOpen": [self._document(name)], "didClose": []})

    def remove(self, at: int, name: str) -> None:
        del self.cells[name]
        array = {"start": at, "deleteCount": 1, "cells": []}
        self._changed(structure={"array": array, "didOpen": [], "didClose": [{"uri": self.cell(name)}]})

    def type(self, name: str, line: int, character: int, text: str) -> None:
        place = {"line": line, "character": character}
        change = {"range": {"start": place, "end": place}, "text": text}
        self.cells[name] = apply_changes(self.cells[name], [{"range": change["range"], "newText": text}])
        self._told(name, change)

    def rewrite(self, name: str, text: str) -> None:
        self.cells[name] = text
        self._told(name, {"text": text})

    def _told(self, name: str, change: Any) -> None:
        self.versions[name] += 1
        document = {"uri": self.cell(name), "version": self.versions[name]}
        self._changed(textContent=[{"document": document, "changes": [change]}])

    def save(self, reason: int | None = None) -> None:
        """With `reason`, as VS Code's extension says it before."""
        if reason is not None:
            self.client.notify("textDocument/willSave", {"textDocument": {"uri": self.uri}, "reason": reason})
        self.client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": self.uri}})

    def close(self) -> None:
        told = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": [{"uri": self.cell(n)} for n in self.cells]}
        self.client.notify("notebookDocument/didClose", told)

    def after(self, edit: Any) -> dict[str, str]:
        """The cells after a workspace edit, which has to be about their versions; other files by their names."""
        cells = {self.cell(name): name for name in self.cells}
        found = dict(self.cells)
        for change in edit["documentChanges"]:
            if "kind" in change:
                found.setdefault(Path(change["uri"]).name, "")
                continue
            uri = change["textDocument"]["uri"]
            name = cells.get(uri) or Path(uri).name
            if uri in cells:
                assert change["textDocument"]["version"] == self.versions[name]
            found[name] = apply_changes(found.get(name, ""), change["edits"])
        return found
