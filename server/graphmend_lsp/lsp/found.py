"""What is known of one open document: static findings of its text now, and those of the last run, moved with edits.

Pure. A finding of a run disappears when its own lines change (the static tier takes over); when the function around it
changed it is told to be from before; a verdict holds only while every file it is about still reads as it did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from graphmend_lsp.engine.support_text import fitted, is_foreign, version_of
from graphmend_lsp.lsp.documents import Tracker
from graphmend_lsp.model import Break, Candidate, Declined, Failure, Finding, Mend, Position, Span, TextEdit
from graphmend_lsp.text import Text

Now = Callable[[str], "Text | None"]


@dataclass(slots=True, eq=False)
class Run:
    """One run: the open documents as they were, by path, and the texts of other files it told of, as they were; `folder` is
    the workspace folder whose worker ran."""

    number: int
    trackers: dict[str, Tracker]
    foreign: dict[str, Text] = field(default_factory=dict)
    folder: str = ""

    def text(self, path: str) -> Text | None:
        """The text that the run saw in a file."""
        tracker = self.trackers.get(path)
        return tracker.text if tracker else self.foreign.get(path)

    def moved(self, path: str, span: Span, now: Text) -> Span | None:
        """Where a span of the run's text is in the text now; None when it changed."""
        if path in self.trackers:
            return self.trackers[path].moved(span, now)
        seen = self.foreign.get(path)
        return span if seen is not None and seen.value == now.value else None


@dataclass(frozen=True, slots=True)
class Known:
    """A finding where it is now. `site.span` and the candidates' edits refer to the texts now.

    `stale`: the function around it has changed since the run. `proposed`: whether mends were looked for at all yet.
    `origin`: which recorded run met it, as a sentence. `leads`: mending all may mend it, with what stands behind it.
    """

    id: str
    site: Break
    candidates: tuple[Candidate, ...] = ()
    declined: tuple[Declined, ...] = ()
    stale: bool = False
    proposed: bool = True
    origin: str = ""
    leads: bool = False

    @property
    def best(self) -> Candidate | None:
        """The candidate to prefer: the first that was verified safe."""
        return next((candidate for candidate in self.candidates if candidate.safety == "safe"), None)

    @property
    def offered(self) -> tuple[Candidate, ...]:
        """The candidates a user may be shown: never a wrong one."""
        return tuple(candidate for candidate in self.candidates if candidate.safety != "wrong")


def known_static(
    sites: tuple[Break, ...],
    text: Text,
    proposals: Mapping[Break, tuple[tuple[Mend, ...], tuple[Declined, ...]]],
    origins: Mapping[Break, str] | None = None,
) -> tuple[Known, ...]:
    """Static and recorded findings of the text now, with what mending proposed for each (not in `proposals`: nothing yet).

    `origins` say of recorded ones which run met them.
    """
    found: list[Known] = []
    names = _Names()
    for site in sites:
        mends, declined = proposals.get(site, ((), ()))
        candidates = tuple(Candidate(mend) for mend in mends)
        found.append(
            Known(
                names.name(site, text),
                site,
                candidates,
                declined,
                proposed=site in proposals,
                origin=(origins or {}).get(site, ""),
            )
        )
    return tuple(found)


def known_dynamo(run: Run, findings: tuple[Finding, ...], path: str, text: Text, now: Now) -> tuple[Known, ...]:
    """The findings of a run in the file `path`, which now reads `text`, as far as they still stand."""
    then = run.text(path)
    if then is None:
        return ()
    found: list[Known] = []
    names = _Names()
    for finding in findings:
        if finding.site.path != path:
            continue
        name = names.name(finding.site, then)
        span = run.moved(path, finding.site.span, text)
        if span is None:
            continue
        block = block_around(then, finding.site.span.start.line)
        stale = then.value != text.value and run.moved(path, block, text) is None
        candidates = tuple(
            moved for candidate in finding.candidates if (moved := moved_candidate(run, candidate, now)) is not None
        )
        site = replace(finding.site, span=span)
        leads = bool(finding.behind)
        found.append(Known(name, site, candidates, finding.declined, stale, finding.proposed, leads=leads))
    return tuple(found)


