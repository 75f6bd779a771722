"""The look ahead: what it tells is what the run meets, it tells it where it can, and it leaves the program alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from .worker_pipes import PYTHON, Worker, analyse_params

SERVER = Path(__file__).parents[2] / "server"

HEAD = """import signal
import threading

import torch
from torch import nn

written = []


class Layer(nn.Module):
    def __init__(self, number=0):
        super().__init__()
        self.lin, self.number = nn.Linear(4, 4), number

    def forward(self, x):
        BODY
        return torch.relu(self.lin(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(number) for number in range(COUNT))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if x.sum() > 0:  # behind
            x = x + 1
        return x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.compile(Net())

    def forward(self, x):
        open("ran", "w").close()
        return self.net(x)


def graphmend_entry():
    SETUP
    return Net(), (torch.ones(2, 4),)
"""

# Runs every program given, each in a process of its own: what the look ahead told, then what the run met.
SCRIPT = """
import json, os, sys, time
from graphmend_lsp.worker import isolate
from graphmend_lsp.worker.tasks import load_torch
load_torch()
from graphmend_lsp.worker.wire import Limits

def told(source):
    from graphmend_lsp.worker import analyse, ahead
    from graphmend_lsp.worker.compiling import force_backend
    from graphmend_lsp.worker.program import build, load_module
    from graphmend_lsp.worker.recorder import Recorder
    force_backend("eager")
    with open("model.py", "w") as file:
        file.write(source)
    entry = {"file": "model.py", "function": "graphmend_entry", "kind": "function"}
    program = build(load_module(entry, []), entry, "cpu", "eval")
    met = []
    look = ahead.look(program, lambda: analyse._first_call(program), met.append)
    while look is not None and look.waits:
        look.poll()
        time.sleep(0.01)
    if look is not None:
        look.close()
    ran = os.path.exists("ran")
    recorder = Recorder()
    recorder.install()
    failure = analyse._calls("eval", lambda _stage: None, program, recorder)
    places = [[event["frames"][-1]["line"] for event in events] for events in (met, recorder.events)]
    return [look is not None, *places, all(event in recorder.events for event in met), bool(failure), ran]

for source in json.load(sys.stdin):
    outcome = isolate.call_in_child(lambda: told(source), Limits(seconds=100, memory_mb=None))
    print(json.dumps(outcome.value if outcome.failure is None else outcome.failure))
"""


@dataclass(frozen=True)
class Case:
    """A statement in each layer, a statement in the entry; whether a fork looks ahead, and whether it tells the break behind."""

    name: str
    body: str = "pass"
    setup: str = "pass"
    count: int = 6
    looks: bool = True
    tells: bool = True

    @property
    def source(self) -> str:
        """The file."""
        return HEAD.replace("BODY", self.body).replace("SETUP", self.setup).replace("COUNT", str(self.count))


CASES = [
    Case("plain layers"),
    Case("numbers that differ from layer to layer", "x = x * (self.number + 1)"),
    Case("a shape that is read", "x = x.reshape(x.shape[0], -1)"),
    Case("few layers", count=3, looks=False, tells=False),
    Case("a break in the layers", "print(x.shape, len(x.tolist()))", tells=False),
    Case("a branch in the layers", "x = x + 1 if x.sum() > 0 else x", tells=False),
    Case(
        "threads",
        setup="threading.Thread(target=threading.Event().wait, daemon=True).start()",
        looks=False,
        tells=False,
    ),
    Case("children that are heeded", setup="signal.signal(signal.SIGCHLD, lambda *_: None)", looks=False, tells=False),
]
# Layers that TorchDynamo may or may not trace once: what is told is true either way.
EITHER = [
    Case("a list that grows", "written.append(self.number)"),
    Case("an attribute that is counted", "self.number += 1"),
    Case("an input that is changed", "x.add_(1)"),
    Case("a module that grows", "self.last = x"),
    Case("a random draw", "x = x + torch.rand_like(x)"),
    Case("a raise that is caught", "try:\n            raise ValueError\n        except ValueError:\n            pass"),
    Case("a raise", "raise ValueError('no')"),
    Case("a context", "with torch.no_grad():\n            x = x * 2"),
    Case("a size out of data", "x = x[x > 0].reshape(1, -1).expand(2, -1)[:, :4]"),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a look ahead is a fork")
def test_what_is_told_ahead_is_what_the_run_meets(tmp_path: Path) -> None:
    answer = subprocess.run(
        [PYTHON, "-c", SCRIPT], cwd=tmp_path, env={"PYTHONPATH": str(SERVER), "PATH": ""}, capture_output=True, text=True,
        input=json.dumps([case.source for case in CASES + EITHER]), timeout=400, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-2000:]
    reuses = "max_reuse_entries" in subprocess.run(
        [PYTHON, "-c", "import inspect, torch; print(inspect.signature(torch.compiler.nested_compile_region))"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    seen = {}
    for case, line in zip(CASES + EITHER, answer.stdout.splitlines(), strict=True):
        seen[case.name] = json.loads(line)
    behind = HEAD.splitlines().index("        if x.sum() > 0:  # behind") + 1
    for case in CASES:
        looks, told, met, true, failed, ran = seen[case.name]
        assert (looks, told, true, failed, ran) == (
            case.looks and reuses, [behind] if case.tells and reuses else [], True, False, False,
        ), (case.name, seen[case.name])  # fmt: skip
        assert met and (behind in met or not case.tells), case.name
    assert {case.name: seen[case.name][3] for case in EITHER} == {case.name: True for case in EITHER}


@pytest.mark.skipif(sys.platform != "linux", reason="a look ahead is a fork")
@pytest.mark.slow
def test_a_live_run_with_a_look_ahead_is_as_one_without(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(CASES[0].source)
    number, told = worker.send("analyse", {**analyse_params(file), "live": True}), []
    while "result" not in (message := worker.read(60)):
        if message["id"] == number and "event" in message:
            told.append(message["event"])
    live, plain = message["result"], worker.analyse(file)
    assert told and all(event == live["events"][0] for event in told)
    assert {**live, "seconds": 0, "needs": 0} == {**plain, "seconds": 0, "needs": 0}
    for _ in range(100):  # the process that is made ready for the next request is nameless at first
        if not worker.children():
            break
        time.sleep(0.1)
    assert worker.children() == []
