"""Mend all: apply the best proven mends, look at what stands behind them, until nothing more can be mended.

A round takes the first candidate of every break together and has that program proven; only when that is not safe is every
candidate judged alone, and the good ones are put together again. The run that proves a round is the next round's analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import combine
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.verdicts import worst
from graphmend_lsp.model import Candidate, Failure, Mend, Plan, Report, Safety, Verdict

MAX_ROUNDS = 12


class Prover(Protocol):
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
    ) -> Report:
        """Judge every candidate alone."""
        ...

    async def verify(
        self,
        request: CheckRequest,
        key: Key,
        programs: Sequence[tuple[Mend, ...]],
        sources: Sources,
        on_progress: OnProgress | None,
        before: Run | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> tuple[list[tuple[Verdict, Run]], Failure | None]:
        """Judge programs."""
        ...


@dataclass(frozen=True, slots=True)
class _Round:
    """What one round accepted: the mends, the old and new texts, the verdict on all together, and the runs after it."""

    accepted: tuple[Candidate, ...]
    old: Mapping[str, str]
    texts: Mapping[str, str]
    verdict: Verdict | None
    runs: Mapping[Key, Run]


async def mend_all(
    prover: Prover, request: CheckRequest, on_progress: OnProgress | None = None, report: Report | None = None
) -> Plan:
    """Mend to the fixpoint. `report` is a proven or unproven report of the same request, where there is one."""
    runs: Mapping[Key, Run] = {} if report else await prover.run(request, on_progress)
    before = current = report or await prover.report(request, runs)
    texts = dict(request.texts)
    rounds: list[_Round] = []
    while len(rounds) < MAX_ROUNDS:
        now = replace(request, texts=texts)
        step, current = await _round(prover, now, current, runs, on_progress)
        if step is None:
            break
        rounds.append(step)
        texts = {**texts, **step.texts}
        after = replace(request, texts=texts)
        runs = step.runs or await prover.run(after, on_progress)
        current = await prover.report(after, runs)
    changed = {path: text for path, text in texts.items() if request.texts.get(path) != text}
    applied = tuple(candidate for step in rounds for candidate in step.accepted)
    verdict = rounds[0].verdict if rounds else None
    if len(rounds) > 1:
        verdict = await _whole(prover, request, before, applied, changed, on_progress) or verdict
    old = {path: text for step in reversed(rounds) for path, text in step.old.items()}
    return Plan(before, current, applied, changed, verdict, {path: old[path] for path in changed})


async def _round(
    prover: Prover, request: CheckRequest, report: Report, runs: Mapping[Key, Run], on_progress: OnProgress | None
) -> tuple[_Round | None, Report]:
    sources = Sources(request.texts)
    real = [finding for finding in report.findings if finding.candidates and finding.site.evidence == "dynamo"]
    if not real:
        return None, report
    mends, texts = combine([finding.candidates[0].mend for finding in real], sources)
    verdict, after = await _together(prover, request, report, mends, sources, runs, on_progress)
    if verdict is not None and verdict.safety == "safe":
        accepted = tuple(Candidate(mend, verdict) for mend in mends)
        return _Round(accepted, _old(texts, sources), texts, verdict, after), report
    wanted: tuple[Safety, ...] = ("safe", "unsafe") if request.unsafe else ("safe",)
    proven = await prover.prove(request, report, on_progress=on_progress, runs=runs)
    good = [one for finding in proven.findings for one in finding.candidates[:1] if one.safety in wanted]
    while good:
        mends, texts = combine([candidate.mend for candidate in good], sources)
        chosen = tuple(candidate for candidate in good if candidate.mend in mends)
        verdict, after = await _together(prover, request, proven, mends, sources, runs, on_progress)
        if verdict is not None and verdict.safety in wanted:
            return _Round(chosen, _old(texts, sources), texts, verdict, after), proven
        good = good[: len(good) // 2]
    return None, proven


def _old(texts: Mapping[str, str], sources: Sources) -> dict[str, str]:
    return {path: sources.get(path) or "" for path in texts}


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

    The runs are empty when not all of them are known, so that the entries must be run again.
    """
    judged: list[Verdict] = []
    after = dict(runs)
    for result in report.entries:
        here = [finding for finding in report.findings if result.entry.name in finding.site.entries]
        reached = {candidate.mend for finding in here for candidate in finding.candidates}
        if result.error is not None or reached.isdisjoint(mends):
            continue
        key = (result.entry, result.mode)
        verdicts, failure = await prover.verify(request, key, [mends], sources, on_progress, runs.get(key))
        if failure is not None or not verdicts:
            return None, {}
        judged.append(verdicts[0][0])
        after[key] = verdicts[0][1]
    known = after.keys() == {(result.entry, result.mode) for result in report.entries}
    return (worst(judged) if judged else None), after if known else {}


async def _whole(
    prover: Prover,
    request: CheckRequest,
    before: Report,
    applied: Sequence[Candidate],
    texts: Mapping[str, str],
    on_progress: OnProgress | None,
) -> Verdict | None:
    """The verdict on the first text against the last, over all entries that ran."""
    sources = Sources(request.texts)
    mends = tuple(candidate.mend for candidate in applied)
    judged: list[Verdict] = []
    for result in before.entries:
        if result.error is None:
            key = (result.entry, result.mode)
            verdicts, _ = await prover.verify(request, key, [mends], sources, on_progress, None, texts)
            judged += [verdict for verdict, _ in verdicts]
    return worst(judged) if judged else None
