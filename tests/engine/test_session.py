"""What a session asks of the worker for a report, with a worker that answers from memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from graphmend_lsp.engine.ahead import Ahead, Judged, judging
from graphmend_lsp.engine.client import WorkerFailedError
from graphmend_lsp.engine.config import CheckRequest, Inductor, WorkerConfig, WorkerStatus
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.prove import prove
from graphmend_lsp.engine.runs import Run
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import (
    Break,
    Candidate,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Mend,
    Report,
    RunKind,
    Span,
    TextEdit,
)

PATH = "/p/m.py"
TEXT = "a\nb\n"
ENTRY = Entry(PATH, "graphmend_entry")
CUT = {"graphs": 1, "breaks": 0, "skipped_frames": 0, "skipped_rests": 0, "recompiles": 0, "refused": 0}
TIMED = {"first": 1.0, "warm": [0.2, 0.2], "launches": None}


class Worker:
    """Stands where the session has its worker; `asked` are the requests, every mend is good."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.beside: Mapping[str, Any] | None = (
            None  # what differs where a break was not met; None: nothing of it is run
        )
        self.hello = None
        self.not_started = None
        self.running = True
        self.words = ""

    async def request(self, method: str, params: Mapping[str, Any], seconds: float, *_: Any) -> dict[str, Any]:
        assert seconds > 0
        self.asked.append((method, params))
        if method == "analyse":
            return {
                "events": [],
                "graphs": [],
                "skipped": [],
                "calls": 1,
                "device": "cpu",
                "seconds": 0.1,
                "failure": None,
            }
        if method == "measure":
            return {"backend": "inductor", "device": "cpu", "original": TIMED, "mended": TIMED, "failure": None}
        if params.get("reached") and self.beside is None:
            return {"candidates": [], "failure": None}
        one = {
            "before": {**CUT, "graphs": 3, "breaks": 2}, "after": CUT, "outputs": "bit-equal", "gradients": "bit-equal",
            "state": "bit-equal", "effects": "equal", "rounded": [], "differences": [], "unlike_sides": [], "sides": [],
            "events": [], "graphs": [], "calls": 4, "seconds": 0.1, "failure": None, **((params.get("reached") and self.beside) or {}),
        }  # fmt: skip
        return {"candidates": [{"id": each["id"], **one} for each in params["candidates"]], "failure": None}


def mend(line: int, text: str, at: int | None = None) -> Mend:
    span = Span.of(line, 1, line, 2)
    shown = Span.of(at or line, 1, at or line, 2)
    return Mend("where", f"write {text}", PATH, shown, (TextEdit(PATH, span, text),))


def finding(line: int, *mends: Mend) -> Finding:
    span = Span.of(line, 1, line, 2)
    site = Break(PATH, span, "GB0170", "t", "r", "dynamo", entries=(ENTRY.name,), modes=("eval",))
    return Finding(site, tuple(map(Candidate, mends)))


def report(run: RunKind = "real") -> Report:
    shared = mend(1, "x")
    findings = (finding(1, shared, mend(1, "y")), finding(2, replace(shared, span=Span.of(2, 1, 2, 2)), mend(2, "z")))
    return Report("2.13.0", "3.11", "cpu", (EntryResult(ENTRY, "eval", 3, 0, (1, 1, 1), run=run),), findings)


@pytest.fixture
def session() -> Session:
    made = Session(WorkerConfig())
    made._client = Worker()  # type: ignore[assignment]
    return made


REQUEST = CheckRequest((PATH,), {PATH: TEXT})


async def test_all_candidates_are_proven_in_one_request_and_a_shared_one_once(session: Session) -> None:
    proven = await session.prove(REQUEST, report())
    [(method, params)] = session._client.asked  # type: ignore[attr-defined]
    assert method == "verify"
    assert [one["texts"][PATH] for one in params["candidates"]] == ["x\nb\n", "y\nb\n", "a\nz\n"]
    assert [[one.safety for one in each.candidates] for each in proven.findings] == [["safe", "safe"]] * 2


async def test_without_data_too_a_shared_one_is_run_once(session: Session) -> None:
    proven = await session.prove(REQUEST, report("fake"))
    asked = [params["texts"][PATH] for _, params in session._client.asked]  # type: ignore[attr-defined]
    assert asked == ["x\nb\n", "y\nb\n", "a\nz\n"]
    assert {one.safety for each in proven.findings for one in each.candidates} == {"unverified"}


