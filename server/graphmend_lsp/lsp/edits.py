"""Text edits as an LSP WorkspaceEdit. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsprotocol import types

from graphmend_lsp.engine.support_text import fitted, is_foreign, version_of
from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.notebooks import Notebook
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.uris import uri_of
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Position, Span, TextEdit
from graphmend_lsp.text import Text, smallest_edits

__all__ = ["Target", "smallest_edits", "whole", "workspace_edit"]

_CREATES = "graphmend.create"  # what is created is shown before it is done, where the client can


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is edited: its text now and, when it is open, its URI and version. `text` None: it is created.

    Of an open notebook, the text is the program that its cells make, and the cells are edited."""

    text: Text | None
    uri: str | None = None
    version: int | None = None
    notebook: Notebook | None = None


def workspace_edit(
    edits: Iterable[TextEdit], targets: Mapping[str, Target], client: Client
) -> types.WorkspaceEdit | None:
    """The edits for this client; None when it cannot do what they need (create a file), or when the name of the support module
    is taken by another file now.

    Raises:
        UnsplitEditError: an edit of a notebook is no edit of one cell.
    """
    by_path: dict[str, list[TextEdit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    operations: list[types.TextDocumentEdit | types.CreateFile] = []
    plain: dict[str, list[types.TextEdit]] = {}
    creates = asks = False  # what can create files knows document changes, which say so
    for path, group in by_path.items():
        target = targets[path]
        if group[0].span.start == Position(1, 1) and version_of(group[0].text) is not None:
            if is_foreign(None if target.text is None else target.text.value):
                return None
            fits = fitted(group[0], target.text)
            if fits is None:
                continue
            group = [fits]
        if target.notebook is not None:
            for number, own in target.notebook.program.split(group).items():
                cell = target.notebook.cells[number]
                plain[cell.uri] = _written(cell.text, own, client)
                operations.append(_document_edit(cell.uri, cell.version, plain[cell.uri]))
            continue
        uri = target.uri or uri_of(path)
        if target.text is None:
            if not client.creates_files:
                return None
            creates = True
            asks = asks or not _is_support(path)
            asked_for = client.confirms_changes and not _is_support(path)
            operations.append(types.CreateFile(uri, annotation_id=_CREATES if asked_for else None))
        plain[uri] = _written(target.text or Text(""), group, client)
        operations.append(_document_edit(uri, target.version, plain[uri]))
    if client.document_changes or creates:
        asked = {_CREATES: types.ChangeAnnotation("Create files", needs_confirmation=True)}
        return types.WorkspaceEdit(
            document_changes=operations, change_annotations=asked if asks and client.confirms_changes else None
        )
    return types.WorkspaceEdit(plain)


def _written(text: Text, group: Iterable[TextEdit], client: Client) -> list[types.TextEdit]:
    return [
        types.TextEdit(to_range(text, edit.span, client.encoding), edit.text)
        for edit in sorted(group, key=lambda edit: edit.span.start)
    ]


def _document_edit(uri: str, version: int | None, written: list[types.TextEdit]) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), written)


def _is_support(path: str) -> bool:
    """Whether a new file is the support module, which does nothing unless it is imported."""
    return os.path.basename(path) == f"{SUPPORT}.py"


def whole(path: str, text: str) -> TextEdit:
    """The edit that fills a new file."""
    return TextEdit(path, Span(Position(1, 1), Position(1, 1)), text)
