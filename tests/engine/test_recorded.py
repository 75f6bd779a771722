"""What of a recording still stands when its file reads otherwise, and how a run is told of."""

from __future__ import annotations

import pytest

from graphmend_lsp.engine.recorded import TRACE, Recording, anchored, hash_of, standing
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text

SOURCE = """\
import torch

@torch.compile
def first(x):
    print(x)
    return x

class Net:
    def forward(self, x):
        def inner(y):
            print(y)
        inner(x)

print("module")
"""


def site(words: str, occurrence: int = 1) -> Break:
    offset = -1
    for _ in range(occurrence):
        offset = SOURCE.index(words, offset + 1)
    text = Text(SOURCE)
    span = Span(text.position(offset), text.position(offset + len(words)))
    chain = (Frame("/m.py", "f", span),)
    return Break("/m.py", span, "GB0059", "t", "r", "recorded", chain=chain)


FIRST, INNER, MODULE = site("print(x)"), site("print(y)"), site('print("module")')
SITES = tuple(anchored(one, SOURCE) for one in (FIRST, INNER, MODULE))
NAMES = {"first": FIRST, "inner": INNER, "module": MODULE}

CHANGES = [
    ("nothing", "", "", {"first", "inner", "module"}),
    ("a line above", "import torch", "import os\nimport torch", {"first", "inner"}),
    ("a decorator's arguments", "@torch.compile", "@torch.compile(dynamic=True)", {"inner"}),
    ("a decorator gone", "@torch.compile\n", "", {"inner"}),
    ("the line itself", "print(x)", "print(x, x)", {"inner"}),
    ("another line of the function", "    return x", "    return x + 1", {"inner"}),
    ("a line at the end of the function", "    return x", "    return x\n    x = 1", {"inner"}),
    ("a remark in the function", "    print(x)", "    # why\n    print(x)", {"inner"}),
    ("the function around the function", "        inner(x)", "        inner(x + 1)", {"first"}),
    ("the name of the function", "def first", "def last", {"inner"}),
    ("the class of the method", "class Net", "class Other", {"first"}),
    ("indentation", "class Net:\n", "if True:\n  pass\nclass Net:\n", {"first", "inner"}),
    ("half-typed code elsewhere", "import torch\n", "import torch\n\ndef half(:\n    x = \n\n", {"first", "inner"}),
    (
        "a second function of the same name in front",
        "import torch\n",
        "import torch\ndef first(x):\n    return x\n\n",
        {"inner"},
    ),
    ("line ends", "\n", "\r\n", {"first", "inner"}),
]


@pytest.mark.parametrize(("what", "old", "new", "left"), CHANGES, ids=[one[0] for one in CHANGES])
def test_what_stands_after_a_change_of(what: str, old: str, new: str, left: set[str]) -> None:
    now = SOURCE.replace(old, new) if old else SOURCE
    found = standing(SITES, hash_of(SOURCE), now)
    text = Text(now)
    assert sorted(text.slice(one.span) for one in found) == sorted(
        Text(SOURCE).slice(NAMES[name].span) for name in left
    )
    if old:
        assert all(one.chain == () for one in found)  # where the callers are now is not known


def test_a_site_without_its_text_never_stands() -> None:
    (alone,) = (anchored(FIRST, None),)
    assert standing((alone,), None, SOURCE) == ()
    assert standing((alone,), hash_of(SOURCE), SOURCE) == (FIRST,)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"), (59, "just now"), (60, "1 minute ago"), (3599, "59 minutes ago"), (7300, "2 hours ago"),
        (86400, "1 day ago"), (10**7, "115 days ago"), (-5, "just now"),
    ],
)  # fmt: skip
def test_how_long_ago(seconds: float, words: str) -> None:
    made = Recording(("/opt/env/bin/python", "train.py", "a b"), "/w", 1000.0, None, None, (), ())
    assert made.told(1000 + seconds) == f"Recorded {words} by `python train.py 'a b'`."


def test_a_trace_and_a_long_command() -> None:
    trace = Recording((TRACE, "/t"), "/t", 0.0, None, None, (), ())
    assert trace.told(0.0) == "Read from the trace /t, made just now."
    assert len(Recording(("x" * 500,), "/w", 0.0, None, None, (), ()).words) == 60
