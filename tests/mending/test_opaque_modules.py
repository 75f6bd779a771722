"""Operators that take modules: which of them only compute, gradients, what a module may not be, and what does not run at all."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import graphmend_support
import pytest
import torch
from graphmend_support import operator
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from graphmend_lsp.mending.rules.opaque.callee import called_here
from graphmend_lsp.mending.rules.opaque.changing import refuse_changed
from graphmend_lsp.mending.rules.opaque.containers import value_of
from graphmend_lsp.mending.rules.opaque.dead import dead_in
from graphmend_lsp.mending.rules.opaque.decided import asks_none
from graphmend_lsp.mending.rules.opaque.effects import Judge
from graphmend_lsp.mending.rules.opaque.layouts import is_laid_out_anew
from graphmend_lsp.mending.rules.opaque.methods import own_method
from graphmend_lsp.mending.rules.opaque.modules import CALM, COMPUTING
from graphmend_lsp.mending.rules.opaque.owned import Owned
from graphmend_lsp.mending.rules.opaque.sizes import follows_data
from graphmend_lsp.mending.rules.opaque.taken import Handed
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, read

from .conftest import PATH, seen_in


@operator(like=lambda x: x.new_empty(x.shape), modules=("Own",))
def settle(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    for _ in range(9):
        new = torch.tanh(layer(z) + x)
        if (new - z).norm() < 0.1:
            break
        z = new
    return new


class Own(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.Dropout(dropout), nn.GELU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Net(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return settle(self.layer, x.sin()) * 2


@pytest.fixture(autouse=True)
def _afresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def _gradients(net: nn.Module, called: Callable[..., torch.Tensor], x: torch.Tensor) -> list[torch.Tensor | None]:
    net.zero_grad()
    given = x.clone().requires_grad_()
    result = called(given)
    result.pow(2).sum().backward()
    return [result.detach(), given.grad, *(one.grad for one in net.parameters())]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make",
    [lambda: nn.Linear(4, 4), Own, lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)],
    ids=["of torch", "of the file", "of torch, with others in it"],
)
def test_a_module_is_taken_with_its_parameters(backend: str, make: Callable[[], nn.Module]) -> None:
    net, x = Net(make()), torch.randn(3, 4)
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    for old, new in zip(_gradients(net, net, x), _gradients(net, compiled, x), strict=True):
        torch.testing.assert_close(new, old)


@operator(like=lambda x: x.new_empty(x.shape))
def until_small(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x) + layer(x)
    while y.abs().sum() > 1e6:
        y = y * 0.5
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "make", [nn.SiLU, nn.Mish, nn.Softplus, nn.LogSigmoid, nn.GELU, nn.ELU, lambda: nn.LayerNorm(33)]
)
def test_its_gradients_round_as_without_an_operator(backend: str, make: Callable[[], nn.Module]) -> None:
    """With a history of the gradients, which nobody asked for, torch computes those of SiLU and Mish by another formula."""
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(33, 33), make(), nn.Linear(33, 33))
    x = torch.randn(17, 33)
    seen = []
    for run in (lambda y: layer(y), torch.compile(lambda y: until_small(layer, y), backend=backend, fullgraph=True)):
        own = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(run(own).square().sum(), own, retain_graph=True)
        seen.append([first, *torch.autograd.grad(run(own).square().sum(), list(layer.parameters()))])
    assert all(torch.equal(one, other) for one, other in zip(*seen, strict=True))
    if backend == "eager":
        (first,) = torch.autograd.grad(until_small(layer, own).square().sum(), own, create_graph=True)
        assert first.requires_grad and torch.autograd.grad(first.sum(), own)[0].isfinite().all()


def test_each_module_has_a_graph_that_runs_it() -> None:
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(lambda net, x: net(x), backend=counter, fullgraph=True)
    nets, x = [Net(nn.Linear(4, 4)) for _ in range(3)], torch.randn(3, 4)
    for net in (*nets, *nets):
        assert torch.equal(compiled(net, x), net(x))


def _hooked() -> nn.Module:
    layer = nn.Linear(4, 4)
    layer.register_forward_hook(lambda *_: None)
    return layer


class Other(Own):
    pass


class Stored(Own):
    pass


def _with_a_tensor() -> nn.Module:
    layer = Own()
    layer.kept = torch.ones(4)  # type: ignore[assignment]
    return layer


def _with_a_method() -> nn.Module:
    layer = Own()
    layer.extra_repr = lambda: ""  # type: ignore[method-assign]
    return layer


@pytest.mark.parametrize(
    ("make", "training"),
    [
        (lambda: Own(0.5), True),
        (_hooked, False),
        (Other, False),
        (lambda: nn.Sequential(nn.Linear(4, 4), Other()), False),
        (lambda: nn.BatchNorm1d(4), True),
        (_with_a_tensor, False),
        (_with_a_method, False),
    ],
    ids=[
        "dropout",
        "a hook",
        "another class",
        "one in it",
        "statistics",
        "a tensor that is no buffer",
        "a method of its own",
    ],
)
def test_a_module_that_does_more_breaks_the_graph_as_before(make: Callable[[], nn.Module], training: bool) -> None:
    net, x = Net(make()).train(training), torch.randn(3, 4)
    counter = CompileCounterWithBackend("eager")
    torch.manual_seed(1)
    expected = net(x)
    torch.manual_seed(1)
    assert torch.equal(torch.compile(net, backend=counter)(x), expected)
    assert counter.frame_count > 1


def test_in_evaluation_dropout_only_computes() -> None:
    net, x = Net(Own(0.5)).eval(), torch.randn(3, 4)
    assert torch.equal(torch.compile(net, backend="eager", fullgraph=True)(x), net(x))


def test_a_part_that_draws_numbers_by_now_is_an_error() -> None:
    net, x = Net(Own(0.5)).eval(), torch.randn(3, 4)
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    compiled(x)
    net.layer.inner[1].train()  # type: ignore[union-attr,index,operator]
    with pytest.raises(RuntimeError, match="a module has other parameters or hooks, or another mode"):
        compiled(x)


def test_a_backward_pass_may_outlive_the_module() -> None:
    net, x = Net(Own()), torch.randn(3, 4)
    expected = _gradients(net, net, x)[1]
    given = x.clone().requires_grad_()
    result = torch.compile(net, backend="aot_eager", fullgraph=True)(given)
    del net
    torch._dynamo.reset()
    gc.collect()
    result.pow(2).sum().backward()
    assert torch.equal(given.grad, expected)  # type: ignore[arg-type]


def test_an_error_inside_gives_the_module_its_own_parameters_back() -> None:
    layer = nn.Linear(4, 4)
    own = dict(layer.named_parameters())
    with pytest.raises(RuntimeError):
        torch.compile(Net(layer), backend="eager")(torch.randn(3, 5))
    assert all(one is own[name] for name, one in layer.named_parameters())


def test_rule_and_support_module_know_the_same_modules() -> None:
    assert graphmend_support._COMPUTING == COMPUTING and graphmend_support._CALM == CALM
    for name in COMPUTING | CALM:
        cls = getattr(nn, name, None)  # RMSNorm is newer than some torch
        assert cls is None or cls.__module__.startswith("torch.nn.modules."), name


_NET = """\
import torch
from torch import nn
import torch.nn.functional as F


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.activation = F.gelu
        self.chosen = CHOICES["gelu"]
        self.first, self.second = CHOICES.values()
        self.scale = 2.0

    def forward(self, x):
        {0}

    def helped(self, x):
        return x * self.scale

    def counted(self, x):
        self.seen = 1
        return x


