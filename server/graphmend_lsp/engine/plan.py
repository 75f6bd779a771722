"""Mend all: apply the best proven mends, look at what stands behind them, until nothing more can be mended.

A round takes the first candidate of every break together and has that program proven. Where that leaves an assumption open,
the mends that bring it make way for the next candidates of their breaks; only when that is not safe either is every
candidate judged alone, and the good ones are put together again. Where none is good, those are made that gain nothing only
because another break stands behind theirs, in the hope of a next round that gains; without one they are taken back, and what
else is offered for their breaks is tried. The run that proves a round is the next round's analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from graphmend_lsp.engine.breaks import is_within
from graphmend_lsp.engine.choice import exchanged, first_of, is_whole, settle, taken
from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import unmet
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.prove import Judge, Known
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.time_limit import TimeLimit
from graphmend_lsp.engine.vain import Vain, in_vain, of_use, without
from graphmend_lsp.engine.verdicts import cut, gains, in_chain, worst
from graphmend_lsp.mending import LAST_RESORT
from graphmend_lsp.model import (
    Break,
    Candidate,
    Declined,
    EntryResult,
    Finding,
    Mend,
    Plan,
    Progress,
    Report,
    Safety,
    Span,
    Verdict,
)
from graphmend_lsp.text import line_before

MAX_ROUNDS = 12
_EXCHANGES = 3  # how often other candidates are tried together; each costs one verdict
_ROUNDS_SHARE = 0.5  # of a time limit; the rest is for the proof of several rounds together
_IN_VAIN = (
    "Another graph break keeps the whole function uncompiled, so a mend of this one gains nothing. Mend that one first."
)
Place = tuple[str, str]  # a file and the name of a function in it


class Prover(Judge, Protocol):
    """What mend-all needs of the session; see there."""

    async def run(self, request: CheckRequest, on_progress: OnProgress | None = None) -> dict[Key, Run]:
        """Run the entries."""
        ...

    async def report(self, request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
        """Make the report."""
        ...

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: OnFinding | None = None,
        on_progress: OnProgress | None = None,
        runs: Mapping[Key, Run] | None = None,
        said: Known | None = None,
    ) -> Report:
        """Judge every candidate alone; `said` is told what each entry says of a mend."""
        ...


@dataclass(frozen=True, slots=True)
class _Round:
    """What one round accepted: the mends, the old and new texts, the verdict on all together, and the runs after it.

    `report` is what it began with, with the verdicts that were needed. `vain`: what was of no use.
    """

    report: Report
    accepted: tuple[Candidate, ...] = ()
    old: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    runs: Mapping[Key, Run] = field(default_factory=dict)
    vain: Vain = frozenset()


async def mend_all(
    prover: Prover,
    request: CheckRequest,
    on_progress: OnProgress | None = None,
    report: Report | None = None,
    seconds: float | None = None,
) -> Plan:
    """Mend to the fixpoint. `report` is a proven or unproven report of the same request, where there is one.

    With `seconds` it ends by then, with what is proven; only the first run of the entries is not cut short.
    """
    limit = TimeLimit(seconds)
    runs: Mapping[Key, Run] = {} if report else await prover.run(request, on_progress)
    before = report or await prover.report(request, runs)
    plan = await _to_fixpoint(prover, request, before, runs, frozenset(), on_progress, limit)
    if limit.over or not (vain := _skipped(plan.after) & _mended(plan.before, plan.applied)):
        return plan
    # Functions that still run uncompiled as a whole need no mends but boundaries, if those do not help others.
    less = await _to_fixpoint(prover, request, before, runs, vain, on_progress, limit)
    return plan if limit.over or gains(cut(less.after), cut(plan.after)) else less


def reached(plan: Plan) -> tuple[Key, ...]:
    """The entries whose program the plan changes: those that a mended break was met in."""
    mends = {one.mend for one in plan.applied}
    ran = [(result.entry, result.mode) for result in plan.before.entries if result.error is None]
    sites = [
        finding.site
        for finding in plan.before.findings
        if any(candidate.mend in mends for candidate in (*finding.candidates, *finding.behind))
    ]
    met = {(name, mode) for site in sites for name in site.entries for mode in site.modes}
    return tuple(key for key in ran if (key[0].name, key[1]) in met) or tuple(ran)


def _skipped(report: Report) -> frozenset[Place]:
    """The functions that run uncompiled because of a break in them."""
    sites = [finding.site for finding in report.findings if finding.site.evidence == "dynamo"]
    return frozenset(_function(site) for site in sites if site.outcome in ("frame skipped", "refused"))


def _mended(report: Report, applied: Sequence[Candidate]) -> frozenset[Place]:
    """The functions with a break of the report that one of the mends is offered for."""
    mends = {one.mend for one in applied}
    return frozenset(
        _function(finding.site)
        for finding in report.findings
        if any(candidate.mend in mends for candidate in (*finding.candidates, *finding.behind))
    )


def _function(site: Break) -> Place:
    here = [frame.function for frame in site.chain if frame.path == site.path]
    return site.path, here[-1] if here else ""


async def _to_fixpoint(
    prover: Prover,
    request: CheckRequest,
    before: Report,
    runs: Mapping[Key, Run],
    leave: frozenset[Place],
    on_progress: OnProgress | None,
    limit: TimeLimit,
) -> Plan:
    texts = dict(request.texts)
    rounds: list[_Round] = []
    reports = [before]  # what there was before each round, and after the last
    ran = [runs]  # and the runs that showed it
    hopeless: frozenset[Place] = frozenset()  # where mends were made in hope, and taken back
    vain: Vain = frozenset()
    again, made = False, 0
    while made < MAX_ROUNDS:
        now = replace(request, texts=texts)
        offered = _to_mend(reports[-1], now, leave, vain)
        tell = _numbered(on_progress, made + 1, reports[-1])
        share = _ROUNDS_SHARE if rounds else 1.0
        said: Known = {}
        step = await limit.within(_round(prover, now, offered, ran[-1], tell, hopeless, said, again=again), share)
        if step is None:
            reports[-1] = _objected(reports[-1], said)
            break
        reports[-1] = step.report
        vain |= step.vain
        again = not step.accepted
        if step.accepted:
            made += 1
            rounds.append(step)
            texts = {**texts, **step.texts}
            after = replace(request, texts=texts)
            ran.append(step.runs or await prover.run(after, on_progress))
            reports.append(await prover.report(after, ran[-1]))
        elif len(rounds) > _gained(request, reports, rounds):
            # Made in hope, and nothing came of it: back to what else there was.
            hoped = rounds.pop()
            del reports[-1], ran[-1]
            hopeless |= _mended(reports[-1], hoped.accepted)
            texts = {**request.texts, **{path: text for one in rounds for path, text in one.texts.items()}}
        else:
            break
    rounds = rounds[: _gained(request, reports, rounds)]
    verdict = await limit.within(_proven(prover, request, before, rounds, on_progress))
    if limit.over and verdict is None:  # the rounds were proven one by one, not all together
        rounds = rounds[:1] if rounds and _says_all(before, rounds[0]) else []
        verdict = rounds[0].verdict if rounds else None
    while rounds and (verdict is None or verdict.safety not in _wanted(request)):
        # Each round was proven by itself: it is the rounds together that are not.
        rounds = rounds[: _gained(request, reports, rounds[: len(rounds) // 2])]
        verdict = await limit.within(_proven(prover, request, before, rounds, on_progress))
    changed = {path: text for step in rounds for path, text in step.texts.items()}
    old = {path: text for step in reversed(rounds) for path, text in step.old.items()}
    applied = tuple(_in_original(candidate, old, step.old) for step in rounds for candidate in step.accepted)
    return Plan(
        before, reports[len(rounds)], applied, changed, verdict, {path: old[path] for path in changed}, limit.told
    )


def _in_original(candidate: Candidate, old: Mapping[str, str], now: Mapping[str, str]) -> Candidate:
    """The candidate with its line in the original text: a later round's mend was made on a text that rounds had changed."""
    path, span = candidate.mend.path, candidate.mend.span
    if old.get(path) == now.get(path):
        return candidate
    line = line_before(old[path], now[path], span.start.line)
    moved = Span.of(line, span.start.column, line + span.end.line - span.start.line, span.end.column)
    return replace(candidate, mend=replace(candidate.mend, span=moved))


