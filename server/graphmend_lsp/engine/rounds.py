"""One round of a mend-all: the next mends of a report that are verified together.

The first candidate of every break together, those that inductor must compile in a round behind the others; where that leaves an
assumption open, the next ones in the place of those that bring it; where that is not safe either, those that change their own
lines only; then each alone, and the good ones together again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from graphmend_lsp.engine.choice import exchanged, first_of, is_whole, narrow_of, settle, taken, widest
from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress
from graphmend_lsp.engine.doubts import Doubts
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import unmet
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.prove import Judge, Known
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.side_by_side import in_order
from graphmend_lsp.engine.vain import Runner, Vain, in_vain, of_use, without
from graphmend_lsp.engine.verdicts import in_chain, worst
from graphmend_lsp.mending import LAST_RESORT
from graphmend_lsp.model import Break, Candidate, Declined, EntryResult, Mend, Report, Safety, Verdict

_EXCHANGES = 3  # how often other candidates are tried together; each costs one verdict
Place = tuple[str, str]  # a file and the name of a function in it


class Prover(Judge, Runner, Protocol):
    """What mend-all needs of the session; see there."""

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: OnFinding | None = None,
        on_progress: OnProgress | None = None,
        runs: Mapping[Key, Run] | None = None,
        said: Known | None = None,
        *,
        safe_first: bool = False,
    ) -> Report:
        """Judge every candidate alone; `said` is told what each entry says of a mend."""
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """What one round accepted: the mends, the old and new texts, the verdict on all together, and the runs after it.

    `report` is what it began with, with the verdicts that were needed. `vain`: what was of no use. `inside`: of each boundary
    that it made, why no other rule mends what it holds.
    """

    report: Report
    accepted: tuple[Candidate, ...] = ()
    old: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    runs: Mapping[Key, Run] = field(default_factory=dict)
    vain: Vain = frozenset()
    inside: Mapping[Mend, tuple[Declined, ...]] = field(default_factory=dict)


async def next_round(
    prover: Prover,
    request: CheckRequest,
    report: Report,
    runs: Mapping[Key, Run],
    on_progress: OnProgress | None,
    hopeless: frozenset[Place],
    said: Known,
    doubts: Doubts,
    *,
    again: bool,
    hoped: bool = False,
) -> Round:
    """The next mends; none when nothing more can be mended. In functions that are `hopeless` none is made in hope.

    What the entries say of single mends is put into `said` as it comes, and what verdicts show against mends into `doubts`.
    `hoped` says that the last round was made in hope: without something to mend that no round doubts, nothing came of it.
    `again` says that the report is proven, and that what can be made without hope and without a second choice was tried.
    """
    sources = Sources(request.texts)
    real = [finding for finding in report.findings if finding.candidates and finding.site.evidence == "dynamo"]
    if not real and not again:
        return Round(report)

    tried: dict[tuple[Mend, ...], tuple[list[Verdict], Mapping[Key, Run]]] = {}

    async def together(now: Report, chosen: Sequence[Candidate]) -> Round:
        mends, texts = combine([candidate.mend for candidate in chosen], sources)
        if mends not in tried:
            tried[mends] = await _together(prover, request, now, mends, sources, runs, on_progress)
        judged, after = tried[mends]
        verdict = worst(judged) if judged else None
        doubts.note(chosen, judged, sources)
        known = {candidate.mend: candidate for candidate in chosen}
        accepted = tuple(
            replace(known[mends[0]], verdict=known[mends[0]].verdict or verdict) for mends in programs_of(mends)
        )
        return Round(now, accepted, {path: sources.get(path) or "" for path in texts}, texts, verdict, after)

    async def as_many(now: Report, chosen: Sequence[Candidate], *, in_hope: bool = False) -> Round | None:
        while chosen:
            step = await together(now, chosen)
            if step.verdict is not None and (step.verdict.results if in_hope else step.verdict.safety) in wanted:
                return step
            chosen = chosen[: len(chosen) // 2]
        return None

    async def of_use_alone(chosen: Sequence[Candidate], step: Round) -> Round:
        kept = await of_use(prover, request, report, chosen)
        less_of_it = await together(report, kept) if len(kept) < len(chosen) else step
        if less_of_it.verdict is None or less_of_it.verdict.safety != "safe":
            return step
        return replace(less_of_it, vain=in_vain(report, chosen, kept, sources))

    wanted = wanted_safety(request)
    second = _second_choices(report)
    if not again:
        fresh = real if request.unsafe else doubts.untried(real, sources)
        if hoped and not fresh:
            return Round(report)
        chosen = [first_of(finding) for finding in fresh]
        is_dear = any(one.mend.inductor for one in chosen)
        cheap = [one for one in chosen if not (one.mend.inductor or one.mend.rule in LAST_RESORT)]
        if is_dear and cheap:  # inductor's verdict may take longer than there is time
            sooner = await together(report, cheap)
            if sooner.verdict is not None and sooner.verdict.safety == "safe":
                return await of_use_alone(cheap, sooner)
            if fit := exchanged(fresh, chosen, sooner.verdict):  # what makes some unsafe does so among more
                other = await together(report, fit)
                if is_whole(fresh, other.accepted, other.verdict):
                    return other
        is_slow = is_dear and request.inductor == "programs"
        if is_slow and len(kept := await of_use(prover, request, report, chosen)) < len(chosen):
            vain = in_vain(report, chosen, kept, sources)
            less = replace(report, findings=tuple(without(finding, vain, sources) for finding in report.findings))
            made = await next_round(prover, request, less, runs, on_progress, hopeless, said, doubts, again=False)
            return replace(made, vain=made.vain | vain)
        first = await together(report, chosen) if chosen else Round(report)
        if first.verdict is not None and first.verdict.safety == "safe":
            if first.verdict.after.breaks and (wide := widest(fresh)) is not None and wide not in chosen:
                other = await together(report, [wide])
                if is_whole([one for one in fresh if wide in one.candidates], [wide], other.verdict) and _has_less(
                    other.verdict, first.verdict
                ):
                    return other
            if is_slow or is_whole(fresh, chosen, first.verdict):
                return first
            return await of_use_alone(chosen, first)
        verdict = first.verdict
        for _ in range(_EXCHANGES):
            chosen = exchanged(fresh, chosen, verdict)
            if not chosen:
                break
            other = await together(report, chosen)
            if is_whole(fresh, other.accepted, verdict := other.verdict):
                return other
        if (wide := widest(fresh)) is not None and wide not in chosen:
            other = await together(report, [wide])
            if other.verdict is not None:
                said.update({wide.mend: [other.verdict]})
                if other.verdict.safety == "safe":
                    return other
        for boundaries in () if is_slow else (False, True):
            narrow = [one for finding in fresh for one in narrow_of(finding, boundaries=boundaries)[:1]]
            if len(programs_of(one.mend for one in narrow)) > 1:
                other = await together(report, narrow)
                if other.verdict is not None and other.verdict.safety == "safe":
                    return await of_use_alone(narrow, other)
        candidates = {candidate.mend for finding in report.findings for candidate in finding.candidates}
        if first.verdict is not None and len(programs_of(candidates)) == 1:  # that program is judged already
            judged = dict.fromkeys(candidates, (first.verdict,))
            report = replace(report, findings=tuple(settle(finding, judged) for finding in report.findings))
        else:
            if first.verdict is not None and len(first.accepted) == 1:
                said.update({first.accepted[0].mend: [first.verdict]})
            report = await prover.prove(
                request, report, on_progress=on_progress, runs=runs, said=said, safe_first=not request.unsafe
            )
            doubts.remember(report, sources)
    met = [finding for finding in report.findings if finding.site.evidence == "dynamo"]
    best = [one for finding in met for one in taken(finding, wanted)]
    if not again and (step := await as_many(report, [one for one in best if one.mend not in second])):
        return step
    behind = [
        replace(one, verdict=in_chain(one.verdict))
        for finding in met
        for one in finding.behind[:1]
        if one.verdict is not None and one.verdict.results in wanted and one.mend.rule not in LAST_RESORT
        if place_of_function(finding.site) not in hopeless
    ]
    if step := await as_many(report, behind, in_hope=True):
        return step
    left = [one for one in best if one.mend in second or (again and one.mend.rule in LAST_RESORT)]
    return await as_many(report, left) or Round(report)


def _has_less(verdict: Verdict | None, than: Verdict) -> bool:
    """Whether fewer breaks are left by one verdict than by another."""
    return verdict is not None and verdict.after.breaks < than.after.breaks


def _second_choices(report: Report) -> frozenset[Mend]:
    """The boundaries around breaks for which other rules offer more, also in hope: taken when nothing else is left."""
    several = [
        finding
        for finding in report.findings
        if len({one.mend.rule for one in (*finding.candidates, *finding.behind)}) > 1
    ]
    return frozenset(one.mend for finding in several for one in finding.candidates if one.mend.rule in LAST_RESORT)


async def _together(
    prover: Prover,
    request: CheckRequest,
    report: Report,
    mends: tuple[Mend, ...],
    sources: Sources,
    runs: Mapping[Key, Run],
    on_progress: OnProgress | None,
) -> tuple[list[Verdict], Mapping[Key, Run]]:
    """The verdicts of all entries that reach one of the mends, and the runs after it; none when one failed.

    Entries that did not meet the mends' breaks are asked about each mend alone, so that it is known which one they object to.
    The runs are empty when not all of them are known, so that the entries must be run again.
    """
    judged: list[Verdict] = []
    moved = {edit.path for mend in mends for edit in mend.edits}  # what was met there stands on other lines now
    after = {
        key: run
        for key, run in runs.items()
        if all(one["file"] not in moved for met in run.events for one in met["frames"])
    }
    met = [(one.entry, one.mode) for one in report.entries if reaches(report, one, mends)]

    async def verdict(key: Key) -> tuple[Verdict, Run] | None:
        verdicts, failure = await prover.verify(request, key, [mends], sources, on_progress, runs.get(key))
        return verdicts[0] if failure is None and verdicts else None

    keys = iter(met)
    async for told in in_order([partial(verdict, key) for key in met], prover.jobs):
        if told is None:
            return [], {}
        judged.append(told[0])
        after[next(keys)] = told[1]

    async def beside(result: EntryResult) -> list[Verdict]:
        key = (result.entry, result.mode)
        foreign = set(unmet(report, result, runs.get(key)))
        others = [mend for mend in mends if mend in foreign]
        if not others or worst(judged).results not in ("safe", "unsafe"):
            return []
        found = await prover.beside(request, key, others, sources, on_progress, runs.get(key))
        return [verdict for _, verdict in found]

    async for verdicts in in_order([partial(beside, one) for one in report.entries], prover.jobs):
        judged += verdicts
    known = after.keys() == {(result.entry, result.mode) for result in report.entries}
    return judged, after if known else {}


def reaches(report: Report, result: EntryResult, mends: Collection[Mend]) -> bool:
    """Whether an entry of the report came to its end and met a break that one of the mends is for."""
    here = [finding for finding in report.findings if result.entry.name in finding.site.entries]
    return result.error is None and any(
        candidate.mend in mends for finding in here for candidate in (*finding.candidates, *finding.behind)
    )


def wanted_safety(request: CheckRequest) -> tuple[Safety, ...]:
    """Which mends are made."""
    return ("safe", "unsafe") if request.unsafe else ("safe",)


def place_of_function(site: Break) -> Place:
    """The function of its own file that a break is in."""
    here = [frame.function for frame in site.chain if frame.path == site.path]
    return site.path, here[-1] if here else ""
