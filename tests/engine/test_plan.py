"""Mend all and the choice among candidates, over programs that are words: a break is a word, a mend another one.

``a`` breaks a graph and ``b`` stands behind it where both are in one line; the stand-in prover counts that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from graphmend_lsp.engine.ahead import Judged, judged_so_far, judging
from graphmend_lsp.engine.choice import rank, settle, taken, widest
from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.plan import mend_all
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.vain import in_vain, without
from graphmend_lsp.engine.verdicts import gains
from graphmend_lsp.model import (
    Assumption,
    Break,
    Candidate,
    Counts,
    Declined,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Frame,
    Mend,
    Progress,
    Report,
    Safety,
    Span,
    TextEdit,
    Verdict,
)

PATH = "/p/model.py"
ENTRY = Entry(PATH, "graphmend_entry")
KEY: Key = (ENTRY, "eval")


def site(line: int, column: int) -> Break:
    span = Span.of(line, column, line, column + 1)
    return Break(
        PATH, span, "GB0170", "t", "r", "dynamo", outcome="frame skipped", entries=(ENTRY.name,), modes=("eval",),
        chain=(Frame(PATH, f"line{line}", span),),
    )  # fmt: skip


def mend(line: int, column: int, text: str, rule: str = "where", **more: Any) -> Mend:
    span = Span.of(line, column, line, column + 1)
    return Mend(rule, f"write {text}", PATH, span, (TextEdit(PATH, span, text),), **more)


@dataclass
class Words:
    """A program of lines: in each the first letter of ``abc`` breaks it, and its whole line is one frame.

    `mends` say what each letter may become; ``x`` computes another result, ``u`` one that is close. ``i`` is a boundary: the
    break stays, and the frame is no longer lost. ``m`` is a message in a graph that may raise, ``b`` in a mend leaves a break, and
    ``o`` has a condition of which no call ran one side, ``v`` a caution. ``w`` is a setting for all, which no program bears, and ``z`` bears no ``a`` beside it.
    """

    text: str
    mends: Mapping[str, Sequence[str]]
    asked: list[tuple[str, ...]] = field(default_factory=list)
    dear: str = ""  # what mends that inductor must compile write
    worse: str = ""  # those of them that are wrong there
    compiled: list[str] = field(default_factory=list)  # the programs that inductor had to compile
    apart: bool = False  # whether the letters of a line are breaks of statements of their own
    jobs: int = 1

    def counts(self, text: str) -> Counts:
        lines = text.splitlines()
        broken = sum(any(letter in line for letter in "abci") for line in lines)
        lost = sum(any(letter in line for letter in "abc") and "i" not in line for line in lines)
        return Counts(len(lines) - lost, broken, lost)

    async def run(self, _request: CheckRequest, _on_progress: Any = None) -> dict[Key, Run]:
        return {}

    async def report(self, request: CheckRequest, _runs: Mapping[Key, Run]) -> Report:
        text = request.texts[PATH]
        findings = []
        for number, line in enumerate(text.splitlines(), 1):
            at = next((at for at, letter in enumerate(line, 1) if letter in "abc"), None)
            if at is not None:
                offered = [
                    mend(
                        number,
                        at,
                        word,
                        {"i": "isolate", "m": "message", "w": "capture"}.get(word, "where"),
                        inductor=word in self.dear,
                        conditions=((PATH, Span.of(number, at, number, at + 1)),) if word == "o" else (),
                        cautions=("may differ",) if word == "v" else (),
                    )
                    for word in self.mends.get(line[at - 1], ())
                ]
                here = site(number + 100 * at if self.apart else number, at)
                lost = Frame(PATH, f"line{number}", here.span)
                met = replace(here, outcome="unknown" if "i" in line else "frame skipped", chain=(lost,))
                findings.append(Finding(met, tuple(map(Candidate, offered))))
        cut = self.counts(text)
        result = EntryResult(ENTRY, "eval", cut.graphs, cut.skipped_frames, ())
        return Report("2.13.0", "3.11", "cpu", (result,), tuple(findings))

    async def prove(self, request: CheckRequest, report: Report, on_progress: Any = None, **_: Any) -> Report:
        programs = programs_of([one.mend for finding in report.findings for one in finding.candidates])
        sources = Sources(request.texts)
        judged, _ = await self.verify(request, KEY, programs, sources, on_progress)
        verdicts = {one: [verdict] for program, (verdict, _) in zip(programs, judged, strict=True) for one in program}
        return replace(report, findings=tuple(settle(finding, verdicts) for finding in report.findings))

    async def verify(
        self,
        request: CheckRequest,
        _key: Key,
        programs: Sequence[tuple[Mend, ...]],
        sources: Sources,
        on_progress: Any,
        _before: Run | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> tuple[list[tuple[Verdict, Run]], Failure | None]:
        if on_progress:
            on_progress(Progress("proving"))
        old = request.texts[PATH]
        found = []
        for mends in programs:
            new = (texts or combine(mends, sources)[1])[PATH]
            self.asked.append((old, new))
            is_dear = request.inductor == ("whole" if texts else "programs") and any(one.inductor for one in mends)
            self.compiled += [new] if is_dear else []
            is_wrong = set("xw") & set(new) or set("az") <= set(new) or (is_dear and set(self.worse) & set(new))
            results: Safety = (
                "wrong" if is_wrong else "unsafe" if set("umv" if texts else "umvo") & set(new) else "safe"
            )
            assumes = (Assumption("raised-between"),) if "m" in new else ()
            first, then = self.counts(old), self.counts(new)
            safety = results if gains(first, then) else "wrong"
            unreached = tuple((span, True) for one in mends for _, span in one.conditions)
            judged = Verdict(
                safety,
                ("as told",),
                first,
                then,
                effects="equal",
                unreached=unreached,
                results=results,
                assumes=assumes,
            )
            found.append((judged, Run()))
        return found, None


MENDS = {"a": "1", "b": "2"}


async def mended(
    text: str, mends: Mapping[str, Sequence[str]], apart: bool = False, **more: Any
) -> tuple[str, Any, Words]:
    words = Words(text, mends, apart=apart)
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: text}, **more))
    return plan.texts.get(PATH, text), plan, words


@pytest.mark.parametrize(
    ("text", "mends", "after", "applied"),
    [
        ("a\nk\n", {"a": "1"}, "1\nk\n", 1),
        ("a\nb\n", {"a": "1", "b": "2"}, "1\n2\n", 2),
        ("a\n", {"a": "x"}, "a\n", 0),
        ("a\n", {"a": "u"}, "a\n", 0),
        ("a\n", {"a": "x1"}, "1\n", 1),  # the first candidate fails: the second is tried
        ("a\n", {"a": "xi"}, "i\n", 1),  # also where it is a boundary
        ("ab\n", {"a": "1i", "b": "2"}, "12\n", 2),  # which is made when nothing else is left
        ("ab\n", {"a": "1i", "b": "x"}, "ib\n", 1),  # also where the others lead nowhere
        ("abc\n", {"a": "1i", "b": "2", "c": "x"}, "ibc\n", 1),
        ("abc\n", {"a": "1", "b": "2i", "c": "x"}, "1ic\n", 2),
        ("ab\nc\n", {"a": "1i", "b": "x", "c": "3"}, "ib\n3\n", 2),
        ("ac\nab\n", {"a": "1i", "b": "2", "c": "x"}, "ic\n12\n", 3),  # and lead somewhere in another function
        ("ac\nab\n", {"a": "1", "b": "2", "c": "x"}, "ac\n12\n", 2),
        ("a\nb\n", {"a": "xu1", "b": "2"}, "1\n2\n", 2),
        ("ab\n", {"a": "1", "b": "2"}, "12\n", 2),  # one behind the other in one frame
        ("abc\nk\n", {"a": "1", "b": "2", "c": "3"}, "123\nk\n", 3),
        ("ab\n", {"a": "1"}, "ab\n", 0),  # nothing mends what stands behind: taken back
        ("ab\nc\n", {"a": "1", "c": "3"}, "ab\n3\n", 1),  # safe together, but the first gains nothing
        ("ab\n", {"a": "1", "b": "x"}, "ab\n", 0),
    ],
)
async def test_mend_all(text: str, mends: Mapping[str, Sequence[str]], after: str, applied: int) -> None:
    new, plan, _ = await mended(text, mends)
    assert new == after
    assert len(plan.applied) == applied
    assert all(one.safety == "safe" for one in plan.applied)
    assert (plan.verdict.safety if plan.verdict else None) == ("safe" if applied else None)
    assert plan.old == ({PATH: text} if applied else {})


@pytest.mark.parametrize(("within", "after"), [("/p", "1\n"), (PATH, "1\n"), ("/q", "a\n"), ("/p/mod", "a\n")])
async def test_only_what_is_asked_for_is_mended(within: str, after: str) -> None:
    assert (await mended("a\n", {"a": "1"}, within=within))[0] == after


async def test_a_mend_that_gains_nothing_in_a_lost_function_says_so() -> None:
    for apart, why in ((True, "keeps the whole function uncompiled"), (False, "follows in the same statement")):
        new, plan, _ = await mended("ac\nb\n", MENDS, apart)
        assert new == "ac\n2\n"
        [left] = plan.after.findings
        assert not left.candidates
        [declined] = left.declined
        assert (declined.rule, declined.reason.startswith(f"Another graph break {why}")) == ("where", True)


async def test_mends_in_a_function_that_stays_lost_are_kept_where_they_are_of_use() -> None:
    """A run with the function as it was shows that; no search without them begins."""

    class Functions(Words):
        async def report(self, request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
            report = await super().report(request, runs)
            lines = request.texts[PATH].splitlines()

            def in_function(one: Finding) -> Finding:
                before = lines[: one.site.span.start.line]
                name = next(each for each in reversed(before) if each.startswith("def "))[4:-3]
                chain = (Frame(PATH, name, one.site.span),)
                return replace(one, site=replace(one.site, chain=chain))

            return replace(report, findings=tuple(map(in_function, report.findings)))

    words = Functions("def g():\n    b\ndef h():\n    a\n    c\n", {"a": "1", "b": "2"})
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))
    assert plan.texts[PATH].split() == ["def", "g():", "2", "def", "h():", "1", "c"]
    assert plan.verdict is not None and plan.verdict.safety == "safe"
    assert len(words.asked) == 1


async def test_what_is_unsafe_is_mended_when_that_is_asked_for() -> None:
    new, plan, _ = await mended("a\n", {"a": "u"}, unsafe=True)
    assert (new, [one.safety for one in plan.applied]) == ("u\n", ["unsafe"])


async def test_what_is_known_to_be_unsafe_is_not_verified_and_says_why() -> None:
    new, plan, words = await mended("a\nb\nc\n", {"a": "o", "b": "v", "c": "3"})
    assert new == "a\nb\n3\n" and not any("v" in one for _, one in words.asked)
    unseen, cautious = (one for finding in plan.after.findings for one in finding.candidates)
    assert unseen.verdict.reasons == ("no call made `a` True, so that side did not run",) and unseen.verdict.unreached
    assert cautious.verdict.reasons == ("may differ",)
    assert (unseen.safety, cautious.safety, cautious.verdict.calls) == ("unsafe", "unsafe", 0)
    for text, after in (("v\n", "v\n"), ("o\n", "o\n")):
        assert (await mended("a\n", {"a": text[0]}, unsafe=True))[0] == after


async def test_what_was_unsafe_alone_is_not_judged_again_for_a_mend_of_another_function() -> None:
    words = Words("a\nc\n", {"a": "u", "c": "3"})
    await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))
    asked = [new.count("u") for _, new in words.asked]
    assert asked[:4] == [1, 1, 0, 0]  # both, each alone, the one that is made
    assert words.asked[-1] == ("a\n3\n", "u\n3\n")  # both stand in the module
    functions = Words("def f():\n    a\n\n\ndef g():\n    c\n", {"a": "u", "c": "3"})
    plan = await mend_all(cast(Any, functions), CheckRequest((PATH,), {PATH: functions.text}))
    assert [new.count("u") for _, new in functions.asked] == [1, 1, 0, 0]
    [left] = [one for finding in plan.after.findings for one in finding.candidates]
    assert left.verdict is not None and left.safety == "unsafe"


async def test_a_chain_whose_end_is_unsafe_is_taken_back_as_a_whole() -> None:
    new, plan, _ = await mended("ab\n", {"a": "1", "b": "u"})
    assert (new, plan.applied) == ("ab\n", ())
    assert plan.after.findings[0].behind  # and the first break says why


async def test_a_boundary_that_gains_nothing_is_not_made_in_hope() -> None:
    class Bounded(Words):
        async def report(self, *others: Any) -> Report:
            report = await super().report(*others)
            return replace(
                report,
                findings=tuple(replace(one, candidates=tuple(map(bounded, one.candidates))) for one in report.findings),
            )

    def bounded(candidate: Candidate) -> Candidate:
        return replace(candidate, mend=replace(candidate.mend, rule="isolate"))

    for words, texts in ((Words("ab\n", MENDS), {PATH: "12\n"}), (Bounded("ab\n", MENDS), {})):
        assert (await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))).texts == texts


async def test_rounds_that_are_not_safe_together_are_taken_back() -> None:
    class Forgetful(Words):
        async def verify(self, request: CheckRequest, *others: Any, **more: Any) -> Any:
            judged, failure = await super().verify(request, *others, **more)
            whole = len(others) > 5 and others[5] is not None
            return [(replace(v, safety="wrong") if whole else v, run) for v, run in judged], failure

    words = Forgetful("ab\nc\n", {"a": "1", "b": "2", "c": "3"})
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))
    assert plan.texts == {PATH: "ab\n3\n"}  # the first round alone
    assert plan.verdict is not None and plan.verdict.safety == "safe"


async def test_a_later_mend_is_told_at_its_line_of_the_original() -> None:
    _, plan, _ = await mended("k\nab\n", {"a": ["0\n1"], "b": ["2"]})
    assert plan.texts == {PATH: "k\n0\n12\n"}
    assert [one.mend.span.start.line for one in plan.applied] == [2, 2]


async def test_nothing_is_proven_twice() -> None:
    _, _, words = await mended("ab\n", {"a": "1", "b": "2"})
    assert len(words.asked) == len(set(words.asked)) == 3  # each round, and all of it


@pytest.mark.parametrize(
    ("mends", "after", "asked"),
    [
        ({"a": "m1", "c": "3"}, "1\n3\n", ["m\n3\n", "1\n3\n"]),  # the next candidate, together with the others
        ({"a": "m", "c": "3"}, "a\n3\n", ["m\n3\n", "a\n3\n", "m\n3\n"]),  # without it; alone in a round of its own
        ({"a": "mb1", "c": "3"}, "1\n3\n", ["m\n3\n", "b\n3\n", "1\n3\n"]),  # not one that leaves its break
        ({"a": "o1", "c": "3"}, "1\n3\n", ["o\n3\n", "1\n3\n"]),
        ({"a": "o", "c": "3"}, "a\n3\n", ["o\n3\n", "a\n3\n"]),  # no call will show that side
        ({"a": "v", "c": "3"}, "a\n3\n", ["a\n3\n"]),  # what says itself that it may differ
        ({"a": "v1", "c": "3"}, "1\n3\n", ["1\n3\n"]),
    ],
)
async def test_a_mend_that_leaves_something_open_makes_way(
    mends: Mapping[str, Sequence[str]], after: str, asked: list[str]
) -> None:
    new, plan, words = await mended("a\nc\n", mends)
    assert new == after and plan.verdict is not None and plan.verdict.safety == "safe"
    assert [new for _, new in words.asked[: len(asked)]] == asked
    assert len(words.asked) == len(asked)  # no candidate was judged alone


@pytest.mark.parametrize(
    ("mends", "after", "asked"),
    [
        ({"a": "w1", "c": "3", "b": "2"}, "1\n3\n2\n", ["w\n3\n2\n", "1\n3\n2\n"]),
        ({"a": "w1", "c": "x3", "b": "i"}, "1\n3\ni\n", None),  # by itself, at last
        ({"a": "wi", "c": "3", "b": "2"}, "i\n3\n2\n", ["w\n3\n2\n", "a\n3\n2\n"]),  # without it, the boundary later
        ({"a": "wi", "c": "z3", "b": "2"}, "i\nz\n2\n", ["w\nz\n2\n", "a\nz\n2\n", "i\nz\n2\n"]),  # with it
    ],
)
async def test_mends_of_their_own_lines_are_verified_together_where_a_setting_is_in_the_way(
    mends: Mapping[str, Sequence[str]], after: str, asked: list[str] | None
) -> None:
    new, plan, words = await mended("a\nc\nb\n", mends)
    assert new == after and plan.verdict is not None and plan.verdict.safety == "safe"
    assert asked is None or [new for _, new in words.asked[: len(asked)]] == asked


async def test_what_inductor_must_compile_is_verified_behind_the_others() -> None:
    words = Words("a\nc\n", {"a": "1", "c": "3"}, dear="1")
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "a\nc\n"}))
    assert plan.texts == {PATH: "1\n3\n"}
    assert [new for _, new in words.asked] == ["a\n3\n", "1\n3\n", "1\n3\n"]  # the last: both rounds together
    assert words.compiled == ["1\n3\n"]


async def test_inductor_compiles_what_all_rounds_make_once() -> None:
    words = Words("ab\nb\nc\n", {"a": "1", "b": "2", "c": "3"}, dear="12")
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))
    assert plan.texts == {PATH: "12\n2\n3\n"} and words.compiled == ["12\n2\n3\n"]
    dear = [one for one in plan.applied if one.mend.inductor]
    assert len(dear) == 3 and all(one.verdict is plan.verdict for one in dear)


@pytest.mark.parametrize("dear", ["", "o", "2"])
async def test_a_side_that_no_call_reached_in_one_round_is_told_of_all_rounds(dear: str) -> None:
    """The verdict on the whole watches no conditions, so what a round leaves open stays open."""
    words = Words("ab\nk\nk\nac\n", {"a": "o", "b": "2", "c": "3"}, dear=dear)
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}, unsafe=True))
    assert plan.texts == {PATH: "o2\nk\nk\no3\n"}
    assert plan.verdict is not None and (plan.verdict.safety, plan.verdict.results) == ("unsafe", "unsafe")
    assert plan.verdict.unreached
    assert all(one.safety == "unsafe" for one in plan.applied if one.mend.conditions)


async def test_an_only_break_is_no_draft() -> None:
    words = Words("a\nk\n", {"a": "1"}, dear="1")
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}))
    assert plan.texts == {PATH: "1\nk\n"} and [new for _, new in words.asked] == words.compiled == ["1\nk\n"]


@pytest.mark.parametrize(
    ("text", "mends", "after"),
    [
        ("a\nb\nc\n", {"a": "1", "b": "2", "c": "3"}, "1\nb\n3\n"),
        ("a\nb\nc\n", {"a": "1", "b": "24", "c": "3"}, "1\n4\n3\n"),  # another mend of the same break
        ("b\nbb\n", {"b": "2"}, "b\nbb\n"),
    ],
)
async def test_a_draft_that_is_wrong_under_inductor_is_made_again(
    text: str, mends: Mapping[str, Sequence[str]], after: str
) -> None:
    words = Words(text, mends, dear="12", worse="2")
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: text}))
    assert plan.texts.get(PATH, text) == after
    assert plan.verdict is None or plan.verdict.safety == "safe"
    left = [one for finding in plan.after.findings for one in finding.candidates if one.mend.inductor]
    assert not any(one.safety == "safe" for one in left)


@pytest.mark.parametrize(
    ("text", "mends", "after", "compiled"),
    [
        ("ab\na\n", {"a": "1", "b": "2i"}, "1i\n1\n", ["12\n1\n", "1b\n1\n"]),
        ("ab\na\nc\n", {"a": "1", "b": "2i", "c": "3"}, "1i\n1\n3\n", ["12\n1\n3\n", "1b\n1\n3\n"]),
    ],
)
async def test_of_a_draft_that_is_not_safe_what_comes_last_is_left_out(
    text: str, mends: Mapping[str, Sequence[str]], after: str, compiled: list[str]
) -> None:
    words = Words(text, mends, dear="12", worse="2")
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: text}))
    assert plan.texts.get(PATH, text) == after and words.compiled[: len(compiled)] == compiled
    assert plan.verdict is not None and plan.verdict.safety == "safe"


async def test_what_is_left_out_of_a_draft_says_why() -> None:
    words = Words("a\nb\n", {"a": "1", "b": "2i"})
    request = CheckRequest((PATH,), {PATH: words.text})
    report = await words.report(request, {})
    sources = Sources(request.texts)
    vain = in_vain(report, [report.findings[1].candidates[0]], (), sources, "Together they are unsafe.")
    first, second = (without(one, vain, sources) for one in report.findings)
    assert first == report.findings[0]
    assert [one.mend.rule for one in second.candidates] == ["isolate"]
    assert second.declined == (Declined("where", "Together they are unsafe."),)


async def test_hope_is_given_up_once() -> None:
    _, plan, words = await mended("abc\n", {"a": "1i", "b": "2i", "c": "x"})
    assert plan.texts == {PATH: "1ic\n"}  # the last second choice first
    assert words.asked.count(("12c\n", "12x\n")) == 1


async def test_progress_is_told_for_each_round() -> None:
    told: list[str] = []
    words = Words("ab\n", {"a": "1", "b": "2"})
    await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "ab\n"}), lambda step: told.append(step.message))
    assert told[0] == "round 1, 1 graph break left: proving"
    assert any(one.startswith("round 2, 1 graph break left") for one in told)


def test_a_cancelled_mend_all_gives_nothing() -> None:
    async def work() -> None:
        words = Words("a\n", {"a": "1"})
        begun = asyncio.Event()

        async def forever(*_: Any, **__: Any) -> Any:
            begun.set()
            await asyncio.sleep(3600)

        words.verify = forever  # type: ignore[method-assign]
        task = asyncio.create_task(mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "a\n"})))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


class Slow(Words):
    """Each verdict after the first `quick` takes for ever."""

    quick = 1

    async def verify(self, *arguments: Any, **more: Any) -> Any:
        if len(self.asked) >= self.quick:
            await asyncio.sleep(3600)
        return await super().verify(*arguments, **more)


FAR = Entry("/t/far.py", "graphmend_entry")


class Beside(Words):
    """Another entry, which loads these files and whose mended program does not come to an end."""

    loaded: frozenset[str] = frozenset()

    async def run(self, _request: CheckRequest, _on_progress: Any = None) -> dict[Key, Run]:
        return {KEY: Run(loaded=frozenset([PATH])), (FAR, "eval"): Run(loaded=self.loaded)}

    async def report(self, request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
        report = await super().report(request, runs)
        return replace(report, entries=(*report.entries, EntryResult(FAR, "eval", 1, 0, ())))

    async def verify(self, request: CheckRequest, key: Key, *arguments: Any, **more: Any) -> Any:
        if key[0] == FAR:
            return [], Failure("compare", "timeout", "It took too long.", "")
        return await super().verify(request, key, *arguments, **more)

    async def beside(self, *_: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("loaded", "text"),
    [(["/t/far.py"], "12\n"), (["/t/far.py", PATH], "1b\n"), ([], "1b\n")],
    ids=["none of what is mended", "what is mended", "nobody knows what"],
)
async def test_an_entry_that_fails_costs_only_the_mends_of_what_it_loads(loaded: list[str], text: str) -> None:
    words = Beside("ab\n", MENDS)
    words.loaded = frozenset(loaded)
    words.counts = lambda text: Counts(1 + sum(map(text.count, "ab")), sum(map(text.count, "ab")), 0)  # type: ignore[method-assign]
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "ab\n"}))
    assert plan.texts == {PATH: text}


@pytest.mark.parametrize(
    ("quick", "texts"),
    [(0, {}), (1, {PATH: "1b\n"}), (2, {PATH: "1b\n"}), (9, {PATH: "12\n"})],
    ids=["none", "a round", "two rounds, not proven together", "all"],
)
async def test_when_its_time_is_over_a_mend_all_gives_what_is_proven(quick: int, texts: dict[str, str]) -> None:
    words = Slow("ab\n", MENDS)
    words.quick = quick
    words.counts = lambda text: Counts(1 + sum(map(text.count, "ab")), sum(map(text.count, "ab")), 0)  # type: ignore[method-assign]
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "ab\n"}), seconds=0.3)
    assert plan.texts == texts
    assert plan.stopped_after == (None if quick == 9 else 0.3)
    assert (plan.verdict is None) == (not texts)


class Steady(Words):
    """A verdict takes more than half of the time."""

    async def verify(self, *arguments: Any, **more: Any) -> Any:
        await asyncio.sleep(0.7)
        return await super().verify(*arguments, **more)


async def test_where_nothing_is_left_no_time_is_short() -> None:
    words = Steady("a\n", MENDS)
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "a\n"}), seconds=1.2)
    assert (plan.texts, plan.stopped_after) == ({PATH: "1\n"}, None)


async def test_no_time_is_kept_for_the_proof_of_one_round() -> None:
    """It has a verdict already; the second round ends in the second half of the time, and both are proven together behind it."""
    words = Steady("ab\n", {"a": ["1"], "b": ["x", "2"]})
    words.counts = lambda text: Counts(1 + sum(map(text.count, "ab")), sum(map(text.count, "ab")), 0)  # type: ignore[method-assign]
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "ab\n"}), seconds=4.0)
    assert (plan.texts, plan.stopped_after) == ({PATH: "12\n"}, None)


async def test_no_time_is_kept_for_the_proof_of_rounds_that_gained_nothing() -> None:
    """The mend of `a` is made in hope: it is of use with that of `b` alone, which shows behind it."""
    words = Steady("ab\n", MENDS)
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "ab\n"}), seconds=2.6)
    assert len(words.asked) >= 3
    assert (plan.texts, plan.stopped_after) == ({PATH: "12\n"}, None)


class Later(Words):
    """Each verdict takes 0.5 seconds."""

    async def verify(self, *arguments: Any, **more: Any) -> Any:
        await asyncio.sleep(0.5)
        return await super().verify(*arguments, **more)


async def test_rounds_that_take_their_share_of_the_time_leave_the_rest_to_inductor() -> None:
    """The third round does not end in the first half of the time; the two before it are compiled as a whole in the second."""
    words = Later("abc\nb\n", {"a": "1", "b": "2", "c": "3"}, dear="123")
    words.counts = lambda text: Counts(1 + sum(map(text.count, "abc")), sum(map(text.count, "abc")), 0)  # type: ignore[method-assign]
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}), seconds=2.6)
    assert (plan.texts, plan.stopped_after) == ({PATH: "12c\n2\n"}, 2.6)
    assert words.compiled == ["12c\n2\n"] and plan.verdict is not None and plan.verdict.safety == "safe"


async def test_what_is_known_against_a_mend_is_told_when_the_time_is_over() -> None:
    words = Slow("a\n", {"a": "u1"})
    plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: "a\n"}), seconds=0.3)
    (finding,) = plan.after.findings
    assert [(one.mend.edits[0].text, one.safety) for one in finding.candidates] == [
        ("1", "unverified"),
        ("u", "unsafe"),
    ]


class Tired(Words):
    """The first run takes `first` seconds and each verdict 0.3; it asks whether to go on, as the session does."""

    first = 0.05

    async def run(self, _request: CheckRequest, _on_progress: Any = None) -> dict[Key, Run]:
        return {KEY: Run(seconds=self.first)}

    async def verify(self, *arguments: Any, **more: Any) -> Any:
        judged = judged_so_far()
        assert judged is not None
        if (failure := judged.spent()) is not None:
            return [], failure
        await asyncio.sleep(0.3)
        return await super().verify(*arguments, **more)

    async def prove(self, request: CheckRequest, report: Report, on_progress: Any = None, **more: Any) -> Report:
        _, failure = await self.verify(request, KEY, [], Sources(request.texts), on_progress)
        if failure is not None:
            return replace(report, failures=(failure,))
        return await super().prove(request, report, on_progress, **more)


@pytest.mark.parametrize(
    ("mends", "first", "seconds", "text", "asked", "stopped"),
    [
        ({"a": ["x", "1"]}, 0.05, None, "a\n", 1, 0.2),
        ({"a": ["1"], "b": ["x", "2"]}, 0.05, None, "12\n", None, None),  # two rounds
        ({"a": ["x", "1"]}, 60.0, None, "1\n", None, None),
        ({"a": ["x", "1"]}, 0.05, 30.0, "1\n", None, None),
    ],
    ids=[
        "nothing is verified",
        "the first is, however late",
        "the first run is slow, too",
        "a limit of the user's own",
    ],
)
async def test_a_search_that_verifies_nothing_in_four_times_the_first_run_ends(
    mends: Any, first: float, seconds: float | None, text: str, asked: int | None, stopped: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("graphmend_lsp.engine.plan._LEAST_PATIENCE", 0.1)
    words = Tired("ab\n" if "b" in mends else "a\n", mends)
    words.first = first
    words.counts = lambda text: Counts(1 + sum(map(text.count, "ab")), sum(map(text.count, "ab")), 0)  # type: ignore[method-assign]
    with judging(Judged()):
        plan = await mend_all(cast(Any, words), CheckRequest((PATH,), {PATH: words.text}), seconds=seconds)
    assert plan.texts == ({PATH: text} if text != words.text else {})
    assert asked is None or len(words.asked) == asked
    assert plan.stopped_after == stopped
    assert plan.after.failures == ()


async def test_one_mend_of_two_breaks_is_proven_and_counted_once() -> None:
    shared = mend(1, 1, "1")
    other = replace(shared, span=Span.of(2, 1, 2, 2))  # the same edits, offered at another break

    class Shared(Words):
        async def report(self, request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
            report = await super().report(request, runs)
            if request.texts[PATH] != self.text:
                return replace(report, findings=())
            findings = (Finding(site(1, 1), (Candidate(shared),)), Finding(site(2, 1), (Candidate(other),)))
            return replace(report, findings=findings)

    words = Shared("a\n", {})
    request = CheckRequest((PATH,), {PATH: "a\n"})
    proven = await words.prove(request, await words.report(request, {}))
    assert [one.safety for finding in proven.findings for one in finding.candidates] == ["safe", "safe"]
    assert len(words.asked) == 1
    plan = await mend_all(cast(Any, words), request)
    assert plan.texts == {PATH: "1\n"}
    assert [one.mend for one in plan.applied] == [shared]


def verdict(safety: Safety, graphs: int = 1, skipped: int = 0, **more: Any) -> Verdict:
    likeness: Any = {"outputs": "bit-equal", "gradients": "bit-equal", "state": "bit-equal", "effects": "equal"}
    return Verdict(safety, (), Counts(4, 2, 1), Counts(graphs, 0, skipped), **{**likeness, **more}, results=safety)


LONG = replace(mend(1, 1, "1\n2\n3\n4"), rule="guard")
SHORT = replace(mend(1, 1, "1"), rule="where")
SECOND = replace(mend(1, 1, "1"), rule="cond")
BOUNDARY = replace(mend(1, 1, "1"), rule="isolate")
TELLS = replace(mend(1, 1, "2"), changes=("said later",))


@pytest.mark.parametrize(
    ("candidates", "first"),
    [
        ([(LONG, verdict("unsafe")), (SHORT, verdict("safe", graphs=3))], SHORT),  # safe before what saves more
        ([(SHORT, verdict("safe", graphs=3)), (LONG, verdict("safe", graphs=1))], LONG),  # what saves more graphs
        ([(SECOND, verdict("safe", graphs=1)), (LONG, verdict("safe", graphs=3))], LONG),  # a first choice before that
        ([(LONG, verdict("unsafe")), (SECOND, verdict("safe"))], SECOND),
        ([(BOUNDARY, verdict("safe")), (SECOND, verdict("safe"))], SECOND),
        ([(SHORT, verdict("safe", skipped=1)), (LONG, verdict("safe", graphs=3))], LONG),  # a frame counts for more
        ([(SHORT, verdict("unsafe", outputs="close")), (LONG, verdict("unsafe"))], LONG),  # bit-equal before close
        ([(SHORT, verdict("safe", effects="moved")), (LONG, verdict("safe"))], LONG),  # nothing moved before moved
        ([(TELLS, verdict("safe")), (SHORT, verdict("safe"))], SHORT),  # nothing to tell before something
        ([(LONG, verdict("safe")), (SHORT, verdict("safe"))], SHORT),  # the smaller edit
        ([(SHORT, verdict("safe")), (replace(SHORT, rule="mask"), verdict("safe"))], SHORT),  # as the rules come
    ],
)
def test_the_order_of_candidates(candidates: list[tuple[Mend, Verdict]], first: Mend) -> None:
    finding = Finding(site(1, 1), tuple(Candidate(one) for one, _ in candidates))
    settled = settle(finding, {one: [judged] for one, judged in candidates})
    assert settled.candidates[0].mend == first
    assert len(settled.candidates) == len(candidates)


def test_a_mend_that_ends_the_break_is_taken_before_a_boundary_around_it() -> None:
    boundary = Candidate(mend(1, 1, "x", "isolate"), verdict("safe", skipped=1))
    ending = Candidate(mend(1, 1, "y", "rows"), verdict("unsafe"))
    finding = Finding(site(1, 1), (boundary, ending))
    assert taken(finding, ("safe", "unsafe")) == (ending,)
    assert taken(finding, ("safe",)) == (boundary,)
    assert taken(replace(finding, candidates=(ending,)), ("safe",)) == ()


def test_the_operator_that_holds_most_breaks_is_the_widest() -> None:
    def held(line: int, last: int, **more: Any) -> Candidate:
        return Candidate(mend(line, 1, "o", "opaque", regions=((PATH, Span.of(line, 1, last, 9)),), **more))

    one, two, other = held(1, 1), held(1, 2), held(2, 4)
    findings = [Finding(site(line, 1), given) for line, given in ((1, (one, two)), (2, (other,)), (3, ()), (4, ()))]
    assert widest(findings) == other
    assert widest(findings[:2]) == two
    assert widest(findings[:1]) is None, "a break alone"
    doubted = held(1, 9, cautions=("may differ",))
    assert widest([*findings, Finding(site(4, 1), (doubted,))]) == other


def test_an_operator_holds_the_breaks_of_what_its_statements_call() -> None:
    called = ("/t/other.py", Span.of(5, 1, 9, 1))
    one = Candidate(mend(1, 1, "o", "opaque", regions=((PATH, Span.of(1, 1, 1, 9)), called)))
    inside = replace(site(7, 1), path="/t/other.py")
    behind = replace(site(40, 1), path="/t/third.py", chain=(Frame(PATH, "fn", Span.of(1, 2, 1, 4)),))
    first = Finding(site(1, 1), (one,))
    assert widest([first, Finding(inside, ())]) == widest([first, Finding(behind, ())]) == one
    assert widest([first, Finding(replace(inside, path="/t/third.py"), ())]) is None


def test_what_is_saved_in_all_entries_counts() -> None:
    twice, once = Candidate(LONG, verdict("safe", graphs=2)), Candidate(SHORT, verdict("safe", graphs=1))
    several = [verdict("safe", graphs=2), verdict("safe", graphs=1)]
    assert rank(twice, several) < rank(once, [verdict("safe", graphs=1)])


def test_a_wrong_mend_is_a_decline_and_one_with_a_break_behind_it_is_kept_for_mending_all() -> None:
    wrong = replace(verdict("wrong"), reasons=("outputs differ",))
    idle = Verdict("wrong", ("cut as before",), Counts(0, 1, 1), Counts(0, 1, 1), results="safe")
    none_left = replace(idle, after=Counts(0, 0, 1))
    finding = Finding(site(1, 1), tuple(map(Candidate, (LONG, SHORT, TELLS))))
    settled = settle(finding, {LONG: [wrong], SHORT: [idle], TELLS: [none_left]})
    assert settled.candidates == ()
    assert [(one.rule, one.reason) for one in settled.declined] == [
        ("guard", "outputs differ"), ("where", "cut as before"),
    ]  # fmt: skip
    assert [one.mend for one in settled.behind] == [SHORT]


@pytest.mark.parametrize(
    ("text", "after", "applied"),
    [
        ("ac\na\n", "ac\n1\n", 1),  # what follows in the line has no mend
        ("ab\na\n", "12\n1\n", 3),
        ("ac\nac\n", "ac\nac\n", 0),
        ("acb\nkk\na\nac\n", "acb\nkk\n1\nac\n", 1),
    ],
)
async def test_a_mend_that_another_break_follows_at_once_is_not_made(text: str, after: str, applied: int) -> None:
    new, plan, _ = await mended(text, MENDS)
    assert (new, len(plan.applied)) == (after, applied)


async def test_what_is_in_vain_is_known_before_inductor_proves_it() -> None:
    dear = Words("ac\na\n", MENDS, dear="1")
    await mend_all(cast(Any, dear), CheckRequest((PATH,), {PATH: dear.text}))
    assert dear.compiled == ["ac\n1\n"]
