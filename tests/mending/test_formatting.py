"""What of a statement's text may move to another indentation."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.syntax.formatting import goes_over_lines, verbatim
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, read

JOINED = 'def f(x):\n    if x:\n        raise ValueError(\n            "a {b}"\n            f"c {x} "\n            "d"\n        )\n'


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("x = 'a'\n", False),
        ("x = ('a'\n     'b')\n", False),
        ("x = ('a'\n     f'b {c}' 'd')\n", False),
        ('x = """a\n  b"""\n', True),
        ('x = f"""a {b}\n  c"""\n', True),
        ("x = 'a\\\n  b'\n", True),
        ('x = ("a"\n     """b\n  c""")\n', True),
        ("x = b'''a\n  b'''\n", True),
        ("x = (a +\n     b)\n", False),
    ],
)
def test_a_text_goes_over_lines_where_one_of_its_parts_does(text: str, over: bool) -> None:
    source = read("a.py", text)
    assert isinstance(source, Source)
    assert any(goes_over_lines(source, node) for node in ast.walk(source.tree)) is over


def test_texts_that_python_joins_may_move() -> None:
    source = read("a.py", JOINED)
    assert isinstance(source, Source)
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = verbatim(source, function.body[0])
    assert lines[2:5] == ('        "a {b}"', '        f"c {x} "', '        "d"')
    source = read("a.py", JOINED.replace('"d"', '"""d\n"""'))
    assert isinstance(source, Source)
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    with pytest.raises(Refused, match="over several lines"):
        verbatim(source, function.body[0])
