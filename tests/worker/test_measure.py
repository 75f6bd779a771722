"""Times of two programs side by side: the worker's own process over its pipes, and the parts that need none."""

from __future__ import annotations

import json
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.worker.alternate import Alternation, LeftAloneError
from graphmend_lsp.worker.measure import MOST_CALLS, _explained, calls_for, count_launches
from tests.worker.conftest import each_worker
from tests.worker.worker_pipes import Worker

FILE = "/no/such/folder/m.py"
HEAD = "import os, time, torch\n"
TAIL = "\ndef graphmend_entry():\n    return f, (torch.ones(4, requires_grad=True),)\n"
SLOW = "def f(x):\n    time.sleep(0.02)\n    return x + 1\n"
FAST = "def f(x):\n    time.sleep(0.005)\n    return x + 1\n"


def params(before: str, after: str, seconds: float = 100.0, **more: Any) -> dict[str, Any]:
    candidate = {"id": "0", "texts": {FILE: HEAD + after + TAIL}, "conditions": [], "changed": {}}
    return {
        "entry": {"file": FILE, "function": "graphmend_entry", "kind": "function"}, "texts": {FILE: HEAD + before + TAIL},
        "candidates": [candidate], "roots": [], "device": "cpu", "mode": "eval", "backend": "eager",
        "limits": {"seconds": seconds, "memory_mb": None}, **more,
    }  # fmt: skip


def ask(worker: Worker, asked: dict[str, Any]) -> dict[str, Any]:
    return worker.result(worker.send("measure", asked), 150)


@pytest.mark.slow
@each_worker
@pytest.mark.parametrize("mode", ["eval", pytest.param("train", marks=pytest.mark.slow)])
def test_the_faster_program_is_seen(worker: Worker, mode: str) -> None:
    result = ask(worker, params(SLOW, FAST, mode=mode))
    assert result["failure"] is None
    assert (result["backend"], result["device"]) == ("eager", "cpu")
    old, new = result["original"], result["mended"]
    assert len(old["warm"]) == len(new["warm"]) >= 5
    assert statistics.median(old["warm"]) > statistics.median(new["warm"]) > 0
    assert old["first"] > statistics.median(old["warm"])
    assert old["launches"] is None


FAILING = {
    "original raises": ("def f(x):\n    raise ValueError('no')\n", FAST, {}, "the original program: ValueError: no"),
    "mended raises": (FAST, "def f(x):\n    raise ValueError('no')\n", {}, "the mended program: ValueError: no"),
    "mended does not parse": (FAST, "def f(x:\n", {}, "the mended program: SyntaxError"),
    "mended dies": (FAST, "def f(x):\n    os._exit(3)\n", {}, "the mended program: The program ended its process"),
    "no such backend": (FAST, FAST, {"backend": "abacus"}, "torch has no backend 'abacus'"),
    "too late": (FAST, "def f(x):\n    time.sleep(600)\n", {"seconds": 8.0}, "the mended program:"),
}


@pytest.mark.parametrize(
    ("worker", "name"),
    [
        *(("fork", name) for name in FAILING),
        *(pytest.param("spawn", name, marks=pytest.mark.slow) for name in ("mended dies", "too late")),
    ],
    indirect=["worker"],
)
@pytest.mark.slow
def test_which_program_failed_is_told(worker: Worker, name: str, request: pytest.FixtureRequest) -> None:
    before, after, more, words = FAILING[name]
    said = [words]
    if name == "too late" and "spawn" in request.node.name:
        said = ["did not end within", "the time is over"]  # of all of it, or before one began: each process loads torch
    result = ask(worker, params(before, after, **more))
    assert result["original"] is result["mended"] is None
    assert any(one in result["failure"]["message"] for one in said)
    assert result["failure"]["remedy"]


@each_worker
def test_a_program_that_compiles_itself_with_fullgraph_is_measured_with_its_breaks(worker: Worker) -> None:
    before = "@torch.compile(backend='eager', fullgraph=True)\ndef f(x):\n    print('x')\n    return x + 1\n"
    after = "@torch.compile(backend='eager', fullgraph=True)\ndef f(x):\n    return x + 1\n"
    result = ask(worker, params(before, after, backend=None))
    assert result["failure"] is None
    assert result["backend"] == "the program's own backend"


@each_worker
def test_a_measurement_can_be_cancelled(worker: Worker) -> None:
    number = worker.send("measure", params("def f(x):\n    time.sleep(600)\n", FAST))
    assert "progress" in worker.read(60)
    worker.say(json.dumps({"id": 0, "method": "cancel", "params": {"id": number}}).encode())
    assert worker.result(number, 20)["failure"]["kind"] == "cancelled"


@each_worker
@pytest.mark.parametrize("candidates", [[], [{}, {}], "x"])
def test_one_program_is_measured(worker: Worker, candidates: Any) -> None:
    result = ask(worker, {**params(FAST, FAST), "candidates": candidates})
    assert result["failure"]["kind"] == "protocol"


@pytest.mark.slow
def test_inductor_without_a_compiler_says_what_to_install(tmp_path: Path) -> None:
    worker = Worker({"CXX": "/no/such/compiler", "PATH": str(tmp_path), "TMPDIR": str(tmp_path)})
    try:
        result = ask(worker, params(FAST, FAST, backend="inductor"))
    finally:
        worker.close()
    assert "Inductor needs a C++ compiler" in result["failure"]["message"]
    assert "--backend aot_eager" in result["failure"]["remedy"]


def test_a_missing_compiler_is_known_by_its_exception() -> None:
    class InvalidCxxCompiler(RuntimeError):  # noqa: N818  torch names it so
        pass

    outer = RuntimeError("backend failed")
    outer.__cause__ = InvalidCxxCompiler("Compiler: g++ is not found.")
    assert "C++ compiler" in _explained(outer)["message"]
    assert "backend failed" in _explained(RuntimeError("backend failed"))["message"]


def test_launches_are_counted_by_kind() -> None:
    names = [
        "aten::add",
        "cudaLaunchKernel",
        "cuLaunchKernel",
        "cudaGraphLaunch",
        "triton_poi_fused_0",
        "cudaLaunchKernel",
    ]
    assert count_launches(names) == {"kernels": 3, "cuda_graphs": 1}


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, MOST_CALLS), (0.001, 50), (0.02, 2), (3.0, 1)])
def test_a_turn_is_not_too_short(seconds: float, calls: int) -> None:
    assert calls_for(seconds) == calls


def test_two_sides_take_turns(tmp_path: Path) -> None:
    said: list[tuple[int, int, bool]] = []

    def live(number: int) -> None:
        side = Alternation(str(tmp_path), number, time.monotonic() + 20)
        with side.present():
            for count in range(4):
                with side.turn(last=number == 0 and count == 3):
                    said.append((number, count, side.is_over))
                    time.sleep(0.01)

    sides = [threading.Thread(target=live, args=(number,)) for number in (1, 0)]
    for one in sides:
        one.start()
    for one in sides:
        one.join(30)
    assert [one[:2] for one in said] == [(number, count) for count in range(4) for number in (0, 1)]
    assert [one[2] for one in said if one[0] == 1] == [False, False, False, True]


def test_a_side_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with Alternation(str(tmp_path), 0, time.monotonic() + 5).present():
        pass
    with pytest.raises(LeftAloneError, match="has ended"), Alternation(str(tmp_path), 1, time.monotonic() + 5).turn():
        pass
    late = Alternation(str(tmp_path / "x"), 1, time.monotonic())
    with pytest.raises(LeftAloneError, match="time is over"), late.turn():
        pass
