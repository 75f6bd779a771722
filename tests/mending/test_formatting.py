"""What of a statement's text may move to another indentation."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.syntax.formatting import dedented, goes_over_lines, verbatim
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
    lines = verbatim(source, function.body[0])
    assert any(one.endswith('"""d\n"""') for one in lines), "what a string holds stays as it is"


STATEMENTS = [
    'x = """a\n  b  \n"""\ny = 1  ',
    'for one in range(3):\n    x = f"""{one}\n        c"""\n    y = (\n        2)',
    "if True:\n    x = 'a\\\n         b'\ny = 3",
    'x = ("a"\n     "b")\ny = """\n\n"""',
]


@pytest.mark.parametrize("indent", ["", "    ", "\t"])
@pytest.mark.parametrize("statements", STATEMENTS)
def test_statements_mean_the_same_at_another_indentation(indent: str, statements: str) -> None:
    """Strings keep their white space, also where a line ends or begins inside of one."""
    first, *rest = dedented(statements, "")
    piece = "\n".join((first, *(f"{indent}{one}" for one in rest)))
    moved = "if True:\n" + "\n".join(f"            {one}" for one in dedented(piece, indent))
    assert values(moved) == values(statements)


def values(text: str) -> dict[str, object]:
    space: dict[str, object] = {}
    exec(text, space)
    return {name: space[name] for name in ("x", "y")}
