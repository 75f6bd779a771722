"""What is set up while TorchDynamo traces: once for each module, before the rest, and as before where it raises."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from graphmend_support import sets_up
from torch import nn
from torch._dynamo.testing import CompileCounter

from graphmend_lsp.mending import propose, rules_by_name

from .conftest import PATH, unmark

_lock = threading.Lock()


def _raised(_module: nn.Module, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
    return output + 1


def _watch(net: Net) -> None:
    if getattr(net, "is_watched", False):
        return
    _set_up(net)


@sets_up("is_watched")
def _set_up(net: Net) -> None:
    with _lock:
        if net.fails:
            raise ValueError("no hooks")
        net.layer.register_forward_hook(_raised)
        net.times += 1
        net.is_watched = True


class Net(nn.Module):
    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.times = 0
        self.fails = fails

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.sin()
        _watch(self)
        return self.layer(x) * 2


@pytest.fixture(autouse=True)
def _anew() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def test_each_module_is_set_up_once_and_is_one_graph() -> None:
    counter, x = CompileCounter(), torch.ones(2, 4)
    first = Net()
    nets = [first, Net()]
    nets[1].load_state_dict(first.state_dict())
    expected = (first.layer(x.sin()) + 1) * 2
    for at, net in enumerate(nets, 1):
        compiled = torch.compile(net, backend=counter, fullgraph=True)
        for _ in range(2):
            assert torch.equal(compiled(x), expected)
        assert (net.times, counter.frame_count) == (1, at)
    assert torch.equal(nets[1](x), expected) and nets[1].times == 1  # uncompiled code asks, and has nothing to do


def test_one_that_is_to_be_set_up_again_is() -> None:
    net, x = Net(), torch.ones(2, 4)
    compiled = torch.compile(net, backend="eager")
    compiled(x)
    del net.is_watched
    assert torch.equal(compiled(x), (nn.functional.linear(x.sin(), net.layer.weight, net.layer.bias) + 2) * 2)
    assert net.times == 2


def test_where_it_raises_uncompiled_code_does() -> None:
    net, x = Net(fails=True), torch.ones(2, 4)
    compiled = torch.compile(net, backend="eager")
    with pytest.raises(ValueError, match="no hooks"):
        compiled(x)
    net.fails = False
    assert torch.equal(compiled(x), net(x)) and net.times == 1


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_program_has_what_is_set_up(strict: bool) -> None:
    net, x = Net(), torch.ones(2, 4)
    expected = (net.layer(x.sin()) + 1) * 2
    program = torch.export.export(net, (x,), strict=strict)
    assert torch.equal(program.module()(x), expected)


class Many(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.nets = nn.ModuleList(Net() for _ in range(24))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for net in self.nets:
            x = net(x)
        return x


def test_more_modules_than_dynamo_begins_again_for_are_set_up_too() -> None:
    one, other, x = Many(), Many(), torch.ones(2, 4)
    other.load_state_dict(one.state_dict())
    compiled = torch.compile(one, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(x), other(x))
    assert {net.times for net in one.nets} == {1}


def test_one_that_leaves_its_flag_runs_in_each_call_as_before() -> None:
    calls: list[int] = []

    @sets_up("is_there")
    def count(_: nn.Module) -> None:
        with _lock:
            calls.append(1)

    class Counting(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not hasattr(self, "is_there"):
                count(self)
            return x * 2

    net, x = Counting(), torch.ones(2)
    compiled = torch.compile(net, backend="eager")
    compiled(x)
    first = len(calls)
    compiled(x)
    compiled(x)
    assert first <= 2 and len(calls) == first + 2


@pytest.mark.parametrize("set_to", ["True", "False", "[]", "None"])
@pytest.mark.parametrize("condition", ["", "if self.training: "])
def test_a_flag_that_one_way_leaves_is_none(set_to: str, condition: str) -> None:
    (example,) = [one for one in rules_by_name()["once"].examples if one.title == "a hook in forward"]
    text = example.before.replace(
        "            self.is_ready = True", f"            {condition}self.is_ready = {set_to}"
    )
    source, site = unmark(text, None, example.gb_id)
    assert bool(propose(site, {PATH: source}, ["once"]).mends) == (set_to == "True" and not condition)
