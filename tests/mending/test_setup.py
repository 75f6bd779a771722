"""The operator that changes buffers: the same state, results and gradients under three backends, and what it raises."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import graphmend_lsp

PROGRAM = """\
import torch

from graphmend_support import state_operator


class Codes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("codes", torch.zeros(8, 4))
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("count", torch.tensor(0))

    @torch.no_grad()
    @state_operator("codes", "ready", "count")
    def set_up(self, x, scale, mask=None, *, shift=0.5):
        self.count += 1
        if self.ready:
            return
        rows = x if mask is None else x[mask]
        self.codes.copy_(rows[torch.randperm(len(rows))[:1]].expand(8, 4) * scale + shift)
        self.ready.fill_(True)

    @state_operator("codes")
    def exchange(self):
        self.codes = self.codes + 1

    @torch.no_grad()
    @state_operator("codes")
    def grow(self):
        if bool(self.codes.sum() < 1000):
            self.codes.data.mul_(2)

    def add_up(self, x):
        self.grow()
        return (self.codes * x).sum()

    def forward(self, x):
        self.count += 1
        y = self.layer(x)
        self.set_up(y, y.shape[0], mask=x.sum(1) > 0)
        return y + self.codes.sum(0) * self.count
"""
BACKENDS = ("eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow))


@pytest.fixture
def codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(Path(graphmend_lsp.__file__).parent / "support"))
    torch._dynamo.reset()
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, "utf-8")
    space: dict[str, Any] = {"__name__": "program", "__file__": str(file)}
    exec(compile(PROGRAM, str(file), "exec"), space)
    yield space["Codes"]
    sys.modules.pop("graphmend_support", None)
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_results_and_gradients_are_those_of_the_method(codes: Any, backend: str) -> None:
    def ran(compiled: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = codes()
        run = torch.compile(net, backend=backend, fullgraph=True) if compiled else net
        found = []
        for rows in (3, 5, 7):
            x = torch.arange(rows * 4.0).reshape(rows, 4).requires_grad_()
            y = run(x)
            y.sum().backward()
            found += [y.detach(), x.grad]
        return [*found, *net.state_dict().values(), net.layer.weight.grad]

    first, second = ran(False), ran(True)
    assert all(torch.allclose(one, other, rtol=1e-6) for one, other in zip(first, second, strict=True))
    assert len(first) == 12 and first[-2].dtype == torch.float32


@pytest.mark.slow
def test_each_module_has_its_own_operator_and_none_is_kept(codes: Any) -> None:
    run = torch.compile(lambda net, x: net(x), backend="eager", fullgraph=True)
    nets = [codes(), codes()]
    for net in nets:
        run(net, torch.ones(2, 4))
    assert [int(net.count) for net in nets] == [2, 2] and all(net.ready for net in nets)
    shared = vars(torch)["_graphmend"]["changing 1"]
    kept = [one[1] for one in shared.values()]
    del net, nets, run
    torch._dynamo.reset()
    gc.collect()
    assert all(one() is None for one in kept[-2:])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parameter_is_changed_through_its_data_and_what_is_neither_changes_uncompiled(
    codes: Any, backend: str
) -> None:
    """A parametrization, as a replica of `DataParallel` does, puts the tensor elsewhere: then the method is called as it is."""

    def ran(as_operator: bool, parametrized: bool) -> tuple[int, list[torch.Tensor]]:
        torch.manual_seed(0)
        net = codes()
        del net.codes
        net.codes = torch.nn.Parameter(torch.ones(8, 4))
        if parametrized:
            torch.nn.utils.parametrizations.weight_norm(net, "codes")
        torch._dynamo.reset()
        counted = CompileCounterWithBackend(backend)
        run = torch.compile(net.add_up, backend=counted) if as_operator else net.add_up
        found = []
        for _ in range(3):
            y = run(torch.ones(4, requires_grad=True))
            y.backward()
            found.append(y.detach())
        return counted.frame_count, [*found, *[one.detach() for one in net.parameters()]]

    for parametrized in (False, True):
        (_, expected), (graphs, got) = ran(False, parametrized), ran(True, parametrized)
        assert (graphs == 1) is not parametrized
        assert all(torch.allclose(one, other) for one, other in zip(got, expected, strict=True))


def test_a_buffer_that_is_exchanged_is_an_error(codes: Any) -> None:
    net = codes()
    run = torch.compile(lambda: net.exchange(), backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match="puts another tensor in the place of `codes`"):
        run()
    assert not net.codes.any() and net.codes is net._buffers["codes"]
    net.exchange()  # uncompiled, the method does what it says
    assert net.codes.all()
