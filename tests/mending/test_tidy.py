"""A line that a mend makes too long: broken as ruff breaks it, and saying the same, also where it is a part of a statement."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from graphmend_lsp.mending.syntax.source import Source, read
from graphmend_lsp.mending.syntax.tidy import tidied
from graphmend_lsp.mending.syntax.wrapping import layout
from graphmend_lsp.model import Span, TextEdit
from graphmend_lsp.text import apply_edits

_WORDS = (
    '"the sequence is longer than what this model was trained with: " f"{length} > {most}. " "Expect worse results."'
)


@pytest.mark.parametrize(
    "line",
    [
        f"logger.warning({_WORDS})",
        f"logger.warning({_WORDS}, length)",
        f"defer(lambda length=length: logger.warning({_WORDS}),)",
        f"defer(lambda length=length, most=self.config.max_position_embeddings_of_the_decoder: logger.warning({_WORDS}),)",
    ],
)
def test_messages_break_as_ruff_breaks_them(line: str) -> None:
    lines = "\n".join(layout(line, "    ", 88)) + "\n"
    assert ast.dump(ast.parse(lines)) == ast.dump(ast.parse(line))
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "-"],
        input=line,
        capture_output=True,
        text=True,
        check=True,
    )
    assert lines == ruff.stdout


@pytest.mark.parametrize(
    "argument", ["lambda: " + "z" * 90 + ".w(1)", "f" * 80 + "(one, two, three)", "x" * 50 + "+" + "y" * 50]
)
def test_an_argument_on_its_own_line_never_becomes_a_tuple(argument: str) -> None:
    before = "g(\n    here,\n)\n"
    source = read("m.py", before)
    assert isinstance(source, Source)
    after = tidied(source, [TextEdit("m.py", Span.of(2, 5, 2, 9), argument)])
    assert ast.dump(ast.parse(apply_edits(before, after))) == ast.dump(ast.parse(f"g({argument})"))


@pytest.mark.parametrize(
    "part", ['"' + "word " * 30 + '"\n    "and more"', "x" * 60 + " or " + "y" * 60 + "\n    and z"]
)
def test_a_part_of_an_expression_means_the_same_where_it_stands(part: str) -> None:
    before = "g(\n    here\n)\n"
    source = read("m.py", before)
    assert isinstance(source, Source)
    after = tidied(source, [TextEdit("m.py", Span.of(2, 5, 2, 9), part)])
    assert ast.dump(ast.parse(apply_edits(before, after))) == ast.dump(ast.parse(f"g({part})"))


@pytest.mark.parametrize(
    ("around", "argument", "expected"),
    [
        ("a, {0}, b", "c" * 90, "a,\n    {0},\n    b,\n"),
        ("a, {0}, *b, key=(1, 2)", "c" * 90, "a,\n    {0},\n    *b,\n    key=(1, 2),\n"),
        ("a, {0}(1, 2),", "c" * 90, "a,\n    {0}(1, 2),\n"),
        ("a, {0},\n    b", "c" * 90, "a,\n    {0},\n    b\n"),
    ],
)
def test_arguments_that_share_a_line_get_one_each(around: str, argument: str, expected: str) -> None:
    before = f"g(\n    {around.format('here')}\n)\n"
    source = read("m.py", before)
    assert isinstance(source, Source)
    at = before.split("\n")[1].index("here") + 1
    after = apply_edits(before, tidied(source, [TextEdit("m.py", Span.of(2, at, 2, at + 4), argument)]))
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(before.replace("here", argument)))
    assert after == f"g(\n    {expected.format(argument)})\n"


@pytest.mark.parametrize("line", ["one, two = {0}(1, 2)", "{0}(1), f(2)"])
def test_a_statement_is_never_split_at_its_commas(line: str) -> None:
    before = line.format("here") + "\n"
    source = read("m.py", before)
    assert isinstance(source, Source)
    at = before.index("here") + 1
    after = apply_edits(before, tidied(source, [TextEdit("m.py", Span.of(1, at, 1, at + 4), "c" * 90)]))
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(line.format("c" * 90)))
