"""Whatever is typed: an answer, the same for what parses, and no exception."""

from __future__ import annotations

import warnings

import pytest

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.analysis.outline import cut
from graphmend_lsp.model import Position, Span

COMPILED = "import torch\n@torch.compile\n"
MODEL = '''import torch
import torch.nn as nn

class A(nn.Module):
    """A model.

def in_a_string(): pass
"""
    def one(self, x):
        return x

    def forward(self, x):
        print("a")
        return self.one(x)

@torch.compile
def g(x):
    print("b")
    return x

def h(x):
    return x
'''


def lines(source: str) -> list[int]:
    return [site.span.start.line for site in find_breaks(source, "m.py")]


def test_whole() -> None:
    assert lines(MODEL) == [13, 18]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("    return x\n\ndef h", "    return x(\n\ndef h", [13]),
        ("return self.one(x)", "return self.one(x", [18]),
        ("        return x\n\n    def forward", "        return x.\n\n    def forward", [13, 18]),
        ("    def one(self, x):", "    def one(self, x", [13, 18]),
        ("def h(x):", "def h(x", [13, 18]),
        ('"""A model.', '""A model.', [18]),
        ("import torch\n", "import torch\nimport (\n", [13, 18]),
    ],
)
def test_half_typed(old: str, new: str, expected: list[int]) -> None:
    assert old in MODEL
    source = MODEL.replace(old, new, 1)
    shift = source.count("\n") - MODEL.count("\n")
    assert lines(source) == [line + shift for line in expected]


def test_every_prefix_is_answered() -> None:
    for end in range(len(MODEL)):
        assert set(lines(MODEL[:end])) <= {13, 18}


def test_cutting_loses_nothing() -> None:
    assert "".join(cut(MODEL)) == MODEL
    assert (
        "".join(cut("@a\n@b(\n1)\ndef f(): ...\nx = 1\nclass C: ..."))
        == "@a\n@b(\n1)\ndef f(): ...\nx = 1\nclass C: ..."
    )


@pytest.mark.parametrize(
    "source",
    [
        "",
        "\0",
        "x = '\ud800'\n",
        "@torch.compile\ndef f(x):\n    print('\ud800')\n",
        "(" * 5000,
        "-" * 50_000 + "1",
        "x" + ".a" * 50_000,
        "import torch\n@torch.compile\ndef f(x):\n    return x" + " + x" * 20_000,
        "import torch\n@torch.compile\ndef f(x):\n    return " + "not " * 3000 + "x",
        "x = '" + "a" * 1_000_000 + "'\n",
        "x = [" + "1, " * 300_000 + "]\n",
        "if 1:\n" * 90 + "x",
        "class A(A):\n    def forward(self, x): return self.forward(x)\n",
        "class A(B): ...\nclass B(A):\n    def forward(self, x): return x\n",
        "import torch\n@torch.compile\ndef f(x): return g(x)\ndef g(x): return f(x)\n",
        "a = b\nb = a\nimport torch\n@torch.compile\ndef f(x): return a.c\n",
        "import torch\n@torch.compile\ndef f(a, /, b, *c, d=1, **e): return f(*c, **e)\n",
        COMPILED + "def f():\n    global y\n    y = lambda: (yield)\n    [z for z in y if z]\n    del y\n",
        COMPILED + "async def f(x):\n    async for i in x: await i\n    async with x as y: pass\n    return y\n",
        COMPILED
        + "def f(x):\n    match x:\n        case {'a': b, **c} if c: return b\n        case [d, *e]: return e\n",
        "\ufeffimport torch\n",
        "\\",
        "# coding: nonsense\nx = 1\n",
        "def f():\n\tif 1:\n        x\n",
        "\x0c\ndef f(): ...\n",
    ],
)
def test_strange_texts(source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(find_breaks(source, "strange.py"), tuple)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends(ending: str) -> None:
    assert lines(MODEL.replace("\n", ending)) == [13, 18]


def test_byte_order_mark() -> None:
    (site,) = find_breaks(
        "\ufeffimport torch; f = torch.compile(lambda x: x)\n@torch.compile\ndef g(x): print(x)\n", "m.py"
    )
    assert site.span.start == Position(3, 11)
    source = "\ufefffrom torch import compile; g = 0\n@compile\ndef f(x): print(x)"
    assert [each.span for each in find_breaks(source, "m.py")] == [Span.of(3, 11, 3, 19)]


def test_an_edit_elsewhere_moves_the_findings() -> None:
    assert lines("\n\n\n" + MODEL) == [16, 21]
    assert lines(MODEL.replace("import torch\n", "import torch\n# more\n", 1)) == [14, 19]


def test_a_change_of_what_a_function_rests_on_is_seen() -> None:
    source = "import torch\nT = {}\n@torch.compile\ndef f(x):\n    return g(x)\ndef g(x):\n    return x if T else T\n"
    assert lines(source.format("torch.ones(1)")) == [7]
    assert lines(source.format("1")) == []
    assert lines(source.format("torch.ones(1)")) == [7]
    assert lines(source.format("torch.ones(1)").replace("@torch.compile\n", "\n")) == []
