"""Probes: each finds the rewrite that deceives the entry's own calls, says nothing of a right one, and leaves no trace."""

from __future__ import annotations

import contextlib
import io
import logging
import types
from collections import deque
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from graphmend_support import any_size, operator
from torch import nn

from graphmend_lsp.model import ASSUMPTIONS, AssumptionKind
from graphmend_lsp.worker.compare import Side, compare_effects
from graphmend_lsp.worker.compare_trials import Pair
from graphmend_lsp.worker.effects import Effect, Listener
from graphmend_lsp.worker.observe import Observation, Raised, Subject
from graphmend_lsp.worker.parts import find_parts
from graphmend_lsp.worker.performing import perform
from graphmend_lsp.worker.probes import PROBES, Kept, limited, probed, probing, tried
from graphmend_lsp.worker.probes.compiled import USES, compiled_uses
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.snapshot import Store, take
from graphmend_lsp.worker.trials import OPERATORS
from graphmend_lsp.worker.used import assumed, probe_differences, probed_kinds

torch.manual_seed(0)
X = torch.randn(2, 4)
Program = Callable[..., Any]


class Net(nn.Module):
    """A module whose forward is given, so that an original and a mended program differ in nothing else."""

    def __init__(self, forward: Program) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("level", torch.ones(()))
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
        self.drop = nn.Dropout(0.0)
        self.flag, self.count, self.table = False, 0, None
        self.run = types.MethodType(forward, self)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


def shown(original: Program, mended: Program, call: tuple[Any, ...], words: str, floats: str = "") -> list[str]:
    """What a probe shows of two forwards: kinds of assumptions."""
    sides = []
    recipe = Recipe(0, probe=words, floats=floats, gradients=PROBES[words].gradients)
    for forward in (original, mended):
        torch.manual_seed(1)
        net = Net(forward)
        subject = Subject(net, find_parts(net).modules, ())
        assert PROBES[words].fits(subject, (call, {}))
        store = Store()
        seen = perform(subject, recipe, [(call, {})], [(call, {})], store, Listener(), kept=Kept(subject))
        sides.append(Side(seen, store.blobs))
    pair = Pair(recipe, "call 1", sides[0], sides[1], False)
    return [one["assumes"] for one in probe_differences(pair) if one["where"] != "model.run"]


def chosen(net: Any, x: torch.Tensor) -> Any:
    return net.scale * (2.0 if x.max() > 1 else 0.5)


def chosen_by_where(net: Any, x: torch.Tensor) -> Any:
    return net.scale * torch.where(x.max() > 1, 2.0, 0.5)


