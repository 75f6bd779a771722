"""Constructs that break a graph, or do not, with what Dynamo must be recorded to say: data for `test_recorder`.

Each is the body of a function `f(x)` (``m:`` of a module's `forward(self, x)`), and the breaks expected as
(root GB id, outcome, the exact source of the innermost frame of the program).
"""

from __future__ import annotations

HEAD = """\
import contextlib, functools, logging, math, random, sys, time, warnings
import torch
from torch import nn
log = logging.getLogger("breaks")

@contextlib.contextmanager
def quiet():
    yield

class Plain:
    def __enter__(self): return self
    def __exit__(self, *_): return False

def inner(x):
    y = x.sin()
    print(y)
    return y + 1

def middle(x):
    return inner(x * 2) + 3

@torch.compiler.disable
def disabled(x):
    return x * 2

def once(logger, *args):
    logger.warning(*args)
logging.Logger.warn_here = once
"""

Expected = list[tuple[str, str, str]]
R, S = "resumed", "frame skipped"

CASES: dict[str, tuple[str, Expected]] = {
    "print": ("print(x)\nreturn x + 1", [("GB0059", R, "print(x)")]),
    "print, wide characters": ("y = x + 1; print('ä€😀', y); return y + 1", [("GB0059", R, "print('ä€😀', y)")]),
    "print on several lines": ("print(\n    'a',\n    x,\n)\nreturn x + 1", [("GB0059", R, "print(\n        'a',\n        x,\n    )")]),
    "print of item": (
        "print(f'{x.sum().item():.2f}')\nreturn x + 1",
        [("GB0124", R, "x.sum().item()"), ("GB0059", R, "print(f'{x.sum().item():.2f}')")],
    ),
    "stdout.write": ("sys.stdout.write('a')\nreturn x + 1", [("GB0156", R, "sys.stdout.write('a')")]),
    "logger": ("log.info('a')\nreturn x + 1", [("GB0291", R, "log.info('a')")]),
    "logger disabled": ("log.debug('a')\nreturn x + 1", [("GB0291", R, "log.debug('a')")]),
    "warnings": ("warnings.warn('a')\nreturn x + 1", [("GB0007", R, "warnings.warn('a')")]),
    "time": ("t = time.time()\nreturn x + 1", [("GB0007", R, "time.time()")]),
    "if": ("if x.sum() > 0:\n    x = x + 1\nreturn x * 2", [("GB0170", R, "x.sum() > 0")]),
    "if else": ("if x.sum() > 0:\n    y = x + 1\nelse:\n    y = x - 1\nreturn y", [("GB0170", R, "x.sum() > 0")]),
    "early return": ("if x.sum() > 0:\n    return x\nreturn x * 2", [("GB0170", R, "x.sum() > 0")]),
    "elif": (
        "if x.sum() > 100:\n    x = x + 1\nelif x.sum() > 5:\n    x = x + 2\nreturn x * 2",
        [("GB0170", R, "x.sum() > 100"), ("GB0170", R, "x.sum() > 5")],
    ),
    "ternary": ("y = x + 1 if x.sum() > 0 else x - 1\nreturn y * 2", [("GB0170", R, "x.sum() > 0")]),
    "if item": ("if x.min().item() > 0:\n    x = x + 1\nreturn x", [("GB0124", R, "x.min().item()")]),
    "static if": ("if x.shape[0] > 2:\n    x = x + 1\nreturn x", []),
    "item": ("s = x.sum().item()\nreturn x + s", [("GB0124", R, "x.sum().item()")]),
    "float": ("s = float(x.sum())\nreturn x + s", [("GB0124", R, "float(x.sum())")]),
    "tolist": ("s = x.tolist()\nreturn x + s[0]", [("GB0109", R, "x.tolist()")]),
    "nonzero": ("i = x.nonzero()\nreturn i + 1", [("GB0036", R, "x.nonzero()")]),
    "mask read": ("y = x[x > 2]\nreturn y + 1", [("GB0036", R, "x[x > 2]")]),
    "mask write": ("y = x.clone()\ny[y > 2] = 0\nreturn y + 1", []),
    "argmax index": ("y = x[x.argmax()]\nreturn y + 1", [("GB0033", R, "x[x.argmax()]")]),
    "repr": ("s = repr(x)\nreturn x + len(s)", [("GB0569", R, "repr(x)")]),
    "assert": ("assert (x > 0).all()\nreturn x + 1", []),
    "loop": ("for i in range(3):\n    print(i)\n    x = x + i\nreturn x", [("GB0059", S, "print(i)")]),
    "try": ("try:\n    print(x)\nexcept ValueError:\n    pass\nreturn x + 1", [("GB0059", S, "print(x)")]),
    "context manager": ("with Plain():\n    x = x + 1\nreturn x", []),
    "while": ("while x.sum() < 20:\n    x = x * 2\nreturn x", [("GB0170", R, "x.sum() < 20"), ("GB0170", R, "x.sum() < 20")]),
    "inlined": (
        "return middle(x) * 2",
        [("GB0059", R, "print(y)"), ("GB0059", R, "print(y)"), ("GB0059", R, "print(y)")],
    ),
    "disabled": ("return disabled(x) + 1", [("GB0098", R, "disabled(x)")]),
    "explicit": ("y = x + 1\ntorch._dynamo.graph_break()\nreturn y + 1", [("GB0025", R, "torch._dynamo.graph_break()")]),
    "random": ("return x + random.random()", [("GB0007", R, "random.random()")]),
    "seed": ("torch.manual_seed(0)\nreturn x + 1", [("GB0007", R, "torch.manual_seed(0)")]),
    "guarded": ("if not torch.compiler.is_compiling():\n    print(x)\nreturn x + 1", []),
    "autocast": ("with torch.no_grad():\n    y = x + 1\nreturn y", []),
    "m: print": ("y = self.layer(x)\nprint(y.shape)\nreturn y.relu()", [("GB0059", R, "print(y.shape)")]),
    "m: buffer": ("if self.seen == 0:\n    x = x + 1\nreturn x", [("GB0170", R, "self.seen == 0")]),
    "m: constructor": ("p = nn.Parameter(torch.ones(4))\nreturn x + p", [("GB0264", R, "nn.Parameter(torch.ones(4))")]),
    "m: counter": ("self.count = getattr(self, 'count', 0) + 1\nreturn x + self.count", []),
    "m: clamp guard": (
        "y = self.layer(x)\nif torch.isinf(y).any():\n    y = y.clamp(-1, 1)\nreturn y",
        [("GB0170", R, "if torch.isinf(y).any():\n            y = y.clamp(-1, 1)")],
    ),
}  # fmt: skip

# Where a version of torch (its first two numbers, from the first to the last given) has it otherwise.
ELSEWHERE: dict[tuple[tuple[int, int], tuple[int, int]], dict[str, Expected]] = {
    ((2, 9), (2, 11)): {"repr": [("GB0059", R, "repr(x)")]},
    ((2, 15), (2, 15)): {"time": [("GB9193", R, "time.time()")], "random": []},
}


ON_3_13: dict[str, Expected] = {"while": [("GB0170", R, "x.sum() < 20"), ("GB0170", S, "x.sum() < 20")]}


def expected_of(name: str, torch: str, python: tuple[int, ...]) -> Expected:
    """The breaks of a construct under these versions of torch and Python."""
    if python[:2] >= (3, 13) and name in ON_3_13:
        return ON_3_13[name]
    major, minor = torch.split(".")[:2]
    for (first, last), others in ELSEWHERE.items():
        if first <= (int(major), int(minor)) <= last and name in others:
            return others[name]
    return CASES[name][1]
