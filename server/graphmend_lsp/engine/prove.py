"""A verdict for every candidate of a report: of the entries that met its break, and of those that run what it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol

from graphmend_lsp.engine.choice import settle
from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress
from graphmend_lsp.engine.explored import counts_of, graphs_only
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import unmet
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.side_by_side import in_order
from graphmend_lsp.engine.unproven import judge_each, unproven
from graphmend_lsp.engine.verdicts import worst
from graphmend_lsp.mending import LAST_RESORT, THIRD_CHOICE
from graphmend_lsp.model import Candidate, EntryResult, Failure, Finding, Mend, Report, Span, Verdict

_STAGES = 4
Known = dict[Mend, list[Verdict]]  # what the entries asked so far say of mends


class Judge(Protocol):
    """What proving needs of the session; see there. `jobs` is how many entries it may be asked about at a time."""

    @property
    def jobs(self) -> int:
        """A number from 1 on."""
        ...

    async def analyse(self, request: CheckRequest, key: Key, kind: Literal["real", "fake"]) -> Run:
        """Run one entry."""
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

    async def beside(
        self,
        request: CheckRequest,
        key: Key,
        mends: Iterable[Mend],
        sources: Sources,
        on_progress: OnProgress | None,
        before: Run | None,
    ) -> list[tuple[Mend, Verdict]]:
        """Judge mends, each alone, whose breaks the entry did not meet."""
        ...


@dataclass
class _Proof:
    """What is known so far. `broken` is what is said of a mend that no entry has a verdict on."""

    verdicts: Known = field(default_factory=dict)
    broken: Known = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: _Proof) -> None:
        """What another entry says, too."""
        for mend, verdicts in other.verdicts.items():
            self.verdicts.setdefault(mend, []).extend(verdicts)
        self.broken |= other.broken
        self.failures += other.failures

    def unreached(self) -> frozenset[Span]:
        """The conditions of mends of which no entry ran both sides: no other mend of these can be safe."""
        return frozenset(
            span
            for judged in filter(None, self.verdicts.values())
            for span in frozenset.intersection(*(frozenset(one for one, _ in each.unreached) for each in judged))
        )

    def may_hold(self, mend: Mend) -> bool:
        """Whether it was judged, and is not wrong by what it gives."""
        judged = self.verdicts.get(mend, ())
        return bool(judged) and worst(judged).results in ("safe", "unsafe")


async def prove(
    judge: Judge,
    request: CheckRequest,
    report: Report,
    on_finding: OnFinding | None,
    on_progress: OnProgress | None,
    runs: Mapping[Key, Run],
    known: Known | None = None,
    safe_first: bool = False,
) -> Report:
    """The report with its candidates judged; `runs` are those of the very same request, as far as they are at hand.

    What each entry says of a mend is put into `known` as it comes, so that it is there when this is cancelled.
    What costs most is judged, and kept, only where nothing before it is safe, and where it may be: first what inductor must
    compile, then third choices. With `safe_first`, mends that are known to be unsafe come behind those.
    """
    proof = _Proof() if known is None else _Proof(known)
    sources = Sources(request.texts)
    kept = tuple(replace(finding, candidates=()) for finding in report.findings)
    for stage in range(_STAGES):
        dead = proof.unreached() if stage else frozenset()
        asked = [
            tuple(
                one
                for one in _at_stage(finding, stage, safe_first)
                if dead.isdisjoint(span for _, span in one.mend.conditions)
            )
            for finding in report.findings
        ]
        later = [
            replace(finding, candidates=() if _is_safe(finding, proof) else more)
            for finding, more in zip(kept, asked, strict=True)
        ]
        kept = tuple(
            replace(old, candidates=(*old.candidates, *new.candidates)) for old, new in zip(kept, later, strict=True)
        )
        if any(finding.candidates for finding in later):
            await _judge_all(judge, request, replace(report, findings=tuple(later)), proof, sources, on_progress, runs)
    findings = []
    for finding, full in zip(kept, report.findings, strict=True):
        ordered = tuple(one for one in full.candidates if one in finding.candidates)
        findings.append(settle(replace(finding, candidates=ordered), proof.broken | proof.verdicts))
        if on_finding is not None:
            on_finding(findings[-1])
    failures = tuple(dict.fromkeys((*report.failures, *proof.failures)))
    return replace(report, findings=tuple(findings), failures=failures)


def _at_stage(finding: Finding, stage: int, safe_first: bool) -> tuple[Candidate, ...]:
    """The candidates of a break that are judged at a stage; those of the first one that has any are judged at once."""
    stages = [_stage(one, safe_first) for one in finding.candidates]
    first = min(stages, default=0)
    return tuple(
        one
        for one, number in zip(finding.candidates, stages, strict=True)
        if (0 if number == first else number) == stage
    )


def _stage(candidate: Candidate, safe_first: bool) -> int:
    if safe_first and candidate.mend.cautions:
        return 3
    if candidate.mend.rule in THIRD_CHOICE:
        return 2
    return 1 if candidate.mend.inductor else 0


def _is_safe(finding: Finding, proof: _Proof) -> bool:
    """Whether a candidate is safe by what is known so far, and takes a break away."""
    settled = settle(finding, proof.broken | proof.verdicts)
    return any(
        one.safety == "safe"
        and one.mend.rule not in LAST_RESORT
        and one.verdict is not None
        and one.verdict.after.breaks < one.verdict.before.breaks
        for one in settled.candidates
    )


async def _judge_all(
    judge: Judge,
    request: CheckRequest,
    report: Report,
    proof: _Proof,
    sources: Sources,
    on_progress: OnProgress | None,
    runs: Mapping[Key, Run],
) -> None:
    """Add what every entry says of the candidates of a report."""
    asked = [
        (result, mends)
        for result in report.entries
        if result.error is None
        and (
            mends := [
                candidate.mend
                for finding in report.findings
                if result.entry.name in finding.site.entries and result.mode in finding.site.modes
                for candidate in finding.candidates
            ]
        )
    ]
    tasks = [
        partial(_judge, judge, request, report, result, mends, sources, on_progress, runs) for result, mends in asked
    ]
    async for own in in_order(tasks, judge.jobs):
        proof.add(own)

    async def beside(result: EntryResult) -> list[tuple[Mend, Verdict]]:
        key = (result.entry, result.mode)
        others = [mend for mend in unmet(report, result, runs.get(key)) if proof.may_hold(mend)]
        return await judge.beside(request, key, others, sources, on_progress, runs.get(key))

    async for said in in_order([partial(beside, one) for one in report.entries], judge.jobs):
        for mend, verdict in said:
            proof.verdicts[mend].append(verdict)


async def _judge(
    judge: Judge,
    request: CheckRequest,
    report: Report,
    result: EntryResult,
    mends: Sequence[Mend],
    sources: Sources,
    on_progress: OnProgress | None,
    runs: Mapping[Key, Run],
) -> _Proof:
    """What an entry that met the mends' breaks says of them."""
    proof = _Proof()
    key = (result.entry, result.mode)
    programs = programs_of(mends)
    if result.run == "fake":
        before = counts_of(result, report.findings)
        pairs = [
            (program, graphs_only(before, await judge.analyse(_mended(request, program, sources), key, "fake")))
            for program in programs
        ]
    else:
        ran = runs.get(key)
        verify = partial(judge.verify, request, key, sources=sources, on_progress=on_progress, before=ran)
        pairs, failure = await judge_each(verify, programs)
        if failure is not None:
            proof.failures.append(failure)
            why = unproven(failure, ran)
            proof.broken |= {} if why is None else {mend: [why] for program in programs for mend in program}
    for program, verdict in pairs:
        for mend in program:
            proof.verdicts.setdefault(mend, []).append(verdict)
    return proof


def _mended(request: CheckRequest, program: Sequence[Mend], sources: Sources) -> CheckRequest:
    return replace(request, texts={**request.texts, **combine(program, sources)[1]})
