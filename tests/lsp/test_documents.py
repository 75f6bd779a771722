"""The document store and the arithmetic of positions, against models that are too simple to be wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from graphmend_lsp.lsp.documents import DocumentStore, Tracker, difference
from graphmend_lsp.lsp.edits import smallest_edits
from graphmend_lsp.lsp.units import from_place, to_place
from graphmend_lsp.lsp.uris import Encoding, path_of, uri_of
from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text, apply_edits, line_before

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
LETTERS = st.sampled_from(
    ["a", "b", " ", "\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028", "é", "𝒜", "中", "\t"]
)
TEXTS = st.lists(LETTERS, max_size=30).map("".join)


def model_lines(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text)


def model_units(text: str, encoding: Encoding) -> int:
    return (
        len(text.encode(encoding + "-le" if encoding != "utf-8" else encoding))
        // ({"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding])
    )


def model_offset(text: str, line: int, character: int, encoding: Encoding) -> int:
    """Count letter by letter from the start of the text."""
    offset, at_line = 0, 0
    while at_line < line and offset < len(text):
        width = 2 if text.startswith("\r\n", offset) else 1
        at_line += text[offset] in "\r\n"
        offset += width
    if at_line < line:
        return len(text)
    used = 0
    while offset < len(text) and text[offset] not in "\r\n":
        used += model_units(text[offset], encoding)
        if used > character:
            break
        offset += 1
    return offset


@settings(max_examples=300, deadline=None)
@given(
    text=TEXTS,
    encoding=st.sampled_from(ENCODINGS),
    changes=st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 12), st.integers(0, 8), st.integers(0, 12), TEXTS), max_size=5
    ),
)
def test_incremental_changes_give_what_the_client_has(
    text: str, encoding: Encoding, changes: list[tuple[int, int, int, int, str]]
) -> None:
    store = DocumentStore()
    store.open("file:///a.py", "python", 1, text)
    expected = text
    content: list[types.TextDocumentContentChangeEvent] = []
    for line, character, end_line, end_character, new in changes:
        (line, character), (end_line, end_character) = sorted([(line, character), (end_line, end_character)])
        start = model_offset(expected, line, character, encoding)
        end = max(start, model_offset(expected, end_line, end_character, encoding))
        expected = expected[:start] + new + expected[end:]
        place = types.Range(types.Position(line, character), types.Position(end_line, end_character))
        content.append(types.TextDocumentContentChangePartial(place, new))
    result = store.change("file:///a.py", 2, content, encoding)
    assert result is not None
    assert result[0].text.value == expected
    assert result[0].version == 2


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS), data=st.data())
def test_places_go_there_and_back(text: str, encoding: Encoding, data: st.DataObject) -> None:
    indexed = Text(text)
    assert [indexed.line(number + 1) for number in range(indexed.line_count)] == model_lines(text)
    line = data.draw(st.integers(1, indexed.line_count))
    column = data.draw(st.integers(1, len(indexed.line(line)) + 1))
    place = to_place(indexed, Position(line, column), encoding)
    assert place == types.Position(line - 1, model_units(indexed.line(line)[: column - 1], encoding))
    assert from_place(indexed, place, encoding) == Position(line, column)


@settings(max_examples=300, deadline=None)
@given(before=TEXTS, inner=TEXTS, after=TEXTS, new=TEXTS)
def test_a_difference_moves_what_is_outside_it(before: str, inner: str, after: str, new: str) -> None:
    old_text, new_text = Text(before + inner + after), Text(before + new + after)
    change = difference(old_text, new_text)
    start, end = old_text.offset(change.start), old_text.offset(change.old_end)
    new_end = new_text.offset(change.new_end)
    rebuilt = old_text.value[:start] + new_text.value[start:new_end] + old_text.value[end:]
    assert rebuilt == new_text.value


@settings(max_examples=200, deadline=None)
@given(old=TEXTS, new=TEXTS)
def test_smallest_edits_give_the_new_text(old: str, new: str) -> None:
    edits = smallest_edits("/a.py", Text(old), new)
    assert apply_edits(old, edits) == new


SPAN = Span.of(3, 5, 3, 8)
BASE = "one\ntwo\nx = foo + 1\nlast\n"
MOVES: list[tuple[str, str, Span | None]] = [
    ("nothing", BASE, SPAN),
    ("lines added above", "new\nnew\n" + BASE, Span.of(5, 5, 5, 8)),
    ("a line removed above", "two\nx = foo + 1\nlast\n", Span.of(2, 5, 2, 8)),
    ("a line added right above", "one\ntwo\nmore\nx = foo + 1\nlast\n", Span.of(4, 5, 4, 8)),
    ("a line added below", "one\ntwo\nx = foo + 1\nmore\nlast\n", SPAN),
    ("its line changed before it", "one\ntwo\nyy = foo + 1\nlast\n", None),
    ("its line changed behind it", "one\ntwo\nx = foo + 2\nlast\n", None),
    ("its line removed", "one\ntwo\nlast\n", None),
    ("its line indented", "one\ntwo\n  x = foo + 1\nlast\n", None),
    ("everything removed", "", None),
]


@pytest.mark.parametrize(("name", "now", "expected"), MOVES, ids=[move[0] for move in MOVES])
def test_a_span_moves_with_edits_and_goes_with_its_line(name: str, now: str, expected: Span | None) -> None:
    tracker = Tracker(Text(BASE))
    tracker.follow([difference(Text(BASE), Text(now))], Text(now))
    assert tracker.moved(SPAN, Text(now)) == expected


def test_undo_brings_a_span_back() -> None:
    tracker = Tracker(Text(BASE))
    edited = Text(BASE.replace("foo", "food"))
    tracker.follow([difference(Text(BASE), edited)], edited)
    assert tracker.moved(SPAN, edited) is None
    tracker.follow([difference(edited, Text(BASE))], Text(BASE))
    assert tracker.moved(SPAN, Text(BASE)) == SPAN


def test_many_changes_are_summed_up_and_still_right() -> None:
    now = Text(BASE)
    tracker = Tracker(now)
    for number in range(1000):
        after = Text(f"# {number}\n{now.value}")
        tracker.follow([difference(now, after)], after)
        now = after
    assert len(tracker.changes) <= 257
    assert tracker.moved(SPAN, now) == Span.of(1003, 5, 1003, 8)


URIS = [
    ("file:///a/b%20c.py", "/a/b c.py"),
    ("file:///a/%C3%A9.py", "/a/é.py"),
    ("file:///a/../b.py", "/b.py"),
    ("untitled:Untitled-1", None),
    ("vscode-notebook-cell:/a/b.ipynb#W0", None),
    ("file://[broken", None),
    ("", None),
]


@pytest.mark.parametrize(("uri", "path"), URIS)
def test_uris(uri: str, path: str | None) -> None:
    assert path_of(uri) == path
    if path is not None:
        assert path_of(uri_of(path)) == path


@given(TEXTS, TEXTS)
def test_every_line_of_a_changed_text_has_a_line_before(old: str, new: str) -> None:
    for line in range(1, len(model_lines(new)) + 1):
        assert 1 <= line_before(old, new, line) <= max(len(model_lines(old)), line)


@pytest.mark.parametrize(
    ("old", "new", "line", "before"),
    [
        ("a\nb\nc\n", "a\nb\nc\n", 3, 3),
        ("a\nb\nc\n", "x\ny\na\nb\nc\n", 5, 3),
        ("a\nb\nc\n", "a\nx\ny\nc\n", 2, 2),
        ("a\nb\nc\n", "a\nx\ny\nc\n", 3, 2),
        ("a\nb\nc\nd\n", "a\nd\n", 2, 4),
        ("", "x\n", 1, 1),
    ],
)
def test_the_line_before(old: str, new: str, line: int, before: int) -> None:
    assert line_before(old, new, line) == before
