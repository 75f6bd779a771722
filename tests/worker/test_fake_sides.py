"""Both sides of conditions on values, which answers a break depends on, and programs that never stop asking."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.worker.explore import Once, decisive, events_of, explore, site_of
from graphmend_lsp.worker.failures import failure
from graphmend_lsp.worker.oracle import LONGEST, MAX_ASKED, EndlessError, Oracle, Profile
from graphmend_lsp.worker.wire import Answer, BreakData
from tests.worker.test_fake import FILE, ids, run
from tests.worker.worker_pipes import Worker

HEAD = "import torch\ndef graphmend_entry(): return f, (torch.arange(1.0, 5.0),)\n"  # the body begins on line 4


def sides(result: dict[str, Any]) -> dict[tuple[str, int], list[tuple[int, bool]]]:
    """(id, line) of each break -> the answers (line, value) it depends on."""
    return {
        (event["root"]["gb_id"], event["frames"][-1]["line"]): [(one["line"], one["value"]) for one in event["answers"]]
        for event in result["events"]
    }


SIDES = {
    "the side that is not taken": (
        "if x.sum() > 0:\n    print(x)\nelse:\n    x = x * x.sum().item()\nreturn x + 1",
        {("GB0170", 4): [], ("GB0059", 5): [(4, True)], ("GB0124", 7): [(4, False)]},
    ),
    "one within the other": (
        "if x.sum() > 0:\n    if x.max() > 3:\n        print(x)\nreturn x + 1",
        {("GB0170", 4): [], ("GB0170", 5): [(4, True)], ("GB0059", 6): [(4, True), (5, True)]},
    ),
    "one after the other": (
        "if x.sum() > 0:\n    x = x + 1\nif x.max() > 3:\n    print(x)\nreturn x + 1",
        {("GB0170", 4): [], ("GB0170", 6): [], ("GB0059", 7): [(6, True)]},
    ),
    "a guard raises": (
        "if torch.isnan(x).any():\n    raise ValueError('nan')\nprint(x)\nreturn x + 1",
        {("GB0170", 4): [], ("GB0059", 6): []},
    ),
    "a guard prints before it raises": (
        "if torch.isnan(x).any():\n    print(x)\n    raise ValueError('nan')\nreturn x + 1",
        {("GB0170", 4): [], ("GB0059", 5): [(4, True)]},
    ),
    "a demand is not met at first": (
        "if not (x > 0).all():\n    raise ValueError('small')\nprint(x)\nreturn x + 1",
        {("GB0170", 4): [], ("GB0059", 6): []},
    ),
    "an assertion": (
        "assert torch.allclose(x, x)\nprint(x)\nreturn x + 1",
        {("GB0033", 4): [], ("GB0059", 5): []},
    ),
    "behind torch.cond": (
        "x = torch.cond(x.sum() > 0, lambda: x * 2, lambda: x.sin())\nif x.max() > 3:\n    print(x)\nreturn x + 1",
        {("GB0170", 5): [], ("GB0059", 6): [(5, True)]},
    ),
    "behind torch.while_loop": (
        "(x,) = torch.while_loop(lambda x: x.sum() < 9, lambda x: (x + 1,), (x,))\nif x.max() > 3:\n    print(x)\nreturn x",
        {("GB0170", 5): [], ("GB0059", 6): [(5, True)]},
    ),
    "an early return": (
        "if x.sum() > 0:\n    return x\nprint(x)\nreturn x + 1",
        {("GB0170", 4): [], ("GB0059", 6): [(4, False)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.slow
def test_breaks_with_the_answers_they_depend_on(worker: Worker, name: str) -> None:
    body, expected = SIDES[name]
    text = f"{HEAD}def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    result = run(worker, FILE, text=text)
    assert result["failure"] is None
    assert sides(result) == expected
    assert result["unexplored"] == 0


def test_what_the_entry_asks_is_no_condition_of_the_program(worker: Worker) -> None:
    text = (
        "import torch\ndef f(x):\n    if x.sum() > 0:\n        print(x)\n    return x + 1\n"
        "def graphmend_entry():\n    x = torch.rand(4)\n    if x.sum() > 9: x = x * 2\n    return f, (x,)\n"
    )
    result = run(worker, FILE, text=text)
    assert sides(result) == {("GB0170", 3): [], ("GB0059", 4): [(3, True)]}
    assert result["explored"] == 2


def test_a_budget_of_one_run_leaves_the_other_sides(worker: Worker) -> None:
    text = f"{HEAD}def f(x):\n    if x.sum() > 0:\n        print(x)\n    return x.relu()\n"
    result = run(worker, FILE, text=text, explore=1)
    assert (result["explored"], result["unexplored"], ids(result)) == (1, 1, {"GB0170"})
    result = run(worker, FILE, text=text, explore=2)
    assert (result["explored"], result["unexplored"], ids(result)) == (2, 0, {"GB0170", "GB0059"})


ENDLESS = {
    "a sign": "while True:\n    x = x + 1\n    if (x > 9).all(): return x",
    "a counter": "n = x.sum()\nwhile n.item() > 0: n = n - 1\nreturn x",
    "two in turn": "while not (x > 9).all():\n    if x.sum() > 5: x = x + 1\nreturn x",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_loops_on_values_end(worker: Worker, name: str) -> None:
    text = f"{HEAD}def f(x):\n" + "".join(f"    {line}\n" for line in ENDLESS[name].splitlines())
    assert run(worker, FILE, text=text)["failure"] is None


@pytest.mark.slow
def test_asking_without_end_is_a_failure(worker: Worker) -> None:
    text = f"{HEAD}@torch.compiler.disable\ndef f(x):\n    while True: bool(x.sum() > 0)\n"
    result = run(worker, FILE, text=text, explore=1)
    assert "never stops asking" in result["failure"]["message"]


def answer(line: int, value: bool) -> Answer:
    return Answer(file="m.py", line=line, column=0, end_line=line, end_column=9, value=value)


def event(line: int, gb_id: str = "GB0059") -> BreakData:
    cause: Any = {"gb_id": gb_id, "gb_type": gb_id, "context": "", "explanation": "", "hints": []}
    frame: Any = {
        "file": "m.py", "line": line, "column": 0, "end_line": line, "end_column": 9, "function": "f", "kind": "code"
    }  # fmt: skip
    return BreakData(cause=cause, root=cause, outcome="resumed", frames=[frame], compiled="f", call=0)


def program(script: Any, _profile: Profile) -> Once:
    """Asks at line 1, then, when that is true, at line 2; a break at line 3 behind both."""
    given = [*script, False, False]
    answers = [answer(1, given[0])] + ([answer(2, given[1])] if given[0] else [])
    events = [(2, event(3))] if len(answers) == 2 and answers[1]["value"] else []
    return Once(tuple(answers), tuple(events), (), ())


def test_sides_that_appear_behind_others_are_taken() -> None:
    found = explore(program, 8, lambda: True)
    assert [[one["value"] for one in once.answers] for once in found.runs] == [[False], [True, False], [True, True]]
    (only,) = events_of(found.runs)
    assert [(one["line"], one["value"]) for one in only["answers"]] == [(1, True), (2, True)]
    assert (found.made, found.left, found.failure) == (3, 0, None)


def test_no_run_begins_when_time_is_out() -> None:
    found = explore(program, 8, lambda: False)
    assert (found.made, found.left) == (1, 1)


def test_other_values_are_tried_where_the_first_ones_fail() -> None:
    profiles = []

    def picky(_script: Any, profile: Profile) -> Once:
        profiles.append(profile)
        why = failure("call", "exception", "IndexError") if profile.number else None
        return Once((), (), (), (), asked=True, failure=why)

    found = explore(picky, 8, lambda: True)
    assert found.failure is None
    assert [profile.number for profile in profiles] == [1, 0]


def test_a_program_that_fails_whatever_is_answered_fails() -> None:
    why = failure("call", "exception", "ValueError")
    found = explore(lambda _script, _profile: Once((), ((0, event(3)),), (), (), failure=why), 8, lambda: True)
    assert (found.made, found.failure) == (1, why)
    assert len(events_of(found.runs)) == 1


def test_an_answer_that_changes_nothing_is_not_told() -> None:
    one = Once((answer(1, False),), ((1, event(3)),), (), ())
    other = Once((answer(1, True),), ((1, event(3)),), (), ())
    assert decisive([one, other], one, 1, site_of(event(3))) == []


def test_an_oracle_follows_its_script_then_says_false() -> None:
    oracle = Oracle((True, False))
    assert [oracle.truth() for _ in range(4)] == [True, False, False, False]
    assert [one["value"] for one in oracle.answers] == [True, False, False, False]
    assert {one["file"] for one in oracle.answers} == {__file__}


@pytest.mark.parametrize(
    ("dtype", "value"), [("torch.float32", 1.0), ("torch.int64", 1), ("torch.bool", False), ("torch.complex64", 1 + 0j)]
)
def test_values_have_the_kind_of_their_dtype(dtype: str, value: object) -> None:
    given = Oracle().value(dtype)
    assert (given, type(given)) == (value, type(value))


def test_a_truth_test_of_a_number_is_a_truth_test() -> None:
    oracle = Oracle((True,))
    oracle.begin_test()
    assert oracle.value("torch.float32") == 1.0
    oracle.end_test()
    assert [one["value"] for one in oracle.answers] == [True]


def test_answers_change_when_one_place_asks_too_often() -> None:
    oracle = Oracle()
    said = [oracle.truth() for _ in range(MAX_ASKED + 5)]
    assert not any(said[:MAX_ASKED])
    assert any(said[MAX_ASKED:])
    with pytest.raises(EndlessError):
        for _ in range(LONGEST + 2):
            oracle.truth()
