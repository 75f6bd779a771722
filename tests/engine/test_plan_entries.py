"""Mend all over several entries: whose runs still tell where its breaks are, and which must be run again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from graphmend_lsp.engine.choice import settle
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.plan import mend_all
from graphmend_lsp.engine.programs import combine
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Mend,
    Plan,
    Report,
    Span,
    TextEdit,
    Verdict,
)

PATH, OTHER = "/p/model.py", "/p/other.py"
LONGER = "1\nlonger"


@dataclass
class Letters:
    """Files of lines. The entry of a letter breaks at the first line with it, in whichever file; `mends` tells what it may be.

    A report tells what the runs met, on the lines where they met it; nothing else does.
    """

    mends: Mapping[str, str]
    letters: str
    ran: list[str] = field(default_factory=list)  # the letter of each run that was not a proof's
    places: list[tuple[str, int]] = field(default_factory=list)  # those of the reports, one after the other
    jobs: int = 1

    def keys(self) -> dict[str, Key]:
        return {letter: (Entry(PATH, f"graphmend_entry_{letter}"), "eval") for letter in self.letters}

    def met(self, letter: str, texts: Mapping[str, str]) -> Run:
        places = [
            (path, number)
            for path, text in texts.items()
            for number, line in enumerate(text.splitlines(), 1)
            if line.startswith(letter)
        ]
        frames = [{"file": path, "line": number, "kind": "code"} for path, number in places[:1]]
        return Run(events=(cast(Any, {"frames": frames}),) if frames else ())

    async def run(self, request: CheckRequest, _on_progress: Any = None) -> dict[Key, Run]:
        self.ran += self.letters
        return {key: self.met(letter, request.texts) for letter, key in self.keys().items()}

    async def report(self, _request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
        findings, results = [], []
        for letter, key in self.keys().items():
            for event in runs[key].events:
                path, line = event["frames"][0]["file"], event["frames"][0]["line"]
                self.places.append((path, line))
                span = Span.of(line, 1, line, 2)
                site = Break(path, span, "GB0170", "t", "r", "dynamo", entries=(key[0].name,), modes=("eval",))
                mend = Mend("where", letter, path, span, (TextEdit(path, span, self.mends.get(letter, "")),))
                findings.append(Finding(site, (Candidate(mend),) if letter in self.mends else ()))
            results.append(EntryResult(*key, 1 + len(runs[key].events), 0, ()))
        return Report("2.13.0", "3.11", "cpu", tuple(results), tuple(findings))

    async def prove(self, _request: CheckRequest, report: Report, **_: Any) -> Report:
        return report

    async def beside(self, *_: Any) -> list[tuple[Mend, Verdict]]:
        return []

    async def verify(
        self,
        request: CheckRequest,
        key: Key,
        programs: Sequence[tuple[Mend, ...]],
        sources: Sources,
        _on_progress: Any,
        _before: Run | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> tuple[list[tuple[Verdict, Run]], Failure | None]:
        letter = key[0].function[-1]
        found = []
        for mends in programs:
            new = {**request.texts, **(texts or combine(mends, sources)[1])}
            runs = self.met(letter, request.texts), self.met(letter, new)
            first, then = (Counts(1 + len(one.events), len(one.events), 0) for one in runs)
            found.append((Verdict("safe", (), first, then, results="safe"), runs[1]))
        return found, None


async def mended(texts: Mapping[str, str], mends: Mapping[str, str], letters: str) -> tuple[Plan, Letters]:
    prover = Letters(mends, letters)
    return await mend_all(cast(Any, prover), CheckRequest((PATH, OTHER), dict(texts))), prover


async def test_a_break_is_told_on_the_line_that_a_mend_moved_it_to() -> None:
    plan, prover = await mended({PATH: "a\nb\n"}, {"a": LONGER}, "ab")
    assert plan.texts == {PATH: f"{LONGER}\nb\n"}
    assert [one.site.span.start.line for one in plan.after.findings] == [3]
    assert prover.ran == ["a", "b"] * 2  # before, and after the mend


async def test_entries_are_proven_as_many_at_a_time_as_there_are_workers() -> None:
    class Counting(Letters):
        now = most = 0

        async def verify(self, *arguments: Any, **more: Any) -> Any:
            Counting.now += 1
            Counting.most = max(Counting.most, Counting.now)
            await asyncio.sleep(0.01)
            Counting.now -= 1
            return await super().verify(*arguments, **more)

    plans = []
    for jobs, most in ((1, 1), (2, 2), (9, 3)):
        Counting.most = 0
        prover = Counting({"a": "1", "b": "2", "c": "3"}, "abc", jobs=jobs)
        plans.append(await mend_all(cast(Any, prover), CheckRequest((PATH,), {PATH: "a\nb\nc\n"})))
        assert Counting.most == most
    assert plans[0].texts == {PATH: "1\n2\n3\n"}
    assert plans[0] == plans[1] == plans[2]


async def test_a_mend_behind_one_that_moved_its_line_is_made_where_it_stands_now() -> None:
    class Later(Letters):
        """``b`` has a mend only once ``a`` is gone, as where it is offered for what then is a function's first break."""

        async def report(self, _request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
            report = await super().report(_request, runs)
            if any(line.startswith("a") for line in _request.texts[PATH].splitlines()):
                keep = report.findings[0]
                return replace(report, findings=(keep, *(replace(one, candidates=()) for one in report.findings[1:])))
            return report

    prover = Later({"a": LONGER, "b": "2"}, "ab")
    plan = await mend_all(cast(Any, prover), CheckRequest((PATH,), {PATH: "a\nb\nc\n"}))
    assert plan.texts == {PATH: f"{LONGER}\n2\nc\n"}
    assert plan.after.findings == ()


@pytest.mark.parametrize(
    ("texts", "again"),
    [
        ({PATH: "a\n", OTHER: "b\n"}, False),  # nothing of the other file moved
        ({PATH: "a\n", OTHER: "nothing\n"}, False),
        ({PATH: "a\nb\n", OTHER: ""}, True),
        ({PATH: "b\na\n", OTHER: ""}, True),  # what stands above stays, which nobody looks at
    ],
)
async def test_only_entries_that_broke_in_a_mended_file_are_run_again(texts: Mapping[str, str], again: bool) -> None:
    plan, prover = await mended(texts, {"a": LONGER}, "ab")
    assert plan.applied
    assert prover.ran == ["a", "b"] * (1 + again)
    stands = {(path, number) for path, text in {**texts, **plan.texts}.items() for number, line in enumerate(text.splitlines(), 1) if line[0] == "b"}  # fmt: skip
    assert {(one.site.path, one.site.span.start.line) for one in plan.after.findings} == stands


@pytest.mark.parametrize(
    ("results", "kept"), [("safe", True), ("unverified", True), ("unsafe", False), ("wrong", False)]
)
async def test_an_entry_that_met_no_break_is_asked_as_well(results: Any, kept: bool) -> None:
    class Strict(Letters):
        async def verify(self, request: CheckRequest, key: Key, *others: Any, **more: Any) -> Any:
            judged, failure = await super().verify(request, key, *others, **more)
            if key[0].function.endswith("k"):  # it runs what is mended with something else
                judged = [(replace(one, safety="wrong", results=results), run) for one, run in judged]
            return judged, failure

    prover = Strict({"a": "1"}, "ak")
    plan = await mend_all(cast(Any, prover), CheckRequest((PATH,), {PATH: "a\n"}))
    assert plan.texts == ({PATH: "1\n"} if kept else {})
    assert bool(plan.applied) == kept and (plan.verdict is not None) == kept
    assert plan.verdict is None or plan.verdict.safety == "safe"


async def test_what_an_entry_that_met_no_break_objects_to_is_left_and_the_rest_is_made() -> None:
    class Strict(Letters):
        """The entry of ``k`` runs all that is mended, and takes no mend of ``b``."""

        def takes(self, mend: Mend) -> Verdict:
            cut = Counts(1, 0, 0)
            if mend.title == "b":
                return Verdict("wrong", ("k: it raises",), cut, cut, results="wrong")
            return Verdict("safe", (), cut, cut, results="safe")

        async def beside(self, *asked: Any) -> list[tuple[Mend, Verdict]]:
            return [(mend, self.takes(mend)) for mend in asked[2] if asked[1][0].function.endswith("k")]

        async def prove(self, _request: CheckRequest, report: Report, **_: Any) -> Report:
            gained = Verdict("safe", (), Counts(2, 1, 0), Counts(1, 0, 0), results="safe")
            verdicts = {one.mend: [gained, self.takes(one.mend)] for each in report.findings for one in each.candidates}
            return replace(report, findings=tuple(settle(finding, verdicts) for finding in report.findings))

    prover = Strict({"a": "1", "b": "2"}, "abk")
    plan = await mend_all(cast(Any, prover), CheckRequest((PATH,), {PATH: "a\nb\n"}))
    assert plan.texts == {PATH: "1\nb\n"}
    assert [one.reason for each in plan.after.findings for one in each.declined] == ["k: it raises"]
