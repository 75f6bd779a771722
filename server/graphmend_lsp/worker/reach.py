"""Which mended programs an entry runs at all: those of whose edited functions its own calls enter one.

An entry that does not meet a break may run the function that is mended for it, and give it other things.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType

from .places import canonical
from .trials import Origin, call_uncompiled
from .wire import Candidate

Ranges = Sequence[Sequence[int]]


def reached(origin: Origin, candidates: Sequence[Candidate]) -> frozenset[str]:
    """The ids of the candidates with an edit in a function that is entered while the entry is built or called.

    `origin` is loaded: what a file runs when it is imported is not looked at. All of them when the program takes the
    interpreter's profiler for itself, so that its calls cannot be seen.

    Raises:
        FailedError: the entry failed.
    """
    entered = _Entered()
    before = sys.getprofile()
    threading.setprofile(entered)
    sys.setprofile(entered)
    try:
        call_uncompiled(origin)
    finally:
        seen = sys.getprofile() is entered
        sys.setprofile(before)
        threading.setprofile(before)
    if not seen:
        return frozenset(candidate["id"] for candidate in candidates)
    lines = entered.lines()
    return frozenset(one["id"] for one in candidates if _meets(lines, one.get("edited", {})))


class _Entered:
    """Told of every call; keeps the code of each function once."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}  # to hash a code object takes as long as it is long

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            code = frame.f_code
            self._codes.setdefault(id(code), code)

    def lines(self) -> dict[str, list[tuple[int, int]]]:
        """The first and the last line of each function that was entered, by canonical file."""
        found: dict[str, list[tuple[int, int]]] = {}
        files = {code.co_filename for code in self._codes.values()}
        known = {file: canonical(file) for file in files}
        for code in self._codes.values():
            last = max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)
            found.setdefault(known[code.co_filename], []).append((code.co_firstlineno, last))
        return found


def _meets(entered: Mapping[str, Sequence[tuple[int, int]]], edited: Mapping[str, Ranges]) -> bool:
    return any(
        first <= end and start <= last
        for file, ranges in edited.items()
        for first, last in ranges
        for start, end in entered.get(canonical(file), ())
    )
