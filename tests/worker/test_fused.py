"""What only inductor shows of a mended program: rounding, which float64 tells from another result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.compare_trials import change_state, changes_state
from graphmend_lsp.worker.float64 import widen_graph, widening
from graphmend_lsp.worker.recipes import Recipe
from tests.worker.conftest import Workers
from tests.worker.test_compare_trials import CALLS, trial
from tests.worker.worker_pipes import analyse_params

PROGRAM = """import torch
from torch import nn
{head}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(64, 64)
        self.register_buffer("seen", torch.zeros(()))
    def forward(self, x):
        {before}
        y = x.to(torch.float32)
        y = (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)
        return self.w(y).tanh()
def graphmend_entry():
    torch.manual_seed(0)
    return Model(), (torch.randn(3, 64),)
"""
BROKEN = "print(end='')"
WRONG = """
def tanh(x):
    return torch.ops.aten.mul(torch.ops.aten.sub(torch.ops.aten.mul(torch.sigmoid(2 * x), 2), 1), {})
from torch._inductor.decomposition import decompositions
decompositions[torch.ops.aten.tanh.default] = tanh
"""


def verdict(
    workers: Workers, folder: Path, before: str, after: str, head: str = "", steps: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    steps = [] if steps is None else steps
    file = str(folder / "program.py")
    mended = PROGRAM.format(head=head, before=after)
    candidate = {"id": "one", "texts": {file: mended}, "changed": {}, "conditions": [], "inductor": True}
    params = analyse_params(
        file,
        text=PROGRAM.format(head="" if "decompositions" in head else head, before=before),
        roots=(str(folder),),
        device="cpu",
        mode="eval",
        seconds=200.0,
    )
    worker = workers("all")
    result = worker.result(worker.send("verify", {**params, **more, "candidates": [candidate]}), 280)
    assert result["failure"] is None
    steps.extend(worker.progress)
    (found,) = result["candidates"]
    assert found["failure"] is None
    return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize("state", ["", "self.seen += 1"])
def test_what_inductor_rounds_otherwise_is_told_as_that(workers: Workers, tmp_path: Path, state: str) -> None:
    """The norm is computed in float32, whatever the inputs are: float64 shows the rounding all the same."""
    found = verdict(workers, tmp_path, f"{BROKEN}; {state}", state)
    assert [one for one in found["differences"] if one["severity"] == "different"] == []
    assert found["after"]["graphs"] == 1


@pytest.mark.slow
def test_what_a_program_says_once_is_no_difference_in_a_process_of_other_calls(
    workers: Workers, tmp_path: Path
) -> None:
    """Each process runs some of the calls; the first of each says what is said once, in both programs."""
    steps: list[str] = []
    once, head = "SAID or (SAID.append(1), print('once'))", "SAID = []\n"
    found = verdict(workers, tmp_path, f"{BROKEN}; {once}", once, head, steps)
    assert [one for one in found["differences"] if one["severity"] == "different"] == []
    assert "running the mended program compiled with inductor" in steps
    assert "running both compiled with inductor" not in steps


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["1 + 1e-3", "1 - 1e-4"])
def test_what_only_inductor_computes_otherwise_is_different(workers: Workers, tmp_path: Path, factor: str) -> None:
    found = verdict(workers, tmp_path, BROKEN, "", WRONG.format(factor))
    grave = [one for one in found["differences"] if one["severity"] == "different"]
    assert grave
    assert all("inductor" in one["call"] for one in grave)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["", WRONG.format("1 + 1e-3")])
def test_of_a_proven_program_only_what_inductor_compiles_is_compared(
    workers: Workers, tmp_path: Path, head: str
) -> None:
    """It is uncompiled once more, which inductor is compared with, and no use of it is probed."""
    steps: list[str] = []
    whole = verdict(workers, tmp_path, BROKEN, "", head)
    found = verdict(workers, tmp_path, BROKEN, "", head, steps, proven=True)
    assert 0 < found["calls"] < whole["calls"] and set(found["probed"]) < set(whole["probed"])
    assert found["events"] == found["graphs"] == []  # it was not compiled with another backend
    assert "running the mended program compiled with inductor" in steps
    grave, known = ([one for one in each["differences"] if one["severity"] == "different"] for each in (found, whole))
    assert bool(grave) == bool(known) == bool(head)
    assert all("inductor" in one["call"] for one in grave)


def norm(x: torch.Tensor) -> torch.Tensor:
    y = x.float()
    y = torch.softmax((y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True))).to(x.dtype), -1, dtype=torch.float32)
    return y.type_as(x) + torch.arange(4, dtype=torch.float32) / 3 + torch.ones(4).div(7)


def test_what_a_program_puts_into_float32_is_float64_in_a_widened_run() -> None:
    seen: list[torch.dtype] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        widen_graph(graph)

        def ran(*inputs: torch.Tensor) -> Any:
            results = graph(*inputs)
            seen.extend(one.dtype for one in results)
            return results

        return ran

    x = torch.randn(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with widening():
        wide = norm(x)
        compiled = torch.compile(norm, backend=backend)(x)
    assert torch.equal(wide, compiled)
    assert not torch.equal(wide, norm(x))
    assert seen == [torch.float64]


def test_a_widened_run_draws_the_numbers_that_it_draws_else() -> None:
    def drawn() -> torch.Tensor:
        return torch.randn(4, generator=torch.Generator().manual_seed(0), dtype=torch.float32)

    with widening():
        wide = drawn()
    assert torch.equal(wide, drawn())


def test_an_operator_that_takes_functions_runs_in_a_widened_run() -> None:
    x = torch.randn(4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with widening():
        chosen = torch.cond(x.sum() > -100, torch.sin, torch.cos, (x,))
    assert torch.equal(chosen, x.sin())


@torch.library.custom_op("graphmend_tests::sigmoid_in_float32", mutates_args=())
def sigmoid_in_float32(x: torch.Tensor) -> torch.Tensor:
    return x.float().sigmoid().to(x.dtype)


def test_the_body_of_an_operator_is_widened_too() -> None:
    x = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with widening():
        wide = sigmoid_in_float32(x)
    assert torch.equal(wide, x.sigmoid())
    assert not torch.equal(wide, sigmoid_in_float32(x))


@pytest.mark.parametrize(("other", "changes"), [("train", False), ("weights", False), ("", True)])
def test_a_call_behind_which_the_state_is_put_back_changes_none(other: str, changes: bool) -> None:
    recipe = Recipe(0, mode="train" if other == "train" else "", weights="zero" if other == "weights" else "")
    first = trial(state={"model.training": False}, recipes=CALLS[:1])
    second = trial(state={"model.training": True}, recipes=(recipe,))
    assert changes_state(first.followed_by(second)) is changes


@pytest.mark.parametrize(
    ("path", "changes"),
    [("program.sub_module_1", False), ("model.count", True)],
    ids=["Dynamo's global", "the program's"],
)
def test_what_only_compiling_leaves_is_no_state_that_a_call_depends_on(path: str, changes: bool) -> None:
    plain = trial(state={"model.count": 1}, recipes=CALLS[:1])
    first = trial(way="eager", state={"model.count": 1}, recipes=CALLS[:1])
    second = trial(way="eager", state={"model.count": 1, path: 2}, recipes=CALLS[:1])
    assert changes_state(first.followed_by(second))
    assert change_state([plain, first.followed_by(second)]) is changes
