"""What is known against mends before they are verified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmend_lsp.engine.doubts import Doubts, put_back
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.model import (
    Assumption,
    Candidate,
    Counts,
    Declined,
    Finding,
    Mend,
    Report,
    Safety,
    Span,
    TextEdit,
    Verdict,
)
from tests.engine.test_plan import PATH, site

TEXT = "def f(x):\n    if x:\n        pass\n\n\ndef g(x):\n    pass\n"
CONDITION = Span.of(2, 8, 2, 9)
SOURCES = Sources({PATH: TEXT})
BEFORE, AFTER = Counts(3, 2, 0), Counts(2, 1, 0)


def mend(text: str = "pass", rule: str = "where", line: int = 2, **more: object) -> Mend:
    span = Span.of(line, 5, line, 6)
    return Mend(rule, f"write {text}", PATH, span, (TextEdit(PATH, span, text),), **more)  # type: ignore[arg-type]


def verdict(safety: Safety = "unsafe", *, seen: bool = True, **more: object) -> Verdict:
    unreached = () if seen else ((CONDITION, True),)
    return Verdict(safety, ("why",), BEFORE, AFTER, effects="equal", unreached=unreached, results=safety, **more)  # type: ignore[arg-type]


def report(*mends: Mend) -> Report:
    return Report(None, None, None, (), (Finding(site(2, 8), tuple(map(Candidate, mends))),))


BRANCH = mend(conditions=((PATH, CONDITION),))


@pytest.mark.parametrize(
    ("judged", "doomed"),
    [
        ([verdict(seen=False)], True),
        ([verdict(seen=False), verdict(seen=False)], True),
        ([verdict(seen=False), verdict("safe")], False),  # another entry takes both sides
        ([verdict("wrong", seen=False)], False),  # it ended early
        ([verdict("safe", seen=False)], False),
        ([], False),
    ],
)
def test_a_condition_that_no_entry_takes_both_ways_makes_its_mends_unsafe(judged: list[Verdict], doomed: bool) -> None:
    doubts = Doubts(SOURCES)
    doubts.note([Candidate(BRANCH)], judged, SOURCES)
    other = replace(BRANCH, title="another mend of the branch")
    [left], aside = doubts.set_aside(report(other), SOURCES)[0].findings, doubts.set_aside(report(other), SOURCES)[1]
    assert bool(aside) is doomed and len(left.candidates) == (not doomed)
    if doomed:
        [[candidate]] = aside.values()
        assert candidate.safety == "unsafe" and candidate.verdict is not None
        assert candidate.verdict.reasons == ("no call made `x` True, so that side did not run",)
        assert put_back(Report(None, None, None, (), (left,)), aside).findings[0].candidates == (candidate,)


def test_the_condition_is_known_by_its_line_of_the_first_text() -> None:
    doubts = Doubts(SOURCES)
    doubts.note([Candidate(BRANCH)], [verdict(seen=False)], SOURCES)
    later = Sources({PATH: "import torch\n\n" + TEXT})
    moved = replace(BRANCH, conditions=((PATH, Span.of(4, 8, 4, 9)),), span=Span.of(4, 5, 4, 6))
    assert doubts.set_aside(report(moved), later)[1]


@pytest.mark.parametrize(
    ("new", "doomed"),
    [
        (TEXT, True),
        (TEXT.replace("def g(x):\n    pass", "def g(x):\n    return x"), True),
        (TEXT.replace("        pass\n\n", "        return x\n\n"), False),  # its own function is another one
    ],
)
def test_a_mend_that_was_unsafe_alone_stays_so_while_its_function_does(new: str, doomed: bool) -> None:
    doubts, one = Doubts(SOURCES), mend()
    judged = Candidate(one, verdict())
    doubts.remember(replace(report(), findings=(Finding(site(2, 8), (judged,)),)), SOURCES)
    _, aside = doubts.set_aside(report(one), Sources({PATH: new}))
    assert [candidate.verdict for found in aside.values() for candidate in found] == [judged.verdict] * doomed


def test_where_other_effects_stand_in_the_way_it_may_become_safe() -> None:
    doubts, one = Doubts(SOURCES), mend()
    judged = Candidate(one, replace(verdict(), effects="different"))
    doubts.remember(replace(report(), findings=(Finding(site(2, 8), (judged,)),)), SOURCES)
    assert not doubts.set_aside(report(one), SOURCES)[1]


def test_what_is_taken_for_granted_by_a_new_parameter_is_not_verified_unless_it_is_accepted() -> None:
    public = mend("x, limit", line=1)
    public = replace(public, edits=(TextEdit(PATH, Span.of(1, 7, 1, 8), "x, limit"),))
    [[candidate]] = Doubts(SOURCES).set_aside(report(public), SOURCES)[1].values()
    assert candidate.verdict is not None
    assert candidate.verdict.reasons[0] == "assumes that every caller and override of `f` accepts `limit`"
    assert candidate.verdict.assuming
    assert not Doubts(SOURCES, {"callers"}).set_aside(report(public), SOURCES)[1]
    proven = Finding(site(2, 8), (Candidate(public, verdict("safe")),))  # with the settings of the entry that met it
    assert not Doubts(SOURCES).set_aside(replace(report(), findings=(proven,)), SOURCES)[1]


def test_what_gained_nothing_or_was_left_open_comes_behind_the_others() -> None:
    vain, opened, fresh, last = mend("1"), mend("2", assumes=(Assumption("dtype"),)), mend("3"), mend("4", "isolate")
    doubts = Doubts(SOURCES)
    idle = replace(verdict("safe"), safety="wrong")
    doubts.note([Candidate(vain)], [idle], SOURCES)
    doubts.note([Candidate(opened), Candidate(fresh)], [verdict(assumes=(Assumption("dtype"),))], SOURCES)

    def untried(*mends: Mend) -> list[tuple[Mend, ...]]:
        found = doubts.untried(report(*mends).findings, SOURCES)
        return [tuple(one.mend for one in finding.candidates) for finding in found]

    assert untried(vain, opened, fresh, last) == [(fresh, last)]
    assert untried(vain, opened, last) == []  # a last resort is none while the others are not judged alone
    assert untried(last) == [(last,)]


def test_of_a_boundary_it_is_known_why_no_other_rule_mends_what_it_holds() -> None:
    """A condition that no call takes both ways, a verdict's first objection, what rules said; of its own breaks alone."""
    boundary, judged = mend("uncompiled()", "isolate"), mend("judged()", "capture")
    elsewhere = Finding(site(6, 5), (Candidate(mend("g", "loop", 6)),), (Declined("item", "elsewhere"),))
    here = Finding(
        site(2, 8), tuple(map(Candidate, (BRANCH, judged, boundary))), (Declined("loop", "no bound is known"),)
    )
    offered = replace(report(), findings=(here, elsewhere))
    proven = replace(offered, findings=(replace(here, candidates=(Candidate(judged, verdict()), Candidate(boundary))),))
    doubts = Doubts(SOURCES)
    doubts.note([Candidate(BRANCH)], [verdict(seen=False)], SOURCES)
    assert doubts.inside(boundary, offered, proven, SOURCES) == (
        Declined("where", "no call made `x` True, so that side did not run"),
        Declined("capture", "why"),
        Declined("loop", "no bound is known"),
    )
