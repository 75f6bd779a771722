"""One analysis as a whole: modes, devices, random state, programs that compile themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker.worker_pipes import Worker

MODEL = """\
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
    def forward(self, x):
        y = self.l(x)
        if self.training:
            print("training")
        else:
            y.sum().item()
        return {"y": y, "n": (y.sum(), 3)}
def graphmend_entry(): return M(), (torch.ones(2, 4),)
"""


@pytest.mark.parametrize(("mode", "gb_id"), [("eval", "GB0124"), ("train", "GB0059")])
def test_modes(worker: Worker, tmp_path: Path, mode: str, gb_id: str) -> None:
    result = worker.analyse(tmp_path / "model.py", text=MODEL, mode=mode)
    assert result["failure"] is None
    assert [event["root"]["gb_id"] for event in result["events"]] == [gb_id]
    assert result["seconds"] > 0


def test_training_runs_the_backward_pass(worker: Worker, tmp_path: Path) -> None:
    text = (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g): raise ValueError('no gradient here')\n"
        "@torch.compiler.disable\ndef f(x): return F.apply(x)\n"
        "def graphmend_entry(): return f, (torch.ones(4, requires_grad=True),)\n"
    )
    assert worker.analyse(tmp_path / "model.py", text=text)["failure"] is None
    failure = worker.analyse(tmp_path / "model.py", text=text, mode="train")["failure"]
    assert (failure["stage"], failure["line"]) == ("backward", 6)
    assert "no gradient here" in failure["message"]


def test_cuda_where_there_is_none_is_said(worker: Worker, tmp_path: Path) -> None:
    if worker.hello["cuda"]:
        result = worker.analyse(tmp_path / "model.py", text=MODEL, device="cuda")
        assert (result["failure"], result["device"]) == (None, "cuda")
    else:
        failure = worker.analyse(tmp_path / "model.py", text=MODEL, device="cuda")["failure"]
        assert (failure["kind"], failure["stage"]) == ("device", "entry")
    assert worker.analyse(tmp_path / "model.py", text=MODEL, device="cpu")["device"] == "cpu"


def test_each_call_starts_from_the_same_random_state(worker: Worker, tmp_path: Path) -> None:
    text = (
        "import random, torch\nseen = []\n@torch.compiler.disable\ndef note(x):\n"
        "    seen.append((torch.rand(1).item(), random.random()))\n    assert len(set(seen)) == 1, seen\n    return x\n"
        "def f(x): return note(x) + 1\ndef graphmend_entry(): return f, [torch.ones(4), torch.ones(4), torch.ones(5)]\n"
    )
    result = worker.analyse(tmp_path / "model.py", text=text)
    assert (result["failure"], result["calls"]) == (None, 3)


def test_records_tell_their_call(worker: Worker, tmp_path: Path) -> None:
    text = (
        "import torch\ndef f(x):\n    if x.shape[0] > 4:\n        print(x)\n    return x + 1\n"
        "def graphmend_entry(): return f, [torch.ones(4), torch.ones(4), torch.ones(5)]\n"
    )
    result = worker.analyse(tmp_path / "model.py", text=text)
    assert [event["call"] for event in result["events"]] == [2]
    assert {graph["call"] for graph in result["graphs"]} == {0, 2}


def test_what_was_recorded_before_an_exception_stays(worker: Worker, tmp_path: Path) -> None:
    text = (
        "import torch\ndef f(x):\n    print(x)\n    return x + 1\n"
        "def graphmend_entry(): return f, [torch.ones(4), ('one', 'too many')]\n"
    )
    result = worker.analyse(tmp_path / "model.py", text=text)
    assert result["failure"]["stage"] == "call"
    assert [event["root"]["gb_id"] for event in result["events"]] == ["GB0059"]


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.slow
def test_the_time_of_each_graph_is_a_share_of_its_call(worker: Worker, tmp_path: Path, mode: str) -> None:
    text = (
        "import time, torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = torch.nn.Linear(4, 4)\n    def __len__(self): return 0\n    def forward(self, x):\n"
        "        x = self.layer(x)\n        time.sleep(0.1)\n        for _ in range(3):\n            x = x + torch.ones(300, 300).exp().sum()\n"
        "        return x\ndef graphmend_entry(): return Net(), [torch.ones(2, 4), torch.ones(3, 4)]\n"
    )
    plain = worker.analyse(tmp_path / "model.py", text=text, mode=mode)
    timed = worker.analyse(tmp_path / "model.py", text=text, mode=mode, timed=True)
    assert plain["failure"] is timed["failure"] is None
    assert all("share" not in graph for graph in plain["graphs"])
    assert [(one["ops"], one["call"], one["events"]) for one in timed["graphs"]] == [
        (one["ops"], one["call"], one["events"]) for one in plain["graphs"]
    ]
    of_first = [graph["share"] for graph in timed["graphs"] if graph["call"] == 0]
    assert len(of_first) == 2 and all(0 < share < 1 for share in of_first)
    assert sum(of_first) < 1  # the sleep is in no graph


COMPILED = {
    "the function": "g = torch.compile(f, fullgraph=True)",
    "decorated": "@torch.compile(dynamic=False, mode='reduce-overhead')\ndef g(x):\n    return f(x)",
    "what it calls": "inside = torch.compile(f)\ndef g(x):\n    print('around')\n    return inside(x)",
    "a part": "class G(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.part = torch.compile(torch.nn.Identity())\n"
    "    def forward(self, x):\n        print('around')\n        return self.part(x)\ng = G()",
    "its forward": "class G(torch.nn.Module):\n    @torch.compile\n    def forward(self, x):\n        return f(x)\ng = G()",
    "compiled in place": "class G(torch.nn.Module):\n    def forward(self, x):\n        return f(x)\ng = G()\ng.compile(fullgraph=True)",
}  # fmt: skip


@pytest.mark.parametrize("name", COMPILED)
def test_a_program_that_compiles_itself_is_left_as_it_is(worker: Worker, tmp_path: Path, name: str) -> None:
    text = f"import torch\ndef f(x):\n    x = x + 1\n    s = x.sum().item()\n    return x * 2\n{COMPILED[name]}\n"
    result = worker.analyse(tmp_path / "model.py", text=text + "def graphmend_entry(): return g, torch.ones(4)\n")
    assert result["failure"] is None
    ids = {event["root"]["gb_id"] for event in result["events"]}
    assert ids == (set() if name == "a part" else {"GB0124"})  # never the print around what is compiled


VALIDATED = """\
import torch
from torch.distributions import Distribution, Normal
Distribution.set_default_validate_args(True)
{before}
def f(x):
    return Normal(x, x.exp()).log_prob(x).sin()
{after}
base = Normal(torch.zeros(1), torch.ones(1))
def graphmend_entry(): return f, (torch.ones(2, 4),)
"""


@pytest.mark.parametrize(
    ("before", "after", "breaks"),
    [("", "", False), ("@torch.compile", "", False), ("", "f = torch.compile(f)", False),
     ("", "f = torch.compile(f)\nDistribution.set_default_validate_args(True)", True)],
)  # fmt: skip
def test_validation_is_off_from_the_first_compile_on(
    worker: Worker, tmp_path: Path, before: str, after: str, breaks: bool
) -> None:
    """As torch.compile sets it once a process; a program's imports may have set it before."""
    result = worker.analyse(tmp_path / "model.py", text=VALIDATED.format(before=before, after=after))
    assert result["failure"] is None
    assert bool(result["events"]) == breaks
