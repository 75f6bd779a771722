"""Mend all: apply the best proven mends, look at what stands behind them, until nothing more can be mended.

Where no mend of a round (`rounds`) is good, those are made that gain nothing only because another break stands behind theirs, in
the hope of a next round that gains; without one they are taken back, and what else is offered for their breaks is tried. The run
that proves a round is the next round's analysis.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from graphmend_lsp.engine.ahead import judged_so_far
from graphmend_lsp.engine.breaks import is_within
from graphmend_lsp.engine.choice import settle
from graphmend_lsp.engine.config import CheckRequest, OnProgress
from graphmend_lsp.engine.doubts import NOTHING, Doubts, put_back
from graphmend_lsp.engine.entries import accepted_for
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.noted_moved import moved
from graphmend_lsp.engine.prove import Known
from graphmend_lsp.engine.restored import restored
from graphmend_lsp.engine.rounds import Place, Prover, Round, next_round, place_of_function, reaches, wanted_safety
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.side_by_side import in_order
from graphmend_lsp.engine.time_limit import TimeLimit
from graphmend_lsp.engine.vain import Vain, in_vain, without
from graphmend_lsp.engine.verdicts import cut, gains, worst
from graphmend_lsp.mending import LAST_RESORT
from graphmend_lsp.model import (
    Candidate,
    Declined,
    EntryResult,
    Finding,
    Plan,
    Progress,
    Report,
    Span,
    Verdict,
)
from graphmend_lsp.text import line_before

MAX_ROUNDS = 12
_PATIENCE = 4.0  # times the first runs: so long a search may verify nothing
_LEAST_PATIENCE = 120.0  # seconds
_DRAFTS = 2  # how many are verified as a whole, each with one round less than the last
_Prove = Callable[..., Coroutine[Any, Any, Verdict | None]]
_ROUNDS_SHARE = 0.5  # of a time limit; the rest is for the proof of several rounds together
_IN_VAIN = (
    "Another graph break keeps the whole function uncompiled, so a mend of this one gains nothing. Mend that one first."
)


@dataclass
class _Course:
    """The rounds that were made, what there was before each one and after the last, and the runs that showed it.

    `doubts` are what all searches of a mend-all found against mends.
    """

    rounds: list[Round]
    reports: list[Report]
    ran: list[Mapping[Key, Run]]
    doubts: Doubts


async def mend_all(
    prover: Prover,
    request: CheckRequest,
    on_progress: OnProgress | None = None,
    report: Report | None = None,
    seconds: float | None = None,
) -> Plan:
    """Mend to the fixpoint. `report` is a proven or unproven report of the same request, where there is one.

    With `seconds` it ends by then, with what is proven; only the first run of the entries is not cut short. Without, it tries
    no further mend when none is verified in four times that run (and in two minutes).
    """
    limit = TimeLimit(seconds)
    runs: Mapping[Key, Run] = {} if report else await prover.run(request, on_progress)
    if runs:
        first = max(limit.passed, sum(run.seconds for run in runs.values()))  # runs that are kept took no time now
        limit.wait(max(_LEAST_PATIENCE, _PATIENCE * first))
        if (judged := judged_so_far()) is not None:
            judged.spent = limit.spent
    before = report or await prover.report(request, runs)
    files = {result.entry.file for result in before.entries}
    accepted = [frozenset(await asyncio.to_thread(accepted_for, file)) for file in files]
    doubts = Doubts(Sources(request.texts), frozenset.intersection(*accepted or [frozenset()]) | {*request.assume})
    plan = await _to_fixpoint(prover, request, before, runs, doubts, frozenset(), on_progress, limit)
    if limit.stopped or not (vain := _skipped(plan.after) & _mended(plan.before, plan.applied)):
        return plan
    if await _are_of_use(prover, request, plan, vain, on_progress, limit):
        return plan
    # Functions that still run uncompiled as a whole need no mends but boundaries, if those do not help others.
    less = await _to_fixpoint(prover, request, before, runs, doubts, vain, on_progress, limit)
    return plan if limit.stopped or gains(cut(less.after), cut(plan.after)) else less


async def _are_of_use(
    prover: Prover,
    request: CheckRequest,
    plan: Plan,
    functions: frozenset[Place],
    on_progress: OnProgress | None,
    limit: TimeLimit,
) -> bool:
    """Whether a plan's program is cut less than it is with these functions as they were; False where that is not known."""
    texts = restored(plan.old, plan.texts, functions)
    if texts is None:
        return False
    now = replace(request, texts={**request.texts, **texts})
    runs = await limit.within(prover.run(now, on_progress))
    if runs is None or any(run.failure is not None for run in runs.values()):
        return False
    return gains(cut(await prover.report(now, runs)), cut(plan.after))


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
    return frozenset(place_of_function(site) for site in sites if site.outcome in ("frame skipped", "refused"))


