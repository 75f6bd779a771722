"""What a run notes of the values in functions that hold a break: true of every call, and the run itself as without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.model import Position, Span
from graphmend_lsp.text import Text
from graphmend_lsp.values import FileFacts, ValueFact
from graphmend_lsp.worker.wire import NotedFunction

SERVER = Path(__file__).parents[2] / "server"

PROGRAM = '''"""A program with breaks in functions of every kind."""
import collections
import dataclasses

import torch

calls = []


@dataclasses.dataclass
class Out:
    total: torch.Tensor
    count: int


Pair = collections.namedtuple("Pair", "left right")


class Odd:
    def __len__(self):
        raise SystemExit("its length was asked for")

    def __repr__(self):
        raise SystemExit("its text was asked for")

    def __bool__(self):
        raise SystemExit("its truth was asked for")


def shrink(x, factor):
    y = x * factor
    if y.sum() > 1e9:
        late = 1
        y = y + 1
    view = y.view(-1)
    other = y.clone()
    out = Out(view, y.shape[0])
    pair = Pair(left=None, right="word")
    by_name = {"a": y, "b": 2}
    mixed = 3 if calls else None
    odd = Odd()
    sizes = [part.numel() for part in (view, other)]
    x, z = y + 1, (w := x - 1)
    print(x.sum().item())
    calls.append(1)
    return x, [out, pair, by_name, mixed, odd, sizes, z, w]


def make(scale):
    def inner(x):
        big = x * scale
        print(big.shape)
        return big
    return inner


def rows(x):
    for row in x:
        print(row.shape)
        yield row * 2


class Net(torch.nn.Module):
    ready = False

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.inner = make(0.5)
        self.__hidden = 7

    def forward(self, x, mask=None):
        first = self.ready
        self.ready = True
        x = self.lin(x)
        x, _ = shrink(x, self.__hidden)
        x, _ = shrink(x, 2.0)
        x = self.inner(x)
        x = sum(rows(x))
        print(mask)
        return super().__call__ and x


class Raises(torch.nn.Module):
    def forward(self, x):
        print(x.shape)
        if x.shape[0] > 2:
            raise ValueError("too long")
        return x + 1


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.randn(2, 4),), (torch.randn(3, 4),)]


def graphmend_entry_raises():
    return Raises(), [(torch.randn(2),), (torch.randn(3),), (torch.randn(1),)]
'''

RUN = """
import json, sys
from graphmend_lsp.worker import analyse, noting
file, function, which, mode, target, seconds = sys.argv[1:]
if which == "off":
    noting._can_note = lambda: False
params = dict(
    entry=dict(file=file, function=function, kind="function"), texts={}, roots=[], device="cpu", mode=mode,
    limits=dict(seconds=60, memory_mb=None),
)
noting.LEAST = float(seconds)  # this machine may be busy
result = analyse.analyse(params)
with open(target, "w") as file:
    json.dump(result, file)
