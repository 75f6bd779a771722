"""What was measured, judged."""

from dataclasses import replace
from typing import Any

import pytest

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.verdicts import believed, gains, judge, worst
from graphmend_lsp.model import Belief, Counts, Mend, Span

PATH = "/p/a.py"
SOURCES = Sources({PATH: "if x.sum() > 0:\n    y = 1\n"})
MEND = Mend("where", "Mend", PATH, Span.of(1, 1, 1, 2), (), changes=("told",))
CONDITION = {"file": PATH, "line": 1, "column": 3, "end_line": 1, "end_column": 14}


def result(**changes: Any) -> Any:
    counts = {"graphs": 1, "breaks": 0, "skipped_frames": 0, "skipped_rests": 0, "recompiles": 0, "refused": 0}
    return {
        "id": "0", "before": {**counts, "graphs": 2, "breaks": 1}, "after": counts, "outputs": "bit-equal",
        "gradients": "bit-equal", "state": "bit-equal", "effects": "equal", "rounded": [], "differences": [], "unlike_sides": [],
        "sides": [], "events": [], "graphs": [], "calls": 9, "seconds": 0.2, "failure": None, **changes,
    }  # fmt: skip


def difference(what: str, severity: str, detail: str = "1 against 2") -> dict[str, str]:
    return {"what": what, "where": "", "call": "call 1", "detail": detail, "severity": severity}


FAILED = {
    "stage": "load",
    "kind": "syntax",
    "message": "invalid syntax",
    "remedy": "",
    "path": None,
    "line": None,
    "detail": "",
}


@pytest.mark.parametrize(
    ("changes", "safety", "words"),
    [
        ({}, "safe", None),
        ({"differences": [difference("effects", "moved", "after the forward")]}, "safe", "after the forward"),
        ({"differences": [difference("output", "close")]}, "unsafe", "not bit-equal"),
        ({"differences": [{**difference("gradient", "close"), "rounded": True}]}, "unsafe", "equal in float64"),
        ({"differences": [difference("output", "different")]}, "wrong", "1 against 2"),
        ({"differences": [difference("gradient", "different")]}, "wrong", "gradient in call 1"),
        ({"differences": [{**difference("gradient", "different"), "undecided": True}]}, "unverified", "1 against 2"),
        ({"differences": [difference("state", "different")]}, "wrong", "state"),
        ({"differences": [difference("exception", "exception")]}, "unsafe", "exception"),
        ({"differences": [difference("stdout", "different", "'a' against 'b'")]}, "unsafe", "stdout"),
        ({"differences": [difference("stdout", "different", "'a' is missing")]}, "wrong", "missing"),
        ({"calls": 0}, "unverified", "could be compared"),
        ({"outputs": "not compared"}, "unverified", "could be compared"),
        ({"unlike_sides": ["line 3: (4,) against ()"]}, "wrong", "the two sides differ"),
        ({"failure": FAILED}, "wrong", "invalid syntax"),
        ({"failure": {**FAILED, "kind": "timeout"}}, "unverified", "comparison stopped"),
        ({"after": {"graphs": 2, "breaks": 1, "skipped_frames": 0, "skipped_rests": 0, "recompiles": 0, "refused": 0}}, "wrong", "the mend saves nothing"),
        ({"sides": [{"condition": CONDITION, "true": True, "false": True}]}, "safe", None),
        ({"sides": [{"condition": CONDITION, "true": True, "false": False}]}, "unsafe", "no call made `x.sum() > 0` False"),
    ],
)  # fmt: skip
def test_judge(changes: dict[str, Any], safety: str, words: str | None) -> None:
    verdict = judge(result(**changes), (MEND,), SOURCES)
    assert verdict.safety == safety
    assert verdict.reasons[-1] == "told"
    assert (words is None and len(verdict.reasons) == 1) or (words is not None and words in verdict.reasons[0])


def test_what_is_more_than_the_bound_is_told_first() -> None:
    close = [{**difference("gradient", "close"), "where": f"w{number}"} for number in range(5)]
    verdict = judge(result(differences=[*close, {**difference("output", "close"), "rounded": True}]), (), SOURCES)
    assert verdict.reasons[0] == "output in call 1: 1 against 2 (another rounding: equal in float64)"


