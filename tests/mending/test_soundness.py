"""No mend gets out that does not parse, touches more than it says, or changes how the file is written."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending import SECOND_CHOICE, propose
from graphmend_lsp.mending.syntax.soundness import flaw
from graphmend_lsp.model import Break, Mend, Span, TextEdit
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

SOURCE = """\
import torch


def fn(x):
    if ⟦x.sum() > 0⟧:
        x = x + 1
    y = x * 2
    return y
"""
SITE = Span.of(5, 8, 5, 19)


def _flaw(*edits: TextEdit, source: str = SOURCE, again: bool = False) -> str | None:
    value, site = unmark(source)
    mend = Mend("where", "", PATH, site.span, edits)
    return flaw(site, mend, {PATH: value}, lambda _place, _texts: again)


def _edit(line: int, column: int, end_line: int, end_column: int, text: str, path: str = PATH) -> TextEdit:
    return TextEdit(path, Span.of(line, column, end_line, end_column), text)


GOOD = _edit(5, 5, 6, 18, "x = torch.where(x.sum() > 0, x + 1, x)")


def test_a_sound_mend_has_no_flaw() -> None:
    assert _flaw(GOOD) is None


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ((), "changes nothing"),
        ((_edit(5, 5, 5, 7, "if"),), "changes nothing"),
        ((_edit(1, 1, 1, 1, "x", path="other.py"),), "outside the named paths"),
        ((GOOD, _edit(6, 9, 6, 10, "z")), "same text"),
        ((_edit(5, 5, 6, 18, "x = torch.where("),), "syntax error"),
        ((_edit(5, 5, 6, 18, "while x:\n        pass\n    else:\n    "),), ""),
        ((_edit(5, 5, 7, 5, "if x:\n        pass\n        "),), "change other statements"),
        ((_edit(5, 5, 6, 18, "x = x\r\n    x = x"),), "line ends"),
        ((GOOD, _edit(8, 13, 8, 13, "\n\n\ndef other():\n    pass\f")), "form feed"),
    ],
)
def test_flaws(edits: tuple[TextEdit, ...], words: str) -> None:
    found = _flaw(*edits)
    assert found is not None and words in found


def test_a_statement_that_changes_its_function_is_seen() -> None:
    source = SOURCE + "\n\ndef other(x):\n    return x\n"
    out = _edit(8, 13, 11, 14, "\n\n\ndef another(x):")
    assert "change other statements" in (_flaw(GOOD, out, source=source) or "")


def test_a_mend_that_would_be_made_again_is_held_back() -> None:
    assert "rewrite its own result again" in (_flaw(GOOD, again=True) or "")


@pytest.mark.parametrize(
    "value",
    [
        SOURCE.replace("\n", "\r\n"),
        SOURCE.replace("    ", "\t"),
        SOURCE.rstrip("\n"),
        SOURCE.replace("x + 1\n", "x + 1   \n").replace("import torch\n", "import torch  \n"),
        SOURCE.replace("import torch", "# é \U0001f600\nimport torch").replace("y = x * 2", "y = x * 2  # ü\u2028"),
        "\ufeff" + SOURCE,
    ],
    ids=["crlf", "tabs", "no last line end", "trailing white space", "wide characters", "byte order mark"],
)
def test_every_other_byte_stays(value: str) -> None:
    source, site = unmark(value)
    mend = propose(site, {PATH: source}, ["where"]).mends[0]
    new = apply_edits(source, mend.edits)
    start = source.index("if x.sum()")
    end = source.index("x = x + 1") + len("x = x + 1")
    assert new == source[:start] + "x = torch.where(x.sum() > 0, x + 1, x)" + source[end:]
    ast.parse(new.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (SOURCE.replace("y = x * 2", "y = x * 2\f"), "form feed"),
        (SOURCE.replace("y = x * 2\n", "y = x * 2\r"), "carriage return"),
        (SOURCE.replace("return y", "return ("), "syntax error in line"),
        (SOURCE.replace("y = x * 2", "y = x" + " + 1" * 20000), "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_declined(source: str, words: str) -> None:
    value = source.replace("⟦", "").replace("⟧", "")
    answer = propose(_at(SITE), {PATH: value}, ["where"])
    assert not answer.mends
    assert [one for one in answer.declined if words in one.reason or "cannot be parsed" in one.reason]


@pytest.mark.parametrize(
    "place", [(1, 1, 1, 1), (0, 0, 0, 0), (99, 9, 99, 9), (5, 1, 9, 1), (8, 12, 8, 13), (4, 4, 4, 6)]
)
def test_a_place_that_is_no_branch_is_no_trouble(place: tuple[int, int, int, int]) -> None:
    value, _ = unmark(SOURCE)
    assert propose(_at(Span.of(*place)), {PATH: value}).mends == ()
    assert propose(_at(Span.of(*place)), {}).mends == ()


def _at(span: Span) -> Break:
    return Break(PATH, span, "GB0170", "Data-dependent branching", "", "dynamo")


EXPERTS = """\
import torch


def experts(x):
    out = torch.zeros_like(x)
    route = (x > 2).long()
    for expert in range(2):
        chosen = ⟦torch.where(route == expert)⟧[0]
        out.index_add_(0, chosen, x[chosen] * (expert + 1))
    return out
"""


def test_a_boundary_is_offered_where_no_mend_can_be_safe() -> None:
    value, site = unmark(EXPERTS, None, "GB0036")
    mends = propose(site, {PATH: value}).mends
    assert mends[-1].rule == "isolate"
    assert all(mend.cautions or mend.rule in SECOND_CHOICE for mend in mends[:-1])
