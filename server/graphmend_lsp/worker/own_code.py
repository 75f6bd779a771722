"""Dimensions that become constant in code which no mend wrote: that is the program's own doing, not the mend's.

See `probes.dynamic`: torch.compile raises for a dimension that is marked dynamic as soon as no graph break keeps the mark from
such code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .judged import Ran
from .probes.dynamic import code_of, told_of
from .texts import texts_changed
from .trials import text_of
from .wire import Candidate


def without_constants_of_its_own(
    texts: Mapping[str, str],
    candidates: Sequence[Candidate],
    original: Ran,
    mended: Sequence[Ran],
    broken: Sequence[tuple[str, int]] = (),
) -> list[Ran]:
    """The mended programs, in which such a dimension says something only at lines that the mend wrote, or where the graph broke.

    `texts` are the original's unsaved files. Lines are compared by their text. `broken` are places, file and line, at which the
    original's graphs are known to break; those of its trials are added.
    """
    return [
        replace(ran, trials=tuple(told_of(one, _lines_of(texts, candidate, original, broken)) for one in ran.trials))
        if any(one.raised is not None and code_of(one.raised) for trial in ran.trials for one in trial.observations)
        else ran
        for candidate, ran in zip(candidates, mended, strict=True)
    ]


def _lines_of(
    texts: Mapping[str, str], candidate: Candidate, original: Ran, broken: Sequence[tuple[str, int]]
) -> frozenset[str]:
    """The lines that a mend wrote, and those at which the original's graphs break."""
    found: set[str] = set()
    for old, new in texts_changed(texts, candidate["texts"]):
        found |= {*new.splitlines()} - {*old.splitlines()}
    events = [event["frames"][-1] for trial in original.trials for event in trial.events]
    known = [(file, line) for file, line in broken]
    for file, line in {*known, *((place["file"], place["line"]) for place in events)}:
        found |= {*_text(texts, file).splitlines()[line - 1 : line]}
    return frozenset(line.strip() for line in found)


def _text(texts: Mapping[str, str], file: str) -> str:
    try:
        return texts.get(file) or text_of(file)
    except (OSError, SyntaxError, UnicodeError):
        return ""
