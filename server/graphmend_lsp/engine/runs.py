"""One entry under Dynamo, as the engine keeps it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmend_lsp.engine.client import failure_of
from graphmend_lsp.model import Counts, Entry, Failure, Mode, RunKind
from graphmend_lsp.worker.wire import AnalyseResult, BreakData, CandidateResult, CountsData, GraphData, NotedFunction

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
    contents: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of these files as they were loaded, in hex
    noted: tuple[NotedFunction, ...] = ()  # what values were in functions that hold a break
    in_order: int | None = None  # of a fake run: how many of the first events belong to `graphs`

    @property
    def most_graphs(self) -> int:
        """Into how many graphs it was cut; of one that is under way nobody knows yet."""
        return len(self.ops) if self.ended else sys.maxsize

    @property
    def ops(self) -> tuple[int, ...]:
        """The operators of each graph of the call that compiled most graphs."""
        most = self.most_cut
        return tuple(graph["ops"] for graph in self.graphs if graph["call"] == most)

    @property
    def most_cut(self) -> int | None:
        """The number of the call that compiled most graphs; None when none compiled any."""
        calls = Counter(graph["call"] for graph in self.graphs)
        return calls.most_common(1)[0][0] if calls else None

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
            refused=len({_place(event) for event in self.events if event["outcome"] == "refused"}),
        )


def broken(run: Run) -> list[tuple[str, int]]:
    """The places, file and line (from 1), at which a run's graphs break."""
    return sorted({(event["frames"][-1]["file"], event["frames"][-1]["line"]) for event in run.events})


def cut_of(counts: CountsData) -> Counts:
    """How a program is cut, as the worker told it."""
    return Counts(
        counts["graphs"], counts["breaks"], counts["skipped_frames"], counts["skipped_rests"], counts["refused"]
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
        contents={one["file"]: one["sha256"] for one in result.get("loaded", ())},
        noted=tuple(result.get("noted", ())),
        in_order=result.get("in_order"),
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


def _is_own_error(event: BreakData) -> bool:
    return event["outcome"] == "raised" and event["root"]["gb_type"] == "TorchRuntimeError"


def _place(event: BreakData) -> tuple[object, ...]:
    frames = event["frames"]
    if not frames:
        return (event["compiled"],)
    frame = next((one for one in reversed(frames) if one["kind"] == "code"), frames[-1])
    return (frame["file"], frame["line"], frame["column"], frame["end_line"], frame["end_column"])
