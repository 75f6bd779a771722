"""The program that a notebook's cells make, and edits of it as edits of cells."""

from __future__ import annotations

import pytest

from graphmend_lsp.model import Span, TextEdit
from graphmend_lsp.notebook import CROSSES, MAGIC, Cells, UnsplitEditError, by_cell, is_broken, masked

NB = "/w/nb.ipynb"

MASKED = {
    "plain": ("a = 1 % 2\nb = a != 2\n", "a = 1 % 2\nb = a != 2\n"),
    "line magic": ("%matplotlib inline\nx = 1", "#matplotlib inline\nx = 1"),
    "shell": ("!pip install torch", "#pip install torch"),
    "in a block": ("if a:\n    !ls 'x\n", "if a:\n    0#s 'x\n"),
    "one letter in a block": ("if a:\n    !\n", "if a:\n    0\n"),
    "goes on": ("!ls \\\n  'x\na = 1", "#ls \\\n# 'x\na = 1"),
    "assigned": ("files = !ls\na, b = %magic\n", "#iles = !ls\n#, b = %magic\n"),
    "help": ("torch.nn?\nx.y??\n?torch", "#orch.nn?\n#.y??\n#torch"),
    "a call without parentheses": (",f a b\n/f x", "#f a b\n#f x"),
    "time": ("%time y = f(x)\n%time", "if 1: y = f(x)\n#time"),
    "time of no Python": ("%time !ls", "#time !ls"),
    "another language": ("%%bash\nfor x in a; do\n\n  y\ndone", "#%bash\n#or x in a; do\n\n# y\n#one"),
    "a timed cell": ("%%time\ny = f(x)", "#%time\ny = f(x)"),
    "a cell that is run many times": ("%%timeit\ny = f(x)", "#%timeit\n# = f(x)"),
    "not at a statement's begin": ("a = (b\n  % c)\nd = '''\n!x\n'''\n", "a = (b\n  % c)\nd = '''\n!x\n'''\n"),
    "after a continued line": ("a = b \\\n  % c\n%m", "a = b \\\n  % c\n#m"),
    "after a string with brackets": ("a = '([{' # ((\n%m", "a = '([{' # ((\n#m"),
    "after an open string": ("a = 'x\n%m", "a = 'x\n#m"),
    "after a triple string in one line": ('a = """x""" "\\""\n%m', 'a = """x""" "\\""\n#m'),
    "CRLF": ("%m\r\nif a:\r\n  !l\r\n", "#m\r\nif a:\r\n  0#\r\n"),
}


@pytest.mark.parametrize(("source", "wanted"), MASKED.values(), ids=MASKED)
def test_what_only_ipython_understands_is_a_comment(source: str, wanted: str) -> None:
    assert masked(source) == wanted
    assert len(masked(source)) == len(source)


@pytest.mark.parametrize(
    ("source", "broken"),
    [("a = 1", False), ("!ls", False), ("a = (", True), ("%%html\n<b>", False), ("await f()", False), ("", False)],
)
def test_a_cell_that_is_no_python_is_hidden(source: str, broken: bool) -> None:
    assert is_broken(source) is broken
    cells = Cells.readable(("a = 1", source, "b = 2"))
    assert (1 in cells.hidden) is broken
    compile(cells.program.value, NB, "exec", dont_inherit=True, flags=0x2000)  # with await at the top level


def test_cells_follow_each_other_with_a_line_between_them() -> None:
    cells = Cells(("import torch", "", "%m\nx = 1\n", "y"))
    assert cells.program.value == "import torch\n\n\n\n#m\nx = 1\n\n\ny\n"
    assert cells.first_lines == (1, 3, 5, 9)
    assert [cells.cell_at(line) for line in range(1, 11)] == [0, 0, 1, 1, 2, 2, 2, 2, 3, 3]


