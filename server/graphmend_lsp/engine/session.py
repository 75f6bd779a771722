"""The engine's face to the editor and the command line: check, prove, mend all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.analysis.suppress import is_suppressed
from graphmend_lsp.engine.breaks import Scope, breaks_of, is_installed, merge_all
from graphmend_lsp.engine.client import WorkerClient, WorkerFailedError, failure_of
from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress, WorkerConfig, WorkerStatus
from graphmend_lsp.engine.entries import entries_in, python_files
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.engine.programs import candidate_of, combine
from graphmend_lsp.engine.verdicts import judge, worst
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
    Plan,
    Progress,
    Report,
    Verdict,
)
from graphmend_lsp.worker.wire import AnalyseParams, AnalyseResult, EntrySpec, Limits, VerifyParams, VerifyResult

__all__ = ["CheckRequest", "Session", "WorkerConfig", "WorkerStatus"]

MAX_ROUNDS = 12
_AT_ONCE = 2
_SAFETY_ORDER = ("safe", "unverified", "unsafe", "wrong")


class Session:
    """One worker process and what it has found. All methods are cancellable by cancelling their task.

    A cancelled or failed run never leaves a process behind and never raises for what the user's program does: that is a
    `Failure` in the report.
    """

    def __init__(self, config: WorkerConfig, on_status: Callable[[WorkerStatus], None] | None = None) -> None:
        self._config = config
        self._client = WorkerClient(config.python, config.command, config.cwd, config.env)
        self._on_status = on_status or (lambda _status: None)
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._mender = Mender()
        self._mending = asyncio.Lock()

    async def check(self, request: CheckRequest, on_progress: OnProgress | None = None) -> Report:
        """Static and real breaks of the request's entries, with unverified candidates and declines."""
        sources, scope = Sources(request.texts), Scope(request.paths)
        files = tuple(dict.fromkeys(python_files(request.paths)))
        entries = entries_in(files, request.entries, sources)
        runs = [(entry, mode) for entry in entries for mode in request.modes]
        analysed = await self._analyse_all(request, runs, on_progress) if runs else []
        results: list[EntryResult] = []
        groups: list[tuple[Break, ...]] = []
        device = None
        for (entry, mode), (result, failure) in zip(runs, analysed, strict=True):
            results.append(_entry_result(entry, mode, result, failure))
            if result is not None:
                device = result["device"] or device
                groups.append(breaks_of(result["events"], results[-1].graphs, entry.name, mode, scope, sources))
        real = merge_all(groups)
        ran = {result.entry.file for result in results if result.error is None}
        found = [*real, *_static(files, real, sources)]
        async with self._mending:
            findings = await asyncio.to_thread(_propose, self._mender, found, ran, scope, sources, request)
        hello = self._client.hello
        return Report(
            torch=hello["torch"] if hello else None,
            python=hello["python"] if hello else None,
            device=device,
            entries=tuple(results),
            findings=findings,
            failures=tuple(dict.fromkeys(result.error for result in results if result.error is not None)),
        )

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: OnFinding | None = None,
        on_progress: OnProgress | None = None,
    ) -> Report:
        """The report with a verdict for every candidate; `on_finding` is told each finding as it is settled.

        A mend that is wrong, or gains nothing, leaves the candidates and becomes a decline with the reason.
        """
        sources = Sources(request.texts)
        verdicts: dict[Mend, list[Verdict]] = {}
        failures: list[Failure] = []
        for result in report.entries:
            mends = [
                candidate.mend
                for finding in report.findings
                if result.entry.name in finding.site.entries and result.mode in finding.site.modes
                for candidate in finding.candidates
            ]
            if result.error is not None or not mends:
                continue
            programs = [(mend,) for mend in dict.fromkeys(mends)]
            judged, failure = await self._verify(request, result.entry, result.mode, programs, sources, on_progress)
            if failure is not None:
                failures.append(failure)
            for (mend,), verdict in zip(programs, judged, strict=False):
                verdicts.setdefault(mend, []).append(verdict)
        findings = []
        for finding in report.findings:
            settled = _settle(finding, verdicts)
            findings.append(settled)
            if on_finding is not None:
                on_finding(settled)
        return replace(report, findings=tuple(findings), failures=tuple(dict.fromkeys((*report.failures, *failures))))

    async def mend(
        self, request: CheckRequest, on_progress: OnProgress | None = None, report: Report | None = None
    ) -> Plan:
        """Mend everything that can be mended (safely, or also unsafely when asked), to the fixpoint.

        Each round takes the first candidate of every break together; only when that is not safe, each is judged alone.
        """
        before = report or await self.check(request, on_progress)
        current = before
        applied: list[Candidate] = []
        verdicts: list[Verdict | None] = []
        texts = dict(request.texts)
        for _ in range(MAX_ROUNDS):
            now = replace(request, texts=texts)
            accepted, new_texts, verdict, current = await self._round(now, current, on_progress)
            if not accepted:
                break
            applied += accepted
            verdicts.append(verdict)
            texts = {**texts, **new_texts}
            current = await self.check(replace(request, texts=texts), on_progress)
        changed = {path: text for path, text in texts.items() if request.texts.get(path) != text}
        whole = verdicts[0] if len(verdicts) == 1 else None
        if len(verdicts) > 1:
            whole = await self._whole(request, before, applied, changed, on_progress)
        return Plan(before, current, tuple(applied), changed, whole)

    async def restart(self) -> None:
        """Kill the worker; the next request starts a new one."""
        await self._client.kill()
        self._on_status(WorkerStatus("stopped"))

    async def close(self) -> None:
        """Kill the worker and wait until no process of it is left."""
        await self._client.kill()
        self._mender.close()

    async def _round(
        self, request: CheckRequest, report: Report, on_progress: OnProgress | None
    ) -> tuple[list[Candidate], dict[str, str], Verdict | None, Report]:
        sources = Sources(request.texts)
        wanted = ("safe", "unsafe") if request.unsafe else ("safe",)
        firsts = [
            finding.candidates[0].mend
            for finding in report.findings
            if finding.candidates and finding.site.evidence == "dynamo"
        ]
        if not firsts:
            return [], {}, None, report
        together, texts = combine(firsts, sources)
        verdict = await self._judge_together(request, report, together, sources, on_progress)
        if verdict is not None and verdict.safety in ("safe",):
            return [Candidate(mend, verdict) for mend in together], texts, verdict, report
        proven = await self.prove(request, report, on_progress=on_progress)
        good = [
            candidate
            for finding in proven.findings
            for candidate in finding.candidates[:1]
            if candidate.safety in wanted
        ]
        while good:
            together, texts = combine([candidate.mend for candidate in good], sources)
            chosen = [candidate for candidate in good if candidate.mend in together]
            if len(chosen) == 1:
                return chosen, texts, chosen[0].verdict, proven
            verdict = await self._judge_together(request, report, together, sources, on_progress)
            if verdict is not None and verdict.safety in wanted:
                return chosen, texts, verdict, proven
            good = good[: len(good) // 2]
        return [], {}, None, proven

    async def _judge_together(
        self,
        request: CheckRequest,
        report: Report,
        mends: tuple[Mend, ...],
        sources: Sources,
        on_progress: OnProgress | None,
    ) -> Verdict | None:
        judged: list[Verdict] = []
        for result in report.entries:
            if result.error is not None:
                continue
            reached = [f.site for f in report.findings if result.entry.name in f.site.entries]
            those = tuple(m for m in mends if any(s.path == m.path and s.span == m.span for s in reached))
            if not those:
                continue
            verdicts, failure = await self._verify(request, result.entry, result.mode, [mends], sources, on_progress)
            if failure is not None or not verdicts:
                return None
            judged += verdicts
        return worst(judged) if judged else None

    async def _whole(
        self,
        request: CheckRequest,
        before: Report,
        applied: Sequence[Candidate],
        texts: Mapping[str, str],
        on_progress: OnProgress | None,
    ) -> Verdict | None:
        """The verdict on the first text against the last, over all entries that ran."""
        sources = Sources(request.texts)
        changes = tuple(change for candidate in applied for change in candidate.mend.changes)
        judged: list[Verdict] = []
        for result in before.entries:
            if result.error is None:
                candidate = candidate_of("whole", (), dict(texts), dict(request.texts), sources)
                answer = await self._ask_verify(request, result.entry, result.mode, [candidate], on_progress)
                judged += [judge(one, changes, sources) for one in answer["candidates"]]
        return worst(judged) if judged else None

    async def _analyse_all(
        self, request: CheckRequest, runs: Sequence[tuple[Entry, Mode]], on_progress: OnProgress | None
    ) -> list[tuple[AnalyseResult | None, Failure | None]]:
        done = 0

        async def one(entry: Entry, mode: Mode) -> tuple[AnalyseResult | None, Failure | None]:
            nonlocal done
            async with self._at_once:
                answer = await self._analyse(request, entry, mode)
            done += 1
            _tell(on_progress, f"ran {entry.name} ({mode})", 100 * done // len(runs))
            return answer

        _tell(on_progress, "starting the worker" if not self._client.running else f"running {runs[0][0].name}", 0)
        self._on_status(self._status("starting" if not self._client.running else "busy"))
        try:
            await self._client.start()
        except WorkerFailedError as error:
            self._on_status(WorkerStatus("failed", message=f"{error.failure.message} {error.failure.remedy}"))
            return [(None, error.failure) for _ in runs]
        self._on_status(self._status("busy"))
        try:
            return await asyncio.gather(*(one(entry, mode) for entry, mode in runs))
        finally:
            self._on_status(self._status("ready"))

    async def _analyse(
        self, request: CheckRequest, entry: Entry, mode: Mode
    ) -> tuple[AnalyseResult | None, Failure | None]:
        params = AnalyseParams(
            entry=_spec(entry), texts=dict(request.texts), roots=list(request.roots),
            device=request.device, mode=mode, limits=self._limits(),
        )  # fmt: skip
        try:
            answer = await self._client.request("analyse", cast(dict[str, Any], params), self._config.seconds)
        except WorkerFailedError as error:
            return None, error.failure
        result = cast(AnalyseResult, answer)
        return result, failure_of(result["failure"]) if result["failure"] else None

    async def _verify(
        self,
        request: CheckRequest,
        entry: Entry,
        mode: Mode,
        programs: Sequence[tuple[Mend, ...]],
        sources: Sources,
        on_progress: OnProgress | None,
    ) -> tuple[list[Verdict], Failure | None]:
        """A verdict for each program (a set of mends made together); none of them when the original does not run."""
        base = dict(request.texts)
        candidates = [
            candidate_of(str(number), mends, combine(mends, sources)[1], base, sources)
            for number, mends in enumerate(programs)
        ]
        try:
            answer = await self._ask_verify(request, entry, mode, candidates, on_progress)
        except WorkerFailedError as error:
            return [], error.failure
        if answer["failure"] is not None:
            return [], failure_of(answer["failure"])
        by_id = {one["id"]: one for one in answer["candidates"]}
        return [
            judge(by_id[str(number)], [change for mend in mends for change in mend.changes], sources)
            for number, mends in enumerate(programs)
        ], None

    async def _ask_verify(
        self, request: CheckRequest, entry: Entry, mode: Mode, candidates: list[Any], on_progress: OnProgress | None
    ) -> VerifyResult:
        params = VerifyParams(
            entry=_spec(entry), texts=dict(request.texts), candidates=candidates, roots=list(request.roots),
            device=request.device, mode=mode, limits=self._limits(1 + len(candidates)),
        )  # fmt: skip
        _tell(on_progress, f"proving {len(candidates)} mend{'s' * (len(candidates) != 1)} with {entry.name}")
        self._on_status(self._status("busy"))
        try:
            seconds = self._config.seconds * (1 + len(candidates))
            answer = await self._client.request(
                "verify", cast(dict[str, Any], params), seconds, lambda message: _tell(on_progress, message)
            )
            return cast(VerifyResult, answer)
        finally:
            self._on_status(self._status("ready"))

    def _limits(self, programs: int = 1) -> Limits:
        return Limits(seconds=self._config.seconds * programs, memory_mb=self._config.memory_mb)

    def _status(self, state: Any) -> WorkerStatus:
        hello = self._client.hello
        device = None if hello is None else "cuda" if hello["cuda"] else "cpu"
        return WorkerStatus(state, hello and hello["torch"], hello and hello["python"], device)


def _tell(on_progress: OnProgress | None, message: str, percent: int | None = None) -> None:
    if on_progress is not None:
        on_progress(Progress(message, percent))


def _spec(entry: Entry) -> EntrySpec:
    return EntrySpec(file=entry.file, function=entry.function, kind=entry.kind)


def _entry_result(entry: Entry, mode: Mode, result: AnalyseResult | None, failure: Failure | None) -> EntryResult:
    if result is None:
        return EntryResult(entry, mode, 0, 0, (), failure)
    calls: dict[int, list[int]] = {}
    for graph in result["graphs"]:
        calls.setdefault(graph["call"], []).append(graph["ops"])
    most = max(calls.values(), key=len, default=[])
    return EntryResult(entry, mode, len(most), len(result["skipped"]), tuple(most), failure, result["seconds"])


def _static(files: Sequence[str], real: Sequence[Break], sources: Sources) -> list[Break]:
    """The static findings at places where Dynamo did not see a break (it runs one side of every branch only)."""
    found: list[Break] = []
    for path in files:
        if (text := sources.get(path)) is None:
            continue
        lines = {site.span.start.line for site in real if site.path == path}
        spans = [site.span for site in real if site.path == path]
        found += [
            site
            for site in find_breaks(text, path)
            if site.span.start.line not in lines and not any(span.overlaps(site.span) for span in spans)
        ]
    return found


def _propose(
    mender: Mender, sites: Sequence[Break], ran: set[str], scope: Scope, sources: Sources, request: CheckRequest
) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    for site in sites:
        text = sources.get(site.path)
        if text is None or is_suppressed(site, text):
            if text is None:
                findings.append(Finding(site))
            continue
        if site.evidence == "static" and ran:
            findings.append(Finding(site, declined=(Declined("run", "no entry's run reached this break"),)))
            continue
        if not scope.contains(site.path):
            reason = (
                "it is in an installed package; name the file to have it mended"
                if is_installed(site.path)
                else "it is outside the paths that were named"
            )
            findings.append(Finding(site, declined=(Declined("scope", reason),)))
            continue
        paths = dict.fromkeys((site.path, *(frame.path for frame in site.chain if scope.contains(frame.path))))
        texts = {path: value for path in paths if (value := sources.get(path)) is not None}
        mends, declined = mender.propose(site, texts, request.rules)
        findings.append(Finding(site, tuple(Candidate(mend) for mend in mends), declined))
    return tuple(findings)


def _settle(finding: Finding, verdicts: Mapping[Mend, Sequence[Verdict]]) -> Finding:
    kept: list[Candidate] = []
    declined = list(finding.declined)
    for candidate in finding.candidates:
        judged = verdicts.get(candidate.mend)
        verdict = worst(judged) if judged else None
        if verdict is not None and verdict.safety == "wrong":
            declined.append(Declined(candidate.mend.rule, verdict.reasons[0] if verdict.reasons else "it was wrong"))
        else:
            kept.append(Candidate(candidate.mend, verdict))
    kept.sort(key=lambda one: (_SAFETY_ORDER.index(one.safety), one.verdict.after.graphs if one.verdict else 0))
    return replace(finding, candidates=tuple(kept), declined=tuple(dict.fromkeys(declined)))