def fn(part, x):
    return part(x)
"""


@pytest.mark.parametrize(
    ("lines", "computes"),
    [
        ("return self.linear(x) * self.scale", True),
        ("for one in self.layers: x = one(x)\n        return x", True),
        ("return self.layers[0](x)", True),
        ("return self.helped(x)", True),
        ("return F.relu(x)", True),
        ("return F.dropout(x, 0.5, self.training)", False),
        ("self.scale = 3.0\n        return x", False),
        ("self.seen = x\n        return x", False),
        ("return self.counted(x)", False),
        ("return self.activation(x)", False),
        ("return self.first(x)", False),
        ("return self.unknown(x)", False),
        ("print(x)\n        return x", False),
        ("x.add_(1)\n        return x", False),
        ("return super().forward(x)", False),
    ],
)
def test_a_module_of_the_file_computes_if_its_forward_does(lines: str, computes: bool) -> None:
    source, fn = _read(_NET.format(lines), (("part", "module model.Part"), ("x", "float32 4")))
    judge = Judge(source, fn, fn.body)
    assert judge.only_computes() is computes
    assert judge.modules == (["Part"] if computes else [])


def test_of_an_attribute_that_is_set_once_the_operator_asks_whether_it_is_a_module() -> None:
    text = _NET.format("return self.chosen(self.linear(x))")
    facts = (("part", "module model.Part"), ("x", "float32 4"))
    source, fn = _read(text, facts)
    judge = Judge(source, fn, fn.body)
    assert judge.only_computes()
    assert judge.modules == ["Part", "Part.chosen"]
    source, fn = _read(text.replace("def fn(", "def set_choice(part):\n    part.chosen = print\n\n\ndef fn("), facts)
    assert not Judge(source, fn, fn.body).only_computes()


class Chosen(nn.Module):
    def __init__(self, act: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(x)


@operator(like=lambda x: x.new_empty(x.shape), modules=("Chosen", "Chosen.act"))
def chosen_by(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x) + layer(x)
    while y.abs().sum() > 1e6:
        y = y * 0.5
    return y


@pytest.mark.parametrize(("act", "graphs"), [(nn.SiLU(), 1), (torch.tanh, 2), (Other(), 2)])
def test_an_attribute_that_holds_no_such_module_breaks_the_graph_as_before(act: Any, graphs: int) -> None:
    counter = CompileCounterWithBackend("eager")
    layer, x = Chosen(act), torch.randn(3, 4)
    compiled = torch.compile(lambda y: chosen_by(layer, y.sin()).cos(), backend=counter)
    assert torch.equal(compiled(x), chosen_by(layer, x.sin()).cos())
    assert counter.frame_count >= graphs and (counter.frame_count == 1) == (graphs == 1)


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ("", True),
        ("class Part(nn.Module)|class Part(Base)", False),
        ("class Part|@torch.no_grad\nclass Part", False),
        ("def helped|def __call__", False),
        ("def fn|Part = None\n\n\ndef fn", False),
    ],
)
def test_a_class_that_is_called_otherwise_is_not_known(change: str, known: bool) -> None:
    text = _NET.format("return self.linear(x)")
    text = text.replace(*change.split("|")) if change else text
    source, fn = _read(text, (("part", "module model.Part"), ("x", "float32 4")))
    assert Judge(source, fn, fn.body).only_computes() is known


def _read(text: str, seen: tuple[tuple[str, str], ...] = ()) -> tuple[Source, ast.FunctionDef]:
    found = read(PATH, text)
    assert isinstance(found, Source)
    source = replace(found, noted=seen_in(text, seen).files[PATH], rested={})
    return source, next(one for one in source.nodes if isinstance(one, ast.FunctionDef) and one.name == "fn")


_METHODS = """\
class Net:
    def fn(self, x):
        return self.less(x)

    {0}
        return x * 2
