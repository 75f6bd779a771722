"""Calls made from the entry's calls: the same in every process, within what a program takes, sharing what is shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.altered import other_mode, other_weights
from graphmend_lsp.worker.call_modes import modes_for, subject_in
from graphmend_lsp.worker.observe import Subject, fresh_calls
from graphmend_lsp.worker.plan import Plan
from graphmend_lsp.worker.recipes import (
    Recipe,
    asks_gradients,
    reflagging,
    renumbering,
    reshaping,
    searching,
    standard,
    unusual,
)
from graphmend_lsp.worker.variants import SPOTS, make, mark_changing


@dataclass
class Batch:
    ids: torch.Tensor
    mask: torch.Tensor


def call() -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    return (x, [x, torch.tensor([5, 3, 9])]), {
        "batch": Batch(torch.tensor([1, 1, 1]), torch.tensor([True, False, True]))
    }


def everything(made: tuple[tuple[Any, ...], dict[str, Any]]) -> list[torch.Tensor]:
    (x, (_, ids)), keywords = made
    return [x, ids, keywords["batch"].ids, keywords["batch"].mask]


def recipes() -> list[Recipe]:
    return [*standard(0, call()), *searching(0, call(), has_weights=True), *reshaping(0, call())]


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.label)
def test_a_recipe_gives_one_call_and_leaves_the_original_alone(recipe: Recipe) -> None:
    pristine = call()
    first, second = make(recipe, [pristine]), make(recipe, [pristine])
    for one, other in zip(everything(first), everything(second), strict=True):
        assert torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
        assert one.dtype == other.dtype and one.shape == other.shape
    for one, other in zip(everything(pristine), everything(call()), strict=True):
        assert torch.equal(one, other)
    assert first[0][0] is first[0][1][0], "what was one tensor stays one"


def test_python_numbers_are_exchanged_in_plain_containers_alone() -> None:
    given = (
        (2, 0.5, True, "text", [1, (0.0, False)]),
        {"scale": 1.0, "flags": {"deep": True}, "batch": call()[1]["batch"]},
    )
    made = {one.numbers: make(one, [given])[:2] for one in (*renumbering(0, given), *reflagging(0, given))}
    assert made["floats"][0] == (2, 0.375, True, "text", [1, (0.25, False)]) and made["floats"][1]["scale"] == 0.75
    assert made["integers"][0] == (3, 0.5, True, "text", [2, (0.0, False)])
    assert made["flags"][0] == (2, 0.5, False, "text", [1, (0.0, True)]) and made["flags"][1]["flags"] == {
        "deep": False
    }
    assert not renumbering(0, call()) and not reflagging(0, call())


def test_integers_stay_within_what_was_seen() -> None:
    for recipe in standard(0, call()):
        _, ids, mask_ids, _ = everything(make(recipe, [call()]))
        assert int(ids.min()) >= 0 and int(ids.max()) <= 9
        assert int(mask_ids.min()) >= 0 and int(mask_ids.max()) <= 1


@pytest.mark.parametrize(
    ("recipe", "shapes"),
    [
        (Recipe(0, resize=(3, 4), axis=0), [(4, 4), (4,), (4,), (4,)]),
        (Recipe(0, resize=(4, 8), axis=1), [(3, 8), (3,), (3,), (3,)]),
        (Recipe(0, resize=(3, 6)), [(6, 4), (6,), (6,), (6,)]),
    ],
)
def test_a_size_changes_in_all_inputs_alike(recipe: Recipe, shapes: list[tuple[int, ...]]) -> None:
    assert [tuple(one.shape) for one in everything(make(recipe, [call()]))] == shapes


def test_gradients_are_asked_of_floating_inputs() -> None:
    assert asks_gradients(call())
    made = everything(make(Recipe(0, gradients=True), [call()]))
    assert [one.requires_grad for one in made] == [True, False, False, False]
    assert all(one.is_leaf for one in made)


def test_views_of_one_memory_stay_views_of_one_memory() -> None:
    base = torch.zeros(2, 3)
    ((args, _),) = fresh_calls([((base, base[0], base.t()), {})])
    args[0].add_(1)
    assert torch.equal(args[1], torch.ones(3)) and torch.equal(args[2], torch.ones(3, 2))
    assert torch.equal(base, torch.zeros(2, 3))
    assert args[2].stride() == (1, 3)


def test_calls_that_share_an_object_share_its_copy() -> None:
    cache: list[torch.Tensor] = []
    first, second = fresh_calls([((cache,), {}), ((cache,), {})])
    first[0][0].append(torch.ones(1))
    assert second[0][0] and not cache


def test_modules_and_parameters_are_not_copied() -> None:
    model = torch.nn.Linear(2, 2)
    ((args, _),) = fresh_calls([(([model, {"w": model.weight}],), {})])
    assert args[0][0] is model and args[0][1]["w"] is model.weight


@pytest.mark.parametrize("kind", ["x1000", "negated", "zero", "with one NaN", "with one inf"])
def test_weights_are_put_back(kind: str) -> None:
    model = torch.nn.BatchNorm1d(3)
    torch.nn.init.uniform_(model.weight)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with other_weights(kind, {"model": model}):
        assert not torch.equal(torch.nan_to_num(model.weight), before["weight"])
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize(
    ("tensor", "strides"),
    [
        (torch.arange(14).reshape(2, 7)[:, :5], (7, 1)),
        (torch.arange(6.0).reshape(2, 3).t(), (1, 3)),
        (torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last), (48, 1, 12, 3)),
        (torch.arange(10)[::2], (2,)),
        (torch.arange(3).expand(2, 3), (3, 1)),
        (torch.arange(6).as_strided((3, 2), (1, 1)), (2, 1)),
    ],
)
def test_other_values_lie_as_the_tensor_lay_unless_elements_share_memory(
    tensor: torch.Tensor, strides: tuple[int, ...]
) -> None:
    for recipe in (Recipe(0, "random", "permuted"), Recipe(0, "negated", "smallest"), Recipe(0, "zero", "largest")):
        ((made,), _) = make(recipe, [((tensor,), {})])
        assert (made.shape, made.stride(), made.dtype) == (tensor.shape, strides, tensor.dtype)


def test_one_element_is_singled_out() -> None:
    x = torch.arange(1.0, 6.0, requires_grad=True)
    made = {spot: make(Recipe(0, spot=spot), [((x, torch.ones(2).bool()), {})])[0] for spot in SPOTS}
    assert made["one element 0"][0].tolist() == [1.0, 2.0, 0.0, 4.0, 5.0] and made["one element 0"][0].requires_grad
    assert made["one element -1"][0].tolist()[2] == -1.0
    assert made["all elements equal"][0].tolist() == [5.0] * 5
    assert all(mask.all() for _, mask in made.values())
    assert Recipe(0, floats="negated", spot="one element 1").label == "call 1 with floats negated with one element 1"


def test_modules_are_in_another_mode_for_one_call() -> None:
    module = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout())
    module.eval()[1].train()
    with other_mode("train", {"model": module}):
        assert all(part.training for part in module.modules())
    assert [part.training for part in module.modules()] == [False, False, True]
    assert Recipe(1, mode="train").label == "call 2 in train mode"


def test_unusual_calls_are_smaller_or_made_otherwise() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    recipes = unusual(Recipe(0, own=True), ((x, torch.ones(3)), {}), ("autocast", "twice", "transposed"))
    assert all(one.odd and not one.own for one in recipes)
    shapes = [[tuple(one.shape) for one in make(recipe, [((x, torch.ones(3)), {})])[0]] for recipe in recipes]
    assert shapes[:2] == [[(1, 3), (3,)], [(2, 1), (1,)]] and shapes[2:] == [[(2, 3), (3,)]] * 3
    turned = make(recipes[-1], [((x, torch.ones(3)), {})])[0][0]
    assert torch.equal(turned, x) and turned.stride() == (1, 2) and turned.is_leaf and turned.requires_grad
    assert [one.label for one in recipes[2:]] == [
        "call 1 under autocast to bfloat16",
        "call 1, called twice before one backward pass",
        "call 1 with tensors transposed in memory",
    ]


def test_call_modes_fit_what_they_change() -> None:
    layer = torch.nn.Linear(3, 3)
    plain, module = Subject(torch.sin, {}, ()), Subject(layer, {"": layer}, ())
    assert modes_for(((torch.arange(3),), {}), plain, False) == []
    assert modes_for(((torch.ones(2, 3),), {}), plain, False) == ["autocast", "transposed"]
    assert modes_for(((torch.ones(3).double(),), {}), plain, True) == ["twice"]
    assert modes_for(((torch.arange(3),), {}), module, False) == ["autocast", "twice"]
    (x, bare) = (torch.ones(3, requires_grad=True), torch.ones(3))
    made = subject_in("twice", Subject(lambda *given: given, {}, ()), ()).function(x, bare)
    assert len(made) == 2 and made[0] is not made[1] and all(torch.equal(one, x) for one in made)
    under = subject_in("autocast", module, ((x,), {})).function
    assert under(x).dtype == torch.bfloat16 and layer(x).dtype == torch.float32
    assert subject_in("transposed", plain, ()) is plain
    assert not subject_in("no_grad", module, ((x,), {})).function(x).requires_grad and layer(x).requires_grad


def test_other_sizes_are_compiled_by_inductor_without_gradients() -> None:
    """A graph with a backward pass takes several times as long to compile, once for each size."""
    own, larger = Recipe(0, own=True), Recipe(0, resize=(3, 4), gradients=True)
    chosen = Plan((own, larger), frozenset(), late=(Recipe(0, resize=(3, 1)),))
    first, *others = chosen.of_every_size()
    assert (first, [one.resize for one in others]) == (own, [(3, 4), (3, 1)])
    assert all(one.call_mode == "no_grad" and not one.gradients for one in others)
    assert set(others) <= set(chosen.everything(every_size=True))


def test_one_graph_serves_all_larger_sizes() -> None:
    given = (torch.randn(2, 5), torch.randn(5)), {}
    rows, columns = Recipe(0, resize=(2, 3)), Recipe(0, resize=(5, 6))
    graphs: list[int] = []

    def count(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(1)
        return graph

    def run(sizes: tuple[Recipe, ...]) -> int:
        torch._dynamo.reset()
        graphs.clear()
        program = torch.compile(lambda x, y: (x * 2 + y).sum(), backend=count)
        program(*given[0])
        for recipe in (rows, columns, Recipe(0, resize=(2, 1))):
            made = make(recipe, [given])
            mark_changing(made, given, sizes)
            program(*made[0])
        return len(graphs)

    assert run(()) == 4  # as given, other rows, other columns, one row
    assert run((rows, columns)) == 3