"""


def analysed(
    folder: Path, text: str, entry: str = "graphmend_entry", noting: str = "on", mode: str = "eval", seconds: float = 30
) -> Any:
    (folder / "program.py").write_text(text)
    target = folder / "result.json"
    command = [sys.executable, "-c", RUN, str(folder / "program.py"), entry, noting, mode, str(target), str(seconds)]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(SERVER), "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(target.read_text()), "printed": done.stdout}


class Noted:
    """What was noted, asked for by source text."""

    def __init__(self, text: str, functions: list[NotedFunction]) -> None:
        from graphmend_lsp.engine.noted import _file_facts

        self.text = Text(text)
        self.functions = {one["function"]: one for one in functions}
        self.facts = FileFacts(text)
        for one in functions:
            found = _file_facts(one, self.text, 0)
            assert found is not None
            self.facts = self.facts.joined(found)

    def of(self, line: str, part: str, nth: int = 0) -> ValueFact | None:
        """The fact of the nth `part` in the first line that contains `line`."""
        number = next(n for n in range(1, self.text.line_count + 1) if line in self.text.line(n))
        start = -1
        for _ in range(nth + 1):
            start = self.text.line(number).index(part, start + 1)
        return self.facts.values.get(Span.of(number, start + 1, number, start + 1 + len(part)))

    def known(self, line: str, part: str, nth: int = 0) -> ValueFact:
        found = self.of(line, part, nth)
        assert found is not None, (line, part)
        return found

    def before(self, line: str, name: str) -> ValueFact | None:
        number = next(n for n in range(1, self.text.line_count + 1) if line in self.text.line(n))
        content = self.text.line(number)
        return self.facts.before.get((Position(number, len(content) - len(content.lstrip()) + 1), name))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return analysed(tmp_path_factory.mktemp("noted"), PROGRAM)


@pytest.fixture(scope="module")
def noted(result: Any) -> Noted:
    assert result["failure"] is None
    return Noted(PROGRAM, result["noted"])


@pytest.mark.slow
def test_the_run_is_as_it_is_without_noting(result: Any, tmp_path: Path) -> None:
    without = analysed(tmp_path, PROGRAM, noting="off")
    assert "noted" not in without
    assert result["printed"] == without["printed"]
    for kind in ("graphs", "skipped", "calls", "failure"):
        assert _placeless(result[kind]) == _placeless(without[kind])
    assert [event["cause"]["gb_id"] for event in result["events"]] == [
        event["cause"]["gb_id"] for event in without["events"]
    ]


def _placeless(value: Any) -> Any:
    return [{key: one[key] for key in one if key != "file"} for one in value] if isinstance(value, list) else value


def test_tensors(noted: Noted) -> None:
    fact = noted.known("y = x * factor", "x * factor")
    assert fact.is_tensor
    assert fact.rank == 2
    assert fact.dtype == "float32"
    assert fact.tensor is not None
    assert fact.tensor.shape == (None, 4)  # two rows, then three
    assert {shape for _, shape in fact.tensor.samples} == {(2, 4), (3, 4)}
    assert fact.tensor.gradients == (True,)
    condition = noted.known("if y.sum()", "y.sum() > 1e9")
    assert (condition.dtype, condition.rank) == ("bool", 0)


def test_a_name_that_is_bound_twice_is_each_time_what_it_is_there(noted: Noted) -> None:
    assert noted.known("first = self.ready", "first").kinds == ("bool",)
    assert not noted.known("first = self.ready", "self.ready").same_in_every_call  # fresh state: False, then True
    own = noted.known("x, z = y + 1", "x")
    given = noted.known("def shrink(x", "x")
    assert own.shares_storage_with(given) is False
    assert noted.known("x, z = y + 1", "z").is_tensor
    assert noted.known("(w := x - 1)", "w").is_tensor


def test_memory_that_is_shared_in_one_call(noted: Noted) -> None:
    y = noted.known("view = y.view(-1)", "y")
    assert noted.known("view = y.view(-1)", "view").shares_storage_with(y) is True
    assert noted.known("other = y.clone()", "other").shares_storage_with(y) is False
    assert noted.known('by_name = {"a": y', '{"a": y, "b": 2}').shares_storage_with(y) is True
    assert noted.known("odd = Odd()", "odd").shares_storage_with(y) is None
    assert noted.known("mixed = 3", "mixed").shares_storage_with(y) is False


def test_numbers_none_and_containers(noted: Noted) -> None:
    assert noted.known("def shrink(x, factor", "factor").kinds == ("float", "int")
    assert not noted.known("def shrink(x, factor", "factor").same_in_every_call
    assert noted.known("mixed = 3", "mixed").kinds == ("None", "int")
    out = noted.known("out = Out(", "out")
    assert out.kinds == ("dataclass",)
    assert out.classes[0].endswith(".Out")
    assert out.keys == ("total", "count")
    assert [item.kinds for item in out.items] == [("tensor",), ("int",)]
    pair = noted.known("pair = Pair(", "pair")
    assert (pair.kinds, pair.keys) == (("namedtuple",), ("left", "right"))
    assert [item.constant for item in pair.items] == [(None,), ("word",)]
    by_name = noted.known('by_name = {"a"', "by_name")
    assert by_name.keys == ("a", "b")
    assert by_name.items[1].constant == (2,)
    assert noted.known("sizes = [part", "sizes").length == 2
    assert noted.known("sizes = [part", "part.numel()").is_number


def test_names_before_a_statement(noted: Noted) -> None:
    late, y = noted.before("if y.sum()", "late"), noted.before("if y.sum()", "y")
    assert late is not None
    assert late.kinds == ("unbound",)
    assert y is not None
    assert y.is_tensor
    assert noted.of("late = 1", "late") is None  # never evaluated


def test_methods_closures_and_generators(noted: Noted) -> None:
    assert noted.known("x, _ = shrink(x, self.__hidden)", "self.__hidden").constant == (7,)
    assert noted.known("def forward(self, x, mask", "mask").is_none
    assert noted.known("big = x * scale", "scale").constant == (0.5,)
    assert noted.known("for row in x", "row").rank == 1
    assert noted.functions["make.inner"]["entered"] == 2
    assert noted.functions["rows"]["entered"] == 2


def test_what_is_called(noted: Noted) -> None:
    assert noted.known("x = self.lin(x)", "self.lin").classes == ("torch.nn.modules.linear.Linear",)
    assert noted.known("x = self.lin(x)", "self.lin").kinds == ("module",)
    assert noted.known("x = self.inner(x)", "self.inner").kinds == ("function",)
    assert noted.of("if y.sum() > 1e9", "y.sum") is None, "a method of a value is not noted"
    assert noted.of("x, _ = shrink(x, 2.0)", "shrink") is None, "nor is a name of the module"


def test_how_often_and_from_where_a_function_was_entered(noted: Noted) -> None:
    found = noted.functions["shrink"]
    assert found["entered"] == 4
    lines = PROGRAM.splitlines()
    callers = {lines[one["line"] - 1].strip(): one["times"] for one in found["callers"]}
    assert callers == {"x, _ = shrink(x, self.__hidden)": 2, "x, _ = shrink(x, 2.0)": 2}
    assert {one["function"] for one in found["callers"]} == {"forward"}


@pytest.mark.slow
def test_a_function_that_raises_midway(tmp_path: Path) -> None:
    result = analysed(tmp_path, PROGRAM, "graphmend_entry_raises")
    assert result["failure"] is not None
    noted = Noted(PROGRAM, result["noted"])
    assert noted.functions["Raises.forward"]["entered"] == 2  # the third call was not made
    assert noted.functions["Raises.forward"]["raised"] == 1
    assert noted.known("if x.shape[0] > 2", "x.shape[0]").is_number


@pytest.mark.slow
def test_a_run_without_a_break_notes_nothing(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(x):\n    return x + 1\n\n\ndef graphmend_entry():\n    return f, (torch.ones(2),)\n"
    assert analysed(tmp_path, text).get("noted") == []


ENDINGS = {
    "it ends the process": "os._exit(3)",
    "it never ends": "while True: pass",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
@pytest.mark.slow
def test_what_goes_wrong_while_noting_is_not_told(tmp_path: Path, ending: str) -> None:
    """The noting process is told by its pid: the entry's own is the one that built the program."""
    text = (
        "import os\nimport torch\n\nown = os.getpid()\n\n\n@torch._dynamo.disable\ndef watch():\n"
        f"    if os.getpid() != own:\n        {ending}\n\n\ndef f(x):\n    watch()\n    print(x.shape)\n"
        "    return x + 1\n\n\ndef graphmend_entry():\n    return f, (torch.ones(2),)\n"
    )
    result = analysed(tmp_path, text, seconds=1)
    assert result["failure"] is None
    assert result["events"]
    assert result["noted"] == []
