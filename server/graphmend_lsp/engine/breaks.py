"""From the worker's break events to break *sites* of the current text: one `Break` for each place a user would edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from graphmend_lsp.analysis.reasons import is_boundary, reason_for, refusal_of
from graphmend_lsp.analysis.sites import narrow
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.model import Break, Evidence, Frame, Mode, Outcome, Span
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import Answer, BreakData, FrameData, Place, is_intended

_HOMES = frozenset(("site-packages", "dist-packages"))
_SEVERITY: dict[Outcome, int] = {
    "unknown": 0,
    "resumed": 1,
    "rest skipped": 2,
    "frame skipped": 3,
    "raised": 4,
    "refused": 5,
}
_LIKE_BREAKS = {"GuardOnDataDependentSymNode": "GB0170"}  # errors that Dynamo raises where it could break the graph


@dataclass(frozen=True, slots=True)
class Scope:
    """Which files the user asked about; `paths` are absolute files and folders, none means: everything not installed.

    `packages`: installed packages too, because an overlay can hold their mended copies.
    """

    paths: tuple[str, ...]
    packages: bool = False

    def contains(self, path: str) -> bool:
        """Whether breaks of this file are the user's own, so that they are shown there and may be mended there."""
        if self.packages and is_installed(path):
            return True
        if not self.paths:
            return not is_installed(path)
        wanted = PurePath(path)
        for given in self.paths:
            root = PurePath(given)
            if wanted == root or (root in wanted.parents and is_installed(path) == is_installed(given)):
                return True
        return False


def is_installed(path: str) -> bool:
    """Whether the file belongs to an installed package rather than to the user."""
    return not _HOMES.isdisjoint(PurePath(path).parts)


def is_within(path: str, folder: str) -> bool:
    """Whether a file is that file, or in that folder."""
    return PurePath(path) == PurePath(folder) or PurePath(folder) in PurePath(path).parents


def breaks_of(
    events: Sequence[BreakData],
    graphs: int,
    entry: str,
    mode: Mode,
    scope: Scope,
    sources: Sources,
    evidence: Evidence = "dynamo",
) -> tuple[Break, ...]:
    """The sites of one run's events in the order in which they were met; breaks that the author asks for are left out.

    A boundary of the rule `isolate` is no such break: nobody asked for it but us.

    `graphs` is how many the run made in all: no site can cost more than all but one.
    With scope paths given, a break whose chain never enters them is left out: its place is in a file nobody asked about.
    """
    texts = _Texts(sources)
    sites: dict[tuple[str, Span], Break] = {}
    for event in events:
        chain = tuple(texts.frame(frame) for frame in event["frames"])
        place = shown_frame(chain, scope)
        if place is None:
            continue
        text = texts.get(place.path)
        span = narrow(text, place.span) if text is not None else place.span
        segment = _segment(chain, place, span, texts)
        if is_intended(event) and not is_boundary(segment):
            continue
        package = _package(chain, scope)
        if event["outcome"] == "refused":
            reason = refusal_of(segment, _tidy(event["root"]["explanation"]))
        else:
            reason = reason_for(event["root"]["gb_id"], event["root"]["gb_type"], segment, package)
        site = _break(event, place.path, span, reason, chain, entry, mode)
        site = replace(site, evidence=evidence, answers=_answers(event.get("answers", ()), texts))
        key = (place.path, span)
        sites[key] = merge(sites[key], site) if key in sites else site
    return tuple(replace(site, graphs=min(site.graphs, max(graphs - 1, 0))) for site in sites.values())


def _segment(chain: Sequence[Frame], place: Frame, span: Span, texts: _Texts) -> str:
    """The source of the break, which may be further in than the place where it is shown."""
    inner = [frame for frame in chain if frame.kind == "code"][-1:]
    path, where = (inner[0].path, inner[0].span) if inner and inner[0].path != place.path else (place.path, span)
    text = texts.get(path)
    return "" if text is None else text.slice(where if path == place.path else narrow(text, where))


def _package(chain: Sequence[Frame], scope: Scope) -> str:
    """The installed package in which a break really is, where nobody asked for its files; else empty."""
    code = [frame.path for frame in chain if frame.kind == "code"]
    if not code or not is_installed(code[-1]) or Scope(scope.paths).contains(code[-1]):
        return ""
    parts = PurePath(code[-1]).parts
    return parts[max(number for number, part in enumerate(parts) if part in _HOMES) + 1].removesuffix(".py")


