"""CUDA and forks: the process that forks leaves CUDA alone, so that every run and every verdict can use it.

The device is faked (`cuda_faked/sitecustomize.py`); `bench/cuda.py` does the same with a real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAKED = Path(__file__).parent / "cuda_faked"
SERVER = Path(__file__).parents[2] / "server"
WARMING = """\
import os
from graphmend_lsp.worker import cuda, tasks

cuda.count_by_driver()
assert tasks.load_torch() is None
assert tasks.hello()["cuda"]
import torch

before = torch.cuda.is_available, torch.cuda._lazy_init, torch._C._ensureCUDADeviceGuardSet
tasks.warm_up()
assert (torch.cuda.is_available, torch.cuda._lazy_init, torch._C._ensureCUDADeviceGuardSet) == before
pid = os.fork()
if pid == 0:
    torch.cuda.synchronize()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
cuda.hide()
assert not torch.cuda.is_available()
"""
PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        h = self.linear(x)
        return h * h.abs().max().item()


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.randn(3, 4),), (torch.ones(5, 4),)]
"""


LOSING = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, labels):
        h = self.linear(x)
        if h.abs().max() > 2.0:
            h = h * 0.5
        return nn.functional.cross_entropy(self.linear(h), labels)


def graphmend_entry():
    torch.manual_seed(0)
    labels = torch.tensor([0, 3, 1])
    return Net(), [(torch.randn(3, 4), labels), (torch.randn(3, 4) * 9, labels)]
"""


def environment(log: Path, *, moves: bool) -> dict[str, str]:
    places = [str(FAKED), str(SERVER), *filter(None, [os.environ.get("PYTHONPATH")])]
    told = {"PYTHONPATH": os.pathsep.join(places), "FAKED_CUDA_LOG": str(log)}
    seen = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**seen, **told, **({"FAKED_CUDA_DEVICE": "1"} if moves else {})}


def noted(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.slow
def test_warming_up_leaves_cuda_to_the_forks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    subprocess.run([sys.executable, "-c", WARMING], env=environment(log, moves=False), check=True)
    assert [line.rpartition(" ")[0] for line in noted(log)] == ["initialized"]


@pytest.mark.slow
@pytest.mark.parametrize(("device", "mode"), [("cpu", "eval"), ("auto", "eval"), ("cuda", "train")])
def test_runs_and_verdicts_use_cuda(tmp_path: Path, device: str, mode: str) -> None:
    log = tmp_path / "log"
    record = mended(PROGRAM, log, "--device", device, "--mode", mode)
    assert record["verified"]["safety"] == "safe", record
    assert (record["before"]["graphs"], record["after"]["graphs"]) == (2, 1)
    lines = noted(log)
    assert not any(line.startswith("bad fork") for line in lines)
    assert any(line.startswith("initialized") for line in lines) == (device != "cpu")


@pytest.mark.slow
def test_a_kernel_that_fails_costs_its_own_call_alone(tmp_path: Path) -> None:
    calls = {}
    for device in ("cpu", "cuda"):
        log = tmp_path / f"{device}.log"
        record = mended(LOSING, log, "--device", device)
        assert record["verified"]["safety"] == "safe", record
        assert record["after"]["breaks"] == 0
        calls[device] = record["verified"]["calls"]
        assert any(line.startswith("lost") for line in noted(log)) == (device == "cuda")
    assert calls["cuda"] >= calls["cpu"] - 6, calls


def mended(text: str, log: Path, *options: str) -> dict[str, Any]:
    """The record of mending that program."""
    file = log.with_suffix(".py")
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "graphmend_lsp", "mend", str(file), "--json", "--quiet", "--no-cache", *options],
        env=environment(log, moves=True), capture_output=True, text=True, cwd=log.parent,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record