"""


@pytest.mark.parametrize(
    ("signature", "more", "known"),
    [
        ("def less(self, x):", "", True),
        ("def less(self, x, by=2):", "", True),
        ("@staticmethod\n    def less(x):", "", True),
        (
            "def less(self, x):",
            "class Other(Net):\n    def less(self, x):\n        return x\n",
            True,
        ),  # asked when it runs
        ("@decorated\n    def less(self, x):", "", False),
        ("@classmethod\n    def less(self, x):", "", False),
        ("def less(self, x):\n        self.x = x", "", False),
        ("less = more\n\n    def less(self, x):", "", False),
        ("def less(self, x):", "    less = other(less)\n", False),
    ],
)
def test_a_method_that_reads_no_object_is_known(signature: str, more: str, known: bool) -> None:
    source, fn = _read(_METHODS.format(signature) + more)
    (call,) = [one for one in ast.walk(fn) if isinstance(one, ast.Call)]
    made = own_method(source, call.func)
    assert made is called_here(source, call)
    assert (made is not None) is known


class Halving(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Halving.halved(self, x.sin()) * 2

    @operator(like=lambda x: x.new_empty(x.shape), methods=("Halving.half", "Halving.bit"))
    def halved(self, x: torch.Tensor) -> torch.Tensor:
        while x.norm() > 0.1:
            x = self.half(x) + self.bit(x)
        return x

    def half(self, x: torch.Tensor) -> torch.Tensor:
        return self.bit(x) * 4

    @staticmethod
    def bit(x: torch.Tensor) -> torch.Tensor:
        return x / 8


class Overriding(Halving):
    def half(self, x: torch.Tensor) -> torch.Tensor:
        return x / 4


class Adding(Halving):
    def more(self) -> None: ...


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("kind", "whole"), [(Halving, True), (Adding, True), (Overriding, False)])
def test_methods_are_called_in_an_operator_unless_a_class_overrides_one(
    backend: str, kind: type[Halving], whole: bool
) -> None:
    net, x, counter = kind(), torch.randn(3, 4), CompileCounterWithBackend(backend)
    compiled = torch.compile(net, backend=counter)
    for old, new in zip(_gradients(net, net, x), _gradients(net, compiled, x), strict=True):
        torch.testing.assert_close(new, old)
    assert (counter.frame_count == 1) is whole


def test_a_method_that_one_object_has_in_place_of_its_class_s_is_called() -> None:
    net, x, counter = Halving(), torch.randn(3, 4), CompileCounterWithBackend("eager")
    compiled = torch.compile(net, backend=counter)
    assert torch.equal(compiled(x), net(x)) and counter.frame_count == 1
    net.half = lambda x: x / 4  # type: ignore[method-assign]
    assert torch.equal(compiled(x), net(x)) and counter.frame_count > 1


def test_an_operator_knows_of_an_object_its_class_alone() -> None:
    class Reading:
        kept = 2.0

    bare = graphmend_support._Methods(Reading)
    with pytest.raises(AttributeError, match="reads `kept` of an object that it is to call only"):
        _ = bare.kept
    with pytest.raises(AttributeError):
        _ = bare.missing


@pytest.mark.parametrize(
    ("test", "value", "dead"),
    [
        ("flag", "bool True", "other()"),
        ("not flag", "bool True", "done()"),
        ("flag is None", "None", "other()"),
        ("flag is not None", "None", "done()"),
        ("flag", "None", "done()"),
        ("flag is None", "bool True", "done()"),
        ("flag", "bool", None),
        ("flag == 1", "bool True", None),
        ("flag and x", "bool True", None),
    ],
)
def test_what_a_flag_kept_from_running(test: str, value: str, dead: str | None) -> None:
    text = f"def fn(x, flag):\n    if {test}:\n        done()\n    else:\n        other()\n    return x\n"
    source, fn = _read(text, (("flag", value),))
    found = dead_in(source, fn.body)
    gone = [one for one in ast.walk(fn) if isinstance(one, ast.Expr) and id(one) in found.nodes]
    assert [ast.unparse(one) for one in gone] == ([dead] if dead else [])


def test_a_flag_that_is_bound_anew_is_none() -> None:
    source, fn = _read(
        "def fn(x, flag):\n    flag = x\n    if flag:\n        x = 1\n    return x\n", (("flag", "None"),)
    )
    assert not dead_in(source, fn.body).tests
    assert dead_in(source, fn.body[1:]).tests, "in what stands behind, it is one"


def test_a_flag_decides_in_an_expression_too() -> None:
    source, fn = _read("def fn(x, flag):\n    return other() if flag is not None else x\n", (("flag", "None"),))
    found = dead_in(source, fn.body)
    assert [ast.unparse(one) for one in ast.walk(fn) if id(one) in found.nodes][:1] == ["other()"]


@pytest.mark.parametrize(
    ("lines", "anew"),
    [
        ("z = x @ y", True),
        ("z = torch.tanh(torch.matmul(x, y) + x)", True),
        ("z = 2 * (x @ y)", True),
        ("n = x @ y\n    z = n.relu()", True),
        ("z = x + x @ y", False),
        ("z = x * 2", False),
        ("z = x.t()", False),
        ("z, n = x @ y, 1", False),
    ],
)
def test_what_lies_row_by_row_whatever_it_is_made_of(lines: str, anew: bool) -> None:
    text = f"import torch\n\n\ndef fn(x, y):\n    {lines}\n    return z\n"
    source, fn = _read(text, (("x", "float32 4 4"), ("y", "float32 4 4")))
    assert is_laid_out_anew(source, fn.body, "z") is anew


@pytest.mark.parametrize(
    ("lines", "follows"),
    [
        ("if row.sum() > 0:\n            rows.append(row)\n        else:\n            rows.append(-row)", False),
        ("if row.sum() > 0:\n            rows.append(row)", True),
        ("if row.sum() > 0:\n            row = -row\n        rows.append(row)", False),
        ("if row.sum() > 0:\n            continue\n        rows.append(row)", True),
        ("if row.sum() > 0:\n            rows.append(row)\n        else:\n            rows.extend([row, row])", True),
        ("for _ in range(2):\n            if row.sum() > 0:\n                rows.append(row)", True),
    ],
)
def test_a_list_that_each_turn_puts_as_much_into_has_a_known_length(lines: str, follows: bool) -> None:
    text = f"import torch\n\n\ndef fn(x):\n    rows = []\n    for row in x:\n        {lines}\n    return torch.stack(rows)\n"
    source, fn = _read(text, (("x", "float32 4 4"), ("row", "float32 4")))
    assert (follows_data(source, fn.body) is not None) is follows


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = []", "[]"),
        ("a, b = [], {}", "[]"),
        ("b, a = [], {}", "{}"),
        ("a, *b = [], 1, 2", None),
        ("a, b = c", None),
    ],
)
def test_what_an_assignment_gives_one_of_its_names(text: str, value: str | None) -> None:
    (statement,) = ast.parse(text).body
    (name,) = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == "a"]
    found = value_of(name, statement)
    assert (found and ast.unparse(found)) == value


@pytest.mark.parametrize(
    ("lines", "computes"),
    [
        ("rest = iter(x)\n    return next(rest)", True),
        ("rest = {1: iter(x), 2: None}\n    return next(rest[1])", True),
        ("rest = {1: iter(x) if x is not None else None}\n    return next(rest[1])", True),
        ("return next(given)", False),
        ("rest = iter(given)\n    return next(rest)", False),
        ("rest = {1: given}\n    return next(rest[1])", False),
    ],
)
def test_what_goes_on_is_an_iterator_of_the_statements(lines: str, computes: bool) -> None:
    source, fn = _read(f"def fn(x, given):\n    {lines}\n", (("x", "float32 4 4"),))
    assert Judge(source, fn, fn.body).only_computes() is computes


@pytest.mark.parametrize(
    ("annotation", "test", "lines", "settled"),
    [
        ("Tensor", "x is None", "pass", True),
        ("Tensor", "x is not None", "pass", True),
        ("object", "x is None", "pass", False),
        ("Tensor", "x is None", "x = None", False),
        ("Tensor", "y is None", "pass", False),
        ("Tensor", "x == 1", "pass", False),
    ],
)
def test_what_is_of_its_type_in_every_call_is_never_none(annotation: str, test: str, lines: str, settled: bool) -> None:
    source, fn = _read(f"def fn(x):\n    {lines}\n    if {test}:\n        x = 1\n")
    (asked,) = [one.test for one in fn.body if isinstance(one, ast.If)]
    assert asks_none(source, asked, (Handed("x", annotation, "x"),), fn.body[:1]) is settled


_FILLING = """\
import numpy as np
import torch


