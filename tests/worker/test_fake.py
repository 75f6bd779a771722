"""The fake run finds what the real run finds, without data; what it cannot do it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.worker import fake_mode
from tests.worker.fake_constructs import CASES, source
from tests.worker.worker_pipes import Worker, analyse_params

FILE = "/nowhere/at_all/constructs.py"


def run(worker: Worker, file: Path | str, function: str = "graphmend_entry", **options: Any) -> dict[str, Any]:
    more = {name: options.pop(name) for name in ("run", "explore") if name in options}
    params = {**analyse_params(file, function, **options), "run": "fake", **more}
    return worker.result(worker.send("analyse", params), 120)


def ids(result: dict[str, Any]) -> set[str]:
    return {event["root"]["gb_id"] or event["root"]["gb_type"] for event in result["events"]}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_the_same_breaks_as_the_real_run(worker: Worker, number: int) -> None:
    text = source()
    real = run(worker, FILE, f"entry_{number}", text=text, run="real")
    fake = run(worker, FILE, f"entry_{number}", text=text)
    assert real["failure"] is None
    assert fake["failure"] is None, fake["failure"]["detail"]
    assert ids(fake) == ids(real)
    assert fake["calls"] == real["calls"]


LARGE = """\
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(65536, 65536) for _ in range(4))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        print(x.mean())
        return {"loss": x.square().mean(), "x": x}
def graphmend_entry(): return M(), (torch.ones(64, 65536),)
"""


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_what_would_not_fit_into_memory_is_followed(worker: Worker, mode: str) -> None:
    result = run(worker, FILE, text=LARGE, mode=mode, memory_mb=600)
    assert result["failure"] is None
    assert ids(result) == {"GB0059"}
    assert result["tensor_bytes"] == 4 * (4 * (65536 * 65536 + 65536) + 64 * 65536)
    assert 0 < result["available_bytes"] <= 600 * 2**20


FAILING = {
    "without asking": ("    raise ValueError(str(x.shape))\n", "exception", "Correct the error"),
    "after an answer": ("    if x.sum() > -1: return x\n    raise ValueError('small')\n", None, ""),
    "for want of data": ("    assert x.sum().item() == 10 and x.sum() > 0\n    return x\n", "exception", "--run real"),
    "for want of a device": ("    return x.to('cuda')\n", "device", "torch with CUDA"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_says_what_to_do(worker: Worker, name: str) -> None:
    body, kind, remedy = FAILING[name]
    if name == "for want of a device" and not worker.hello["torch"].endswith("+cpu"):
        kind = None
    text = f"import torch\n@torch.compiler.disable\ndef f(x):\n{body}def graphmend_entry(): return f, (torch.arange(5.0),)\n"
    failure = run(worker, FILE, text=text)["failure"]
    if kind is None:
        assert failure is None
    else:
        assert (failure["stage"], failure["kind"], failure["line"]) == ("call", kind, 4)
        assert remedy in failure["remedy"]


def test_a_backward_pass_that_raises_is_told_as_one(worker: Worker) -> None:
    text = (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g): raise ValueError('no gradient here')\n"
        "@torch.compiler.disable\ndef f(x): return F.apply(x)\n"
        "def graphmend_entry(): return f, (torch.ones(4, requires_grad=True),)\n"
    )
    assert run(worker, FILE, text=text)["failure"] is None
    failure = run(worker, FILE, text=text, mode="train")["failure"]
    assert (failure["stage"], failure["line"]) == ("backward", 6)


def test_a_device_that_this_torch_does_not_know_is_said(worker: Worker) -> None:
    text = "import torch\ndef f(x): return x + 1\ndef graphmend_entry(): return f, (torch.ones(4),)\n"
    result = run(worker, FILE, text=text, device="cuda")
    if worker.hello["torch"].endswith("+cpu"):
        assert result["failure"]["kind"] == "device"
    else:
        assert (result["failure"], result["device"]) == (None, "cuda")


def test_a_torch_without_the_hooks_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fake_mode.missing_hooks() == []
    monkeypatch.setattr(fake_mode, "HOOKS", {"torch.utils": ("swap_tensors", "no_such_name"), "torch.no_such": ("x",)})
    assert fake_mode.missing_hooks() == ["torch.utils.no_such_name", "torch.no_such"]


def test_breaks_of_a_run_that_dies_stay(worker: Worker) -> None:
    text = "import os, torch\ndef f(x):\n    print(x)\n    os._exit(3)\ndef graphmend_entry(): return f, (torch.ones(4),)\n"
    result = run(worker, FILE, text=text)
    assert result["failure"]["kind"] == "exit"
    assert "GB0059" in ids(result)