def _mended(report: Report, applied: Sequence[Candidate]) -> frozenset[Place]:
    """The functions with a break of the report that one of the mends is offered for."""
    mends = {one.mend for one in applied}
    return frozenset(
        place_of_function(finding.site)
        for finding in report.findings
        if any(candidate.mend in mends for candidate in (*finding.candidates, *finding.behind))
    )


async def _to_fixpoint(
    prover: Prover,
    request: CheckRequest,
    before: Report,
    runs: Mapping[Key, Run],
    doubts: Doubts,
    leave: frozenset[Place],
    on_progress: OnProgress | None,
    limit: TimeLimit,
) -> Plan:
    """The plan of a search; of several breaks first a draft, which is verified under inductor once, as a whole.

    Where the draft is not safe there, a shorter one may be, and the search goes on behind it. Else its rounds from the first on
    that needs inductor are made again, each one with a verdict under inductor of its own.
    """
    prove = partial(_proven, prover, request, before, runs, on_progress)
    course = _Course([], [before], [runs], doubts)
    drafted = sum(finding.site.is_met for finding in before.findings) > 1
    await _search(prover, replace(request, inductor="never") if drafted else request, course, leave, on_progress, limit)
    verdict: Verdict | None = None
    first = next((at for at, step in enumerate(course.rounds) if _is_dear(step)), None) if drafted else None
    firm = 0
    if first is not None:
        firm, verdict, vain = await _safe_part(request, course, first, prove, limit)
        kept = firm if verdict is not None else first
        made = (
            course.rounds[:kept] if verdict is None else [_with_verdict(one, verdict) for one in course.rounds[:kept]]
        )
        course = _Course(made, course.reports[: kept + 1], course.ran[: kept + 1], doubts)
        if verdict is None or vain:
            limit.go_on()
            if not limit.stopped:
                await _search(prover, request, course, leave, on_progress, limit, vain)
    rounds = course.rounds[: _gained(request, course.reports, course.rounds)]
    if verdict is None:
        rounds, verdict = await _shown(request, before, course, rounds, prove, limit)
    elif len(rounds) > firm:
        longer = await limit.within(prove(rounds))
        is_good = longer is not None and longer.safety in wanted_safety(request)
        rounds, verdict = (rounds, longer) if is_good else (rounds[:firm], verdict)
    verdict = None if verdict is None else _with_open(verdict, rounds)
    changed = {path: text for step in rounds for path, text in step.texts.items()}
    old = {path: text for step in reversed(rounds) for path, text in step.old.items()}
    applied = tuple(
        _in_original(replace(one, inside=step.inside.get(one.mend, ())), old, step.old)
        for step in rounds
        for one in step.accepted
    )
    left = course.reports[len(rounds)]  # that the patience is over is told by the plan; nothing failed
    left = replace(left, failures=tuple(one for one in left.failures if one != limit.ended))
    return Plan(before, left, applied, changed, verdict, {path: old[path] for path in changed}, limit.told)