CELLS = ("import torch", "def f(x):\n    return x\n", "%m\ny = f(1)")
#         1               3           4          5       7   8
SPLIT = {
    "within a line": ((4, 12, 4, 13), "z", (1, "def f(x):\n    return z\n")),
    "an import after the imports": ((2, 1, 2, 1), "import math\n", (0, "import torch\nimport math")),
    "before a cell": ((3, 1, 3, 1), "a = 1\n\n\n", (1, "a = 1\n\n\ndef f(x):\n    return x\n")),
    "imports before a cell": ((3, 1, 3, 1), "import math\n\n\n", (0, "import torch\n\nimport math")),
    "imports where none are": ((7, 1, 7, 1), "import math\n\n", (2, "import math\n\n%m\ny = f(1)")),
    "after a cell that ends its line": ((5, 1, 5, 1), "a\n", (1, "def f(x):\n    return x\na\n")),
    "at the end": ((9, 1, 9, 1), "\n\ndef g(): ...\n", (2, "%m\ny = f(1)\n\n\ndef g(): ...")),
    "a whole last line": ((8, 1, 9, 1), "z = 2\n", (2, "%m\nz = 2")),
    "a whole cell": ((1, 1, 2, 1), "import math\n", (0, "import math")),
    "no last line": ((8, 1, 9, 1), "", (2, "%m")),
    "beside a magic": ((8, 1, 8, 1), "z = 2\n", (2, "%m\nz = 2\ny = f(1)")),
}


@pytest.mark.parametrize(("span", "text", "wanted"), SPLIT.values(), ids=SPLIT)
def test_an_edit_of_the_program_is_one_of_its_cell(
    span: tuple[int, int, int, int], text: str, wanted: tuple[int, str]
) -> None:
    number, source = wanted
    edit = TextEdit(NB, Span.of(*span), text)
    after = Cells(CELLS).after((edit,))
    assert after == (*CELLS[:number], source, *CELLS[number + 1 :])


TOLD = {
    "a line here": ("the check in line 4 fails", "the check in line 2 fails"),
    "lines here": ("run lines 3 to 4 as one", "run lines 1 to 2 as one"),
    "at the beginning": ("Line 4 may raise", "Line 2 may raise"),
    "a line elsewhere": ("the call in line 8", "the call in line 2 of code cell 3"),
    "lines of two cells": ("lines 1 to 4", "lines 1 to 4"),
    "no line": ("deadline 4, 3 lines", "deadline 4, 3 lines"),
}


@pytest.mark.parametrize(("words", "wanted"), TOLD.values(), ids=TOLD)
def test_lines_in_words_are_those_of_cells(words: str, wanted: str) -> None:
    assert Cells(CELLS).told(words, 1) == wanted
    assert Cells(()).told(words, 0) == words


def test_places_in_data_are_told_by_cell() -> None:
    data = {
        "path": NB,
        "strips": [{"path": NB, "line": 8, "end_line": 8, "n": 1}, {"path": "/w/a.py", "line": 8}, {"line": 3}],
    }
    moved = [{"path": f"{NB}:cell 3", "line": 2, "end_line": 2, "n": 1}, {"path": "/w/a.py", "line": 8}, {"line": 3}]
    assert by_cell(data, {NB: Cells(CELLS)}) == {"path": NB, "strips": moved}


REFUSED = {
    "two cells": ((1, 8, 3, 4), "x", CROSSES),
    "the next cell goes on": ((1, 1, 3, 1), "x = ", CROSSES),
    "a magic": ((7, 1, 7, 3), "a", MAGIC),
    "what becomes a magic": ((8, 1, 8, 1), "!ls\n", MAGIC),
    "behind a magic": ((7, 3, 7, 3), " and more \\", MAGIC),
}


@pytest.mark.parametrize(("span", "text", "why"), REFUSED.values(), ids=REFUSED)
def test_an_edit_that_is_no_edit_of_one_cell_is_refused(span: tuple[int, int, int, int], text: str, why: str) -> None:
    with pytest.raises(UnsplitEditError, match=why[:20]):
        Cells(CELLS).split((TextEdit(NB, Span.of(*span), text),))


def test_a_cell_magic_stays_first() -> None:
    cells = Cells(("%%time\nx = 1",))
    assert cells.after((TextEdit(NB, Span.of(2, 1, 2, 1), "import math\n"),)) == ("%%time\nimport math\nx = 1",)
    with pytest.raises(UnsplitEditError):
        cells.split((TextEdit(NB, Span.of(1, 1, 1, 1), "import math\n"),))


def test_a_hidden_cell_is_not_edited() -> None:
    cells = Cells.readable(("a = 1", "b = ("))
    with pytest.raises(UnsplitEditError):
        cells.split((TextEdit(NB, Span.of(3, 1, 3, 2), "c"),))
