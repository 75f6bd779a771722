"""How the entries of this session's runs are cut, for the graph map, the lenses and the inlay hints. Pure."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphmend_lsp.lsp.found import Run
from graphmend_lsp.model import Entry, EntryResult, Finding, Graph, Mode, Plan, Report, Span, Stop
from graphmend_lsp.report.graph_map import graph_map, plan_map
from graphmend_lsp.text import Text

Now = Callable[[str], "Text | None"]
Key = tuple[Entry, Mode]


@dataclass(frozen=True, eq=False)
class Cut:
    """How an entry fared in one mode, with the run that showed it, whose texts the spans are of."""

    run: Run
    result: EntryResult
    report: Report

    @property
    def met(self) -> tuple[Finding, ...]:
        """The breaks that this very run of the entry met."""
        return tuple(
            finding
            for finding in self.report.findings
            if self.result.entry.name in finding.site.entries and self.result.mode in finding.site.modes
        )

    @property
    def files(self) -> set[str]:
        """The files that the entry's strip and its breaks lie in."""
        strip = {piece.path for piece in self.result.strip}
        return {self.result.entry.file, *strip, *(finding.site.path for finding in self.met)} - {""}

    @property
    def counts(self) -> tuple[int, int]:
        """Graphs, and places that break them in a run with data."""
        return self.result.graphs, sum(finding.site.is_met for finding in self.met)


class Maps:
    """The newest run of each entry and mode, and the newest plan that mended some of them."""

    def __init__(self) -> None:
        self._cuts: dict[Key, Cut] = {}
        self._plan: Plan | None = None
        self._timed: weakref.WeakSet[Cut] = weakref.WeakSet()

    def install(self, run: Run, report: Report) -> None:
        """A run has ended, or is proven: what it says of its entries takes the place of what was known of them."""
        for result in report.entries:
            self._cuts[result.entry, result.mode] = Cut(run, result, report)

    def forget(self, folder: str) -> None:
        """A workspace folder is gone."""
        self._cuts = {key: cut for key, cut in self._cuts.items() if cut.run.folder != folder}

    def mended(self, plan: Plan) -> None:
        """A plan was made; as long as its files read as before it or as after it, it is shown as before beside after."""
        if plan.texts:
            self._plan = plan

    def about(self, path: str) -> tuple[Cut, ...]:
        """What is known of the entries that a file has, or that come through it; in its own entries' case these alone."""
        own = tuple(cut for cut in self._cuts.values() if cut.result.entry.file == path)
        return own or tuple(cut for cut in self._cuts.values() if path in cut.files)

    def untimed(self, path: str, folder: str) -> tuple[Cut, ...]:
        """Those of `about`, of a workspace folder, whose graphs were not timed, and are not being timed; they are from now on."""
        found = tuple(
            cut
            for cut in self.about(path)
            if cut.run.folder == folder
            and cut.result.run == "real"
            and cut.result.error is None
            and cut not in self._timed
            if any(isinstance(piece, Graph) and piece.share is None for piece in cut.result.strip)
        )
        self._timed.update(found)
        return found

    def timed(self, cut: Cut, result: EntryResult) -> None:
        """The graphs of an entry were timed; what was measured counts where the program is still the one that was cut so."""
        key = (cut.result.entry, cut.result.mode)
        if self._cuts.get(key) is cut and _bare(result.strip) == _bare(cut.result.strip):
            self._cuts[key] = replace(cut, result=replace(cut.result, strip=result.strip))

    def counts(self, cut: Cut, now: Now) -> tuple[int, int]:
        """`Cut.counts`, of the mended program where its text stands in the files now and no run has come since."""
        if self._plan is not None and _state(self._plan, now):
            for result in self._plan.after.entries:
                if (result.entry, result.mode) == (cut.result.entry, cut.result.mode):
                    return Cut(cut.run, result, self._plan.after).counts
        return cut.counts

    def data(self, path: str, now: Now) -> dict[str, Any]:
        """The graph map of a file's entries, at the places where the breaks are now."""
        cuts = self.about(path)
        if self._plan is not None and (written := _state(self._plan, now)) is not None:
            entries = {cut.result.entry for cut in cuts}
            if any(result.entry in entries for result in self._plan.before.entries):
                return plan_map(self._plan, written=written)
        return graph_map(_moved(cuts, now))


def _bare(strip: Iterable[Graph | Stop]) -> list[Graph | Stop]:
    return [replace(piece, share=None) if isinstance(piece, Graph) else piece for piece in strip]


def _state(plan: Plan, now: Now) -> bool | None:
    """Whether a plan's texts are those of its files now; None when the files read neither so nor as before it."""
    values = {path: (text.value if (text := now(path)) is not None else "") for path in plan.texts}
    if values == plan.texts:
        return True
    return False if values == {path: plan.old.get(path, "") for path in plan.texts} else None


def _moved(cuts: Iterable[Cut], now: Now) -> Report:
    """One report of all, with places where they are in the texts now; those whose text has changed stay where they were."""
    results: list[EntryResult] = []
    found: dict[tuple[str, Span], Finding] = {}
    whole: Report | None = None
    for cut in cuts:
        whole = cut.report
        results.append(_moved_result(cut, now))
        for finding in cut.met:
            site = finding.site
            span = _place(cut.run, site.path, site.span, now)[0]
            found.setdefault((site.path, span), replace(finding, site=replace(site, span=span)))
    if whole is None:
        return Report(None, None, None, (), ())
    return Report(whole.torch, whole.python, whole.device, tuple(results), tuple(found.values()))


def _moved_result(cut: Cut, now: Now) -> EntryResult:
    stands = True
    strip: list[Graph | Stop] = []
    for piece in cut.result.strip:
        if isinstance(piece, Stop):
            span, there = _place(cut.run, piece.path, piece.span, now)
            stands, piece = stands and there, replace(piece, span=span)
        strip.append(piece)
    note = cut.result.note if stands else "The source has changed since this run."
    return replace(cut.result, strip=tuple(strip), note=note)


def _place(run: Run, path: str, span: Span, now: Now) -> tuple[Span, bool]:
    text = now(path) if run.text(path) is not None else None
    if text is None:
        return span, True  # a file that the run told nothing of: as it was
    moved = run.moved(path, span, text)
    return (span, False) if moved is None else (moved, True)


def cut_words(counts: Mapping[Mode, tuple[int, int]]) -> str:
    """How a program is cut, in words, by mode: once where the modes do not differ."""
    alike = len(set(counts.values())) == 1
    parts = [
        f"{'' if alike else mode + ': '}{_many(graphs, 'graph')}, {_many(breaks, 'graph break')}"
        for mode, (graphs, breaks) in counts.items()
    ]
    return parts[0] if alike else "; ".join(parts)


def _many(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' * (count != 1)}"
