"""The engine's face to the editor and the command line: check, prove, mend all."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

from graphmend_lsp.engine.ahead import Ahead, Judged, judged_so_far, judging
from graphmend_lsp.engine.cache import Cache
from graphmend_lsp.engine.cached_client import CACHED, CachedClient
from graphmend_lsp.engine.client import WorkerFailedError, failure_of
from graphmend_lsp.engine.config import CheckRequest, OnFinding, OnProgress, WorkerConfig, WorkerStatus
from graphmend_lsp.engine.declared import declared
from graphmend_lsp.engine.entries import accepted_for, excused, keys_of, searched_files
from graphmend_lsp.engine.explored import shown_runs, too_large
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import entry_results, findings_of, read_ahead, scope_of
from graphmend_lsp.engine.in_parts import is_first_part, joined
from graphmend_lsp.engine.live import Live
from graphmend_lsp.engine.measuring import measurement
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.engine.plan import mend_all
from graphmend_lsp.engine.programs import beside_of, candidate_of, combine, programs_of
from graphmend_lsp.engine.project_texts import is_named_elsewhere
from graphmend_lsp.engine.prove import Known, prove
from graphmend_lsp.engine.runs import Key, Run, broken, mended_run, run_of
from graphmend_lsp.engine.strip import Strips
from graphmend_lsp.engine.together import stands_on, strangers
from graphmend_lsp.engine.tree import AT_ONCE, client_of
from graphmend_lsp.engine.unproven import unproven
from graphmend_lsp.engine.verdicts import elsewhere, judge
from graphmend_lsp.model import Entry, EntryResult, Failure, Measurement, Mend, Plan, Progress, Report, Verdict
from graphmend_lsp.worker.wire import (
    AnalyseParams,
    AnalyseResult,
    CandidateResult,
    EntrySpec,
    Limits,
    MeasureParams,
    MeasureResult,
    VerifyParams,
    VerifyResult,
)
from graphmend_lsp.worker.wire import Candidate as WireCandidate

__all__ = ["CheckRequest", "Session", "WorkerConfig", "WorkerStatus"]

# Told of real runs before anything else is known: what they show, and whether they have ended.
OnReal = Callable[[Report, bool], Awaitable[None]]
_MEASURING = 4  # time limits that one measurement takes at most: two programs are compiled by their real backend


class Session:
    """One worker process and what it has found. All methods are cancellable by cancelling their task.

    A cancelled or failed run never leaves a process behind and never raises for what the user's program does: that is a
    `Failure` in the report.
    """

    def __init__(
        self,
        config: WorkerConfig,
        on_status: Callable[[WorkerStatus], None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        self._config = config
        self._client = CachedClient(client_of(config), cache, config, self._starts)
        self._on_status = on_status or (lambda _status: None)
        self._asked = 0  # requests that go on
        self.jobs = max(1, config.jobs)  # entries that are proven at a time
        self._at_once = asyncio.Semaphore(AT_ONCE * self.jobs)
        self._mender = Mender()
        self._mending = asyncio.Lock()
        self._checked: tuple[CheckRequest, dict[Key, Run]] | None = None
        self._ahead: Ahead | None = None
        self._small: set[Key] = set()  # entries that no fake run showed to be too large for memory
        self._folder = config.cwd or os.getcwd()
        self._mended: CheckRequest | None = None  # what is being mended, as it was asked for
        self._stands_on: dict[str, str] = {}

    async def check(
        self,
        request: CheckRequest,
        on_progress: OnProgress | None = None,
        on_real: OnReal | None = None,
    ) -> Report:
        """Static, fake and real breaks of the request's entries, with unverified candidates and declines.

        The fake runs come first: they tell which entry is too large to be run. Where they said before that none is, the
        real runs come first and `on_real` is told what they show, when they meet it and when they have ended.
        """
        await self._forget_ahead()
        fake, real = request.analysis != "real", request.analysis != "fake"
        early = on_real is not None and fake and real and self._small.issuperset(self._keys(request))
        explored = await self.explore(request, None, on_progress) if fake and not early else {}
        large = {key: why for key, run in explored.items() if (why := too_large(run)) is not None}
        if on_real is not None and any(map(_is_out_of_time, explored.values())):
            await on_real(await self.report(request, {}, explored, propose=False), False)
        left = large.keys() | {key for key, run in explored.items() if _is_stuck(run)}
        live = Live(partial(self._tell_early, request, on_real)) if early and on_real is not None else None
        try:
            runs = await self.run(request, on_progress, leave=left, live=live) if real else {}
        finally:
            if live is not None:
                await live.end()
        self._checked = (request, runs)
        if early and on_real is not None:
            await self._tell_early(request, on_real, runs)
            self._ahead = Ahead(request, partial(self._prove_ahead, request, runs))
            explored = await self.explore(
                request, [key for key, run in runs.items() if not _is_stuck(run)], on_progress
            )
        self._small |= {key for key, run in explored.items() if too_large(run) is None}
        noted = {key: replace(run, note=large.get(key, "")) for key, run in explored.items()}
        return await self.report(request, runs, noted)

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
        """The report with a verdict for every candidate; `on_finding` is told each finding as it is settled.

        What each entry says of a mend is put into `said` as it comes. With `safe_first`, mends that are known to be unsafe are
        judged only for breaks that no other mend takes away.

        A mend that is wrong, or gains nothing, leaves the candidates and becomes a decline with the reason. `runs` are those
        of the very same request, where they are at hand (the last check's are): the original need not be counted again.
        """
        if runs is None and self._checked is not None and self._checked[0] == request:
            runs = self._checked[1]
        known = await self._ahead.judged(request, report) if self._ahead is not None else None
        with judging(known):
            return await prove(self, request, report, on_finding, on_progress, runs or {}, said, safe_first)

    async def _prove_ahead(self, request: CheckRequest, runs: Mapping[Key, Run]) -> None:
        """Prove what the rules propose for what real runs show, while the runs without data go on."""
        report = await self.report(request, runs)
        if self._ahead is not None:
            self._ahead.report = report
        await prove(self, request, report, None, None, runs)

    async def _forget_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            await ahead.cancel()

    async def recall(self, request: CheckRequest) -> Report | None:
        """The check and its proofs as far as they are kept; None when some entry's run is not. Runs nothing."""
        with self._client.kept_only():
            report = await self.check(request)
            if not report.entries or report.failures:
                return None
            proven = await self.prove(request, report)
            return replace(proven, failures=report.failures)

    async def mend(
        self,
        request: CheckRequest,
        on_progress: OnProgress | None = None,
        report: Report | None = None,
        seconds: float | None = None,
    ) -> Plan:
        """Mend everything that can be mended (safely, or also unsafely when asked), to the fixpoint, or in that time.

        Raises:
            StrangerError: the request is for one part of a mend-all, and a run loaded a file that another part may edit.
        """
        await self._start_mender()
        self._mended, self._stands_on = request, {}
        try:
            with judging(Judged()):
                plan = await mend_all(self, request, on_progress, report, seconds)
        finally:
            self._mended = None
        return replace(plan, stands_on=self._stands_on)

    async def measure(
        self,
        request: CheckRequest,
        texts: Mapping[str, str],
        keys: Iterable[Key],
        backend: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> tuple[Measurement, ...]:
        """How fast the request's entries are with these texts in place of files; one after the other, to have the machine
        for each alone. `backend` None: the one that the program asks for itself, else inductor."""
        sources = Sources(request.texts)
        measured: list[Measurement] = []
        for key in keys:
            _tell(on_progress, f"measuring {key[0].name} ({key[1]})")
            mended = candidate_of("0", (), dict(texts), dict(request.texts), sources)
            params = MeasureParams(
                entry=_spec(key[0]), texts=dict(request.texts), candidates=[mended], roots=list(request.roots),
                device=request.device, mode=key[1], backend=backend, limits=self._limits(_MEASURING),
            )  # fmt: skip
            try:
                answer = await self._ask("measure", params, on_progress)
            except WorkerFailedError as error:
                measured.append(Measurement(*key, backend or "", request.device, error=error.failure))
            else:
                measured.append(measurement(key, cast(MeasureResult, answer)))
        return tuple(measured)

    async def start(self) -> None:
        """Start the worker before it is needed; what keeps it from starting is told when something is asked of it."""
        await self._start_mender()
        with contextlib.suppress(WorkerFailedError):
            await self._client.start()
            if not self._asked:
                self._tell_rest()

    async def _start_mender(self) -> None:
        async with self._mending:
            await asyncio.to_thread(self._mender.start)

    async def restart(self) -> None:
        """Kill the worker; the next request starts a new one."""
        await self._forget_ahead()
        await self._client.kill()
        self._on_status(WorkerStatus("stopped"))

    async def close(self) -> None:
        """Kill the worker and wait until no process of it is left, and what was found is kept."""
        await self._forget_ahead()
        await self._client.kill()
        self._mender.close()
        await self._client.settle()

    async def run(
        self,
        request: CheckRequest,
        on_progress: OnProgress | None = None,
        leave: Collection[Key] = (),
        live: Live | None = None,
    ) -> dict[Key, Run]:
        """Every entry of the request under Dynamo, in each mode, but for those to `leave`; `live` hears of each break."""
        keys = [key for key in self._keys(request) if key not in leave]
        reading = asyncio.create_task(asyncio.to_thread(read_ahead, request)) if keys else None
        try:
            runs = await self._run_all(request, keys, "real", on_progress, live)
        finally:
            if reading is not None:
                await reading
        if request is self._mended:
            strangers(request, runs)
            self._stands_on = stands_on(request, runs)
        return runs

    async def timed(self, request: CheckRequest, keys: Iterable[Key]) -> tuple[EntryResult, ...]:
        """How these entries are cut, with the share of a call's time that each graph takes: their calls are made again."""
        runs = await self._run_all(replace(request, timed=True), list(keys), "real", None)
        strips = Strips(scope_of(request), Sources(request.texts))
        return await asyncio.to_thread(entry_results, shown_runs(runs, {}), strips)

    async def explore(
        self, request: CheckRequest, keys: Iterable[Key] | None = None, on_progress: OnProgress | None = None
    ) -> dict[Key, Run]:
        """The entries (these, or all of the request) under Dynamo without data, on both sides of conditions on values."""
        wanted = self._keys(request) if keys is None else list(keys)
        return await self._run_all(request, wanted, "fake", on_progress)

    def _keys(self, request: CheckRequest) -> list[Key]:
        keys = keys_of(request)
        return keys if request.shard is None else request.shard.share(keys, self._folder)

    async def _run_all(
        self,
        request: CheckRequest,
        keys: Sequence[Key],
        kind: Literal["real", "fake"],
        on_progress: OnProgress | None,
        live: Live | None = None,
    ) -> dict[Key, Run]:
        if not keys:
            return {}
        how = "" if kind == "real" else ", without data"
        done = 0

        async def one(key: Key) -> Run:
            nonlocal done
            async with self._at_once:
                if (failure := self._client.not_started) is not None:
                    return Run(failure=failure, kind=kind)
                run = await self.analyse(request, key, kind, live)
            done += 1
            _tell(on_progress, f"ran {key[0].name} ({key[1]}{how})", 100 * done // len(keys))
            return run

        _tell(on_progress, f"running {keys[0][0].name}", 0)
        self._client.not_started = None
        self._tell_begin()
        try:
            return dict(zip(keys, await asyncio.gather(*map(one, keys)), strict=True))
        finally:
            self._tell_end()

    async def _tell_early(self, request: CheckRequest, on_real: OnReal, runs: Mapping[Key, Run]) -> None:
        """What real runs show, before anything else is known; no rule is asked and no source is looked at for more."""
        report = await self.report(request, runs, propose=False)
        await on_real(report, all(run.ended for run in runs.values()))

    async def report(
        self,
        request: CheckRequest,
        runs: Mapping[Key, Run],
        explored: Mapping[Key, Run] | None = None,
        *,
        propose: bool = True,
    ) -> Report:
        """What the runs, the fake runs and the source show together, with what the rules propose (where they are asked).

        The real run stands for its entry; a fake one where there is no other. Where no rule is asked the source is not
        looked at either.
        """
        explored = explored or {}
        sources = Sources(request.texts)
        files = searched_files(request) if propose else ()
        async with self._mending if propose else contextlib.nullcontext():
            mender = self._mender if propose else None
            findings = await asyncio.to_thread(findings_of, runs, files, request, sources, mender, explored)
        hello = self._client.hello
        strips = Strips(scope_of(request), sources) if propose else None
        results = await asyncio.to_thread(entry_results, shown_runs(runs, explored), strips)
        return Report(
            torch=hello["torch"] if hello else None,
            python=hello["python"] if hello else None,
            device=next((run.device for run in (*runs.values(), *explored.values()) if run.device), None),
            entries=results,
            findings=findings,
            failures=tuple(dict.fromkeys(result.error for result in results if result.error is not None)),
            shard=request.shard.mark(keys_of(request), self._folder) if request.shard else None,
        )

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
        """A verdict for each program (a set of mends made together) and its run; none when the original does not run.

        `texts` is given for one program whose mends were made one after the other, each on the text of the last.
        """
        known = judged_so_far()
        by_inductor = request.inductor == ("whole" if texts else "programs")
        late = (
            {one: slow for one in programs if (slow := known.too_slow(key, one)) is not None}
            if known is not None and texts is None and by_inductor
            else {}
        )
        asked = [one for one in programs if one not in late]
        judged, failure = await self._judged(request, key, asked, sources, on_progress, before, texts)
        if failure is not None:
            is_late = by_inductor and failure.kind == "timeout" and all(any(m.inductor for m in one) for one in asked)
            if known is not None and is_late:
                known.took_too_long(key, asked, failure)
            return [], failure
        found = dict(zip(map(tuple, asked), judged, strict=True))
        for program, slow in late.items():
            if (left := unproven(slow, before)) is not None:
                found[program] = (left, Run())
        return [found[one] for one in programs], None

    async def _judged(
        self,
        request: CheckRequest,
        key: Key,
        programs: Sequence[tuple[Mend, ...]],
        sources: Sources,
        on_progress: OnProgress | None,
        before: Run | None,
        texts: Mapping[str, str] | None,
    ) -> tuple[list[tuple[Verdict, Run]], Failure | None]:
        if not programs:
            return [], None
        base = dict(request.texts)
        candidates = [
            candidate_of(str(number), () if texts else mends, dict(texts or combine(mends, sources)[1]), base, sources)
            for number, mends in enumerate(programs)
        ]
        for candidate, mends in zip(candidates, programs, strict=True):
            wanted = request.inductor == ("whole" if texts else "programs")
            candidate["lowered"] = any(one.inductor for one in mends)
            candidate["inductor"] = wanted and candidate["lowered"]
        _tell(on_progress, f"verifying {len(candidates)} mend{'s' * (len(candidates) != 1)} with {key[0].name}")
        whole = texts is not None
        only_safe = whole and not request.unsafe and any(one["inductor"] for one in candidates)
        accepted = await _accepted(request, key) if only_safe else None
        results, failure = await self._verify(
            request, key, candidates, before, on_progress, whole=whole, accepted=accepted
        )
        if failure is not None:
            return [], failure
        assume = await _accepted(request, key) if accepted is None else accepted
        olds = {path: sources.get(path) or "" for candidate in candidates for path in candidate["texts"]}
        written = [
            await asyncio.to_thread(declared, olds, candidate["texts"], is_named_elsewhere) for candidate in candidates
        ]
        return [
            (judge(result, mends, sources, assume, those), mended_run(result, before))
            for mends, result, those in zip(programs, (results[one["id"]] for one in candidates), written, strict=True)
        ], None

    async def beside(
        self,
        request: CheckRequest,
        key: Key,
        mends: Iterable[Mend],
        sources: Sources,
        on_progress: OnProgress | None,
        before: Run | None,
    ) -> list[tuple[Mend, Verdict]]:
        """What an entry that did not meet the breaks says of those of their mends that change what it runs.

        That nothing could be compared there says nothing.
        """
        programs = programs_of(mends)
        if not programs:
            return []
        base = dict(request.texts)
        candidates = [
            beside_of(str(number), program, combine(program, sources)[1], base)
            for number, program in enumerate(programs)
        ]
        if request.inductor != "programs":
            candidates = [WireCandidate(**{**one, "inductor": False}) for one in candidates]
        _tell(on_progress, f"verifying with {key[0].name}, which may run the mended code")
        results, _ = await self._verify(request, key, candidates, before, on_progress, reached=True)
        assume = await _accepted(request, key)
        judged = {
            number: elsewhere(judge(result, (), sources, assume), key[0].name) for number, result in results.items()
        }
        return [
            (mend, judged[str(number)])
            for number, program in enumerate(programs)
            if str(number) in judged and judged[str(number)].results != "unverified"
            for mend in program
        ]

    async def _verify(
        self,
        request: CheckRequest,
        key: Key,
        candidates: list[WireCandidate],
        before: Run | None,
        on_progress: OnProgress | None,
        *,
        reached: bool = False,
        whole: bool = False,
        accepted: Collection[str] | None = None,
    ) -> tuple[dict[str, CandidateResult], Failure | None]:
        """What the worker measured of each candidate, by its id; nothing when the original does not run.

        `whole`: it is the proof of all rounds together, which is asked for however many others took too long. With `accepted`
        only a safe verdict counts: what breaks an assumption of another kind is not compiled with inductor.
        """
        params = VerifyParams(
            entry=_spec(key[0]), texts=dict(request.texts), candidates=candidates, roots=list(request.roots),
            device=request.device, mode=key[1], limits=self._limits(1 + len(candidates)),
            before=before.counts if before else None,
        )  # fmt: skip
        if before is not None and before.ended:
            params["broken"] = broken(before)
        if accepted is not None:
            params["accepted"] = sorted(accepted)
        by_inductor = any(one.get("inductor") for one in candidates)
        if by_inductor and "zero-gradients" in await _accepted(request, key):
            params["zeros"] = True
        if reached:
            params["reached"] = True
        elif len(keys_of(request)) == 1:
            params["alone"] = True
        judged = None if reached else judged_so_far()
        if judged is None:
            return await self._measured(params, on_progress)
        known, failure = judged.recall(params)
        params["candidates"] = [one for one in candidates if one["id"] not in known]
        if failure is not None or not params["candidates"]:
            return known, failure
        if not whole and (failure := judged.given_up(params)) is not None:
            return {}, failure
        left = await self._by_inductor_alone(judged, params, on_progress) if whole else None
        results, failure = left or await self._measured(params, on_progress)
        judged.keep(params, results, failure)
        return ({**known, **results}, None) if failure is None else ({}, failure)

    async def _by_inductor_alone(
        self, judged: Judged, params: VerifyParams, on_progress: OnProgress | None
    ) -> tuple[dict[str, CandidateResult], Failure | None] | None:
        """What the worker measured of an only candidate that is verified in all ways but inductor's; None of others."""
        candidate = params["candidates"][0]
        first = judged.without_inductor(params, candidate) if candidate.get("inductor") else None
        if len(params["candidates"]) > 1 or first is None or not is_first_part(first):
            return None
        asked = VerifyParams(**{**params, "proven": True})
        asked.pop("accepted", None)
        results, failure = await self._measured(asked, on_progress)
        return {number: joined(first, one) for number, one in results.items()}, failure

    async def _measured(
        self, params: VerifyParams, on_progress: OnProgress | None
    ) -> tuple[dict[str, CandidateResult], Failure | None]:
        try:
            answer = cast(VerifyResult, await self._ask("verify", params, on_progress))
        except WorkerFailedError as error:
            return {}, error.failure
        if answer["failure"] is not None:
            return {}, failure_of(answer["failure"])
        return {one["id"]: one for one in answer["candidates"]}, None

    async def _ask(
        self, method: str, params: VerifyParams | MeasureParams, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        self._tell_begin()
        seconds = params["limits"]["seconds"]
        try:
            return await self._client.request(
                method, cast(dict[str, Any], params), seconds, lambda _kind, words: _tell(on_progress, words)
            )
        finally:
            self._tell_end()

    async def analyse(
        self, request: CheckRequest, key: Key, kind: Literal["real", "fake"], live: Live | None = None
    ) -> Run:
        """One entry under Dynamo, with data or without; `live` hears of each break. A failure is part of the run."""
        params = AnalyseParams(
            entry=_spec(key[0]), texts=dict(request.texts), roots=list(request.roots),
            device=request.device, mode=key[1], limits=self._limits(), run=kind, live=live is not None,
        )  # fmt: skip
        if request.timed and kind == "real":
            params["timed"] = True

        def heard(what: str, data: Any) -> None:
            if what == "event" and live is not None:
                live.met(key, data)

        try:
            answer = await self._client.request("analyse", cast(dict[str, Any], params), self._config.seconds, heard)
        except WorkerFailedError as error:
            return Run(failure=error.failure, kind=kind)
        run = run_of(cast(AnalyseResult, answer), kind, answer.get(CACHED) is True)
        return replace(run, failure=excused(key[0], run.failure))

    def _starts(self, words: str) -> None:
        self._on_status(replace(self._status("starting"), message=words))

    def _limits(self, programs: int = 1) -> Limits:
        return Limits(seconds=self._config.seconds * programs, memory_mb=self._config.memory_mb)

    def _tell_begin(self) -> None:
        """Say that the worker is asked for something; each call is followed by one of `_tell_end`."""
        self._asked += 1
        self._on_status(self._status("busy"))

    def _tell_end(self) -> None:
        """Say, after the last of what was asked of it, how the worker is."""
        self._asked -= 1
        if not self._asked:
            self._tell_rest()

    def _tell_rest(self) -> None:
        """Say how the worker is that nothing is asked of; it may not have been needed."""
        if (failure := self._client.not_started) is not None:
            self._on_status(WorkerStatus("failed", message=failure.words))
        else:
            running = self._client.running
            self._on_status(replace(self._status("ready" if running else "stopped"), message=self._client.words))

    def _status(self, state: Literal["starting", "busy", "ready", "stopped"]) -> WorkerStatus:
        hello = self._client.hello
        device = None if hello is None else "cuda" if hello["cuda"] else "cpu"
        return WorkerStatus(state, hello and hello["torch"], hello and hello["python"], device)


def _is_out_of_time(run: Run) -> bool:
    return run.failure is not None and run.failure.kind == "timeout"


def _is_stuck(run: Run) -> bool:
    """Whether it was out of time before the program had its inputs: with data and without, the same code runs until then."""
    return run.failure is not None and run.failure.kind == "timeout" and run.failure.stage in ("load", "entry")


def _tell(on_progress: OnProgress | None, message: str, percent: int | None = None) -> None:
    if on_progress is not None:
        on_progress(Progress(message, percent))


async def _accepted(request: CheckRequest, key: Key) -> set[str]:
    """The kinds of assumptions that the user accepts for an entry."""
    return {*request.assume, *await asyncio.to_thread(accepted_for, key[0].file)}


def _spec(entry: Entry) -> EntrySpec:
    return EntrySpec(file=entry.file, function=entry.function, kind=entry.kind)