def _objected(report: Report, said: Known) -> Report:
    """The report of a round that was cut short, with what is known against mends; what speaks for one is not all there."""
    against = {mend: verdicts for mend, verdicts in said.items() if worst(verdicts).results in ("unsafe", "wrong")}
    return replace(report, findings=tuple(settle(finding, against) for finding in report.findings))


def _says_all(before: Report, step: _Round) -> bool:
    """Whether a first round's verdict is that of every entry, so that it stands for the whole program."""
    mends = tuple(candidate.mend for candidate in step.accepted)
    return all(result.error is not None or _reaches(before, result, mends) for result in before.entries)


def _to_mend(report: Report, request: CheckRequest, leave: frozenset[Place], vain: Vain) -> Report:
    """The report without what is offered outside of the file or folder that is asked for, and what is `vain`; boundaries alone
    where to `leave`."""
    within, sources = request.within, Sources(request.texts)

    def offered(finding: Finding) -> Finding:
        if not (within is None or is_within(finding.site.path, within)):
            return replace(finding, candidates=(), behind=())
        finding = without(finding, vain, sources)
        if _function(finding.site) in leave:
            boundaries = [one for one in finding.candidates if one.mend.rule in LAST_RESORT]
            others = {one.mend.rule for one in finding.candidates} - LAST_RESORT
            idle = tuple(Declined(rule, _IN_VAIN) for rule in sorted(others))
            declined = tuple(dict.fromkeys((*finding.declined, *idle)))
            return replace(finding, candidates=tuple(boundaries), behind=(), declined=declined)
        return finding

    return replace(report, findings=tuple(map(offered, report.findings)))


