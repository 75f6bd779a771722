"""Mended programs: the texts that a set of mends makes, and where they differ from the old ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from graphmend_lsp.engine.breaks import place_of
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.names import Called, apart
from graphmend_lsp.engine.support_text import joined, version_of
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import Assumption, Mend, Span, TextEdit
from graphmend_lsp.text import OverlappingEditsError, Text, apply_edits
from graphmend_lsp.worker.wire import AssumedPlace, Candidate, Place

_SUPPORT = re.compile(rf"(\s*)(from (?:\w+\.)*{SUPPORT} import )(\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)(\s*)")


def combine(mends: Iterable[Mend], sources: Sources) -> tuple[tuple[Mend, ...], dict[str, str]]:
    """The mends that fit together, in the order given, and the new texts of the files they change.

    Of mends that touch the same text the first stays. An edit that two mends share (a helper, an import) is made once. A
    name that two mends bring in is another one in the second (``condition_2``); where that cannot be, the first stays.
    """
    taken: list[Mend] = []
    edits: dict[str, dict[TextEdit, None]] = {}
    texts: dict[str, str] = {}
    called: Called = {}
    for mend in mends:
        olds = {edit.path: sources.get(edit.path) or "" for edit in mend.edits}
        own = apart(mend, called, (edit for known in edits.values() for edit in known), olds)
        if own is None:
            continue
        trial = {path: dict(known) for path, known in edits.items()}
        for edit in own[0]:
            trial.setdefault(edit.path, {})[edit] = None
        try:
            changed = {path: apply_edits(sources.get(path) or "", one_import(those)) for path, those in trial.items()}
        except OverlappingEditsError:
            continue
        taken.append(mend)
        called = {**called, **own[1]}
        edits, texts = trial, changed
    return tuple(taken), texts


def one_import(edits: Iterable[TextEdit]) -> list[TextEdit]:
    """The edits of a file, with what several of them import from the support module in one line; of that module, one edit."""
    found: dict[tuple[object, ...], TextEdit] = {}
    for edit in edits:
        if version_of(edit.text) is not None:  # the support module: what all of them import from it
            key: tuple[object, ...] = (edit.span,)
            found[key] = replace(edit, text=joined(found[key].text, edit.text)) if key in found else edit
            continue
        match = _SUPPORT.fullmatch(edit.text)
        key = (edit.span, match[1], match[2], match[4]) if match is not None else (edit,)
        known = found.get(key)
        if match is not None and known is not None and (other := _SUPPORT.fullmatch(known.text)) is not None:
            names = sorted({*match[3].split(", "), *other[3].split(", ")})
            found[key] = replace(edit, text=f"{match[1]}{match[2]}{', '.join(names)}{match[4]}")
        else:
            found[key] = edit
    return list(found.values())


def programs_of(mends: Iterable[Mend]) -> list[tuple[Mend, ...]]:
    """The programs that the mends make one by one: mends with the same edits, of breaks with one cause, make one."""
    programs: dict[frozenset[TextEdit], dict[Mend, None]] = {}
    for mend in mends:
        programs.setdefault(frozenset(mend.edits), {})[mend] = None
    return [tuple(program) for program in programs.values()]


def changed_lines(old: str, edits: Sequence[TextEdit]) -> list[list[int]]:
    """The line ranges ``[first, last]`` (1-based, inclusive) of the new text that the edits wrote, in order."""
    text, new = Text(old), Text(apply_edits(old, edits))
    ranges: list[list[int]] = []
    shift = 0
    for start, end, words in sorted((text.offset(e.span.start), text.offset(e.span.end), e.text) for e in edits):
        first = new.position(start + shift).line
        last = new.position(start + shift + len(words)).line
        ranges.append([first, last])
        shift += len(words) - (end - start)
    return ranges


def places_assumed(mends: Iterable[Mend]) -> list[tuple[Assumption, str, Span]]:
    """The places of all assumptions in a fixed order; one that names none is about the break."""
    return list(
        dict.fromkeys(
            (one, path, span)
            for mend in mends
            for one in mend.assumes
            for path, span in one.places or ((mend.path, mend.span),)
        )
    )


def beside_of(number: str, mends: Sequence[Mend], texts: dict[str, str], base: dict[str, str]) -> Candidate:
    """The candidate for an entry that did not meet the mends' breaks: is what they change run there, and what comes of it?"""
    edited: dict[str, list[list[int]]] = {}
    for edit in dict.fromkeys(edit for mend in mends for edit in mend.edits):
        edited.setdefault(edit.path, []).append([edit.span.start.line, edit.span.end.line])
    return Candidate(
        id=number,
        texts={**base, **texts},
        conditions=[],
        changed={},
        edited=edited,
        inductor=any(one.inductor for one in mends),
        lowered=any(one.inductor for one in mends),
    )


def candidate_of(
    number: str, mends: Sequence[Mend], texts: dict[str, str], base: dict[str, str], sources: Sources
) -> Candidate:
    """The candidate for the worker: the mended texts on top of the unsaved ones, and what it must watch in a run."""
    edits: dict[str, dict[TextEdit, None]] = {}
    places: dict[tuple[str, int, int | None], Place] = {}
    outlined: dict[tuple[str, int, int | None], Place] = {}
    for mend in mends:
        for edit in mend.edits:
            edits.setdefault(edit.path, {})[edit] = None
        for path, span in mend.conditions:
            place = place_of(path, span, Text(sources.get(path) or ""))
            places.setdefault((path, place["line"], place["column"]), place)
            if any(path == own and region.contains(span) for own, region in mend.regions):
                outlined[path, place["line"], place["column"]] = place
    candidate = Candidate(
        id=number,
        texts={**base, **texts},
        conditions=list(places.values()),
        changed={path: changed_lines(sources.get(path) or "", one_import(those)) for path, those in edits.items()},
        inductor=any(mend.inductor for mend in mends),
        lowered=any(mend.inductor for mend in mends),
        outlined=list(outlined.values()),
    )
    if mends:
        candidate["assumed"] = [
            AssumedPlace(kind=one.kind, **place_of(path, span, Text(sources.get(path) or "")))
            for one, path, span in places_assumed(mends)
        ]
    return candidate