def test_a_boundary_behind_which_no_more_is_compiled_saves_nothing() -> None:
    before = {"graphs": 3, "breaks": 4, "skipped_frames": 5, "skipped_rests": 0, "recompiles": 0, "refused": 0}
    after = {**before, "skipped_frames": 4}
    boundary = replace(MEND, rule="isolate")
    assert judge(result(before=before, after=after), (boundary,), SOURCES).safety == "wrong"
    assert judge(result(before=before, after={**after, "graphs": 4}), (boundary,), SOURCES).safety == "safe"
    assert judge(result(before=before, after=after), (MEND,), SOURCES).safety == "safe"


def test_what_inductor_alone_rounds_is_told_of_a_safe_mend() -> None:
    """It fuses the operators of one graph otherwise than those of two, whatever the mend; float64 shows nothing but that."""
    fused = {**difference("output", "close"), "rounded": True, "fused": True}
    verdict = judge(result(differences=[fused]), (MEND,), SOURCES)
    assert verdict.safety == "safe"
    assert verdict.reasons == (
        "output in call 1: 1 against 2 (compiled code rounds otherwise; equal in float64)",
        "told",
    )
    both = [fused, {**difference("output", "close"), "rounded": True}]
    assert judge(result(differences=both), (MEND,), SOURCES).safety == "unsafe"


@pytest.mark.parametrize(
    ("before", "after", "gained"),
    [
        (Counts(4, 1, 0), Counts(1, 0, 0), True),
        (Counts(2, 1, 0), Counts(1, 1, 0), True),
        (Counts(1, 1, 0, 1), Counts(2, 1, 0), True),  # the rest of the frame is compiled too
        (Counts(0, 1, 1), Counts(1, 1, 0, 1), True),  # what stands in front of the break is
        (Counts(2, 1, 0), Counts(1, 1, 0, 1), False),
        (Counts(1, 1, 0), Counts(1, 0, 0), True),
        (Counts(0, 1, 1), Counts(1, 0, 0), True),
        (Counts(0, 1, 1), Counts(2, 1, 0), True),
        (Counts(2, 1, 0), Counts(2, 1, 0), False),
        (Counts(1, 1, 0), Counts(2, 1, 0), False),
        (Counts(2, 1, 0), Counts(0, 1, 1), False),
        (Counts(1, 1, 0, 0, 1), Counts(2, 1, 1), True),  # it could not be compiled at all
        (Counts(2, 1, 1), Counts(1, 1, 0, 0, 1), False),
    ],
)
def test_gains(before: Counts, after: Counts, gained: bool) -> None:
    assert gains(before, after) is gained


def test_the_worst_of_several_counts() -> None:
    good, bad = judge(result(), (), SOURCES), judge(result(differences=[difference("output", "close")]), (), SOURCES)
    assert worst([good, bad, good]).safety == "unsafe"


def test_what_a_rule_warns_of_is_never_safe() -> None:
    careful = replace(MEND, changes=(), cautions=("Sums may round otherwise.",))
    verdict = judge(result(), (careful,), SOURCES)
    assert (verdict.safety, verdict.reasons) == ("unsafe", ("Sums may round otherwise.",))


def test_a_boundary_is_still_a_break() -> None:
    isolated = replace(MEND, rule="isolate")
    one = {"graphs": 1, "breaks": 1, "skipped_frames": 0, "skipped_rests": 0, "recompiles": 0, "refused": 0}
    assert judge(result(before=one), [isolated], SOURCES).safety == "wrong"
    assert judge(result(before=one), [MEND], SOURCES).safety == "safe"
    three = {**one, "breaks": 3}
    verdict = judge(result(before=three), [isolated], SOURCES)
    assert verdict.safety == "safe" and verdict.after.breaks == 1
    two = judge(result(before={**one, "breaks": 2}, after=one), [isolated, replace(isolated, title="too")], SOURCES)
    assert two.safety == "safe" and two.after.breaks == 1  # one boundary for both, which Dynamo tells


def test_what_a_mend_believes_is_a_sentence_for_each_kind() -> None:
    beliefs = [
        Belief("x", "a tensor"),
        Belief("low", "a Python value"),
        Belief("mask", "a tensor"),
        Belief("mask", "a tensor with 2 dimensions"),
        Belief("high", "a Python value"),
        Belief("flag", "a Python value"),
        Belief("flag", "False"),
        Belief("x", "a tensor"),
        Belief("y", "a tensor"),
        Belief("z", "a tensor"),
    ]
    assert believed(beliefs) == (
        "`x`, `y` and `z` were each a tensor in every call that was seen",
        "`low` and `high` were each a Python value in every call that was seen",
        "`mask` was a tensor with 2 dimensions in every call that was seen",
        "`flag` was False in every call that was seen",
    )
    assert believed([]) == ()
