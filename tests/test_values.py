"""Facts of values: what a join of several calls and runs still knows, and that they come through JSON as they were."""

import json
from dataclasses import replace

import pytest

from graphmend_lsp.model import Span
from graphmend_lsp.values import Caller, Facts, FileFacts, FunctionFact, Kind, TensorFact, ValueFact

VECTOR = TensorFact(("float32",), (1,), (3,), (False,), ("cpu",), ("strided",), (True,))
TENSOR = ValueFact(("tensor",), ("torch.Tensor",), VECTOR, storages=frozenset({1}))
NONE = ValueFact(("None",), constant=(None,))


def number(value: bool | int | float) -> ValueFact:
    kinds: dict[type, Kind] = {bool: "bool", int: "int", float: "float"}
    return ValueFact((kinds[type(value)],), constant=(value,))


ALL = [
    TENSOR,
    NONE,
    number(3),
    number(True),
    number(0.5),
    ValueFact(("str",), constant=("mean",)),
    ValueFact(("list",), lengths=(2,), items=(TENSOR, number(1)), storages=frozenset({1})),
    ValueFact(("dict",), lengths=(1,), keys=("a",), items=(NONE,)),
    ValueFact(("list",), lengths=(1, 2), element=TENSOR, storages=None),
    replace(TENSOR, tensor=replace(VECTOR, shape=None, ranks=(1, 2))),
    replace(TENSOR, tensor=replace(VECTOR, shape=(None,), samples=((0, (3,)), (1, (4,))))),
]


@pytest.mark.parametrize("fact", ALL)
def test_a_fact_comes_through_json_as_it_was(fact: ValueFact) -> None:
    assert ValueFact.of(json.loads(json.dumps(fact.data()))) == fact


@pytest.mark.parametrize("fact", ALL)
def test_a_fact_joined_with_itself_is_itself(fact: ValueFact) -> None:
    assert fact.joined(fact) == fact


def test_a_call_with_two_shapes_is_no_sample() -> None:
    one, other = (replace(VECTOR, shape=(None,), samples=((0, (3,)), (1, (size,)))) for size in (4, 5))
    assert one.joined(other).samples == ((0, (3,)),)
    assert one.joined(replace(VECTOR, samples=())).samples == one.samples
    apart = ValueFact.of(ValueFact(("tensor",), tensor=one).data(), 100).tensor
    assert apart is not None and apart.samples == ((100, (3,)), (101, (4,)))


def test_what_differs_between_calls_is_no_longer_known() -> None:
    mixed = TENSOR.joined(NONE)
    assert mixed.kinds == ("None", "tensor")
    assert not mixed.is_tensor
    assert not mixed.is_none
    assert mixed.tensor == VECTOR
    assert mixed.rank is None
    assert not number(3).joined(number(4)).same_in_every_call
    assert number(3).joined(number(4)).is_number


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (0.0, -0.0), (1, 1.0)])
def test_equal_constants_that_are_not_the_same_value(one: float, other: float) -> None:
    assert one == other
    assert not number(one).joined(number(other)).same_in_every_call


def test_items_of_unlike_structure_become_one() -> None:
    pair = ValueFact(("tuple",), lengths=(2,), items=(TENSOR, NONE))
    single = ValueFact(("tuple",), lengths=(1,), items=(number(1),))
    joined = pair.joined(single)
    assert joined.items == ()
    assert joined.lengths == (1, 2)
    assert joined.element is not None
    assert set(joined.element.kinds) == {"tensor", "None", "int"}


def test_storage_is_shared_not_shared_or_not_known() -> None:
    other = replace(TENSOR, storages=frozenset({2}))
    unknown = replace(TENSOR, storages=None)
    assert TENSOR.shares_storage_with(TENSOR) is True
    assert TENSOR.shares_storage_with(other) is False
    assert TENSOR.shares_storage_with(unknown) is None
    assert unknown.shares_storage_with(number(1)) is False
    assert TENSOR.joined(unknown).storages is None


def test_runs_of_one_text_join_and_those_of_another_do_not() -> None:
    span = Span.of(1, 1, 1, 2)
    function = FunctionFact(1, "f", 2, 0, (Caller("/a.py", 9, "g", 2),))
    one = Facts({"/a.py": FileFacts("x", {span: number(1)}, {}, {1: function})})
    two = Facts({"/a.py": FileFacts("x", {span: number(2)}, {}, {1: function})})
    both = one.joined(two)
    fact = both.at("/a.py", span)
    assert fact is not None
    assert fact.is_number
    assert not fact.same_in_every_call
    assert both.files["/a.py"].functions[1] == replace(function, entered=4, callers=(Caller("/a.py", 9, "g", 4),))
    assert both.of("/a.py", "y") is None
    assert one.joined(Facts({"/a.py": FileFacts("y")})) == one
