"""Verdicts of the real worker process: each way in which a mend can be right or wrong, on a program of a few lines."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.worker.worker_pipes import Worker, analyse_params

HEAD = "import logging, random, torch, warnings, math\nfrom torch import nn\nlog = logging.getLogger('model')\n"
TAIL = "\ndef graphmend_entry():\n    torch.manual_seed(0)\n    return {entry}\n"
X = "torch.tensor([1.0, -2.0, 3.0, 4.0])"


@dataclass(frozen=True)
class Case:
    """A program before and after, and what its verdict must say.

    `finds` are (what, severity, part of the detail) of differences that must be there; when empty there may be no
    difference at all. `unseen` are sides that no call can take; `conditions` segments of the program before.
    """

    name: str
    before: str
    after: str
    entry: str = f"f, ({X},)"
    finds: tuple[tuple[str, str, str], ...] = ()
    conditions: tuple[str, ...] = ("x.sum() > 0",)
    unseen: tuple[bool, ...] = ()
    unlike: str = ""
    likeness: dict[str, str] = field(default_factory=dict)
    counts: tuple[int, int] | None = None
    mode: str = "eval"
    failure: str = ""


IF = "def f(x):\n    if x.sum() > 0:\n        y = {a}\n    else:\n        y = {b}\n    return {result}\n"
LOADED = "import uuid\nLOAD = [uuid.uuid4().hex]\n"
OBJECT = """
import time


class Step:
    def __init__(self):
        self.net, self.count, self.clock = nn.Linear(4, 4), 0, time.perf_counter()

    def run(self, x):
        {count}
        {time}
        x = self.net(x)
{body}
"""
CLOSURE = """
def closed():
    net, count = nn.Linear(4, 4), 0

    def run(x):
        nonlocal count
        {count}
        x = net(x)
{body}
    return run
"""
COUNT, NONLOCAL, TIME = "self.count += 1", "count += 1", "self.clock = time.perf_counter()"


def kept(program: str, before: bool, count: str, time: str = "pass") -> str:
    """A method or a closure that keeps what it is told, with a break or without."""
    body = (IF if before else WHERE).format(a="x + 1", b="x - 1", result="y * 2").removeprefix("def f(x):\n")
    return program.format(body=textwrap.indent(body, "    "), count=count, time=time)


WHERE = "def f(x):\n    y = torch.where(x.sum() > 0, {a}, {b})\n    return {result}\n"


def branches(name: str, a: str, b: str, result: str = "y * 2", **more: Any) -> Case:
    return Case(name, IF.format(a=a, b=b, result=result), WHERE.format(a=a, b=b, result=result), **more)


PRINT = """
def f(x):
    y = x.sin()
    {first}
    z = y + 1
    {last}
    return z
"""


def moved(name: str, first: str, last: str = "pass", head: str = "", **more: Any) -> Case:
    """An effect that is `first` in the middle of the original, and `last` at the end of the mended program."""
    body = textwrap.dedent(PRINT)
    before = head + body.format(first=first, last="pass")
    return Case(name, before, head + body.format(first="pass", last=last), conditions=(), **more)


OPERATOR = """
@torch.library.custom_op("graphmend_test::say", mutates_args=())
def say(y: torch.Tensor) -> None:
    print("y", tuple(y.shape))
@say.register_fake
def _(y):
    return None
"""
SILENT = """
@torch.compiler.assume_constant_result
def say_once():
    print("y")
    return 0