@pytest.mark.parametrize(
    ("broken", "kind", "asked", "safeties"),
    [
        ({"all"}, "timeout", [3, 1, 1, 1], ["safe", "safe", "safe"]),  # it was too much at once
        ({"all", "y"}, "crash", [3, 1, 1, 1], ["safe", "unverified", "safe"]),  # one of them is to blame
        ({"all", "x", "y", "z"}, "memory", [3, 1, 1], ["unverified", "unverified", "unverified"]),
        ({"all"}, "exception", [3], ["unverified", "unverified", "unverified"]),  # the original does not run
    ],
)
async def test_a_proof_that_breaks_off_is_made_apart_and_says_why(
    session: Session, broken: set[str], kind: Any, asked: list[int], safeties: list[str]
) -> None:
    class Failing(Worker):
        async def request(self, method: str, params: Mapping[str, Any], *others: Any) -> dict[str, Any]:
            answer = await super().request(method, params, *others)
            programs = [one["texts"][PATH] for one in params["candidates"]]
            if "all" in broken if len(programs) > 1 else any(word in programs[0] for word in broken):
                raise WorkerFailedError(Failure("worker", kind, "It did not end in 9 s.", "Raise the limit."))
            return answer

    session._client = Failing()  # type: ignore[assignment]
    proven = await session.prove(REQUEST, report())
    assert [len(params["candidates"]) for _, params in session._client.asked] == asked  # type: ignore[attr-defined]
    judged = {one.mend.edits: one for finding in proven.findings for one in finding.candidates}
    assert [judged[mend(1, word).edits].safety for word in "xy"] + [judged[mend(2, "z").edits].safety] == safeties
    told = {one.verdict.reasons for one in judged.values() if one.verdict and one.safety == "unverified"}
    assert told <= {("verification stopped: It did not end in 9 s. Raise the limit.",)}
    assert bool(told) is bool(proven.failures) is ("unverified" in safeties)


async def test_what_was_only_put_off_is_not_proven_yet(session: Session) -> None:
    class Stopped(Worker):
        async def request(self, *_: Any) -> dict[str, Any]:
            raise WorkerFailedError(Failure("worker", "cancelled", "The worker was stopped.", ""))

    session._client = Stopped()  # type: ignore[assignment]
    proven = await session.prove(REQUEST, report())
    assert {one.verdict for finding in proven.findings for one in finding.candidates} == {None}


async def test_a_measurement_is_of_the_texts_that_are_given(session: Session) -> None:
    [one] = await session.measure(REQUEST, {PATH: "x\nb\n"}, [(ENTRY, "train")], "aot_eager")
    [(method, params)] = session._client.asked  # type: ignore[attr-defined]
    assert (method, params["backend"], params["mode"]) == ("measure", "aot_eager", "train")
    assert (params["texts"], params["candidates"][0]["texts"]) == ({PATH: TEXT}, {PATH: "x\nb\n"})
    assert (one.ratio, one.first_ratio, one.samples) == (1.0, 1.0, 2)


OTHER = Entry(PATH, "graphmend_entry_other")
RAISES = {"what": "exception", "where": "", "call": "call 1", "detail": "new: TypeError", "severity": "different"}


def with_other(error: Failure | None = None, run: RunKind = "real") -> Report:
    """A report in which a second entry met none of the breaks."""
    one = report()
    return replace(one, entries=(*one.entries, EntryResult(OTHER, "eval", 1, 0, (1,), error, run=run)))


@pytest.mark.parametrize(
    ("beside", "expected", "reason"),
    [
        (None, ["safe", "safe"], ""),
        ({"before": CUT}, ["safe", "safe"], ""),
        (
            {"before": CUT, "outputs": "different", "differences": [RAISES]},
            [],
            f"{OTHER.name}: exception in call 1: new",
        ),
        (
            {"before": CUT, "after": {**CUT, "graphs": 2}},
            [],
            f"{OTHER.name}: the mended program has more graph breaks (1 graphs, 0 breaks became 2, 0)",
        ),
        ({"before": CUT, "outputs": "not compared", "calls": 0}, ["safe", "safe"], ""),
    ],
)
async def test_an_entry_that_did_not_meet_a_break_has_its_say_where_it_runs_what_is_mended(
    session: Session, beside: Mapping[str, Any] | None, expected: list[str], reason: str
) -> None:
    session._client.beside = beside  # type: ignore[attr-defined]
    proven = await session.prove(REQUEST, with_other())
    (_, own), (_, other) = session._client.asked  # type: ignore[attr-defined]
    assert (own["entry"]["function"], own.get("reached")) == (ENTRY.function, None)
    assert (other["entry"]["function"], other["reached"]) == (OTHER.function, True)
    assert [one["edited"] for one in other["candidates"]] == [{PATH: [[1, 1]]}, {PATH: [[1, 1]]}, {PATH: [[2, 2]]}]
    assert [[one.safety for one in each.candidates] for each in proven.findings] == [expected] * 2
    assert all(one.reason.startswith(reason) for each in proven.findings for one in each.declined)


