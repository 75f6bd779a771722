"""One entry under Dynamo, as the engine keeps it, and the report that runs and static findings make together."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.analysis.suppress import is_suppressed
from graphmend_lsp.engine.breaks import Scope, breaks_of, is_installed, merge_all
from graphmend_lsp.engine.client import failure_of
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.explored import fake_breaks, with_modes
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.model import (
    Break,
    Candidate,
    Declined,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Mend,
    Mode,
    Report,
    RunKind,
)
from graphmend_lsp.worker.wire import AnalyseResult, BreakData, CandidateResult, CountsData, GraphData

Key = tuple[Entry, Mode]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of an entry's own calls showed; `failure` when it did not come to its end.

    Of a fake run (`kind`): how often it was made, how many sides of conditions were left, what its tensors would take and
    what memory the worker had free. `note` is for the user.
    """

    events: tuple[BreakData, ...] = ()
    graphs: tuple[GraphData, ...] = ()
    skipped_frames: int = 0
    device: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    kind: RunKind = "real"
    explored: int = 0
    unexplored: int = 0
    tensor_bytes: int | None = None
    available_bytes: int | None = None
    note: str = ""
    cached: bool = False
    ended: bool = True  # False of one that is under way
    loaded: frozenset[str] = frozenset()  # files, when they are known

    @property
    def most_graphs(self) -> int:
        """Into how many graphs it was cut; of one that is under way nobody knows yet."""
        return len(self.ops) if self.ended else sys.maxsize

    @property
    def ops(self) -> tuple[int, ...]:
        """The operators of each graph of the call that compiled most graphs."""
        calls = Counter(graph["call"] for graph in self.graphs)
        most = calls.most_common(1)[0][0] if calls else None
        return tuple(graph["ops"] for graph in self.graphs if graph["call"] == most)

    @property
    def counts(self) -> CountsData:
        """How the program was cut, as the worker counts it."""
        sites = {_place(event) for event in self.events}
        rests = {_place(event) for event in self.events if event["outcome"] == "rest skipped"}
        return CountsData(
            graphs=len(self.ops),
            breaks=len(sites),
            skipped_frames=self.skipped_frames,
            skipped_rests=len(rests),
            recompiles=0,
        )


def run_of(result: AnalyseResult, kind: RunKind = "real", cached: bool = False) -> Run:
    """An analysis as a run."""
    ended = result["failure"] is not None  # the operator's own error, which ends the run, is told as its failure alone
    return Run(
        events=tuple(event for event in result["events"] if not (ended and _is_own_error(event))),
        graphs=tuple(result["graphs"]),
        skipped_frames=len({(skip["file"], skip["line"]) for skip in result["skipped"]}),
        device=result["device"],
        seconds=result["seconds"],
        failure=failure_of(result["failure"]) if result["failure"] else None,
        kind=kind,
        explored=result.get("explored", 0),
        unexplored=result.get("unexplored", 0),
        tensor_bytes=result.get("tensor_bytes"),
        available_bytes=result.get("available_bytes"),
        cached=cached,
        loaded=frozenset(one["file"] for one in result.get("loaded", ())),
    )


def mended_run(result: CandidateResult, before: Run | None) -> Run:
    """The run of the mended program that its verdict made anyway: the entry's own calls, compiled."""
    return Run(
        events=tuple(result["events"]),
        graphs=tuple(result["graphs"]),
        skipped_frames=result["after"]["skipped_frames"],
        device=before.device if before else None,
        seconds=result["seconds"],
    )


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


def entry_results(runs: Mapping[Key, Run]) -> tuple[EntryResult, ...]:
    """How each entry fared."""
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
    scope = Scope(request.paths, request.packages)
    real = merge_all(
        [
            breaks_of(run.events, run.most_graphs, entry.name, mode, scope, sources)
            for (entry, mode), run in runs.items()
        ]
    )
    faked = fake_breaks(explored, real, runs, scope, sources)
    met = with_modes(sorted((*real, *faked), key=lambda site: (site.path, site.span)), {**explored, **runs})
    ran = any(run.failure is None for run in (*runs.values(), *explored.values()))
    found: list[Finding] = []
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
        mends, refusals = mender.propose(site, texts, request.rules)
        found.append(Finding(site, tuple(Candidate(mend) for mend in mends), refusals))
    return tuple(found)


def _out_of_reach(site: Break, ran: bool, scope: Scope, text: str | None) -> Declined | None:
    if text is None:
        return Declined("source", "its source cannot be read")
    if site.evidence == "static" and ran:
        return Declined("run", "no entry's run reached this break")
    if scope.contains(site.path):
        return None
    if is_installed(site.path):
        return Declined("scope", "it is in an installed package; name the file to have it mended")
    return Declined("scope", "it is outside the paths that were named")


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


def _is_own_error(event: BreakData) -> bool:
    return event["outcome"] == "raised" and event["root"]["gb_type"] == "TorchRuntimeError"


def _place(event: BreakData) -> tuple[object, ...]:
    frames = event["frames"]
    if not frames:
        return (event["compiled"],)
    frame = next((one for one in reversed(frames) if one["kind"] == "code"), frames[-1])
    return (frame["file"], frame["line"], frame["column"], frame["end_line"], frame["end_column"])