"""
ALIAS = """
class Rope(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv", torch.ones(4))
        self.original = self.inv
        self.long = torch.full((4,), 2.0)
    def forward(self, x):
        if x.sum() > 100:
            self.inv = self.long
        else:
            self.inv = self.original
        return x * self.inv
"""
ALIAS_IF = """if x.sum() > 100:
            self.inv = self.long
        else:
            self.inv = self.original"""
GUARD = """
def f(x):
    if x.sum() > 0:
        raise ValueError('positive')
    return x + 1
"""
DROPOUT = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.Dropout(0.5)
    def forward(self, x):
        return self.d(f(x))
"""
SAYING = """
class Saying(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        y = self.layer(x)
        {say}
        return y * 2
"""
COUNTER = """
class Count(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        y = self.layer(x)
        print("y")
        self.seen += {step}
        return y
"""
CLAMP = """
class Clamp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        h = self.layer(x)
        {body}
        return h
"""
CLAMP_IF = """if torch.isinf(h).any():
            h = torch.clamp(h, -100.0, 100.0)"""
CLAMP_WHERE = "h = torch.where(torch.isinf(h).any(), torch.clamp(h, -{limit}, {limit}), h)"

EQUAL = [
    branches(
        "both branches", "x + 1", "x - 1", counts=(2, 1), likeness={"gradients": "bit-equal", "state": "bit-equal"}
    ),
    branches("a 0-d result", "x.sum()", "x.mean()"),
    Case(
        "an object's state, with a time",
        kept(OBJECT, True, COUNT, TIME),
        kept(OBJECT, False, COUNT, TIME),
        entry=f"Step().run, ({X},)",
    ),
    Case(
        "a closure's state",
        kept(CLOSURE, True, NONLOCAL),
        kept(CLOSURE, False, NONLOCAL),
        entry=f"closed(), ({X},)",
        counts=(2, 1),
    ),
    Case(
        "state that is another in each load",
        LOADED + IF.format(a="x + 1", b="x - 1", result="y * 2"),
        LOADED + WHERE.format(a="x + 1", b="x - 1", result="y * 2"),
        counts=(2, 1),
    ),
    branches("python numbers", "2.0", "0.5", "x * y"),
    Case(
        "double where",
        IF.format(a="x.abs().sqrt()", b="x * 2", result="y"),
        "def f(x):\n    c = x.sum() > 0\n    s = torch.where(c, x, torch.ones_like(x)).abs()\n"
        "    y = torch.where(c, s.sqrt(), x * 2)\n    return y\n",
        entry="f, (torch.tensor([1.0, 2.0, 3.0, 4.0]),)",
    ),
    Case(
        "a mask of integers",
        "def f(x, m):\n    if (m == 1).all():\n        return x * 2\n    return x * m\n",
        "def f(x, m):\n    return torch.where((m == 1).all(), x * 2, x * m)\n",
        entry=f"f, ({X}, torch.ones(4, dtype=torch.int64))",
        conditions=("(m == 1).all()",),
    ),
    Case(
        "two equal inputs",
        "def f(x, y):\n    if torch.equal(x, y):\n        return x * 2\n    return x - y\n",
        "def f(x, y):\n    return torch.where((x == y).all(), x * 2, x - y)\n",
        entry="f, (torch.randn(4), torch.randn(4))",
        conditions=("torch.equal(x, y)",),
    ),
    Case(
        "weights made infinite reach the guard in half precision",
        CLAMP.format(body=CLAMP_IF),
        CLAMP.format(body=CLAMP_WHERE.format(limit="100.0")),
        entry="Clamp().half(), (torch.ones(2, 4).half(),)",
        conditions=("torch.isinf(h).any()",),
    ),
    Case(
        "an alias that is kept",
        ALIAS,
        ALIAS.replace(ALIAS_IF, "self.inv = torch.where(x.sum() > 100, self.long, self.original)"),
        entry="Rope(), (torch.ones(4),)",
        conditions=("x.sum() > 100",),
    ),
    Case(
        "training with dropout",
        *(
            text + DROPOUT
            for text in (IF.format(a="x + 1", b="x - 1", result="y"), WHERE.format(a="x + 1", b="x - 1", result="y"))
        ),
        entry="M(), (torch.randn(8, 8),)",
        mode="train",
        likeness={"gradients": "bit-equal"},
    ),
    Case(
        "a loop that other values never end",
        "def f(x):\n    while x.sum() < 100:\n        x = x * 2\n    print('y')\n    return x\n",
        "def f(x):\n    while x.sum() < 100:\n        x = x * 2\n    y = x\n    print('y')\n    return y\n",
        conditions=(),
    ),
    moved("a print at the end", "print('y', y)", "print('y', y)", likeness={"effects": "equal"}),
    moved("a log record at the end", "log.warning('y %s', y)", "log.warning('y %s', y)", likeness={"effects": "equal"}),
    moved(
        "a warning at the end", "warnings.warn('careful')", "warnings.warn('careful')", likeness={"effects": "equal"}
    ),
    Case(
        "a call that raises on both",
        GUARD,
        "def f(x):\n    y = x + 1\n    if x.sum() > 0:\n        raise ValueError('positive')\n    return y\n",
        entry=f"f, (-{X},)",
    ),
]

UNEQUAL = [
    Case(
        "an object's counter",
        kept(OBJECT, True, COUNT),
        kept(OBJECT, False, "pass"),
        entry=f"Step().run, ({X},)",
        finds=(("state", "different", "int 1 became int 0"),),
    ),
    Case(
        "a closure's counter",
        kept(CLOSURE, True, NONLOCAL),
        kept(CLOSURE, False, "pass"),
        entry=f"closed(), ({X},)",
        finds=(("state", "different", "int 1 became int 0"),),
    ),
    Case(
        "gradients that its own backward pass leaves",
        kept(CLOSURE, True, NONLOCAL).replace("return y * 2", "(y * 2).sum().backward()"),
        kept(CLOSURE, False, NONLOCAL).replace("return y * 2", "(y * 3).sum().backward()"),
        entry=f"closed(), ({X},)",
        finds=(("gradient", "different", ""),),
    ),
    Case(
        "gradients of an object's module",
        kept(OBJECT, True, COUNT),
        kept(OBJECT, False, COUNT).replace("self.net(x)", "self.net(x).detach()"),
        entry=f"Step().run, ({X},)",
        finds=(("gradient", "different", "missing"),),
    ),
    Case(
        "NaN gradient",
        IF.format(a="x.sqrt()", b="x * 2", result="y"),
        WHERE.format(a="x.sqrt()", b="x * 2", result="y"),
        entry="f, (torch.tensor([1.0, 2.0, 3.0, 4.0]),)",
        finds=(("gradient", "different", "nan"),),
        likeness={"outputs": "bit-equal", "gradients": "different"},
    ),
    branches(
        "broadcast",
        "x.sum()",
        "x",
        "y * 1",
        finds=(("output", "different", "(4,)"),),
        unlike="() float32 against (4,) float32",
    ),
    branches(
        "broadcast that cancels",
        "x.sum()",
        "x",
        "y.sum() * 0",
        unlike="line 5: () float32 against (4,) float32",
        likeness={"outputs": "bit-equal"},
        finds=(),
    ),
    branches(
        "promotion", "x.long()", "x", "y * 1", finds=(("output", "different", "float32"),), unlike="int64 against"
    ),
    Case(
        "the sides are exchanged",
        IF.format(a="x + 1", b="x - 1", result="y"),
        WHERE.format(a="x - 1", b="x + 1", result="y"),
        finds=(("output", "different", "max abs diff 2.0"),),
    ),
    Case(
        "only the gradient differs",
        "def f(x):\n    return x * x.sum().item()\n",
        "def f(x):\n    return x * x.sum()\n",
        conditions=(),
        finds=(("gradient", "different", "max abs diff"),),
        likeness={"outputs": "bit-equal", "gradients": "different"},
    ),
    Case(
        "an alias overwritten",
        ALIAS,
        ALIAS.replace(ALIAS_IF, "self.inv.copy_(torch.where(x.sum() > 100, self.long, self.original))"),
        entry="Rope(), (torch.ones(4),)",
        conditions=("x.sum() > 100",),
        finds=(("output", "different", "max abs diff"),),
    ),
    Case(
        "state",
        COUNTER.format(step=1),
        COUNTER.format(step=2),
        entry="Count(), (torch.ones(2, 4),)",
        conditions=(),
        finds=(("state", "different", "int 1 became int 2"),),
        likeness={"state": "different", "outputs": "bit-equal"},
    ),
    Case(
        "new state is told",
        "def f(x):\n    print('y')\n    return x + 1\n",
        "queue = []\ndef f(x):\n    y = x + 1\n    print('y')\n    return y\n",
        conditions=(),
        finds=(("state", "moved", "new"),),
    ),
    Case(
        "an input written in place",
        "def f(x):\n    y = x.clone()\n    y += 1\n    return y\n",
        "def f(x):\n    y = x\n    y += 1\n    return y\n",
        conditions=(),
        finds=(("input", "different", "max abs diff"),),
    ),
    Case(
        "random numbers",
        "def f(x):\n    return x + torch.rand(4) * 0\n",
        "def f(x):\n    torch.rand(4)\n    return x + torch.rand(4) * 0\n",
        conditions=(),
        finds=(("random state", "different", ""),),
    ),
    moved(
        "a print dropped as dead code",
        "print('y', tuple(y.shape))",
        "say(y)",
        OPERATOR,
        finds=(("stdout", "different", "missing"),),
    ),
    Case(
        "a print dropped as dead code in training",
        SAYING.format(say="print('y', tuple(y.shape))"),
        OPERATOR + SAYING.format(say="say(y)"),
        entry="Saying(), (torch.ones(2, 4),)",
        conditions=(),
        mode="train",
        finds=(("stdout", "different", "missing"),),
    ),
    moved(
        "a print that comes once per compilation",
        "print('y')",
        "say_once()",
        SILENT,
        finds=(("stdout", "different", "missing"),),
    ),
    moved(
        "a print whose tensor has no history in the graph",
        "print('y', y)",
        "torch._higher_order_ops.print('y {}', y)",
        finds=(("stdout", "different", "grad_fn"),),
    ),
    moved("a print lost", "print('y')", finds=(("stdout", "different", "missing: 'y\\n'"),)),
    moved(
        "a print by C code lost", "__import__('os').write(1, b'y')", finds=(("stdout", "different", "missing: 'y'"),)
    ),
    moved(
        "a text changed", "print('y', 1)", "print('y', 2)", finds=(("stdout", "different", "'y 1\\n' became 'y 2\\n'"),)
    ),
    Case(
        "a text that names the history of a copy",
        "def f(x):\n    x.zero_()\n    y = x.sin()\n    print(y)\n    return y + 1\n",
        "def f(x):\n    x.zero_()\n    y = x.sin()\n    print(y.clone())\n    return y + 1\n",
        conditions=(),
        finds=(("stdout", "different", "CloneBackward0"),),
    ),
    Case(
        "a number that another call gives otherwise, where torch.cond holds none",
        "def f(x, scale):\n    if x.sum() > 0:\n        y = x * scale\n    else:\n        y = x - scale\n    return y + 1\n",
        "def f(x, scale):\n    y = torch.cond(x.sum() > 0, lambda: x * scale, lambda: x - scale)\n    return y + 1\n",
        entry=f"f, ({X}, 0.5)",
        finds=(("exception", "different", "lift_tracked_freevar_to_input"),),
    ),
    Case(
        "a flag that the entry gives in one way only",
        "def f(x, twice=False):\n    if x.sum() > 0:\n        y = x * 2 if twice else x\n    else:\n        y = -x\n    return y + 1\n",
        "def f(x, twice=False):\n    y = torch.where(x.sum() > 0, x, -x)\n    return y + 1\n",
        entry=f"f, ({X}, False)",
        finds=(("output", "different", "in float64 they differ too"),),
    ),
    Case(
        "a forward pass that fails because its backward pass would",
        "def f(x):\n    return torch.unique(x) + 1\n",
        "import contextlib, functools\n\n\ndef captures(function):\n"
        "    @functools.wraps(function)\n    def run(*args):\n"
        "        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):\n"
        "            return function(*args)\n"
        "    torch._dynamo.eval_frame.skip_code(run.__code__)\n    return run\n\n\n"
        "@captures\ndef f(x):\n    return torch.unique(x) + 1\n",
        conditions=(),
        finds=(("exception", "exception", "in backward became torch._dynamo.exc.BackendCompilerFailed"),),
        likeness={"outputs": "bit-equal"},
    ),
    moved("a level changed", "log.warning('y')", "log.error('y')", finds=(("log", "different", "model ERROR"),)),
    moved("a message changed", "log.warning('y')", "log.warning('z')", finds=(("log", "different", "'y' became 'z'"),)),
    moved("a warning lost", "warnings.warn('careful')", finds=(("warning", "different", "missing: 'careful'"),)),
    Case(
        "a print before another",
        "def f(x):\n    print('a')\n    print('b')\n    return x + 1\n",
        "def f(x):\n    print('b')\n    print('a')\n    return x + 1\n",
        conditions=(),
        finds=(("stdout", "different", "another order"),),
    ),
    Case(
        "a print while compiling",
        "def f(x):\n    print('a')\n    log.warning('b')\n    return x + 1\n",
        "@torch.compiler.assume_constant_result\ndef tell():\n    log.warning('b')\n    return 0\n"
        "def f(x):\n    print('a')\n    tell()\n    return x + 1\n",
        conditions=(),
        finds=(("log", "different", "missing"),),
    ),
    Case(
        "exception type",
        GUARD,
        "def f(x):\n    torch._assert_async(x.sum() <= 0, 'positive')\n    return x + 1\n",
        entry=f"f, (-{X},)",
        finds=(("exception", "exception", "ValueError('positive') became RuntimeError"),),
    ),
    Case(
        "exception message",
        GUARD,
        GUARD.replace("'positive'", "'bad'"),
        entry=f"f, (-{X},)",
        finds=(("exception", "exception", "ValueError('positive') became ValueError('bad')"),),
    ),
    Case(
        "exception lost",
        GUARD,
        "def f(x):\n    return x + 1\n",
        entry=f"f, (-{X},)",
        finds=(("exception", "different", "ValueError('positive') was lost"),),
    ),
    Case(
        "the clamp's limit",
        CLAMP.format(body=CLAMP_IF),
        CLAMP.format(body=CLAMP_WHERE.format(limit="50.0")),
        entry="Clamp().half(), (torch.ones(2, 4).half(),)",
        conditions=("torch.isinf(h).any()",),
        finds=(("output", "different", "max abs diff"),),
    ),
    Case(
        "a side that nothing reaches",
        "def f(x):\n    if x.isnan().sum() > 99:\n        return x + 1\n    return x - 1\n",
        "def f(x):\n    return torch.where(x.isnan().sum() > 99, x + 1, x - 1)\n",
        conditions=("x.isnan().sum() > 99",),
        entry="f, (torch.ones(2, 1),)",
        unseen=(True,),
    ),
    Case("a syntax error", IF.format(a="x", b="x", result="y"), "def f(x:\n", failure="syntax"),
    Case("an import error", IF.format(a="x", b="x", result="y"), "import nothing_of_this_name\n", failure="import"),
    Case(
        "an exit",
        IF.format(a="x", b="x", result="y"),
        "def f(x):\n    raise SystemExit(3)\n",
        finds=(("exception", "different", "new: SystemExit('3')"),),
    ),
    Case(
        "without elements it raises",
        "def f(x):\n    y = x * 2\n    if x.sum() > 0:\n        y[0] = 5.0\n    return y\n",
        "def f(x):\n    y = x * 2\n    y[0] = torch.where(x.sum() > 0, 5.0, y[0])\n    return y\n",
        finds=(("exception", "exception", "IndexError"),),
        likeness={"outputs": "bit-equal"},
    ),
    Case(
        "other dtypes become wider",
        "def f(x):\n    y = torch.zeros(4)\n    y += x\n    if x.sum() > 0:\n        y = y * 2\n    return y\n",
        "def f(x):\n    y = torch.zeros(4)\n    y = y + x\n    y = torch.where(x.sum() > 0, y * 2, y)\n    return y\n",
        finds=(("output", "exception", "float64"),),
        likeness={"outputs": "bit-equal"},
    ),
    Case(
        "numbers are rounded in half precision",
        "def f(x):\n    return x * (x.max().item() - x.mean().item())\n",
        "def f(x):\n    return x * (x.max().detach() - x.mean().detach())\n",
        entry="f, (torch.linspace(-3.3, 7.1, 97),)",
        conditions=(),
        finds=(("output", "exception", "max abs diff"),),
    ),
    Case(
        "a crash",
        IF.format(a="x", b="x", result="y"),
        "def f(x):\n    import ctypes\n    ctypes.string_at(0)\n",
        failure="crash",
    ),
]


Judge = Callable[[Case], dict[str, Any]]


@pytest.fixture
def judge(worker: Worker, tmp_path: Path) -> Judge:
    def ask(case: Case, seconds: float = 60.0, broken: str = "") -> dict[str, Any]:
        file = str(tmp_path / "program.py")
        before = HEAD + case.before + TAIL.format(entry=case.entry)
        after = HEAD + case.after + TAIL.format(entry=case.entry)
        candidate = {
            "id": "mend", "texts": {file: after}, "changed": {file: [[1, after.count("\n")]]},
            "conditions": [place(before, segment, file) for segment in case.conditions],
        }  # fmt: skip
        params = analyse_params(
            file, text=before, roots=(str(tmp_path),), device="cpu", mode=case.mode, seconds=seconds
        )
        if broken:
            params["broken"] = [(file, 1 + before[: before.index(broken)].count("\n"))]
        return worker.result(worker.send("verify", {**params, "candidates": [candidate]}), 200)

    return ask


def place(text: str, segment: str, file: str) -> dict[str, Any]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr) and ast.get_source_segment(text, node) == segment:
            return {
                "file": file, "line": node.lineno, "column": node.col_offset, "end_line": node.end_lineno,
                "end_column": node.end_col_offset,
            }  # fmt: skip
    raise AssertionError(segment)


