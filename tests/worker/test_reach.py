"""An entry is asked only about mends that change what it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.worker.conftest import each_worker
from tests.worker.worker_pipes import Worker, analyse_params


def verified(worker: Worker, path: Path, changes: dict[str, str], **more: Any) -> dict[str, Any]:
    """The answer about one candidate for each change; a key is a text that its value takes the place of."""
    before = path.read_text()
    candidates = []
    for old, new in changes.items():
        at = before[: before.index(old)].count("\n") + 1
        last = at + old.count("\n")
        texts = {str(path): before.replace(old, new)}
        candidates.append(
            {"id": old, "texts": texts, "conditions": [], "changed": {}, "edited": {str(path): [[at, last]]}}
        )
    params = analyse_params(path, "graphmend_entry", seconds=100.0)
    return worker.result(worker.send("verify", {**params, "candidates": candidates, "reached": True, **more}), 200)


PROGRAM = """
import sys, threading
import torch
from torch import nn

def called(x):
    return x + 1  # called

def built(x):
    return x + 2  # built

def threaded(x):
    return x + 3  # threaded

def imported():
    return 4  # imported

def never(x):
    def inner(y):
        return y + 5  # inner of never
    return inner(x)

def outer(x):
    def inner(y):
        return y + 6  # inner

    return inner(x)

CONSTANT = imported()

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = built(torch.ones(3))

    def forward(self, x):
        done = []
        thread = threading.Thread(target=lambda: done.append(threaded(x)))
        thread.start()
        thread.join()
        return called(outer(x)) + self.shift + done[0]

    def other(self, x):
        return x - 7  # other

def graphmend_entry():
    return Model(), (torch.ones(3),)
"""


@pytest.mark.slow
def test_what_is_entered_while_the_entry_is_built_and_called_is_reached(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(PROGRAM)
    names = ("called", "built", "threaded", "imported", "inner of never", "inner", "other")
    found = verified(worker, path, {f"  # {name}\n": f"  # {name} \n" for name in names})
    assert found["failure"] is None
    assert [one["id"].strip(" #\n") for one in found["candidates"]] == ["called", "built", "threaded", "inner"]
    assert {one["outputs"] for one in found["candidates"]} == {"bit-equal"}


@each_worker
def test_where_nothing_is_reached_nothing_is_compared(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(PROGRAM)
    found = verified(worker, path, {"return x - 7": "return x - 8"})
    assert (found["candidates"], found["failure"]) == ([], None)


@pytest.mark.slow
def test_what_is_reached_is_compared(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(PROGRAM)
    found = verified(worker, path, {"return x + 1": "return x + 2"})
    assert found["failure"] is None
    [one] = found["candidates"]
    assert one["outputs"] == "different"


@pytest.mark.slow
def test_a_program_with_a_profiler_of_its_own_is_asked_about_everything(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(PROGRAM.replace("        done = []", "        done = []\n        sys.setprofile(None)"))
    found = verified(worker, path, {"return x - 7": "return x - 8", "return x + 1": "return 1 + x"})
    assert len(found["candidates"]) == 2


@pytest.mark.parametrize(
    ("text", "stage"),
    [("raise SystemExit(3)", "load"), ("def graphmend_entry():\n    raise ValueError('no')", "entry")],
)
def test_an_entry_that_does_not_run_is_a_failure(worker: Worker, tmp_path: Path, text: str, stage: str) -> None:
    path = tmp_path / "m.py"
    path.write_text(f"{text}\n")
    found = verified(worker, path, {text[:3]: text[:3]})
    assert found["candidates"] == []
    assert found["failure"]["stage"] == stage