def _gained(request: CheckRequest, reports: Sequence[Report], rounds: Sequence[_Round]) -> int:
    """How many rounds are kept: up to the last that gained, by itself or over the last one before that did."""
    best = 0
    for number, step in enumerate(rounds, 1):
        firm = best == number - 1 and step.verdict is not None and step.verdict.safety in _wanted(request)
        if firm or gains(cut(reports[best]), cut(reports[number])):
            best = number
    return best


def _numbered(on_progress: OnProgress | None, number: int, report: Report) -> OnProgress | None:
    """Progress of one round; how many there will be is not known, so no share of the whole is told."""
    if on_progress is None:
        return None
    tell = on_progress
    met = cut(report).breaks
    head = f"round {number}, {met} graph break{'s' * (met != 1)} left"
    return lambda step: tell(Progress(f"{head}: {step.message}"))


def _wanted(request: CheckRequest) -> tuple[Safety, ...]:
    return ("safe", "unsafe") if request.unsafe else ("safe",)


async def _round(
    prover: Prover,
    request: CheckRequest,
    report: Report,
    runs: Mapping[Key, Run],
    on_progress: OnProgress | None,
    hopeless: frozenset[Place],
    said: Known,
    *,
    again: bool,
) -> _Round:
    """The next mends; none when nothing more can be mended. In functions that are `hopeless` none is made in hope.

    What the entries say of single mends is put into `said` as it comes.
    `again` says that the report is proven, and that what can be made without hope and without a second choice was tried.
    """
    sources = Sources(request.texts)
    real = [finding for finding in report.findings if finding.candidates and finding.site.evidence == "dynamo"]
    if not real and not again:
        return _Round(report)

    tried: dict[tuple[Mend, ...], tuple[Verdict | None, Mapping[Key, Run]]] = {}

    async def together(now: Report, chosen: Sequence[Candidate]) -> _Round:
        mends, texts = combine([candidate.mend for candidate in chosen], sources)
        if mends not in tried:
            tried[mends] = await _together(prover, request, now, mends, sources, runs, on_progress)
        verdict, after = tried[mends]
        known = {candidate.mend: candidate for candidate in chosen}
        accepted = tuple(
            replace(known[mends[0]], verdict=known[mends[0]].verdict or verdict) for mends in programs_of(mends)
        )
        return _Round(now, accepted, {path: sources.get(path) or "" for path in texts}, texts, verdict, after)

    async def as_many(now: Report, chosen: Sequence[Candidate], *, in_hope: bool = False) -> _Round | None:
        while chosen:
            step = await together(now, chosen)
            if step.verdict is not None and (step.verdict.results if in_hope else step.verdict.safety) in wanted:
                return step
            chosen = chosen[: len(chosen) // 2]
        return None

    wanted = _wanted(request)
    second = _second_choices(report)
    if not again:
        chosen = [first_of(finding) for finding in real]
        is_dear = any(one.mend.inductor for one in chosen)
        if is_dear and len(kept := await of_use(prover, request, report, chosen)) < len(chosen):
            vain = in_vain(report, chosen, kept, sources)
            less = replace(report, findings=tuple(without(finding, vain, sources) for finding in report.findings))
            made = await _round(prover, request, less, runs, on_progress, hopeless, said, again=False)
            return replace(made, vain=made.vain | vain)
        first = await together(report, chosen)
        if first.verdict is not None and first.verdict.safety == "safe":
            if is_dear or is_whole(real, chosen, first.verdict):
                return first
            kept = await of_use(prover, request, report, chosen)
            less_of_it = await together(report, kept) if len(kept) < len(chosen) else first
            if less_of_it.verdict is None or less_of_it.verdict.safety != "safe":
                return first
            return replace(less_of_it, vain=in_vain(report, chosen, kept, sources))
        verdict = first.verdict
        for _ in range(_EXCHANGES):
            chosen = exchanged(real, chosen, verdict)
            if not chosen:
                break
            other = await together(report, chosen)
            if is_whole(real, other.accepted, verdict := other.verdict):
                return other
        candidates = {candidate.mend for finding in report.findings for candidate in finding.candidates}
        if first.verdict is not None and len(programs_of(candidates)) == 1:  # that program is judged already
            judged = dict.fromkeys(candidates, (first.verdict,))
            report = replace(report, findings=tuple(settle(finding, judged) for finding in report.findings))
        else:
            if first.verdict is not None and len(first.accepted) == 1:
                said.update({first.accepted[0].mend: [first.verdict]})
            report = await prover.prove(request, report, on_progress=on_progress, runs=runs, said=said)
    met = [finding for finding in report.findings if finding.site.evidence == "dynamo"]
    best = [one for finding in met for one in taken(finding, wanted)]
    if not again and (step := await as_many(report, [one for one in best if one.mend not in second])):
        return step
    behind = [
        replace(one, verdict=in_chain(one.verdict))
        for finding in met
        for one in finding.behind[:1]
        if one.verdict is not None and one.verdict.results in wanted and one.mend.rule not in LAST_RESORT
        if _function(finding.site) not in hopeless
    ]
    if step := await as_many(report, behind, in_hope=True):
        return step
    left = [one for one in best if one.mend in second or (again and one.mend.rule in LAST_RESORT)]
    return await as_many(report, left) or _Round(report)


def _second_choices(report: Report) -> frozenset[Mend]:
    """The boundaries around breaks for which other rules offer more: taken when nothing else is left."""
    several = [finding for finding in report.findings if len({one.mend.rule for one in finding.candidates}) > 1]
    return frozenset(one.mend for finding in several for one in finding.candidates if one.mend.rule in LAST_RESORT)


async def _together(
    prover: Prover,
    request: CheckRequest,
    report: Report,
    mends: tuple[Mend, ...],
    sources: Sources,
    runs: Mapping[Key, Run],
    on_progress: OnProgress | None,
) -> tuple[Verdict | None, Mapping[Key, Run]]:
    """The worst verdict over all entries that reach one of the mends, and the runs after it; none when one failed.

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
    for result in report.entries:
        if not _reaches(report, result, mends):
            continue
        key = (result.entry, result.mode)
        verdicts, failure = await prover.verify(request, key, [mends], sources, on_progress, runs.get(key))
        if failure is not None or not verdicts:
            return None, {}
        judged.append(verdicts[0][0])
        after[key] = verdicts[0][1]
    for result in report.entries:
        key = (result.entry, result.mode)
        foreign = set(unmet(report, result, runs.get(key)))
        others = [mend for mend in mends if mend in foreign]
        if others and worst(judged).results in ("safe", "unsafe"):
            judged += [
                verdict for _, verdict in await prover.beside(request, key, others, sources, on_progress, runs.get(key))
            ]
    known = after.keys() == {(result.entry, result.mode) for result in report.entries}
    return (worst(judged) if judged else None), after if known else {}


def _reaches(report: Report, result: EntryResult, mends: Collection[Mend]) -> bool:
    """Whether an entry of the report came to its end and met a break that one of the mends is for."""
    here = [finding for finding in report.findings if result.entry.name in finding.site.entries]
    return result.error is None and any(
        candidate.mend in mends for finding in here for candidate in (*finding.candidates, *finding.behind)
    )


async def _proven(
    prover: Prover, request: CheckRequest, before: Report, rounds: Sequence[_Round], on_progress: OnProgress | None
) -> Verdict | None:
    """The verdict on the first text against the last, over all entries that ran.

    The verdict of an only round is that of the entries that met its breaks. Others may run what is mended all the same: what
    differs in one of them counts; that it could not be compared says nothing.
    """
    if not rounds:
        return None
    texts = {path: text for step in rounds for path, text in step.texts.items()}
    sources = Sources(request.texts)
    mends = tuple(candidate.mend for step in rounds for candidate in step.accepted)
    known = rounds[0].verdict if len(rounds) == 1 else None
    judged = [known] if known is not None else []
    for result in before.entries:
        if result.error is not None or (known and (_reaches(before, result, mends) or result.run != "real")):
            continue
        key = (result.entry, result.mode)
        verdicts, _ = await prover.verify(request, key, [mends], sources, on_progress, None, texts)
        if not verdicts and known is None:
            return None
        judged += [verdict for verdict, _ in verdicts if known is None or verdict.results != "unverified"]
    return worst(judged) if judged else None