@pytest.mark.slow
@pytest.mark.parametrize("case", EQUAL, ids=lambda case: case.name)
def test_a_right_mend_differs_in_nothing(judge: Judge, case: Case) -> None:
    result = judge(case)
    assert result["failure"] is None
    (one,) = result["candidates"]
    assert one["failure"] is None
    assert [each for each in one["differences"] if "assumes" not in each] == []
    assert one["unlike_sides"] == []
    assert one["outputs"] == "bit-equal"
    assert one["after"]["graphs"] > 0
    assert [(side["true"], side["false"]) for side in one["sides"]] == [(True, True)] * len(case.conditions)
    for part, likeness in case.likeness.items():
        assert one[part] == likeness
    if case.counts is not None:
        assert (one["before"]["graphs"], one["after"]["graphs"]) == case.counts
        assert (one["before"]["breaks"], one["after"]["breaks"]) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("case", UNEQUAL, ids=lambda case: case.name)
def test_what_is_wrong_is_found_and_named(judge: Judge, case: Case) -> None:
    result = judge(case)
    assert result["failure"] is None
    (one,) = result["candidates"]
    if case.failure:
        assert one["failure"]["kind"] == case.failure
        return
    assert one["failure"] is None
    said = [(each["what"], each["severity"], each["detail"]) for each in one["differences"]]
    for what, severity, words in case.finds:
        assert any((what, severity) == each[:2] and words in each[2] for each in said), said
    assert any(case.unlike in each for each in one["unlike_sides"]) if case.unlike else not one["unlike_sides"]
    for part, likeness in case.likeness.items():
        assert one[part] == likeness
    unseen = [value for side in one["sides"] for value in (True, False) if not side[str(value).lower()]]
    assert tuple(unseen) == case.unseen


