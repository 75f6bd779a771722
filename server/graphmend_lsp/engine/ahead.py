"""What the worker measured of candidates, for as long as one piece of work goes on: nothing is asked for twice in it.

A mend-all comes to the same programs in several rounds; a save has what the real runs show proven while the runs without
data still go on. Beyond that what is known may be out of date: files that nobody has open can change (`cached_needs`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.runs import Key
from graphmend_lsp.model import Failure, Mend, Report
from graphmend_lsp.worker.wire import Candidate, CandidateResult, VerifyParams


@dataclass
class Judged:
    """Results by what was asked; and why there are none for what was asked together.

    `spent` says why no further mend is verified at all, where that is so. `_late` are the failures of the last requests about
    an entry, while all of them end for their time; `_slow` are the rules of an entry whose mends inductor did not compile in
    time, and why.
    """

    spent: Callable[[], Failure | None] = lambda: None
    _results: dict[str, CandidateResult] = field(default_factory=dict)
    _whole: dict[str, CandidateResult] = field(default_factory=dict)  # those without inductor, by the texts alone
    _failed: dict[frozenset[str], Failure] = field(default_factory=dict)
    _late: dict[str, list[Failure]] = field(default_factory=dict)
    _slow: dict[Key, list[tuple[frozenset[str], Failure]]] = field(default_factory=dict)

    def recall(self, params: VerifyParams) -> tuple[dict[str, CandidateResult], Failure | None]:
        """What is known of a request's candidates, by their ids; or the failure that all of them ended with."""
        asked = {one["id"]: _question(params, one) for one in params["candidates"]}
        if (failure := self._failed.get(frozenset(asked.values()))) is not None:
            return {}, failure
        return {
            number: {**self._results[one], "id": number} for number, one in asked.items() if one in self._results
        }, None

    def without_inductor(self, params: VerifyParams, candidate: Candidate) -> CandidateResult | None:
        """What is known of the same two programs in all ways but inductor's."""
        return self._whole.get(_texts(params, candidate))

    def given_up(self, params: VerifyParams) -> Failure | None:
        """Why the entry is asked about no further mend: all time is `spent`, or so many requests in a row ended for their own."""
        if (failure := self.spent()) is not None:
            return failure
        late = self._late.get(_program(params), [])
        return late[-1] if len(late) >= _MOST_LATE else None

    def too_slow(self, key: Key, program: Iterable[Mend]) -> Failure | None:
        """Why a program of the entry is not proven: what inductor compiles for some of its rules ended for its time before.

        What one rule asks of inductor (sizes that a tensor decides) says nothing about another (an operator of the program).
        """
        rules = _compiled_rules(program)
        return next((failure for slow, failure in self._slow.get(key, ()) if slow <= rules), None)

    def took_too_long(self, key: Key, programs: Iterable[Iterable[Mend]], failure: Failure) -> None:
        """Remember that what inductor compiles for these programs, each one of which needs it, ended for its time."""
        self._slow.setdefault(key, []).extend((_compiled_rules(program), failure) for program in programs)

    def keep(self, params: VerifyParams, results: Mapping[str, CandidateResult], failure: Failure | None) -> None:
        """Remember what came of a request: results that came to their end, failures that came of themselves."""
        asked = {one["id"]: _question(params, one) for one in params["candidates"]}
        late = self._late.setdefault(_program(params), [])
        if failure is None or failure.kind != "timeout":
            late.clear()
        else:
            late.append(failure)
        if failure is None:
            self._results |= {asked[number]: one for number, one in results.items() if one["failure"] is None}
            self._whole |= {
                _texts(params, one): results[one["id"]]
                for one in params["candidates"]
                if not one.get("inductor") and one["id"] in results and results[one["id"]]["failure"] is None
            }
        elif failure.kind != "cancelled":
            self._failed[frozenset(asked.values())] = failure


_MOST_LATE = 3
_JUDGED: ContextVar[Judged | None] = ContextVar("judged", default=None)


@contextlib.contextmanager
def judging(known: Judged | None) -> Iterator[None]:
    """In the context results are remembered, beside what is `known`; None changes nothing."""
    token = _JUDGED.set(_JUDGED.get() if known is None else known)
    try:
        yield
    finally:
        _JUDGED.reset(token)


def judged_so_far() -> Judged | None:
    """What is known, to be read and added to; None where nothing is remembered."""
    return _JUDGED.get()


def _program(params: VerifyParams) -> str:
    return json.dumps([params["entry"], params["mode"]], sort_keys=True)


def _question(params: VerifyParams, candidate: Candidate) -> str:
    """All that a candidate's result depends on, but for its number, the time that there is, and what only saves a run."""
    rest = {name: value for name, value in params.items() if name not in ("candidates", "limits", "broken")}
    return json.dumps([rest, {**candidate, "id": ""}], sort_keys=True)


def _texts(params: VerifyParams, candidate: Candidate) -> str:
    """The two programs that are compared, and how they are run."""
    how = {name: params[name] for name in ("entry", "mode", "device", "roots", "texts")}
    return json.dumps([how, candidate["texts"]], sort_keys=True)


class Ahead:
    """Proofs that are made before the report of their request is whole. `report` is what they are of, once it is there."""

    def __init__(self, request: CheckRequest, work: Callable[[], Awaitable[None]]) -> None:
        self._request = request
        self._known = Judged()
        self.report: Report | None = None
        self._task = asyncio.create_task(self._run(work))

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        with judging(self._known):
            await work()

    async def judged(self, request: CheckRequest, report: Report) -> Judged | None:
        """What they show of a report of the request; None of another. They are ended where they are of no use to it."""
        if request != self._request:
            return None
        if self.report is not None and not _mends(report) & _mends(self.report):
            await self.cancel()
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            await self.cancel()
            raise
        return self._known

    async def cancel(self) -> None:
        """End them."""
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # what it failed with is told by the proofs that are made in its place


def _mends(report: Report) -> frozenset[Mend]:
    return frozenset(candidate.mend for finding in report.findings for candidate in finding.candidates)


def _compiled_rules(program: Iterable[Mend]) -> frozenset[str]:
    return frozenset(mend.rule for mend in program if mend.inductor)
