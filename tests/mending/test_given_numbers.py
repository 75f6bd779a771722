"""Conditions that are a Python value in another call that the file shows."""

from __future__ import annotations

import ast

import pytest

from graphmend_lsp.mending.facts.python_callers import python_elsewhere
from graphmend_lsp.mending.syntax.source import Source, read

METHOD = "class Net:\n    def f(self, x, gain):\n        if gain > 1: pass\n    def g(self, x):\n        {call}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(x, loud=False):\n    if loud: pass\n", "`loud` is False where it is not given"),
        ("def f(x, *, n=-1):\n    if not n > 0: pass\n", "`n` is -1 where it is not given"),
        ("def f(x, n=0, /):\n    if abs(n) > 2.5: pass\n", "`n` is 0 where it is not given"),
        ("def f(x, n):\n    if n > x.shape[0]: pass\nTABLE = f([], 3)\n", "Line 3 gives `n` 3"),
        ("def f(x, n):\n    if n: pass\ndef g(x):\n    return f(x, n=True)\n", "Line 4 gives `n` True"),
        (METHOD.format(call="return self.f(x, 2.0)"), "Line 5 gives `gain` 2.0"),
        ("def f(x, n):\n    if n > 0: pass\nf([], [])\n", None),
        ("def f(x, n=0):\n    if x.sum() > n: pass\n", None),
        ("def f(x, n=0):\n    if n.any(): pass\n", None),
        ("def f(x, n=None):\n    if n: pass\n", None),
        ("def f(x, n=0):\n    n = x * n\n    if n: pass\n", None),
        ("def f(x, n=0):\n    if isinstance(n, int): return x\n    if n: pass\n", None),
        ("def f(x, n=0):\n    if n > x: pass\n", None),
        (
            "class A:\n    def f(self, n):\n        if n: pass\nclass B:\n    def g(self):\n        return self.f(1)\n",
            None,
        ),
        (METHOD.format(call="return other.f(x, 2.0)"), None),
        (METHOD.format(call="return self.f(*x, 2.0)"), None),
    ],
)
def test_what_the_file_shows(text: str, said: str | None) -> None:
    source = read("/file.py", text)
    assert isinstance(source, Source)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1]
    words = python_elsewhere(source, test)
    assert words is None if said is None else words is not None and words.startswith(said), words
    if words is not None:
        assert words.endswith("is no tensor.")