def shown_frame(chain: Sequence[Frame], scope: Scope) -> Frame | None:
    """Where a break is shown: the innermost frame of the user's files, else the innermost that is not Python's or torch's."""
    code = [frame for frame in chain if frame.kind == "code"]
    inside = [frame for frame in code if scope.contains(frame.path)]
    if inside:
        return inside[-1]
    return code[-1] if code and not scope.paths else None


def merge(one: Break, other: Break) -> Break:
    """Two records of one site as one: costs add up, the worst outcome and the longest chain stay."""
    worst = max(one.outcome, other.outcome, key=lambda outcome: _SEVERITY[outcome])
    return replace(
        one,
        outcome=worst,
        events=one.events + other.events,
        graphs=one.graphs + other.graphs,
        entries=tuple(dict.fromkeys((*one.entries, *other.entries))),
        modes=tuple(dict.fromkeys((*one.modes, *other.modes))),
        chain=max(one.chain, other.chain, key=len),
        answers=min(one.answers, other.answers, key=len),
    )


def merge_all(groups: Iterable[Sequence[Break]]) -> tuple[Break, ...]:
    """The sites of several runs (entries, modes) as one list, in file order. Costs are the worst run's, not the sum."""
    sites: dict[tuple[str, Span], Break] = {}
    for group in groups:
        for site in group:
            key = (site.path, site.span)
            if (known := sites.get(key)) is None:
                sites[key] = site
            else:
                sites[key] = replace(
                    merge(known, site), events=max(known.events, site.events), graphs=max(known.graphs, site.graphs)
                )
    return tuple(sorted(sites.values(), key=lambda site: (site.path, site.span)))


def _break(
    event: BreakData, path: str, span: Span, reason: str, chain: tuple[Frame, ...], entry: str, mode: Mode
) -> Break:
    cause, root = event["cause"], event["root"]
    refused = event["outcome"] == "refused"
    like = _LIKE_BREAKS.get(root["gb_type"]) if refused else None
    return Break(
        path=path,
        span=span,
        gb_id=cause["gb_id"] or like,
        gb_type=cause["gb_type"],
        reason=reason,
        evidence="dynamo",
        explanation=_tidy(root["explanation"]),
        hints=tuple(hint for hint in map(_tidy, root["hints"]) if "report an issue" not in hint and "bug" not in hint),
        outcome=event["outcome"],
        root_gb_id=root["gb_id"] or like,
        root_gb_type=root["gb_type"],
        graphs=1 if event["outcome"] == "resumed" else 0,
        entries=(entry,),
        modes=(mode,),
        chain=chain,
    )


def _answers(answers: Iterable[Answer], texts: _Texts) -> tuple[tuple[str, Span, bool], ...]:
    found = []
    for answer in answers:
        text = texts.get(answer["file"])
        span = span_of(answer, text)
        found.append((answer["file"], narrow(text, span) if text is not None else span, answer["value"]))
    return tuple(dict.fromkeys(found))


def _tidy(words: str) -> str:
    return re.sub(r"\s+", " ", words).strip()


class _Texts:
    """Sources with their line index, and the frames of the wire in them."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._texts: dict[str, Text | None] = {}

    def get(self, path: str) -> Text | None:
        if path not in self._texts:
            value = self._sources.get(path)
            self._texts[path] = None if value is None else Text(value)
        return self._texts[path]

    def frame(self, data: FrameData) -> Frame:
        return Frame(data["file"], data["function"], span_of(data, self.get(data["file"])), data["kind"])


def span_of(place: Place, text: Text | None) -> Span:
    """A place of the wire in `text`; the whole line without its indentation where no columns are known."""
    line = max(place["line"], 1)
    column, end_line, end_column = place["column"], place["end_line"], place["end_column"]
    if text is None:
        return Span.of(line, (column or 0) + 1, end_line or line, (end_column or column or 0) + 1)
    if column is None or end_line is None or end_column is None:
        content = text.line(line)
        return Span.of(line, len(content) - len(content.lstrip()) + 1, line, len(content.rstrip()) + 1)
    return text.span_from_utf8(line, column, end_line, end_column)


def place_of(path: str, span: Span, text: Text) -> Place:
    """A span of `text` as the wire gives places."""
    line, column = text.to_utf8(span.start)
    end_line, end_column = text.to_utf8(span.end)
    return Place(file=path, line=line, column=column, end_line=end_line, end_column=end_column)
