"""Text edits as an LSP WorkspaceEdit, and the smallest edits between two texts. Pure."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lsprotocol import types

from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.notebooks import Notebook
from graphmend_lsp.lsp.units import to_range
from graphmend_lsp.lsp.uris import uri_of
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Position, Span, TextEdit
from graphmend_lsp.text import Text

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
    """The edits for this client; None when it cannot do what they need (create a file).

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


def smallest_edits(path: str, old: Text, new: str) -> tuple[TextEdit, ...]:
    """Edits that turn `old` into `new`, hunk by hunk, each as small as can be."""
    after = Text(new)
    before_lines = _lines(old)
    after_lines = _lines(after)
    head = 0
    while head < min(len(before_lines), len(after_lines)) and before_lines[head] == after_lines[head]:
        head += 1
    tail = 0
    limit = min(len(before_lines), len(after_lines)) - head
    while tail < limit and before_lines[-1 - tail] == after_lines[-1 - tail]:
        tail += 1
    a = before_lines[head : len(before_lines) - tail]
    b = after_lines[head : len(after_lines) - tail]
    edits: list[TextEdit] = []
    for kind, a_from, a_to, b_from, b_to in difflib.SequenceMatcher(None, a, b, autojunk=len(a) > 2000).get_opcodes():
        if kind == "equal":
            continue
        removed, added = "".join(a[a_from:a_to]), "".join(b[b_from:b_to])
        start = old.starts[head + a_from] if head + a_from < len(old.starts) else len(old.value)
        shared = 0
        while shared < min(len(removed), len(added)) and removed[shared] == added[shared]:
            shared += 1
        rest = min(len(removed), len(added)) - shared
        end = 0
        while end < rest and removed[-1 - end] == added[-1 - end]:
            end += 1
        # An edit must not fall between the two characters of one line end.
        if shared and removed[shared - 1 : shared] == "\r":
            shared -= 1
        if (
            end
            and removed[len(removed) - end : len(removed) - end + 1] == "\n"
            and removed[: len(removed) - end].endswith("\r")
        ):
            end -= 1
        if end and added[len(added) - end : len(added) - end + 1] == "\n" and added[: len(added) - end].endswith("\r"):
            end -= 1
        span = Span(old.position(start + shared), old.position(start + len(removed) - end))
        edits.append(TextEdit(path, span, added[shared : len(added) - end]))
    return tuple(edits)


def whole(path: str, text: str) -> TextEdit:
    """The edit that fills a new file."""
    return TextEdit(path, Span(Position(1, 1), Position(1, 1)), text)


def _lines(text: Text) -> list[str]:
    ends = [*text.starts[1:], len(text.value)]
    lines = [text.value[start:end] for start, end in zip(text.starts, ends, strict=True)]
    return lines[:-1] if lines[-1] == "" else lines
