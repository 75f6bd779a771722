"""What a trace says of one graph break, from the text that torch made of it for people (torch 2.9 to 2.15). Pure.

Two texts: the artifact ``dynamo_graph_break_reason``, and, for what ends as an exception, ``dynamo_error``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.worker.wire import Cause

Outcome = Literal["resumed", "rest skipped", "frame skipped", "raised"]

_ID = re.compile(r"compile-graph-break-site/gb/gb(\d+)\.html")
_FRAME = re.compile(r'^ {1,4}File "(?P<file>.*?)", line (?P<line>\d+), in (?P<function>.*)$')
_ANOTHER = re.compile(r"\n\s*\*\*\* While handling this graph break, another graph break occurred: \*\*\*\s*\n")
_REASON = "Graph Break Reason: "
_TRACEBACK = "\nUser code traceback:\n"
_ATTRIBUTION = "\nStack variable source attribution:\n"
_UNLOGGED = "Graph break: torch.compile cannot properly resume from this graph break"
_UNLOGGED_CODE = "The graph break occurred in the following user code:\n"
_FROM_CODE = "\nfrom user code:\n"
_ERROR = re.compile(r"^(?:[\w.]+\.)?(?P<type>[A-Za-z_]\w*): (?P<words>.*)", re.DOTALL)
_PREFIXES: tuple[tuple[str, Outcome], ...] = (
    ("Failed to handle graph break gracefully", "frame skipped"),
    ("Encountered graph break that we cannot resume", "rest skipped"),
    ("Encountered graph break when attempting to trace", "resumed"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """A frame as a traceback shows it: `line` is 1-based; `code` is that line, dedented, as it read then.

    `columns` are first and last (half-open, 0-based, in characters of `code`) where carets mark them on that one line.
    """

    file: str
    line: int
    function: str
    code: str = ""
    columns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One graph break as it was told. `root` is the first cause, `cause` what came of it."""

    cause: Cause
    root: Cause
    outcome: Outcome
    links: tuple[Link, ...]


def read_reason(text: str) -> Told | None:
    """A ``dynamo_graph_break_reason``; None when it is none."""
    if text.startswith(_UNLOGGED):
        links = tuple(read_links(text.partition(_UNLOGGED_CODE)[2].partition("\n\nTraceback")[0]))
        cause = _last_error(text)
        return Told(cause, cause, "frame skipped", links) if cause is not None else None
    _, found, rest = text.partition(_REASON)
    if not found:
        return None
    message, _, trace = rest.partition(_TRACEBACK)
    message = message.partition(_ATTRIBUTION)[0].strip("\n")
    outcome: Outcome = "resumed"
    for prefix, meant in _PREFIXES:
        if message.startswith(prefix):
            message = message.partition("\n\n")[2].lstrip("\n")
            outcome = meant
            break
    causes = [_cause(part) for part in _ANOTHER.split(message)]
    return Told(causes[-1], causes[0], outcome, tuple(read_links(trace.partition("\nTraceback (most recent")[0])))


def read_error(text: str) -> Told | None:
    """A ``dynamo_error``: the exception with which a compilation ended; None when it says nothing of user code."""
    cause = _last_error(text)
    trace = text.rpartition(_FROM_CODE)[2] if _FROM_CODE in text else ""
    links = tuple(read_links(trace.partition("\n\n")[0]))
    return Told(cause, cause, "raised", links) if cause is not None and links else None


def read_links(text: str) -> Iterator[Link]:
    """The frames of a traceback, outermost first."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if match := _FRAME.match(line):
            file, function = match["file"], match["function"]
            shown = lines[number + 1] if number + 1 < len(lines) and not _FRAME.match(lines[number + 1]) else ""
            marks = lines[number + 2] if shown.strip() and number + 2 < len(lines) else ""
            yield Link(file, int(match["line"]), function, shown.strip(), _columns(shown, marks))


def _columns(shown: str, marks: str) -> tuple[int, int] | None:
    """The half-open columns in the dedented line under which carets stand; None without carets."""
    if not marks.strip() or marks.strip().strip("^~ "):
        return None
    indent = len(shown) - len(shown.lstrip())
    first, last = len(marks) - len(marks.lstrip()) - indent, len(marks.rstrip()) - indent
    return (first, last) if 0 <= first < last <= len(shown.strip()) else None


def _last_error(text: str) -> Cause | None:
    """The exception at the end of a traceback."""
    start = text.rfind("\nTraceback (most recent call last):\n")
    tail = text[max(start, 0) :]
    for number, line in enumerate(lines := tail.lstrip("\n").split("\n")):
        if number and line and not line.startswith(" ") and (match := _ERROR.match("\n".join(lines[number:]))):
            return _cause(match["words"].partition(_FROM_CODE)[0], match["type"])
    return None


def _cause(text: str, kind: str = "") -> Cause:
    """A message's parts; a message that has none is an explanation as it is, of the exception's type."""
    text = text.strip("\n")
    found = _ID.search(text)
    head, explained, rest = text.partition("\n  Explanation: ")
    if not explained:
        first = text.strip().split("\n", 1)[0]
        return Cause(gb_id=None, gb_type=kind or first[:200], context="", explanation=text[:2000], hints=[])
    body = rest.partition("\n  Developer debug context: ")
    context = body[2].partition("\n\n")[0]
    explanation, *hints = re.split(r"\n  Hint: ", body[0])
    return Cause(
        gb_id=f"GB{found[1]}" if found else None,
        gb_type=head.strip().rsplit("\n", 1)[-1],
        context=context.strip()[:2000],
        explanation=explanation.strip()[:2000],
        hints=[hint.strip()[:2000] for hint in hints],
    )