def merged(dynamo: tuple[Known, ...], static: tuple[Known, ...]) -> tuple[Known, ...]:
    """Both, in the order of the text, without static findings of sites that a run confirmed."""
    kept = [known for known in static if not any(same_site(known.site, other.site) for other in dynamo)]
    return tuple(sorted([*dynamo, *kept], key=lambda known: (known.site.span, known.site.code)))


def newest(old: tuple[Known, ...], new: tuple[Known, ...]) -> tuple[Known, ...]:
    """Findings of a run that is under way, and those of the last one at places where it has not met any yet."""
    return (*(known for known in old if not any(known.site.span.overlaps(other.site.span) for other in new)), *new)


def same_site(static: Break, dynamo: Break) -> bool:
    """Whether a static finding and one of a run are about the same break."""
    if static.span.overlaps(dynamo.span):
        return True
    ids = {dynamo.gb_id, dynamo.root_gb_id, dynamo.code} - {None}
    return static.span.start.line == dynamo.span.start.line and bool(
        ids & {static.gb_id, static.root_gb_id, static.code}
    )


def moved_candidate(run: Run, candidate: Candidate, now: Now) -> Candidate | None:
    """The candidate with its edits where they belong now.

    Without its verdict when any file of the run changed; None when its own lines did.
    """
    edits: list[TextEdit] = []
    fresh = True
    for edit in candidate.mend.edits:
        text = now(edit.path)
        then = run.text(edit.path)
        if version_of(edit.text) is not None and not is_foreign(None if text is None else text.value):
            fits = fitted(edit, text)
            edits += [fits] if fits is not None else []
            continue
        if then is None and (text is None or text.value == edit.text):  # a file that is created, or was since
            edits += [edit] if text is None else []
            continue
        if text is None or then is None:
            return None
        span = run.moved(edit.path, edit.span, text)
        if span is None:
            return None
        fresh = fresh and text.value == then.value
        edits.append(replace(edit, span=span))
    # The program is more than the edited files: any document of the run that changed voids the proof.
    fresh = fresh and all(
        (text := now(path)) is None or text.value == tracker.text.value for path, tracker in run.trackers.items()
    )
    wrong = candidate.safety == "wrong"  # stays known as wrong until a run says otherwise
    return Candidate(replace(candidate.mend, edits=tuple(edits)), candidate.verdict if fresh or wrong else None)


def block_around(text: Text, line: int) -> Span:
    """The function around a line by its indentation (the whole text when there is none), whole lines."""
    own = _indent(text.line(line))
    first = line
    while first > 1:
        content = text.line(first)
        if content.strip() and _indent(content) < own:
            own = _indent(content)
            if content.lstrip().startswith(("def ", "async def ")):
                break
        first -= 1
    if not text.line(first).lstrip().startswith(("def ", "async def ")):
        return Span(Position(1, 1), Position(text.line_count, len(text.line(text.line_count)) + 1))
    last = line
    for number in range(first + 1, text.line_count + 1):
        content = text.line(number)
        if content.strip() and _indent(content) <= own and not content.lstrip().startswith((")", "]", "}", "#")):
            break
        if content.strip():
            last = max(last, number)
    return Span(Position(first, 1), Position(last, len(text.line(last)) + 1))


def failure_line(failure: Failure, text: Text) -> Span:
    """Where a failure is shown in its file: its line's content, or the first line."""
    line = min(max(failure.line or 1, 1), text.line_count)
    content = text.line(line)
    start = len(content) - len(content.lstrip()) + 1
    return Span(Position(line, min(start, len(content) + 1)), Position(line, max(len(content.rstrip()) + 1, start)))


def _indent(content: str) -> int:
    return len(content) - len(content.lstrip())


class _Names:
    """Stable ids: the same for the same break on the same line of code, wherever that line has moved to."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def name(self, site: Break, text: Text) -> str:
        line = text.line(site.span.start.line).strip()
        key = f"{site.path}\0{site.code}\0{site.evidence}\0{line}\0{site.span.start.column}"
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return hashlib.sha1(f"{key}\0{count}".encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:12]