def counted(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    return x * (ids.max().item() + 1)


def counted_as_tensor(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    return x * (ids.max() + 1)


def halved(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    return x.double() * (ids[0].item() / 64)


def halved_as_tensor(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    return x.double() * (ids[0] / 64)


def flagged(net: Any, x: torch.Tensor) -> Any:
    count = net.count
    if net.flag:
        net.count += 1
    return x, count


def flagged_late(net: Any, x: torch.Tensor) -> Any:
    if net.flag:
        net.count += 1
    return x, net.count


def checked(net: Any, x: torch.Tensor) -> Any:
    if torch.isnan(x).any():
        raise ValueError("nan")
    net.count += 1
    return net.drop(x)


def checked_late(net: Any, x: torch.Tensor) -> Any:
    net.count += 1
    result = net.drop(x)
    if torch.isnan(x).any():
        raise ValueError("nan")
    return result


def drawn_late(net: Any, x: torch.Tensor) -> Any:
    result = net.drop(x)
    if torch.isnan(x).any():
        raise ValueError("nan")
    net.count += 1
    return result


def routed(net: Any, x: torch.Tensor) -> Any:
    return net.one(x) if x.norm() > 100 else net.two(x)


def routed_by_where(net: Any, x: torch.Tensor) -> Any:
    return torch.where(x.norm() > 100, net.one(x), net.two(x))


def level(net: Any, x: torch.Tensor) -> Any:
    return net.one(x) * net.level.item()


def level_saved(net: Any, x: torch.Tensor) -> Any:
    return net.one(x) * net.level


def turned(net: Any, x: torch.Tensor) -> Any:
    return (x.flip(0) if x.sum() > 100 else x).view(-1)


def marked(net: Any, x: torch.Tensor) -> Any:
    rows = x[:, 0] > 100
    x[rows, 0] = x[rows, 1] * 2
    return x + 1


def marked_by_where(net: Any, x: torch.Tensor) -> Any:
    first = x.select(1, 0)
    first.copy_(torch.where(first > 100, x.select(1, 1) * 2, first))
    return x + 1


def limited_by(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    most = ids.max().item()
    return x.clamp(-most, most)


def limited_as_given(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    return x.clamp(-ids.max(), ids.max()).to(x.dtype)


def turned_by_where(net: Any, x: torch.Tensor) -> Any:
    return torch.where(x.sum() > 100, x.flip(0), x).contiguous().view(-1)


def same(net: Any, x: torch.Tensor) -> Any:
    return x * 2 if x.sum() > 100 else x


def same_by_where(net: Any, x: torch.Tensor) -> Any:
    return torch.where(x.sum() > 100, x * 2, x)


def built(net: Any, x: torch.Tensor) -> Any:
    return x


def built_always(net: Any, x: torch.Tensor) -> Any:
    net.table = torch.ones(2)
    return x


def sized(net: Any, x: torch.Tensor) -> Any:
    count = net.count
    net.count += x.shape[0] > 16
    return x, count


def sized_late(net: Any, x: torch.Tensor) -> Any:
    net.count += x.shape[0] > 16
    return x, net.count


def rooted(net: Any, x: torch.Tensor) -> Any:
    return (x * 2).sum()


def rooted_otherwise(net: Any, x: torch.Tensor) -> Any:
    return torch.where(x.abs().sum() < 0, x * x.abs().sqrt(), x * 2).sum()


def picked(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    at = ids.argmax() % len(x)
    return x[at.item()] * net.scale, at


def picked_by_index(net: Any, x: torch.Tensor, ids: torch.Tensor) -> Any:
    at = ids.argmax() % len(x)
    return x[at.reshape(1)].squeeze(0) * net.scale, at


def raised(net: Any, x: torch.Tensor) -> Any:
    large = x.max() > 1
    return (x * 2 if large else x * 3) * net.scale, large


def raised_by_where(net: Any, x: torch.Tensor) -> Any:
    large = x.max() > 1
    return torch.where(large, x * 2, x * 3) * net.scale, large


IDS = torch.tensor([1, 3, 2])
DECEIVING = [
    ("with model and inputs cast to bfloat16", "", chosen, chosen_by_where, (X,), "dtype"),
    ("with integers and floating numbers exchanged", "", limited_by, limited_as_given, (X, IDS), "dtype"),
    (
        "with an integer at the upper end of its dtype",
        "",
        counted,
        counted_as_tensor,
        (X, IDS.to(torch.uint8)),
        "number-range",
    ),
    ("with integers in uint8", "", counted, counted_as_tensor, (X, IDS), "number-range"),
    ("with integers in int64", "", counted, counted_as_tensor, (X, IDS.to(torch.uint8)), "number-range"),
    ("with an integer at the upper end of its dtype", "", counted, counted_as_tensor, (X, IDS), "number-range"),
    ("with integers that float32 cannot hold", "", halved, halved_as_tensor, (X, IDS), "float64"),
    ("with the flags of its modules set to the opposite", "", flagged, flagged_late, (X,), "settings"),
    ("with active dropout", "one NaN", checked, drawn_late, (X,), "settings"),
    ("with NaN in place of a number", "one NaN", checked, checked_late, (X,), "raised-between"),
    ("with hooks on every submodule", "", routed, routed_by_where, (X,), "inside-effects"),
    ("after one training step with weight decay", "", routed, routed_by_where, (X,), "zero-gradients"),
    ("with buffers changed in place before the backward pass", "", level, level_saved, (X,), "backward"),
    ("with results changed in place before the backward pass", "", picked, picked_by_index, (X, IDS), "backward"),
    ("with results changed in place before the backward pass", "", raised, raised_by_where, (X,), "backward"),
    ("with second gradients", "zero", rooted, rooted_otherwise, (X,), "backward"),
    ("with tensors transposed in memory", "", turned, turned_by_where, (X,), "layout"),
    ("with expanded tensors", "", turned, turned_by_where, (X,), "layout"),
    ("with rows that are one row expanded", "", marked, marked_by_where, (X,), "layout"),
    ("as the first call, with shared tensors", "", same, same_by_where, (X,), "identity"),
    ("as the first call", "", built, built_always, (X,), "inside-effects"),
    ("with a large batch", "", sized, sized_late, (X,), "shapes"),
]


@pytest.mark.parametrize(
    ("words", "floats", "original", "mended", "call", "kind"),
    DECEIVING,
    ids=[f"{one[0]} {at}" for at, one in enumerate(DECEIVING)],
)
def test_a_probe_finds_what_deceives_the_entry(
    words: str, floats: str, original: Program, mended: Program, call: tuple[Any, ...], kind: AssumptionKind
) -> None:
    found = shown(original, mended, call, words, floats)
    beside = {"zero-gradients"} if original is routed else set()  # any call with gradients shows that
    assert kind in found and set(found) <= {kind, *beside}
    assert shown(original, original, call, words, floats) == []
    assert shown(mended, mended, call, words, floats) == []


def test_every_probe_tests_a_kind_that_the_model_knows() -> None:
    assert {probe.kind for probe in PROBES.values()} <= set(ASSUMPTIONS) == set(get_args(AssumptionKind))
    assert all(words == probe.words for words, probe in PROBES.items())


@pytest.mark.parametrize("words", PROBES)
def test_a_probe_leaves_the_program_as_it_was(words: str) -> None:
    net = Net(lambda self, x, ids: self.one(x) * self.scale + ids.sum())
    subject = Subject(net, find_parts(net).modules, ())
    before = take({**dict(net.state_dict()), "p": net.drop.p, "flag": net.flag, "train": net.drop.training}, Store())
    asked = [one.requires_grad for one in net.parameters()]
    with (
        probed(words, subject, ((X.clone(), IDS.clone()), {})) as (used, (args, kwargs)),
        contextlib.suppress(RuntimeError),
    ):
        used.function(*args, **kwargs)
    assert (
        take({**dict(net.state_dict()), "p": net.drop.p, "flag": net.flag, "train": net.drop.training}, Store())
        == before
    )
    assert [one.requires_grad for one in net.parameters()] == asked
    assert not any(part._forward_hooks for part in net.modules())


def test_the_state_that_a_program_was_loaded_with_is_put_back() -> None:
    net = Net(lambda _self, x: x)
    net.things, net.queue, net.marks, net.text = [1], deque([2]), {3}, io.StringIO("said")
    held, file = net.things, types.ModuleType("program")
    file.settings = {"inner": {"value": 1}}
    kept = Kept(Subject(net, find_parts(net).modules, (file,)))
    net.things.append(9), net.queue.clear(), net.marks.add(9), net.text.write("more")
    net.level.fill_(7)
    net.count, net.fresh, file.settings["inner"]["value"], file.other = 5, 1, 2, 3
    net.level = torch.zeros(())
    kept.put_back()
    assert net.things is held and held == [1] and list(net.queue) == [2] and net.marks == {3}
    assert net.text.getvalue() == "said" and net.level.item() == 1 and net.count == 0 and not hasattr(net, "fresh")
    assert file.settings == {"inner": {"value": 1}} and not hasattr(file, "other")


def test_probes_fit_the_program_and_take_its_calls() -> None:
    subject = Subject(lambda x: x, {}, ())
    names = {
        one.probe for one in probing(subject, [Recipe(0, own=True)], [((IDS,), {})], gradients=False, history=False)
    }
    assert "with integers in uint8" in names and "with hooks on every submodule" not in names
    assert not any("cast" in name for name in names)
    made = probing(subject, [Recipe(0, own=True)], [((X,), {})], gradients=False, history=True)
    assert all(one.odd and not one.own for one in made)
    computed = {one.probe for one in made if one.history}
    assert computed == {"with inputs that take gradients changed in place before the backward pass"}
    assert all(one.gradients == one.history for one in made)


def test_a_size_that_no_machine_has_is_refused() -> None:
    with limited(), pytest.raises(RuntimeError):
        torch.ones(1 << 34)
    assert torch.ones(4).sum() == 4


def test_what_never_ended_says_nothing() -> None:
    recipe = Recipe(0, probe="with a large batch")
    seen = perform(Subject(lambda x: x, {}, ()), recipe, [((X,), {})], [((X,), {})], Store(), Listener())
    assert probed_kinds([recipe], [seen]) == ["shapes"]
    assert probed_kinds([recipe], [type(seen)("call 1", {}, (), Raised("TooLongError", ""))]) == []
    assert assumed(Recipe(0, dtype="float16", probe="as the first call")) == "dtype"


def test_only_what_a_mend_adds_is_tried_compiled() -> None:
    probes = [Recipe(0, probe=words) for use in USES for words in use.probes]
    region = ("if c:\n    x = f(x)\n", "x = torch.cond(c, f, g)\n")
    found = compiled_uses([region], probes)
    assert {one.probe for one in found["eager"]} == {"with hooks on every submodule", "with active dropout"}
    assert {one.probe for one in found["aot_eager"]} == {"with channels last"}
    assert compiled_uses([(region[1], region[1])], probes) == {}
    assert compiled_uses([("x", "torch.library.custom_op('a')")], probes) == {}


def test_the_function_that_logs_is_a_difference_of_its_own() -> None:
    one, other = (Effect("log", "large 3", "model WARNING", f"'large %d' by {name}") for name in ("step", "helper"))
    (found,) = compare_effects("call 1", [one], [other], compiled=False)
    assert (found["assumes"], found["severity"]) == ("log-records", "exception")
    assert "by step" in found["detail"] and "by helper" in found["detail"]
    assert compare_effects("call 1", [one], [one], compiled=False) == []
    plain = compare_effects("call 1", [one], [], compiled=False)
    assert [each["detail"] for each in plain] == ["missing: 'large 3'"]


def turned(net: Any, x: torch.Tensor) -> Any:
    for _ in range(2000):
        if x.max() > 1:
            break
        x = x * 2
    return x


def turned_always(net: Any, x: torch.Tensor) -> Any:
    done = x.max() > 1
    for _ in range(2000):
        x = torch.where(done, x, x * 2)
        done = done | (x.max() > 1)
    return x


def ranked(net: Any, x: torch.Tensor) -> Any:
    return x.argsort(0).argsort(0)


def ranked_by_table(net: Any, x: torch.Tensor) -> Any:
    return (x[:, None] > x[None]).sum(1)


def mirrored(net: Any, x: torch.Tensor) -> Any:
    return x * net.level.item()


def mirrored_beside(net: Any, x: torch.Tensor) -> Any:
    if net.table is None:
        net.table = net.level.item()
    return x * net.table


def named_anew(net: Any, x: torch.Tensor) -> Any:
    if "extra" not in net._buffers:
        net.register_buffer("extra", torch.zeros(()))
    return x * net.level.item()


def kept_function(net: Any, x: torch.Tensor) -> Any:
    net.table = lambda: None
    return x * net.level.item()


def stepped(net: Any, x: torch.Tensor) -> Any:
    h = net.one(x)
    net.count += 1
    return net.two(h)


def stepped_first(net: Any, x: torch.Tensor) -> Any:
    net.count += 1
    return net.two(net.one(x))


def stepped_last(net: Any, x: torch.Tensor) -> Any:
    h = net.two(net.one(x))
    net.count += 1
    return h


def lifted(_net: Any, x: torch.Tensor) -> Any:
    return (x.unsqueeze(0) if x.max() > 0 else x.reshape(1, -1)).sum(0)


def lifted_by_where(_net: Any, x: torch.Tensor) -> Any:
    return torch.where(x.max() > 0, x.unsqueeze(0), x.reshape(1, -1)).sum(0)


def first_row(_net: Any, x: torch.Tensor) -> Any:
    return x.sum(0) if x.dim() > 1 else x * 2


def first_row_always(_net: Any, x: torch.Tensor) -> Any:
    return x.sum(0)


@pytest.mark.parametrize(
    ("original", "mended", "words", "kinds"),
    [
        (lifted, lifted_by_where, "with one dimension more", ["shapes"]),
        (lifted, lifted, "with one dimension more", []),
        (first_row, first_row_always, "with one dimension fewer", ["shapes"]),
        (first_row, first_row_always, "with one dimension more", []),
        (turned, turned_always, "with its operators counted", ["cost"]),
        (turned_always, turned, "with its operators counted", []),
        (turned, turned, "with its operators counted", []),
        (ranked, ranked_by_table, "with its operators counted and a large batch", ["cost"]),
        (ranked, ranked_by_table, "with its operators counted", []),
        (mirrored, mirrored_beside, "with other values loaded behind its first call", ["saved"]),
        (mirrored, mirrored, "with other values loaded behind its first call", []),
        (mirrored, named_anew, "saved and copied behind its first call", ["saved", "saved"]),
        (mirrored, kept_function, "saved and copied behind its first call", ["saved"]),
        (stepped, stepped_first, "with submodule call 1 failing", ["raised-between"]),
        (stepped, stepped_last, "with submodule call 2 failing", ["raised-between"]),
        (stepped, stepped_last, "with submodule call 1 failing", []),
        (stepped, stepped_last, "with submodule call 4 failing", []),
    ],
)
def test_later_probes_find_what_deceives(original: Program, mended: Program, words: str, kinds: list[str]) -> None:
    x = torch.linspace(-1.0, 1.5, 128).repeat(4, 1).T.contiguous() if "batch" in words else X
    found = shown(original, mended, (x,), words)
    assert found[: len(kinds)] == kinds and bool(found) == bool(kinds)


@pytest.mark.parametrize(("width", "rows"), [(8, 512), (40_000, 128)])
def test_what_each_row_costs_is_counted_with_fewer_rows_where_rows_are_dear(width: int, rows: int) -> None:
    layer = nn.Linear(4, width)
    subject = Subject(layer, find_parts(layer).modules, ())
    with probed("with its operators counted and a large batch", subject, ((X,), {})) as (counted, (args, _)):
        operators, made = counted.function(*args)
    assert (operators, made) == (1, rows * width * 4)


def test_a_cast_leaves_what_is_no_buffer_as_the_module_does() -> None:
    net = Net(lambda _self, x: x)
    net.table = net.level  # an attribute that is the same tensor
    real = Net(lambda _self, x: x)
    real.table = real.level
    real.bfloat16()
    words = "with model and inputs cast to bfloat16"
    with probed(words, Subject(net, find_parts(net).modules, ()), ((X,), {})):
        seen = [one.dtype for one in (net.scale, net.level, net.table)]
    assert seen == [one.dtype for one in (real.scale, real.level, real.table)]
    assert net.table is net.level and net.level.dtype == torch.float32


QUIET = logging.getLogger("tests.worker.test_probes.quiet")


def logs_itself(x: torch.Tensor) -> torch.Tensor:
    QUIET.debug("norm %.1f", x.norm())
    return x * 2


def logs_late(x: torch.Tensor) -> torch.Tensor:
    (lambda: QUIET.debug("norm %.1f", x.norm()))()
    return x * 2


def test_records_below_the_level_of_the_entry_are_looked_at() -> None:
    file = types.ModuleType("program")
    file.log = QUIET
    QUIET.setLevel(logging.WARNING)
    words, level = "with its loggers at level DEBUG", QUIET.level
    assert not PROBES[words].fits(Subject(logs_itself, {}, ()), ((X,), {}))
    records = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.funcName)

    QUIET.addHandler(Kept())
    for function in (logs_itself, logs_late):
        subject = Subject(function, {}, (file,))
        assert PROBES[words].fits(subject, ((X,), {}))
        with probed(words, subject, ((X,), {})) as (used, (args, kwargs)):
            used.function(*args, **kwargs)
        assert QUIET.level == level
    logs_itself(X)
    assert records == ["logs_itself", "<lambda>"]


@pytest.mark.parametrize(
    ("like", "kinds"),
    [
        (lambda x: x.new_empty((x.shape[0], 2)), []),
        (lambda x: x.new_empty((any_size(), 2)), []),
        (lambda x: x.new_empty((2, 2)), ["result-shapes"]),
        (lambda x: x.new_empty((x.shape[0], x.shape[0])), ["result-shapes"]),
        (lambda x: x.new_empty((any_size(), x.shape[0])), ["result-shapes"]),
    ],
)
def test_an_operator_is_called_with_other_sizes(
    like: Program, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows give two rows of two in the entry's call; what else gives two there is found to be none of it."""
    monkeypatch.setitem(vars(torch), OPERATORS, True)

    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([torch.tensor([one, one]) for one in x.sum(-1).tolist()])

    called = operator(like=like)(twice)
    assert shown(lambda net, x: twice(x * net.scale), lambda net, x: called(x * net.scale), (X,), tried.TRIED) == kinds


@pytest.mark.parametrize(
    ("function", "like", "call", "kinds"),
    [
        (lambda xs: torch.cat(xs) * 2, lambda xs: xs[0].new_empty((4, 4)), ([X, X],), ["result-shapes"]),
        (lambda xs: torch.cat(xs) * 2, lambda xs: xs[0].new_empty((2 * xs[0].shape[0], xs[0].shape[1])), ([X, X],), []),
        (lambda x, n: x.repeat(n, 1), lambda x: x.new_empty((6, 4)), (X, 3), ["result-shapes"]),
        (lambda x, n: x.repeat(n, 1), lambda x, n: x.new_empty((n * x.shape[0], x.shape[1])), (X, 3), []),
        (lambda x, n: x[:, :n] + 0, lambda x: x.new_empty(x.shape), (X, 4), []),  # the number goes with the size
        (
            lambda n: torch.zeros(int(n)),
            lambda n: n.new_zeros(3, dtype=torch.float32),
            (torch.tensor(3),),
            ["result-shapes"],
        ),
    ],
)
def test_lists_numbers_and_values_are_tried(
    function: Program, like: Program, call: tuple[Any, ...], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(torch), OPERATORS, True)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    told = {"xs": list[torch.Tensor], "n": int if type(call[-1]) is int else torch.Tensor}
    function.__annotations__ = {name: told[name] for name in names if name in told}
    called = operator(like=like)(function)
    assert shown(lambda _, *given: function(*given), lambda _, *given: called(*given), call, tried.TRIED) == kinds


def test_an_operator_that_takes_no_other_sizes_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(torch), OPERATORS, True)

    def only(x: torch.Tensor) -> torch.Tensor:
        return x.view(2, 4) * x.sum().item()

    called = operator(like=lambda x: x)(only)
    assert shown(lambda net, x: only(x * net.scale), lambda net, x: called(x * net.scale), (X,), tried.TRIED) == []
    untried = Observation("", {}, (), Raised(tried.UNTRIED, "an operator took no other sizes"))
    assert probed_kinds([Recipe(0, probe=tried.TRIED)], [untried]) == []  # so the assumption stays open
    with pytest.raises(tried.UntriedError), PROBES[tried.TRIED].around(Subject(called, {}, ()), ((X,), {})) as subject:
        subject.function(X)
    assert tried.MARK not in vars(torch)
