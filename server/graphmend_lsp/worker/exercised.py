"""Which places of the program's text a call runs: a probe says something of an assumption only where it ran its place.

For children that run user code, uncompiled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .places import same_file
from .wire import Place


@contextmanager
def unwatched() -> Iterator[None]:
    """What runs meanwhile is not the program's: nothing watches its frames, which would make it slow."""
    before = sys.gettrace()
    if before is None:
        yield
        return
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(before)


class Exercised:
    """The places, and which of them the latest watched call ran, by number."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._files: dict[str, dict[int, frozenset[int]]] = {}
        self._seen: set[int] = set()

    @contextmanager
    def watched(self, wanted: bool = True) -> Iterator[set[int]]:
        """The numbers of the places that this thread runs while the context lasts."""
        self._seen = set()
        if not (wanted and self._places):
            yield self._seen
            return
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield self._seen
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """What `sys.settrace` is told of a frame: only those of files with places are followed."""
        file = frame.f_code.co_filename
        if (lines := self._files.get(file)) is None:
            lines = self._files[file] = self._lines_of(file)
        return self._line if lines else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self._seen |= self._files[frame.f_code.co_filename].get(frame.f_lineno, frozenset())
        return self._line

    def _lines_of(self, file: str) -> dict[int, frozenset[int]]:
        """The numbers of the places on each line of a file."""
        found: dict[int, set[int]] = {}
        for number, place in enumerate(self._places):
            if same_file(file, place["file"]):
                for line in range(place["line"], (place["end_line"] or place["line"]) + 1):
                    found.setdefault(line, set()).add(number)
        return {line: frozenset(numbers) for line, numbers in found.items()}