ROWS = "    return torch.stack([row + 1 for row in y])\n"
JOINED = "def f(x):\n    y = x * 2\n{lines}" + ROWS
CHOSEN = "    y = torch.where((x.sum() > 0).expand(y.shape), y + 1, y)\n"
ROW_BY_ROW = "    y = torch.stack([torch.where(x.sum() > 0, row + 1, row) for row in y])\n"
CAPTURED = """
import torch._dynamo
def captures(function):
    def run(x):
        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            return function(x)
    torch._dynamo.eval_frame.skip_code(run.__code__)
    return run
def f(x):
    y = x.int().tolist()
    return torch.zeros(4) + y[0]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (JOINED.format(lines="    if x.sum() > 0:\n        y = y + 1\n"), JOINED.format(lines=CHOSEN), ""),
        (
            JOINED.format(lines="    if x.sum() > 0:\n        y = y + 1\n"),
            JOINED.format(lines=ROW_BY_ROW),
            "torch.where",
        ),
        (CAPTURED, CAPTURED + "f = captures(f)\n", "tolist()"),
    ],
    ids=["in code that the mend only joins", "in the code of the mend", "where the graph broke"],
)
@pytest.mark.parametrize("known", [False, True])
def test_a_dimension_that_becomes_constant_is_told_where_the_mend_makes_it_so(
    judge: Judge, before: str, after: str, told: str, known: bool
) -> None:
    """Also where the break is known already, so that the original need not be compiled."""
    case = Case("", before, after, conditions=("x.sum() > 0",) if "x.sum() > 0" in before else ())
    broken = ("x.sum() > 0" if case.conditions else "x.int()") if known else ""
    (one,) = judge(case, broken=broken)["candidates"]  # type: ignore[call-arg]
    assert one["failure"] is None and one["after"]["breaks"] == 0, one["events"]
    said = [each["detail"] for each in one["differences"] if each.get("assumes") == "constant-dimension"]
    assert len(said) == bool(told) and all("becomes constant at program.py:" in each and told in each for each in said)


@pytest.mark.slow
def test_an_endless_mend_is_stopped(judge: Judge) -> None:
    case = Case("hang", IF.format(a="x", b="x", result="y"), "def f(x):\n    while True:\n        pass\n")
    result = judge(case, 8.0)  # type: ignore[call-arg]
    assert result["failure"] is None
    assert result["candidates"][0]["failure"]["kind"] == "timeout"


BROKEN = [
    ("def f(x):\n    raise KeyError('k')\n", "exception"),
    ("def f(x:\n", "syntax"),
    ("raise SystemExit\n", "exit"),
]


@pytest.mark.parametrize(("before", "kind"), BROKEN)
def test_an_original_that_fails_is_a_failure(judge: Judge, before: str, kind: str) -> None:
    entry = Case("broken", before, before, conditions=())
    result = judge(entry)
    assert (result["candidates"], result["failure"]["kind"]) == ([], kind)


HELD = {
    "an open file": f"(setattr(f, 'held', open(__import__('os').devnull)), f)[1], ({X},)",
    "a thread": f"(__import__('threading').Thread(target=__import__('time').sleep, args=(60,), daemon=True).start(), f)[1], ({X},)",
}


@pytest.mark.slow
@pytest.mark.parametrize("held", HELD)
def test_a_program_that_holds_what_forks_would_share_is_built_for_each_run(judge: Judge, held: str) -> None:
    result = judge(branches(held, "x * 2", "x - 1", entry=HELD[held]))
    assert result["failure"] is None
    (one,) = result["candidates"]
    assert (one["failure"], one["outputs"]) == (None, "bit-equal")
    assert one["differences"] == []
    assert one["calls"] > 50
