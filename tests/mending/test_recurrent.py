"""Recurrent layers as operators: values, gradients and strides are the layer's own; what is more than computing breaks as before."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable
from typing import Any

import graphmend_support
import pytest
import torch
from graphmend_support import pack_padded, pad_packed, recurrent
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from graphmend_lsp.mending import propose

from .conftest import PATH, seen_in, unmark


class Net(nn.Module):
    def __init__(self, layer: nn.Module, mended: bool) -> None:
        super().__init__()
        self.layer = layer
        self.mended = mended

    def forward(self, x: Any, state: Any = None) -> Any:
        x = x.sin() if isinstance(x, torch.Tensor) else x
        y, last = recurrent(lambda: self.layer, x, state) if self.mended else self.layer(x, state)
        states = last if isinstance(last, tuple) else (last,)
        y = y if isinstance(y, torch.Tensor) else y.data
        return (y.cos(), y, *[one * 2 for one in states])


@pytest.fixture(autouse=True)
def _anew() -> None:
    torch._dynamo.reset()


LAYERS: list[tuple[type[nn.RNNBase], dict[str, Any]]] = [
    (nn.RNN, {"nonlinearity": "relu"}),
    (nn.GRU, {"batch_first": True, "bidirectional": True, "num_layers": 2}),
    (nn.LSTM, {"batch_first": True, "bias": False}),
    (nn.LSTM, {"batch_first": True, "proj_size": 3, "bidirectional": True}),
]


def _observed(run: Callable[..., Any], net: nn.Module, x: torch.Tensor, state: Any) -> list[Any]:
    x = x.clone().requires_grad_()
    results = run(x, state)
    sum(one.square().sum() for one in results).backward()
    found = [x.grad, *[one.grad for one in net.parameters()], *[one.detach() for one in results]]
    net.zero_grad()
    return [*found, *[one.stride() for one in results]]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("given", [False, True], ids=["from zeros", "from a state"])
@pytest.mark.parametrize("batched", [True, False], ids=["a batch", "one sequence"])
@pytest.mark.parametrize(("kind", "options"), LAYERS)
def test_results_gradients_and_strides_are_the_layer_s(
    kind: type[nn.RNNBase], options: dict[str, Any], batched: bool, given: bool, backend: str
) -> None:
    torch.manual_seed(0)
    layer = kind(4, 8, **options)
    nets = [Net(layer, mended) for mended in (False, True)]
    compiled = torch.compile(nets[1], backend=backend, fullgraph=True)
    for length in (5, 2):
        x = torch.randn(3, length, 4) if batched else torch.randn(length, 4)
        state = None
        if given:
            _, state = layer(x.cos())
            state = tuple(one.detach() for one in state) if isinstance(state, tuple) else state.detach()
        one, other = _observed(nets[0], nets[0], x, state), _observed(compiled, nets[1], x, state)
        for before, after in zip(one, other, strict=True):
            assert torch.equal(before, after) if isinstance(before, torch.Tensor) else before == after
    assert all(one is other for one, other in zip(layer._flat_weights, layer.parameters(), strict=True))
    assert torch._dynamo.config.allow_rnn is False


class Own(nn.LSTM):
    pass


def _hooked() -> nn.Module:
    layer = nn.LSTM(4, 8)
    layer.register_forward_hook(lambda *_: None)
    return layer


@pytest.mark.parametrize(
    "make",
    [Own, lambda *size: nn.LSTM(*size, num_layers=2, dropout=0.5), lambda *_: _hooked()],
    ids=["a subclass", "dropout", "a hook"],
)
def test_what_does_more_breaks_the_graph_as_before(make: Callable[..., nn.Module]) -> None:
    net, x = Net(make(4, 8), True), torch.randn(5, 2, 4)
    counter = CompileCounterWithBackend("eager")
    torch.manual_seed(1)
    expected = Net(net.layer, False)(x)
    torch.manual_seed(1)
    assert torch.equal(torch.compile(net, backend=counter)(x)[0], expected[0])
    assert counter.frame_count > 1 and torch._dynamo.config.allow_rnn is False


def test_a_packed_sequence_and_autocast_break_the_graph_as_before() -> None:
    net = Net(nn.LSTM(4, 8), True)
    packed = nn.utils.rnn.pack_sequence([torch.randn(3, 4), torch.randn(2, 4)])
    compiled = torch.compile(net, backend="eager")
    assert torch.equal(compiled(packed)[0], net(packed)[0])
    net, x = Net(nn.GRU(4, 8), True), torch.randn(5, 2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        counter = CompileCounterWithBackend("eager")
        assert torch.equal(torch.compile(net, backend=counter)(x)[0], net(x)[0])
    assert counter.frame_count > 1


class OfPacked(nn.Module):
    """Packs, calls a layer, and pads; `between` runs in front of the layer."""

    def __init__(self, layer: Any, mended: bool, between: Callable[[], object] | None = None, **options: bool) -> None:
        super().__init__()
        self.layer = layer
        self.between = between
        self.pack = pack_padded if mended else nn.utils.rnn.pack_padded_sequence
        self.pad = pad_packed if mended else nn.utils.rnn.pad_packed_sequence
        self.mended = mended
        self.options = options

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = self.pack(x.sin(), lengths, self.options["batch_first"], self.options["enforce_sorted"])
        if self.between is not None:
            self.between()
        y, last = recurrent(lambda: self.layer, packed) if self.mended else self.layer(packed)
        y, same = self.pad(y, batch_first=self.options["batch_first"])
        return y.cos(), y, same * 1.0, *(last if isinstance(last, tuple) else (last,))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("sorted_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_packing_and_padding_are_part_of_the_operator(
    kind: type[nn.RNNBase], batch_first: bool, sorted_first: bool, backend: str
) -> None:
    torch.manual_seed(0)
    layer = kind(4, 8, bidirectional=True, num_layers=2)
    nets = [OfPacked(layer, one, batch_first=batch_first, enforce_sorted=sorted_first) for one in (False, True)]
    compiled = torch.compile(nets[1], backend=backend, fullgraph=True)
    for lengths in ([5, 3, 2], [4, 4, 1]):
        x = torch.randn(3, 5, 4) if batch_first else torch.randn(5, 3, 4)
        given = torch.tensor(lengths if sorted_first else lengths[::-1])
        one, other = _observed(nets[0], nets[0], x, given), _observed(compiled, nets[1], x, given)
        for before, after in zip(one, other, strict=True):
            assert torch.equal(before, after) if isinstance(before, torch.Tensor) else before == after


class OverPacked(nn.Module):
    def forward(self, packed: Any) -> Any:
        return nn.utils.rnn.PackedSequence(packed.data * 2, packed.batch_sizes), packed.data.sum()


@pytest.mark.parametrize(
    ("make", "between"), [(lambda: nn.GRU(4, 8), torch._dynamo.graph_break), (_hooked, None), (OverPacked, None)]
)
def test_a_packed_sequence_is_torch_s_own_where_the_graph_breaks(make: Callable[[], nn.Module], between: Any) -> None:
    layer, x, lengths = make(), torch.randn(5, 3, 4), torch.tensor([5, 3, 2])
    nets = [OfPacked(layer, one, between, batch_first=False, enforce_sorted=True) for one in (False, True)]
    for before, after in zip(nets[0](x, lengths), torch.compile(nets[1], backend="eager")(x, lengths), strict=True):
        assert torch.equal(before, after)


@pytest.mark.parametrize(
    "lines",
    [
        "y, _ = self.layer(x)\n    return ⟦nn.utils.rnn.pad_packed_sequence(y)⟧",
        "packed = ⟦nn.utils.rnn.pack_padded_sequence(x, lengths)⟧\n    y, _ = other(x, lengths, 1)\n    return packed",
        "y = other(*x)\n    return ⟦nn.utils.rnn.pack_padded_sequence(y, lengths)⟧",
    ],
)
def test_a_call_beside_that_takes_no_packed_sequence_is_no_layer(lines: str) -> None:
    text = f"import torch\nfrom torch import nn\n\n\ndef fn(self, x, lengths):\n    {lines}\n"
    source, site = unmark(text, None, "GB0007")
    answer = propose(site, {PATH: source}, ["recurrent"], seen_in(source, ()))
    assert not answer.mends and not answer.declined


class Plain(nn.Module):
    def forward(self, x: torch.Tensor, state: Any = None) -> Any:
        return x * 2, x + 1 if state is None else state


def test_a_layer_of_another_class_is_traced() -> None:
    counter, x = CompileCounterWithBackend("eager"), torch.randn(3, 4)
    net = Net(Plain(), True)
    assert torch.equal(torch.compile(net, backend=counter, fullgraph=True)(x)[0], net(x)[0])


def test_a_backward_pass_may_outlive_the_layer() -> None:
    net, x = Net(nn.GRU(4, 8), True), torch.randn(5, 2, 4, requires_grad=True)
    (expected,) = torch.autograd.grad(net(x)[0].sum(), x)
    result = torch.compile(net, backend="aot_eager")(x)[0].sum()
    del net
    torch._dynamo.reset()
    gc.collect()
    assert torch.equal(torch.autograd.grad(result, x)[0], expected)


def test_two_copies_of_the_support_module_know_what_stands_for_a_tensor() -> None:
    """Each may run what the other keeps of a layer that is gone."""
    spec = importlib.util.spec_from_file_location("another_support", graphmend_support.__file__)
    assert spec is not None and spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    assert other._Nth is graphmend_support._Nth and other._Lent is not graphmend_support._Lent
