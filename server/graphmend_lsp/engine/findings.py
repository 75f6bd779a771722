"""What a report says: how each entry fared, and every break of the runs and of the source with what the rules say of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.analysis.reasons import is_boundary
from graphmend_lsp.analysis.suppress import is_suppressed
from graphmend_lsp.engine.breaks import Scope, breaks_of, is_installed, merge_all
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.entries import python_files
from graphmend_lsp.engine.explored import fake_breaks, with_modes
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.engine.neighbours import imported_by
from graphmend_lsp.engine.noted import facts_of
from graphmend_lsp.engine.overlay import root_of
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.strip import Strips
from graphmend_lsp.engine.support import Supports
from graphmend_lsp.model import Break, Candidate, Declined, EntryResult, Finding, Mend, Report
from graphmend_lsp.text import Text
from graphmend_lsp.values import NOTHING

_MOST_AHEAD = 20  # files that are read while a run goes on


def unmet(report: Report, result: EntryResult, run: Run | None) -> list[Mend]:
    """The mends of breaks that other entries or modes met, not this one, in files that it loaded (where that is known)."""
    if result.error is not None or result.run != "real":
        return []
    loaded = {os.path.realpath(file) for file in run.loaded} if run is not None else set()
    return [
        candidate.mend
        for finding in report.findings
        if finding.site.evidence == "dynamo"
        and not (result.entry.name in finding.site.entries and result.mode in finding.site.modes)
        for candidate in finding.candidates
        if not loaded or any(os.path.realpath(edit.path) in loaded for edit in candidate.mend.edits)
    ]


def entry_results(runs: Mapping[Key, Run], strips: Strips | None = None) -> tuple[EntryResult, ...]:
    """How each entry fared, and (where `strips` are wanted) how it is cut. Reads files."""
    return tuple(
        EntryResult(
            entry,
            mode,
            len(run.ops),
            run.skipped_frames,
            run.ops,
            run.failure,
            run.seconds,
            run.kind,
            run.note,
            run.cached,
            () if strips is None else strips.of(run),
        )
        for (entry, mode), run in runs.items()
    )


def findings_of(
    runs: Mapping[Key, Run],
    files: Sequence[str],
    request: CheckRequest,
    sources: Sources,
    mender: Mender | None,
    explored: Mapping[Key, Run] | None = None,
) -> tuple[Finding, ...]:
    """Every break of the runs and of the source, each with what the rules say. Reads files; waits for the mender.

    `explored` are the fake runs of the same entries. Without a mender no rule is asked.
    """
    explored = explored or {}
    scope = scope_of(request)
    real = merge_all(
        [
            breaks_of(run.events, run.most_graphs, entry.name, mode, scope, sources)
            for (entry, mode), run in runs.items()
        ]
    )
    faked = fake_breaks(explored, real, runs, scope, sources)
    met = with_modes(sorted((*real, *faked), key=lambda site: (site.path, site.span)), {**explored, **runs})
    ran = any(run.failure is None for run in (*runs.values(), *explored.values()))
    facts = facts_of((run.noted for run in runs.values()), sources) if mender is not None else NOTHING
    found: list[Finding] = []
    supports = Supports(
        sources,
        request.support,
        request.comments,
        overlay_folder([entry.file for entry, _ in (*runs, *explored)], request),
        whole=request.shard is not None,
    )
    read: dict[str, Mapping[str, str]] = {}
    for site in (*met, *_static(files, met, sources)):
        text = sources.get(site.path)
        if text is not None and is_suppressed(site, text):
            continue
        declined = _out_of_reach(site, ran, scope, text)
        if declined is not None:
            found.append(Finding(site, declined=(declined,)))
            continue
        if mender is None:
            found.append(Finding(site, proposed=False))
            continue
        paths = dict.fromkeys((site.path, *(frame.path for frame in site.chain if scope.contains(frame.path))))
        texts = {path: value for path in paths if (value := sources.get(path)) is not None}
        styles = {path: supports.style(path) for path in texts}
        if site.path not in read:
            read[site.path] = {
                one: value for one, value in imported_by(site.path, sources).items() if scope.contains(one)
            }
        texts = {**read[site.path], **texts}
        mends, refusals = mender.propose(
            site, texts, request.rules, facts.only(texts), styles, wrapping(site, texts, sources)
        )
        found.append(Finding(site, tuple(Candidate(supports.completed(mend)) for mend in mends), refusals))
    return tuple(found)


def wrapping(site: Break, editable: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """The texts of the files that may not be edited, and whose functions Dynamo compiled around those of editable ones."""
    frames = (frame for frame in site.chain if frame.kind == "code")
    paths = dict.fromkeys(frame.path for frame in takewhile(lambda frame: frame.path not in editable, frames))
    return {path: text for path in paths if (text := sources.get(path)) is not None}


def read_ahead(request: CheckRequest) -> None:
    """Look for static findings in the request's files, beside its runs: `findings_of` then finds what was found kept."""
    sources = Sources(request.texts)
    _static(tuple(dict.fromkeys(python_files(request.paths)))[:_MOST_AHEAD], (), sources)


def overlay_folder(files: Iterable[str], request: CheckRequest) -> str | None:
    """Where mended copies of installed modules lie: beside the user's first entry, else beside the entry's own package.

    None where there are no copies: an installed file that the user names is mended in place.
    """
    if not request.packages:
        return None
    entries = [file for file in files if not is_installed(file) or file not in request.paths]
    return root_of(min(entries, key=is_installed)) if entries else None


def scope_of(request: CheckRequest) -> Scope:
    """The files in which a request shows breaks."""
    return Scope(request.paths if request.shown is None else request.shown, request.packages)


BOUNDARY = "No rule mends what is inside; GraphMend put it behind one boundary, which stays a break."
"""Why a boundary of the rule `isolate` is not mended again."""


def _out_of_reach(site: Break, ran: bool, scope: Scope, text: str | None) -> Declined | None:
    if text is None:
        return Declined("source", "GraphMend cannot read its source.")
    if site.evidence == "static" and ran:
        return Declined("run", "No run reached this break. Add an entry, or inputs, that reach it.")
    if scope.contains(site.path):
        return Declined("isolate", BOUNDARY) if is_boundary(Text(text).slice(site.span)) else None
    if is_installed(site.path):
        return Declined(
            "scope", "It is in an installed package. Name the file, or mend a copy of it with `mend --overlay`."
        )
    return Declined("scope", "It is outside the paths that you named.")


def _static(files: Sequence[str], real: Sequence[Break], sources: Sources) -> list[Break]:
    """The static findings at places where Dynamo did not see a break (it runs one side of every branch only)."""
    found: list[Break] = []
    for path in files:
        if (text := sources.get(path)) is None:
            continue
        spans = [site.span for site in real if site.path == path]
        lines = {span.start.line for span in spans}
        found += [
            site
            for site in find_breaks(text, path)
            if site.span.start.line not in lines and not any(span.overlaps(site.span) for span in spans)
        ]
    return found
