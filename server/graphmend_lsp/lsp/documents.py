"""The open documents, as immutable snapshots, and how places move when text changes. Pure but for the one dict.

Only `\\n`, `\\r\\n` and `\\r` end a line. What is not open is not known here; a closed document leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.units import from_range
from graphmend_lsp.lsp.uris import Encoding, path_of
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text

if TYPE_CHECKING:
    from graphmend_lsp.lsp.notebooks import Notebook

LARGEST = 1_000_000  # characters of a source that is analysed; parsing holds the interpreter for seconds beyond
_MANY = 256  # changes after which a journal is summed up


@dataclass(frozen=True, slots=True)
class Document:
    """A version of an open document. `path` is None for what is no file; of a notebook, the text is what its cells make."""

    uri: str
    path: str | None
    language: str
    version: int
    text: Text
    notebook: Notebook | None = None

    @property
    def name(self) -> str:
        """What analysis calls the document: its path, or its URI where it has none."""
        return self.path or self.uri

    @property
    def is_python(self) -> bool:
        """Whether this is Python source."""
        return self.language == "python" or (self.language == "" and self.name.endswith((".py", ".pyi")))

    @property
    def is_large(self) -> bool:
        """Whether the text is too long to be looked at; that is said in its place."""
        return len(self.text.value) > LARGEST

    @property
    def is_read(self) -> bool:
        """Whether the text is analysed, and takes part in runs as it stands in the editor."""
        return self.is_python and not self.is_large


@dataclass(frozen=True, slots=True)
class Change:
    """Text from `start` to `old_end` was replaced; what replaced it ends at `new_end`."""

    start: Position
    old_end: Position
    new_end: Position

    def moved(self, position: Position, *, right: bool) -> Position | None:
        """Where a position is after the change, None when it was within what was replaced.

        `right` says whether text inserted exactly at the position goes before it.
        """
        if position < self.start or (position == self.start and not (right and self.start == self.old_end)):
            return position
        if position < self.old_end:
            return None
        if position.line == self.old_end.line:
            return Position(self.new_end.line, self.new_end.column + position.column - self.old_end.column)
        return Position(position.line + self.new_end.line - self.old_end.line, position.column)


@dataclass(slots=True, eq=False)
class Tracker:
    """A text that something was found in, and how the document has changed since."""

    text: Text
    changes: list[Change] = field(default_factory=list)

    def follow(self, changes: Iterable[Change], now: Text) -> None:
        """Take note of changes that led to the text `now`."""
        self.changes += changes
        if now.value == self.text.value:
            self.changes.clear()
        elif len(self.changes) > _MANY:
            self.changes = [difference(self.text, now)]

    def moved(self, span: Span, now: Text) -> Span | None:
        """Where a span of the tracked text is now; None when any of the lines it lies on reads differently."""
        if now.value == self.text.value:
            return span
        start: Position | None = span.start
        end: Position | None = span.end
        for change in self.changes:
            start = change.moved(start, right=True) if start else None
            end = change.moved(end, right=span.start == span.end) if end else None
        if start is None or end is None or end < start or end.line - start.line != span.end.line - span.start.line:
            return None
        for offset in range(span.end.line - span.start.line + 1):
            if self.text.line(span.start.line + offset) != now.line(start.line + offset):
                return None
        return Span(start, end)


class DocumentStore:
    """The open documents by URI."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        """A document that the client opened (again)."""
        document = Document(uri, path_of(uri), language, version, Text(text))
        self._documents[uri] = document
        return document

    def change(
        self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: Encoding
    ) -> tuple[Document, tuple[Change, ...]] | None:
        """Apply a client's content changes one after the other; None when the document is not open."""
        document = self._documents.get(uri)
        if document is None:
            return None
        text = document.text
        done: list[Change] = []
        for change in changes:
            after = changed(text, change, encoding)
            if len(after.value) <= LARGEST and after.value != text.value:
                done.append(difference(text, after))
            text = after
        document = replace(document, version=version, text=text)
        self._documents[uri] = document
        return document, tuple(done)

    def put(self, document: Document) -> Document:
        """A document as it is now."""
        self._documents[document.uri] = document
        return document

    def close(self, uri: str) -> None:
        """Forget a document."""
        self._documents.pop(uri, None)

    def get(self, uri: str) -> Document | None:
        """The document as it is now."""
        return self._documents.get(uri)

    def at_path(self, path: str) -> Document | None:
        """The open document of a file."""
        return next((document for document in self._documents.values() if document.path == path), None)

    def all(self) -> tuple[Document, ...]:
        """Every open document."""
        return tuple(self._documents.values())


def changed(text: Text, change: types.TextDocumentContentChangeEvent, encoding: Encoding) -> Text:
    """The text after one content change, which replaces a range or, without one, everything."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return Text(change.text)
    span = from_range(text, change.range, encoding)
    return Text(text.value[: text.offset(span.start)] + change.text + text.value[text.offset(span.end) :])


def difference(old: Text, new: Text) -> Change:
    """The smallest single change that turns one text into the other."""
    a, b = old.value, new.value
    limit = min(len(a), len(b))
    head = _longest(limit, lambda low, high: a[low:high] == b[low:high])
    if _splits_line_end(a, head) or _splits_line_end(b, head):
        head -= 1
    tail = _longest(limit - head, lambda low, high: a[len(a) - high : len(a) - low] == b[len(b) - high : len(b) - low])
    if tail and (_splits_line_end(a, len(a) - tail) or _splits_line_end(b, len(b) - tail)):
        tail -= 1
    return Change(old.position(head), old.position(len(a) - tail), new.position(len(b) - tail))


def _splits_line_end(value: str, offset: int) -> bool:
    """Whether an offset lies between the two characters of one line end, where no position is."""
    return 0 < offset < len(value) and value[offset - 1 : offset + 1] == "\r\n"


def _longest(limit: int, alike: Callable[[int, int], bool]) -> int:
    """The largest number up to `limit` before which all is alike, by bisection (slices compare fast)."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