async def _safe_part(
    request: CheckRequest, course: _Course, first: int, prove: _Prove, limit: TimeLimit
) -> tuple[int, Verdict | None, Vain]:
    """How many rounds of a draft are safe under inductor, and their verdict; None where that is not known of any.

    What stands last is left out first: it stands on all before it. Its mends are then of no use (the third result).
    """
    rounds = course.rounds[: _gained(request, course.reports, course.rounds)]
    vain: Vain = frozenset()
    for _ in range(_DRAFTS):
        if len(rounds) <= first or limit.over:
            break
        verdict = await limit.within(prove(rounds, by_inductor=True))
        if verdict is None or verdict.safety in wanted_safety(request):
            return len(rounds), verdict, vain
        shorter = rounds[: _gained(request, course.reports, rounds[:-1])]
        for at, step in enumerate(rounds[len(shorter) :], len(shorter)):
            texts = {**request.texts, **{path: text for one in rounds[:at] for path, text in one.texts.items()}}
            why = (
                f"Together with the other mends it is unsafe: {verdict.reasons[0]}"
                if verdict.reasons
                else "It is unsafe."
            )
            vain |= in_vain(course.reports[at], step.accepted, (), Sources(texts), why)
        rounds = shorter
    return 0, None, frozenset()


async def _shown(
    request: CheckRequest,
    before: Report,
    course: _Course,
    rounds: list[Round],
    prove: _Prove,
    limit: TimeLimit,
) -> tuple[list[Round], Verdict | None]:
    """The rounds that are safe together, and their verdict; each one was verified by itself."""
    verdict = await limit.within(prove(rounds))
    if limit.over and verdict is None:  # the rounds were proven one by one, not all together
        rounds = rounds[:1] if rounds and _says_all(before, rounds[0]) else []
        verdict = rounds[0].verdict if rounds else None
    while rounds and (verdict is None or verdict.safety not in wanted_safety(request)):
        # Each round was proven by itself: it is the rounds together that are not.
        rounds = rounds[: _gained(request, course.reports, rounds[: len(rounds) // 2])]
        verdict = await limit.within(prove(rounds))
    return rounds, verdict


async def _search(
    prover: Prover,
    request: CheckRequest,
    course: _Course,
    leave: frozenset[Place],
    on_progress: OnProgress | None,
    limit: TimeLimit,
    vain: Vain = frozenset(),
) -> None:
    """Go on with rounds where the course ends, until none is accepted or the time is over. What is `vain` is not made."""
    rounds, reports, ran = course.rounds, course.reports, course.ran
    before = reports[0]
    texts = {**request.texts, **{path: text for one in rounds for path, text in one.texts.items()}}
    hopeless: frozenset[Place] = frozenset()  # where mends were made in hope, and taken back
    again, made = False, len(rounds)
    unnoted: frozenset[Place] = frozenset()  # functions of whose values less is known than a run would note
    while made < MAX_ROUNDS:
        now = replace(request, texts=texts)
        offered, aside = _to_mend(reports[-1], now, leave, vain), NOTHING
        if not request.unsafe:
            offered, aside = await asyncio.to_thread(course.doubts.set_aside, offered, Sources(texts))
        tell = _numbered(on_progress, made + 1, reports[-1])
        gained = _gained(request, reports, rounds)
        in_hope = len(rounds) > gained
        share = 1.0 if gained == 0 or (gained == 1 and _says_all(before, rounds[0])) else _ROUNDS_SHARE
        said: Known = {}
        limit.verified = partial(_has_verified, request, reports, rounds, said)
        work = next_round(
            prover, now, offered, ran[-1], tell, hopeless, said, course.doubts, again=again, hoped=in_hope
        )
        is_idle = not any(one.candidates or one.behind for one in offered.findings if one.site.evidence == "dynamo")
        step = await (work if is_idle else limit.within(work, share))
        if step is None:
            reports[-1] = put_back(_objected(offered, said), aside)
            break
        reports[-1] = put_back(step.report, aside)
        vain |= step.vain
        again = not step.accepted
        if step.accepted:
            made += 1
            offered, boundaries = put_back(offered, aside), [one.mend for one in step.accepted if _is_boundary(one)]
            inside = {one: course.doubts.inside(one, offered, step.report, Sources(texts)) for one in boundaries}
            rounds.append(replace(step, inside=inside))
            texts = {**texts, **step.texts}
            after = replace(request, texts=texts)
            shown = {key: _with_notes(run, ran[-1].get(key), step.old, step.texts) for key, run in step.runs.items()}
            unnoted = _less_noted(shown, ran[-1])
            ran.append(shown or await prover.run(after, on_progress))
            reports.append(await prover.report(after, ran[-1]))
            unnoted |= _not_noted(shown, reports[-1])
        elif unnoted & _met(reports[-1]):
            unnoted = frozenset()  # what rules could not ask for may be all that is in their way
            fresh = await limit.within(prover.run(now, on_progress))
            if fresh is None:
                break
            ran[-1], reports[-1], again = fresh, await prover.report(now, fresh), False
        elif len(rounds) > _gained(request, reports, rounds):
            # Made in hope, and nothing came of it: back to what else there was.
            hoped = rounds.pop()
            del reports[-1], ran[-1]
            hopeless |= _mended(reports[-1], hoped.accepted)
            texts = {**request.texts, **{path: text for one in rounds for path, text in one.texts.items()}}
            unnoted = frozenset()
        else:
            break


def _is_boundary(candidate: Candidate) -> bool:
    """Whether a mend only puts a break behind a boundary."""
    return candidate.mend.rule in LAST_RESORT


def _is_dear(step: Round) -> bool:
    """Whether a round's program must be verified under inductor."""
    return any(one.mend.inductor for one in step.accepted)


def _with_open(verdict: Verdict, rounds: Sequence[Round]) -> Verdict:
    """The verdict on several rounds together, which watches no conditions, with what the rounds' own leave open or forced."""
    judged = [one for step in rounds if (one := step.verdict) is not None]
    forced = dict.fromkeys(reason for one in (verdict, *judged) for reason in one.forced)
    if forced:
        verdict = replace(verdict, reasons=tuple(dict.fromkeys((*verdict.reasons, *forced))), forced=tuple(forced))
    left = [one for one in judged if one.results == "unsafe"]
    if verdict.safety != "safe" or not left:
        return verdict
    reasons = dict.fromkeys(reason for one in (*left, verdict) for reason in one.reasons)
    unreached = dict.fromkeys(side for one in left for side in one.unreached)
    return replace(verdict, safety="unsafe", results="unsafe", reasons=tuple(reasons), unreached=tuple(unreached))


def _with_verdict(step: Round, verdict: Verdict) -> Round:
    """A round of a draft with the verdict on the whole in place of those that inductor had no part in."""
    verdict = _with_open(verdict, [step])
    accepted = tuple(replace(one, verdict=verdict) if one.mend.inductor else one for one in step.accepted)
    return replace(step, accepted=accepted, verdict=verdict if _is_dear(step) else step.verdict)


def _with_notes(run: Run, last: Run | None, old: Mapping[str, str], new: Mapping[str, str]) -> Run:
    """A run of a mended program with the notes of the last one, where it shows breaks that rules may ask about."""
    if run.noted or not run.events or last is None:
        return run
    return replace(run, noted=moved(last.noted, old, new))


def _less_noted(runs: Mapping[Key, Run], last: Mapping[Key, Run]) -> frozenset[Place]:
    """The functions of which the last runs noted values that these, which have their notes, do not have."""
    found: set[Place] = set()
    for key, run in runs.items():
        known = {(one["file"], one["function"]): len(one["values"]) for one in run.noted}
        before = last[key].noted if key in last else ()
        less = [one for one in before if known.get((one["file"], one["function"]), 0) < len(one["values"])]
        found |= {(one["file"], one["function"].rpartition(".")[2]) for one in less}
    return frozenset(found)


def _not_noted(runs: Mapping[Key, Run], report: Report) -> frozenset[Place]:
    """The functions with a break in which these runs, which note values only where a program breaks, noted none."""
    lines: dict[str, set[int]] = {}
    for run in runs.values():
        for one in run.noted:
            lines.setdefault(one["file"], set()).update(at for value in one["values"] for at in value["at"][::2])
    met = [one.site for one in report.findings if one.site.is_met] if lines else []
    known = [
        one for one in met if any(one.span.start.line <= at <= one.span.end.line for at in lines.get(one.path, ()))
    ]
    return frozenset(place_of_function(one) for one in met if one not in known)


def _met(report: Report) -> frozenset[Place]:
    """The functions in which a run met a break."""
    return frozenset(place_of_function(one.site) for one in report.findings if one.site.is_met)


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


def _says_all(before: Report, step: Round) -> bool:
    """Whether a first round's verdict is that of every entry, so that it stands for the whole program."""
    mends = tuple(candidate.mend for candidate in step.accepted)
    return all(result.error is not None or reaches(before, result, mends) for result in before.entries)


def _to_mend(report: Report, request: CheckRequest, leave: frozenset[Place], vain: Vain) -> Report:
    """The report without what is offered outside of the file or folder that is asked for, and what is `vain`; boundaries alone
    where to `leave`."""
    within, sources = request.within, Sources(request.texts)

    def offered(finding: Finding) -> Finding:
        if not (within is None or is_within(finding.site.path, within)):
            return replace(finding, candidates=(), behind=())
        finding = without(finding, vain, sources)
        if place_of_function(finding.site) in leave:
            boundaries = [one for one in finding.candidates if one.mend.rule in LAST_RESORT]
            others = {one.mend.rule for one in finding.candidates} - LAST_RESORT
            idle = tuple(Declined(rule, _IN_VAIN) for rule in sorted(others))
            declined = tuple(dict.fromkeys((*finding.declined, *idle)))
            return replace(finding, candidates=tuple(boundaries), behind=(), declined=declined)
        return finding

    return replace(report, findings=tuple(map(offered, report.findings)))


def _gained(request: CheckRequest, reports: Sequence[Report], rounds: Sequence[Round]) -> int:
    """How many rounds are kept: up to the last that gained, by itself or over the last one before that did."""
    best = 0
    for number, step in enumerate(rounds, 1):
        firm = best == number - 1 and step.verdict is not None and step.verdict.safety in wanted_safety(request)
        if firm or gains(cut(reports[best]), cut(reports[number])):
            best = number
    return best


def _has_verified(request: CheckRequest, reports: Sequence[Report], rounds: Sequence[Round], said: Known) -> bool:
    """Whether a round gained, or a mend of the round that is under way may be made by what an entry said of it."""
    wanted = wanted_safety(request)
    return _gained(request, reports, rounds) > 0 or any(
        bool(verdicts) and worst(verdicts).safety in wanted for verdicts in said.values()
    )


def _numbered(on_progress: OnProgress | None, number: int, report: Report) -> OnProgress | None:
    """Progress of one round; how many there will be is not known, so no share of the whole is told."""
    if on_progress is None:
        return None
    tell = on_progress
    met = cut(report).breaks
    head = f"round {number}, {met} graph break{'s' * (met != 1)} left"
    return lambda step: tell(Progress(f"{head}: {step.message}"))


async def _proven(
    prover: Prover,
    request: CheckRequest,
    before: Report,
    runs: Mapping[Key, Run],
    on_progress: OnProgress | None,
    rounds: Sequence[Round],
    *,
    by_inductor: bool = False,
) -> Verdict | None:
    """The verdict on the first text against the last, over all entries that ran and loaded one of the files.

    The verdict of an only round is that of the entries that met its breaks. Others may run what is mended all the same: what
    differs in one of them counts; that it could not be compared says nothing. `by_inductor`: the rounds are a draft, verified
    without inductor, which has its part in this verdict.
    """
    if not rounds:
        return None
    texts = {path: text for step in rounds for path, text in step.texts.items()}
    sources = Sources(request.texts)
    mends = tuple(candidate.mend for step in rounds for candidate in step.accepted)
    known = rounds[0].verdict if len(rounds) == 1 and not by_inductor else None
    judged = [known] if known is not None else []
    changed = {os.path.realpath(path) for path in texts}

    def may_differ(result: EntryResult) -> bool:
        if reaches(before, result, mends):
            return not known
        run = runs.get((result.entry, result.mode))
        loads = run is None or not run.loaded or any(os.path.realpath(one) in changed for one in run.loaded)
        return loads and not (known and result.run != "real")

    asked = [(one.entry, one.mode) for one in before.entries if one.error is None and may_differ(one)]

    whole = replace(request, inductor="whole" if by_inductor else "never")

    async def verdicts_of(key: Key) -> list[Verdict]:
        verdicts, _ = await prover.verify(whole, key, [mends], sources, on_progress, runs.get(key), texts)
        return [verdict for verdict, _ in verdicts]

    async for verdicts in in_order([partial(verdicts_of, key) for key in asked], prover.jobs):
        if not verdicts and known is None:
            return None
        judged += [verdict for verdict in verdicts if known is None or verdict.results != "unverified"]
    return worst(judged) if judged else None
