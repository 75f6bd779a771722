"""Breaks that a run of the user's own met, tied to the code they were met in: a recording, and what of it still stands.

A site stands while its file reads as it did, or while the function around it does; then it is where that function is
now. Pure but for `Sources`.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from graphmend_lsp.analysis.outline import FunctionNode, outline
from graphmend_lsp.model import Break, EntryResult, Position, Span
from graphmend_lsp.text import Text

_BOM = "\ufeff"
_WORDS = 60
TRACE = "TORCH_TRACE"  # the command of a recording that was read from a trace


@dataclass(frozen=True, slots=True)
class Anchor:
    """The outermost function around a site: the how-manieth of its name, its first line (1-based), its lines' SHA-256."""

    function: str
    ordinal: int
    line: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RecordedSite:
    """A site and what holds it; without an anchor (code of the module itself) only the whole file does."""

    site: Break
    anchor: Anchor | None


@dataclass(frozen=True, slots=True)
class Recording:
    """One run. `files` are the SHA-256 of the sites' files as they ran; a site of another file is only told, never kept.

    `command` and `folder` are what was run and where; `ended` is in seconds since the epoch. `notes` are for the user.
    """

    command: tuple[str, ...]
    folder: str
    ended: float
    torch: str | None
    python: str | None
    results: tuple[EntryResult, ...]
    sites: tuple[RecordedSite, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    processes: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_trace(self) -> bool:
        """Whether it was read from a trace of torch's own."""
        return self.command[:1] == (TRACE,)

    @property
    def words(self) -> str:
        """The command as a user would write it, shortened; of a trace, its folder."""
        if self.is_trace:
            return self.folder
        words = shlex.join((re.split(r"[\\/]", self.command[0])[-1], *self.command[1:]))
        return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"

    def told(self, now: float) -> str:
        """Which run this was, and how long ago, as a sentence; `now` is in seconds since the epoch."""
        if self.is_trace:
            return f"Read from the trace {self.words}, made {_ago(now - self.ended)}."
        return f"Recorded {_ago(now - self.ended)} by `{self.words}`."


def anchored(site: Break, text: str | None) -> RecordedSite:
    """A site with what holds it in `text`."""
    if text is None:
        return RecordedSite(site, None)
    around: tuple[int, int, Anchor] | None = None
    for first, last, anchor in anchors(Text(text)):
        if first <= site.span.start.line <= last and (around is None or first < around[0]):
            around = (first, last, anchor)
    return RecordedSite(site, around[2] if around else None)


def standing(sites: Iterable[RecordedSite], sha256: str | None, text: str) -> tuple[Break, ...]:
    """The sites of one file that still stand in `text`, where they are now. `sha256` is the file's as it ran."""
    now = Text(text)
    if sha256 == hash_of(text):
        return tuple(one.site for one in sites)
    moved: dict[tuple[str, int, str], int] = {
        (anchor.function, anchor.ordinal, anchor.sha256): anchor.line for _, _, anchor in anchors(now)
    }
    found = []
    for one in sites:
        anchor = one.anchor
        line = moved.get((anchor.function, anchor.ordinal, anchor.sha256)) if anchor else None
        if anchor is not None and line is not None:
            found.append(_shifted(one.site, line - anchor.line))
    return tuple(found)


def anchors(text: Text) -> Iterator[tuple[int, int, Anchor]]:
    """The functions and methods of a text, each with its first line (of its decorators) and its last."""
    counts: dict[str, int] = {}
    for before, chunk in outline(text.value.removeprefix(_BOM)):
        functions = list(chunk.functions.values())
        functions += [method for each in chunk.classes.values() for method in each.methods.values()]
        for function in sorted(functions, key=lambda each: each.node.lineno):
            ordinal = counts[function.name] = counts.get(function.name, -1) + 1
            first, last = before + _first(function.node), before + (function.node.end_lineno or function.node.lineno)
            lines = "\n".join(text.line(number) for number in range(first, last + 1))
            yield first, last, Anchor(function.name, ordinal, first, _sha256(lines))


def hash_of(text: str) -> str:
    """The SHA-256 of a source text as a file of UTF-8 without byte order mark has it."""
    return _sha256(text)


def _first(node: FunctionNode) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"


def _shifted(site: Break, lines: int) -> Break:
    start, end = site.span.start, site.span.end
    span = Span(Position(start.line + lines, start.column), Position(end.line + lines, end.column))
    # The chain says where things were; where a call of another function is now is not known.
    return replace(site, span=span, chain=())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
