"""What differs between two values, traces of effects and whole calls, and how it is said."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest
import torch

from graphmend_lsp.worker.compare import Comparison, Side, compare_effects, compare_leaves
from graphmend_lsp.worker.effects import Effect
from graphmend_lsp.worker.observe import Observation, Raised
from graphmend_lsp.worker.snapshot import Snapshot, Store, take

NAN = float("nan")
INF = float("inf")


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Output:
    logits: Any
    cache: Any = None


class Cache:
    def __init__(self, keys: Any) -> None:
        self.keys = keys


def side(value: Any = None, *, effects: tuple[Effect, ...] = (), raised: Raised | None = None, **parts: Any) -> Side:
    store = Store()
    snapshots: dict[str, Snapshot] = {"output": take(value, store), "gradient": {}}
    for name, part in parts.items():
        snapshots[name] = {key: leaf for key, leaf in take(part, store).items() if key}
    return Side(Observation("call 1", snapshots, effects, raised), store.blobs)


def compared(old: Side, new: Side, *, compiled: bool = False) -> Comparison:
    comparison = Comparison()
    comparison.add("call 1", old, new, compiled=compiled)
    return comparison


def t(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


EQUAL = [
    (t(1, 2), t(1, 2)),
    (t(NAN, INF, -INF), t(NAN, INF, -INF)),
    (torch.tensor([0x7FC00000, 0x7FC00001], dtype=torch.int32).view(torch.float32), t(NAN, NAN)),
    (t(1, NAN, dtype=torch.float16), t(1, NAN, dtype=torch.float16)),
    (t(1, 2).to(torch.float8_e4m3fn), t(1, 2).to(torch.float8_e4m3fn)),
    (torch.eye(3), torch.eye(3).t().contiguous().t()),
    (torch.arange(4).reshape(2, 2).t(), torch.arange(4).reshape(2, 2).t().contiguous()),
    (torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j])),
    (torch.eye(2).to_sparse(), torch.eye(2).to_sparse()),
    (torch.quantize_per_tensor(t(1, 2), 0.1, 0, torch.qint8), torch.quantize_per_tensor(t(1, 2), 0.1, 0, torch.qint8)),
    (torch.empty(0), torch.empty(0)),
    (torch.empty(2, device="meta"), torch.empty(2, device="meta")),
    ({"a": [1, 2.5, NAN, None, "x"]}, {"a": [1, 2.5, NAN, None, "x"]}),
    (Pair(1, t(2)), Pair(1, t(2))),
    (Output(t(1), Cache(t(2))), Output(t(1), Cache(t(2)))),
    ({1, 2}, {2, 1}),
]

DIFFERENT = [
    (t(1, 2), t(1, 3), "different", "", "max abs diff 1.0e+00 at (1)"),
    (t(1, 2), t(1, NAN), "different", "", "2 became nan at (1) (1 of 2)"),
    (t(1, INF), t(1, 2), "different", "", "inf became 2 at (1)"),
    (t(1, 2), t(1, 2.000001), "close", "", "max abs diff"),
    (t(0.0), t(-0.0), "close", "", "0.0 and -0.0 differ at (0)"),
    (t(1.0, 2.0, dtype=torch.float16), t(1.0, 2.002, dtype=torch.float16), "close", "", "max abs diff"),
    (torch.tensor([1 + 2j]), torch.tensor([1 + 3j]), "different", "", "max abs diff 1.0e+00"),
    (torch.arange(3), torch.arange(3).flip(0), "different", "", "0 became 2 at (0) (2 of 3)"),
    (torch.ones(2, 2), torch.ones(2), "different", "", "float32(2, 2) cpu became Tensor float32(2,) cpu"),
    (t(1), t(1, dtype=torch.float64), "different", "", "float32(1,) cpu became Tensor float64(1,) cpu"),
    (t(1), t(2).requires_grad_(), "different", "", "requires_grad"),
    (t(1).requires_grad_(), t(1), "different", "", "requires_grad"),
    (t(1), torch.nn.Parameter(t(1), requires_grad=False), "different", "", "became Parameter"),
    (torch.tensor(2.0), 2.0, "different", "", "became float"),
    ((t(1), t(2)), [t(1), t(2)], "different", "", "tuple of 2 became list of 2"),
    ((t(1), t(2)), (t(1),), "different", "", "tuple of 2 became tuple of 1"),
    ({"a": 1}, {"b": 1}, "different", "", "dict"),
    (Output(t(1)), Output(t(2)), "different", ".logits", "max abs diff"),
    (Output(t(1), Cache(t(2))), Output(t(1), Cache(t(3))), "different", ".cache.keys", "max abs diff"),
    ({"x": [0, t(1)]}, {"x": [0, t(2)]}, "different", "['x'][1]", "max abs diff"),
    (0.1 + 0.2, 0.3, "close", "", "max abs diff"),
    (1, 1.0, "different", "", "int 1 became float"),
    (True, 1, "different", "", "bool True became int 1"),
    (collections.OrderedDict(a=1), {"a": 1}, "different", "", "OrderedDict"),
]


@pytest.mark.parametrize(("old", "new"), EQUAL)
def test_equal_values_have_no_difference(old: Any, new: Any) -> None:
    comparison = compared(side(old), side(new))
    assert comparison.differences == []
    assert comparison.outputs == "bit-equal"


@pytest.mark.parametrize(("old", "new", "severity", "where", "words"), DIFFERENT)
def test_differences_name_the_place_and_both_values(old: Any, new: Any, severity: str, where: str, words: str) -> None:
    comparison = compared(side(old), side(new))
    (difference,) = comparison.differences
    assert (difference["what"], difference["where"], difference["severity"]) == ("output", where, severity)
    assert words in difference["detail"]
    assert comparison.outputs == severity


def test_a_result_that_asks_for_a_gradient_now_is_no_other_value() -> None:
    comparison = compared(side({"loss": t(1, 2)}), side({"loss": t(1, 2).requires_grad_()}))
    (difference,) = comparison.differences
    assert (difference["where"], difference["severity"]) == ("['loss']", "exception")
    assert "zeros where the original gives None" in difference["detail"]
    assert comparison.outputs == "different"


def out(text: str) -> Effect:
    return Effect("stdout", text)


def log(level: str, text: str) -> Effect:
    return Effect("log", text, f"model {level}")


EFFECTS = [
    ([out("a\nb\n")], [out("a\nb\n")], False, []),
    (
        [out("a\n"), log("INFO", "x")],
        [log("INFO", "x"), out("a\n")],
        False,
        [("effects", "different", "another order")],
    ),
    ([out("a\n"), log("INFO", "x")], [log("INFO", "x"), out("a\n")], True, [("effects", "moved", "another order")]),
    ([out("a\nb\n")], [out("b\na\n")], True, [("stdout", "moved", "another order")]),
    ([out("a\n")], [], False, [("stdout", "different", "missing: 'a\\n'")]),
    ([], [out("a\n")], False, [("stdout", "different", "new: 'a\\n'")]),
    ([out("a\n"), out("b\n")], [out("b\n")], True, [("stdout", "different", "missing")]),
    ([out("a 1\n")], [out("a 2\n")], False, [("stdout", "different", "'a 1\\n' became 'a 2\\n'")]),
    ([log("INFO", "x")], [log("WARNING", "x")], False, [("log", "different", "'x' became 'x' (model WARNING)")]),
    ([log("INFO", "x")], [log("INFO", "y")], False, [("log", "different", "'x' became 'y'")]),
    ([Effect("warning", "w", "UserWarning")], [], False, [("warning", "different", "missing: 'w'")]),
    ([log("INFO", "x")], [out("x\n")], False, [("stdout", "different", "new"), ("log", "different", "missing")]),
]


@pytest.mark.parametrize(("old", "new", "compiled", "expected"), EFFECTS)
def test_effects(old: list[Effect], new: list[Effect], compiled: bool, expected: list[tuple[str, str, str]]) -> None:
    found = compare_effects("call 1", old, new, compiled=compiled)
    assert [(one["what"], one["severity"]) for one in found] == [(what, grave) for what, grave, _ in expected]
    for one, (_, _, words) in zip(found, expected, strict=True):
        assert words in one["detail"]


RAISED = [
    (Raised("ValueError", "bad"), Raised("ValueError", "bad"), None),
    (Raised("ValueError", "bad"), Raised("RuntimeError", "bad"), "exception"),
    (Raised("ValueError", "bad"), Raised("ValueError", "worse"), "exception"),
    (Raised("ValueError", "bad"), Raised("ValueError", "bad", ("KeyError",)), "exception"),
    (Raised("ValueError", "bad"), None, "different"),
    (None, Raised("ValueError", "bad"), "different"),
]


@pytest.mark.parametrize(("old", "new", "severity"), RAISED)
def test_exceptions(old: Raised | None, new: Raised | None, severity: str | None) -> None:
    found = compared(side(raised=old), side(raised=new)).differences
    assert [(one["what"], one["severity"]) for one in found] == ([("exception", severity)] if severity else [])


def test_what_a_later_exception_lets_happen_is_told_with_it() -> None:
    old = side(raised=Raised("ValueError", "bad"), state={"n": 1})
    new = side(raised=Raised("RuntimeError", "bad"), state={"n": 2})
    assert {one["severity"] for one in compared(old, new).differences} == {"exception"}


def test_new_state_is_told_and_lost_state_is_a_difference() -> None:
    queue = compared(side(state={"model.a": 1}), side(state={"model.a": 1, "queue": []}))
    assert [(one["what"], one["where"], one["severity"]) for one in queue.differences] == [
        ("state", "['queue']", "moved")
    ]
    lost = compared(side(state={"model.a": 1, "b": 2}), side(state={"model.a": 1}))
    assert [(one["where"], one["severity"]) for one in lost.differences] == [("['b']", "different")]


def test_closeness_is_forgiven_where_it_is_expected() -> None:
    comparison = Comparison()
    comparison.add("call 1", side(t(1, 2)), side(t(1, 2.000001)), compiled=True, forgiving=("output",))
    assert (comparison.differences, comparison.outputs, comparison.rounded) == ([], "bit-equal", {"outputs"})
    comparison.add("call 1", side(t(1, 2)), side(t(1, 3)), compiled=True, forgiving=("output",))
    assert [one["severity"] for one in comparison.differences] == ["different"]


def test_what_an_operator_sums_otherwise_uncompiled_is_not_called_bit_equal() -> None:
    comparison = Comparison()
    comparison.add("call 1", side(t(1, 2)), side(t(1, 2.000001)), compiled=False, forgiving=("output",))
    assert (comparison.differences, comparison.outputs, comparison.rounded) == ([], "close", set())


def test_many_differences_are_counted() -> None:
    comparison = compared(side([float(n) for n in range(20)]), side([float(n + 1) for n in range(20)]))
    assert len(comparison.differences) == 8
    assert comparison.differences[-1]["detail"].endswith("(and 12 more)")


def test_contents_that_were_not_kept_are_compared_by_their_hash() -> None:
    one, other = side(t(1)), side(t(2))
    old, new = one.seen.parts["output"][""], other.seen.parts["output"][""]
    assert compare_leaves(old, old, {}, {}) is None
    assert compare_leaves(old, new, {}, {}) == ("different", "the contents differ")


class Broken:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError


class Loop:
    def __init__(self) -> None:
        self.me = self


@pytest.mark.parametrize(
    "value",
    [pytest.param(Broken(), id="broken"), Loop(), object(), lambda: 0, {1: {2: {}}}, [[]] * 3, range(3), iter([1])],
)
def test_anything_can_be_taken_down(value: Any) -> None:
    store = Store()
    assert take(value, store) == take(value, store)


@pytest.mark.parametrize(("path", "grave"), [("input[0]", []), ("model.weight", ["close"])])
def test_a_gradient_of_zeros_is_told_of_parameters_only(path: str, grave: list[str]) -> None:
    store = Store()
    seen = Observation("call 1", {"output": {}, "gradient": take(t(0, 0), store, path)}, (), None)
    old = Side(Observation("call 1", {"output": {}, "gradient": {}}, (), None), {})
    assert [one["severity"] for one in compared(old, Side(seen, store.blobs)).differences] == grave
    comparison = Comparison()  # nor is it what compiling does to a sum
    comparison.add("call 1", old, Side(seen, store.blobs), compiled=True, forgiving=("gradient",))
    assert [one["severity"] for one in comparison.differences] == grave


@pytest.mark.parametrize(
    ("path", "new", "other", "grave"),
    [
        ("model.w", (NAN, 0), (INF, 1), ["exception"]),
        ("model.w", (NAN, NAN), (1, NAN), ["exception"]),
        ("model.w", (NAN, 0), (1, 1), ["different"]),  # the original trains on
        ("model.w", (NAN, 2), (INF, 1), ["different"]),
        ("model.w", (NAN, INF), (INF, 1), ["different"]),
        ("input[0]", (NAN, 0), (INF, 1), ["different"]),
    ],
)
def test_a_gradient_of_nan_is_forgiven_where_the_step_is_lost_anyway(
    path: str, new: tuple[float, ...], other: tuple[float, ...], grave: list[str]
) -> None:
    store = Store()
    known = take(t(*other), store, "model.v")
    both = {"output": {}, "gradient": {**known, **take(t(*new), store, path)}}
    old = Side(Observation("call 1", {"output": {}, "gradient": known}, (), None), store.blobs)
    found = compared(old, Side(Observation("call 1", both, (), None), store.blobs)).differences
    assert [one["severity"] for one in found] == grave


def test_the_sign_of_a_zero_gradient_is_nothing() -> None:
    assert compared(side(gradient=[t(0.0, 1)]), side(gradient=[t(-0.0, 1)])).differences == []