def filled(grid, counts):
    for i in range(len(counts)):
        grid[i][0] = counts[i]
    return {0}


def fn(counts, others):
    grid = {1}
    grid = filled(grid, counts)
    return torch.from_numpy(grid)
"""


@pytest.mark.parametrize(
    ("gives", "made", "computes"),
    [
        ("grid", "np.zeros((4, 2))", True),
        ("grid", "torch.zeros(4, 2).numpy()", True),
        ("grid", "others", False),
        ("counts", "np.zeros((4, 2))", False),
    ],
)
def test_a_function_of_the_file_may_fill_an_array_that_the_statements_made(
    gives: str, made: str, computes: bool
) -> None:
    source, fn = _read(_FILLING.format(gives, made), (("grid", "array"), ("counts", "array")))
    assert Judge(source, fn, fn.body).only_computes() is computes
    (call,) = [one for one in ast.walk(fn) if isinstance(one, ast.Call) and source.code(one).startswith("filled")]
    assert Owned(source, fn, fn.body).is_own(call) is computes


@pytest.mark.parametrize(
    ("more", "computes"),
    [
        ("", True),
        ("def other(part):\n    part.scale = 3.0\n", False),
        ("def other(part):\n    part.scale *= 2\n", False),
        ("def other(part):\n    setattr(part, 'scale', 2)\n", False),
        ("class Other:\n    def use(self):\n        self.scale = 2\n", True),
        ("def other(part):\n    part.far = 3.0\n", True),
        ("def other(part):\n    part.scale.append(1)\n", False),
        ("def other(part):\n    part.scale[0] = 1\n", False),
        ("def other(part):\n    return part.scale[0]\n", True),
    ],
)
def test_an_attribute_that_code_changes_is_read_too_early_in_an_operator(more: str, computes: bool) -> None:
    text = _NET.format("return self.linear(x) * self.scale") + more
    source, fn = _read(text, (("part", "module model.Part"), ("x", "float32 4")))
    assert Judge(source, fn, fn.body).only_computes() is computes
    for far in ("net.part.scale = 2\n", "net.part.scale[0] = 2\n", "net.part.scale.append(2)\n"):
        assert not Judge(source, fn, fn.body, sources={"/far.py": far}).only_computes()


def test_an_attribute_that_the_class_computes_is_not_read_in_an_operator() -> None:
    text = _NET.format("return self.linear(x) * self.twice").replace(
        "    def helped", "    @property\n    def twice(self):\n        return 2\n\n    def helped"
    )
    source, fn = _read(text, (("part", "module model.Part"), ("x", "float32 4")))
    assert not Judge(source, fn, fn.body).only_computes()


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("self.part.eval()", True),
        ("self.part.inner.p = 0.5", True),
        ("self.part.stride = 2", True),
        ("self.parted.stride = 2", False),
        ("self.other.eval()", False),
        ("x = self.part(x)", False),
    ],
)
def test_a_module_that_the_function_changes_is_refused(line: str, changed: bool) -> None:
    source, fn = _read(f"def fn(self, x):\n    {line}\n    return self.part(x)\n")
    try:
        refuse_changed(source, fn, ["self.part"])
    except Refused as why:
        assert changed and "changes a module" in str(why)
    else:
        assert not changed
