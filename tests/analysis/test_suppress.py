"""Breaks silenced by comments, and the edit that silences one."""

from __future__ import annotations

import pytest

from graphmend_lsp.analysis.suppress import find_suppressions, ignore_edit, is_suppressed
from graphmend_lsp.model import Break, Span
from graphmend_lsp.text import apply_edits


def site(line: int, gb_id: str | None = "GB0170", end: int | None = None, root: str | None = None) -> Break:
    return Break("a.py", Span.of(line, 1, end or line, 2), gb_id, "Some type", "why", "static", root_gb_id=root)


@pytest.mark.parametrize(
    ("source", "broken", "silenced"),
    [
        ("f(x)  # graphmend: ignore\n", site(1), True),
        ("f(x)  #graphmend:ignore\n", site(1), True),
        ("f(x)  # graphmend: ignore[GB0170]\n", site(1), True),
        ("f(x)  # graphmend: ignore[ gb0059 , GB0170 ]\n", site(1), True),
        ("f(x)  # noqa: E501  # graphmend: ignore[GB0170] because\n", site(1), True),
        ("f(x)  # graphmend: ignore[GB0059]\n", site(1), False),
        ("f(x)  # graphmend: ignore[GB0059]\n", site(1, "GB7000", root="GB0059"), True),
        ("f(x)  # graphmend: ignore[GB7000]\n", site(1, "GB7000", root="GB0059"), True),
        ("f(x)  # graphmend: ignore[]\n", site(1), False),
        ("f(x)  # graphmend: ignored\n", site(1), False),
        ("f(x)  # graphmend: ignore-line\n", site(1), False),
        ("# graphmend: ignore\nf(x)\n", site(2), False),
        ("f(\n  x,\n)  # graphmend: ignore\n", site(1, end=3), True),
        ("f(\n  x,  # graphmend: ignore\n)\n", site(1, end=3), False),
        ("f('# graphmend: ignore')\n", site(1), False),
        ("'''\n# graphmend: ignore-file\n'''\nf(x)\n", site(4), False),
        ("# graphmend: ignore-file\n\n\nf(x)\n", site(4), True),
        ("f(x)\n# graphmend: ignore-file[GB0170]\n", site(1), True),
        ("f(x)\n# graphmend: ignore-file[GB0059]\n", site(1), False),
        ("def f(:\n    x  # graphmend: ignore\n\ndef g():\n    y()  # graphmend: ignore\n", site(5), True),
        ("f(x)  # graphmend: ignore\r\ng(x)\r\n", site(1), True),
        ("a\rf(x)  # graphmend: ignore\r", site(2), True),
        ("f(x)\n", site(1), False),
    ],
)
def test_is_suppressed(source: str, broken: Break, silenced: bool) -> None:
    assert is_suppressed(broken, source) is silenced
    assert is_suppressed(broken, find_suppressions(source)) is silenced


@pytest.mark.parametrize(
    ("source", "broken", "after"),
    [
        ("f(x)\n", site(1), "f(x)  # graphmend: ignore[GB0170]\n"),
        ("f(x)", site(1), "f(x)  # graphmend: ignore[GB0170]"),
        ("f(x)   \r\ng()\r\n", site(1), "f(x)  # graphmend: ignore[GB0170]\r\ng()\r\n"),
        ("f(x)  # why\n", site(1), "f(x)  # why  # graphmend: ignore[GB0170]\n"),
        ("f(x)  # graphmend: ignore[GB0059]\n", site(1), "f(x)  # graphmend: ignore[GB0059, GB0170]\n"),
        ("f(x)  # graphmend: ignore[] # b\n", site(1), "f(x)  # graphmend: ignore[GB0170] # b\n"),
        ("f(x)\n", site(1, None), "f(x)  # graphmend: ignore\n"),
        ("f(x)\n", site(1, "GB7000", root="GB0059"), "f(x)  # graphmend: ignore[GB0059]\n"),
        ("f(x) + \\\n  g(x)\n", site(1, end=2), "f(x) + \\\n  g(x)  # graphmend: ignore[GB0170]\n"),
        ("f('''\n''')\n", site(1, end=2), "f('''\n''')  # graphmend: ignore[GB0170]\n"),
        ("f(x) + \\\n  g(x)\n", site(1), None),
        ("f('''\n  a\n''')\n", site(2), None),
        ("f(f'''\n  {a}\n''')\n", site(1), None),
        ("f(x)  # graphmend: ignore\n", site(1), None),
        ("f(x)\n", site(7), None),
        ("f('\n", site(1), None),
        ("a()\ndef g():\n    é('𝔘')\n", site(3), "a()\ndef g():\n    é('𝔘')  # graphmend: ignore[GB0170]\n"),
    ],
)
def test_ignore_edit(source: str, broken: Break, after: str | None) -> None:
    edit = ignore_edit(source, broken)
    if after is None:
        assert edit is None
        return
    assert edit is not None
    changed = apply_edits(source, [edit])
    assert changed == after
    assert is_suppressed(broken, changed)
    assert ignore_edit(changed, broken) is None
