"""Mends put together into programs, and which lines they wrote."""

from dataclasses import replace

import pytest

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import beside_of, candidate_of, changed_lines, combine
from graphmend_lsp.model import Mend, Span, TextEdit

PATH = "/p/a.py"
OLD = "a = 1\nb = 2\nc = 3\n"


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> TextEdit:
    return TextEdit(PATH, Span.of(line, column, end_line, end_column), text)


def mend(*edits: TextEdit, rule: str = "where", conditions: tuple[tuple[str, Span], ...] = ()) -> Mend:
    return Mend(rule, rule, PATH, edits[0].span, edits, conditions)


HELPER = edit(1, 1, 1, 1, "import torch\n")


@pytest.mark.parametrize(
    ("mends", "kept", "text"),
    [
        ([mend(edit(2, 5, 2, 6, "9"))], 1, "a = 1\nb = 9\nc = 3\n"),
        ([mend(edit(1, 5, 1, 6, "7")), mend(edit(3, 5, 3, 6, "8"))], 2, "a = 7\nb = 2\nc = 8\n"),
        ([mend(edit(1, 1, 2, 6, "x")), mend(edit(2, 5, 2, 6, "8"))], 1, "x\nc = 3\n"),
        (
            [mend(HELPER, edit(1, 5, 1, 6, "7")), mend(HELPER, edit(2, 5, 2, 6, "8"))],
            2,
            "import torch\na = 7\nb = 8\nc = 3\n",
        ),
    ],
    ids=["one", "two", "overlapping", "shared helper"],
)
def test_combine(mends: list[Mend], kept: int, text: str) -> None:
    taken, texts = combine(mends, Sources({PATH: OLD}))
    assert len(taken) == kept
    assert texts == {PATH: text}


@pytest.mark.parametrize(
    ("edits", "ranges"),
    [
        ([edit(2, 1, 2, 6, "b = 9")], [[2, 2]]),
        ([edit(2, 1, 2, 6, "b = (\n    9\n)")], [[2, 4]]),
        ([edit(1, 1, 1, 1, "import x\n\n"), edit(3, 1, 3, 6, "c = 0")], [[1, 3], [5, 5]]),
        ([edit(1, 1, 3, 1, ""), edit(3, 5, 3, 6, "0")], [[1, 1], [1, 1]]),
    ],
)
def test_changed_lines(edits: list[TextEdit], ranges: list[list[int]]) -> None:
    assert changed_lines(OLD, edits) == ranges


def test_a_candidate_carries_conditions_in_utf8_columns() -> None:
    old = 'x = "ä"; y = x\n'
    span = Span.of(1, 10, 1, 15)
    one = mend(edit(1, 10, 1, 15, "y = 1"), conditions=((PATH, span),))
    candidate = candidate_of("0", [one], {PATH: "new"}, {"/p/b.py": "other"}, Sources({PATH: old}))
    assert candidate["texts"] == {PATH: "new", "/p/b.py": "other"}
    assert candidate["conditions"] == [{"file": PATH, "line": 1, "column": 10, "end_line": 1, "end_column": 15}]


def test_a_candidate_says_whether_it_puts_operators_into_the_graph() -> None:
    plain, lowered = mend(edit(2, 5, 2, 6, "8")), replace(mend(edit(2, 5, 2, 6, "8")), inductor=True)
    sources = Sources({PATH: OLD})
    for mends, says in (([plain], False), ([plain, lowered], True)):
        found = candidate_of("0", mends, {PATH: "x\n"}, {}, sources)
        assert (found["lowered"], found["inductor"]) == (says, says)
        assert beside_of("0", mends, {PATH: "x\n"}, {})["lowered"] is says