@pytest.mark.parametrize("one", [with_other(Failure("call", "exception", "no", "")), with_other(run="fake")])
async def test_an_entry_that_did_not_run_is_not_asked(session: Session, one: Report) -> None:
    await session.prove(REQUEST, one)
    assert len(session._client.asked) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(("loaded", "asked"), [({"/p/other.py"}, 1), ({PATH, "/p/other.py"}, 2), (set(), 2)])
async def test_an_entry_that_loaded_none_of_the_files_is_not_asked(
    session: Session, loaded: set[str], asked: int
) -> None:
    runs = {(ENTRY, "eval"): Run(), (OTHER, "eval"): Run(loaded=frozenset(loaded))}
    await session.prove(REQUEST, with_other(), runs=runs)
    assert len(session._client.asked) == asked  # type: ignore[attr-defined]


async def test_a_mend_all_asks_for_no_verdict_twice(session: Session) -> None:
    with judging(Judged()):
        first = await session.prove(REQUEST, report())
        again = await session.prove(REQUEST, report())
        assert again.findings == first.findings
        await session.prove(replace(REQUEST, texts={PATH: f"{TEXT}c\n"}), report())
    await session.prove(REQUEST, report())
    asked = [len(params["candidates"]) for _, params in session._client.asked]  # type: ignore[attr-defined]
    assert asked == [3, 3, 3]  # of other texts, and in other work, everything is asked for anew


class Slow(Worker):
    """Too slow for the requests that hold one of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words_slow = words

    async def request(self, method: str, params: Mapping[str, Any], *others: Any) -> dict[str, Any]:
        answer = await super().request(method, params, *others)
        if any(word in one["texts"][PATH] for word in self.words_slow for one in params["candidates"]):
            raise WorkerFailedError(Failure("worker", "timeout", "It did not end in 9 s.", "Raise the limit."))
        return answer


async def test_a_mend_all_begins_no_second_proof_under_inductor_where_one_took_too_long(session: Session) -> None:
    session._client = Slow("x", "y")  # type: ignore[assignment]
    slow = [replace(mend(1, word), inductor=True) for word in "xyw"]
    with judging(Judged()):
        await session.verify(REQUEST, (ENTRY, "eval"), [(slow[0],)], Sources({PATH: TEXT}), None)
        proven = await session.prove(REQUEST, replace(report(), findings=(finding(1, *slow), finding(2, mend(2, "z")))))
    asked = [
        [one["texts"][PATH] for one in params["candidates"]]
        for _, params in session._client.asked  # type: ignore[attr-defined]
    ]
    assert asked == [["x\nb\n"], ["a\nz\n"]]  # what inductor does not compile is proven all the same
    assert [[one.safety for one in each.candidates] for each in proven.findings] == [["unverified"] * 3, ["safe"]]
    assert proven.findings[0].candidates[0].verdict is not None
    assert "It did not end in 9 s." in proven.findings[0].candidates[0].verdict.reasons[0]


async def test_what_one_rule_asks_of_inductor_says_nothing_about_another_rule(session: Session) -> None:
    session._client = Slow("x", "y")  # type: ignore[assignment]
    capture, operator, both = (
        (replace(mend(1, "x"), rule="capture", inductor=True),),
        (replace(mend(1, "z"), rule="opaque", inductor=True),),
        (replace(mend(1, "y"), rule="capture", inductor=True), replace(mend(2, "w"), rule="opaque", inductor=True)),
    )
    with judging(Judged()):
        said = [
            await session.verify(REQUEST, (ENTRY, "eval"), [one], Sources({PATH: TEXT}), None)
            for one in (capture, operator, both)
        ]
    assert [failure and failure.kind for _, failure in said] == ["timeout", None, None]
    proofs = session._client.asked  # type: ignore[attr-defined]
    assert [one["texts"][PATH] for _, params in proofs for one in params["candidates"]] == ["x\nb\n", "z\nb\n"]
    assert "It did not end in 9 s." in said[2][0][0][0].reasons[0]


@pytest.mark.parametrize(("again", "proven"), [("x\nb\n", [None, True]), ("y\nb\n", [None, None])])
async def test_a_draft_of_one_round_is_compared_under_inductor_alone(
    session: Session, again: str, proven: list[bool | None]
) -> None:
    """Its round was verified in every other way, as the same text; what several rounds make together was not."""
    draft, dear = replace(REQUEST, inductor="never"), replace(mend(1, "x"), inductor=True)
    sources = Sources({PATH: TEXT})
    with judging(Judged()):
        await session.verify(draft, (ENTRY, "eval"), [(dear,)], sources, None)
        whole = replace(REQUEST, inductor="whole")
        found, failure = await session.verify(whole, (ENTRY, "eval"), [(dear,)], sources, None, None, {PATH: again})
    asked = [params for _, params in session._client.asked]  # type: ignore[attr-defined]
    assert [params.get("proven") for params in asked] == proven and failure is None
    assert found[0][0].safety == "safe" and found[0][0].calls == (8 if proven[1] else 4)


@pytest.mark.parametrize(
    ("inductor", "whole", "asked"),
    [
        ("programs", False, True), ("programs", True, False), ("never", False, False), ("never", True, False),
        ("whole", False, False), ("whole", True, True),
    ],
)  # fmt: skip
async def test_who_is_compiled_by_inductor(session: Session, inductor: Inductor, whole: bool, asked: bool) -> None:
    """A draft leaves inductor out; what its rounds make together has it, as a round has that is none of a draft."""
    request, dear = replace(REQUEST, inductor=inductor), replace(mend(1, "x"), inductor=True)
    texts = {PATH: "x\nb\n"} if whole else None
    await session.verify(request, (ENTRY, "eval"), [(dear,)], Sources({PATH: TEXT}), None, None, texts)
    await session.verify(request, (ENTRY, "eval"), [(mend(1, "y"),)], Sources({PATH: TEXT}), None, None, texts)
    told = [one["inductor"] for _, params in session._client.asked for one in params["candidates"]]  # type: ignore[attr-defined]
    assert told == [asked, False]


async def test_a_draft_that_takes_too_long_says_nothing_of_inductor(session: Session) -> None:
    session._client = Slow("x")  # type: ignore[assignment]
    draft, dear = replace(REQUEST, inductor="never"), (replace(mend(1, "x"), inductor=True),)
    with judging(Judged()):
        for request in (draft, REQUEST, REQUEST):
            await session.verify(request, (ENTRY, "eval"), [dear], Sources({PATH: TEXT}), None)
    assert len(session._client.asked) == 2  # type: ignore[attr-defined]


async def test_a_mend_all_gives_up_an_entry_whose_proofs_all_take_too_long(session: Session) -> None:
    session._client = Slow("x", "y", "z")  # type: ignore[assignment]
    with judging(Judged()):
        for word in "xyzxyz":
            _, failure = await session.verify(REQUEST, (ENTRY, "eval"), [(mend(1, word),)], Sources({PATH: TEXT}), None)
            assert failure is not None and failure.kind == "timeout"
        assert len(session._client.asked) == 3  # type: ignore[attr-defined]
        # The proof of all rounds is asked for all the same.
        await session.verify(
            REQUEST, (ENTRY, "eval"), [(mend(1, "k"),)], Sources({PATH: TEXT}), None, None, {PATH: "k\nb\n"}
        )
    assert len(session._client.asked) == 4  # type: ignore[attr-defined]


async def test_what_is_known_of_some_is_not_asked_for_beside_others(session: Session) -> None:
    whole = report()
    with judging(Judged()):
        await session.prove(REQUEST, replace(whole, findings=whole.findings[:1]))
        await session.prove(REQUEST, whole)
    asked = [
        [one["texts"][PATH] for one in params["candidates"]]
        for _, params in session._client.asked  # type: ignore[attr-defined]
    ]
    assert asked == [["x\nb\n", "y\nb\n"], ["a\nz\n"]]


@pytest.mark.parametrize("same", [True, False])
async def test_what_was_proven_ahead_is_not_proven_again(session: Session, same: bool) -> None:
    early = report() if same else replace(report(), findings=(finding(1, mend(1, "other")),))

    async def work() -> None:
        await prove(session, REQUEST, early, None, None, {})

    session._ahead = Ahead(REQUEST, work)
    session._ahead.report = early
    await asyncio.sleep(0)
    proven = await session.prove(REQUEST, report())
    assert [[one.safety for one in each.candidates] for each in proven.findings] == [["safe", "safe"]] * 2
    texts = [
        one["texts"][PATH]
        for _, params in session._client.asked  # type: ignore[attr-defined]
        for one in params["candidates"]
    ]
    assert texts[-3:] == ["x\nb\n", "y\nb\n", "a\nz\n"] and ("other\nb\n" in texts) is not same


async def test_proofs_that_are_made_ahead_end_with_their_run(session: Session) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    session._ahead = Ahead(REQUEST, work)
    await begun.wait()
    await session.check(replace(REQUEST, analysis="fake"))
    assert ended.is_set() and session._ahead is None


def test_the_worker_is_ready_when_nothing_of_what_was_asked_goes_on() -> None:
    """Proofs are made beside runs: the end of one is not the end of the other."""
    told: list[WorkerStatus] = []
    session = Session(WorkerConfig(python=sys.executable), told.append)
    session._tell_begin()
    session._tell_begin()
    session._tell_end()
    assert [one.state for one in told] == ["busy", "busy"]
    session._tell_end()
    assert [one.state for one in told][2:] == ["stopped"]
