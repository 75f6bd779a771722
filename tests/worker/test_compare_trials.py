"""Which trials are compared with which, and what of them is the compiler's doing and not the mend's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from graphmend_lsp.worker.compare_trials import Programs, compare_trial
from graphmend_lsp.worker.effects import Effect
from graphmend_lsp.worker.judged import Ran
from graphmend_lsp.worker.observe import Observation, Raised
from graphmend_lsp.worker.plan import Plan
from graphmend_lsp.worker.probes.training import SECOND
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.snapshot import Store, take
from graphmend_lsp.worker.trials import Trial, Way
from graphmend_lsp.worker.verify import _lowered
from graphmend_lsp.worker.wire import Candidate, CountsData

CALLS = (Recipe(0, own=True), Recipe(0, floats="negated"), Recipe(0, again=True))
COUNTS = CountsData(graphs=0, breaks=0, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)
WARNING = Effect("warning", "careful", "UserWarning")
ONE = torch.ones(2)


def trial(
    way: Way = "uncompiled",
    *,
    output: Any = ONE,
    gradient: Any = ONE,
    state: dict[str, Any] | None = None,
    effects: tuple[tuple[Effect, ...], ...] = ((), (), ()),
    raised: Raised | None = None,
    recipes: tuple[Recipe, ...] = CALLS,
) -> Trial:
    store = Store()
    kept = {path: leaf for name, value in (state or {}).items() for path, leaf in take(value, store, name).items()}
    parts = {"output": take(output, store), "gradient": take(gradient, store, "model.w"), "state": kept}
    seen = tuple(Observation(one.label, parts, heard, raised) for one, heard in zip(recipes, effects, strict=False))
    return Trial(way, recipes, seen, store.blobs, COUNTS, modules=frozenset({"model"}))


OUT = Effect("stdout", "y\n")
EQUAL = [
    pytest.param(trial("eager"), id="the same"),
    pytest.param(trial("eager", gradient=ONE + 5e-7), id="a gradient summed in another order"),
    pytest.param(trial("eager", state={"program.sub_logger_0": None}), id="a global of Dynamo"),
    pytest.param(trial("eager", state={"model._is_compiled": True}), id="a mark of is_compiling()"),
    pytest.param(trial("eager", effects=((WARNING,), (WARNING,), ())), id="a warning that Dynamo makes new"),
    pytest.param(trial("aot_eager", recipes=(CALLS[0], CALLS[2])), id="fewer calls"),
]
TO_BE_JUDGED = [
    pytest.param(trial("eager", output=ONE + 1), id="an output"),
    pytest.param(trial("eager", output=ONE + 5e-7), id="an output that is close"),
    pytest.param(trial("eager", gradient=ONE + 1), id="a gradient"),
    pytest.param(trial("eager", effects=((WARNING, OUT), (), ())), id="a print"),
    pytest.param(trial("aot_eager", recipes=(CALLS[0], Recipe(0, floats="one"))), id="a call not made uncompiled"),
]
PLAIN = trial(effects=((WARNING,), (), ()))


@pytest.mark.parametrize("new", EQUAL)
def test_a_compiled_program_that_does_what_the_original_does_uncompiled_is_judged_at_once(new: Trial) -> None:
    plain = PLAIN if new.observations[0].effects else trial()
    comparison, more = compare_trial(Programs([plain], [plain, new]), new)
    assert (comparison.differences, more) == ([], False)
    assert (comparison.outputs, comparison.gradients, comparison.effects) == ("bit-equal", "bit-equal", "equal")


@pytest.mark.parametrize("new", TO_BE_JUDGED)
def test_what_differs_is_compared_with_the_original_run_that_way(new: Trial) -> None:
    _, more = compare_trial(Programs([PLAIN], [PLAIN, new]), new)
    assert more
    comparison, more = compare_trial(Programs([PLAIN, new], [PLAIN, new]), new)
    assert (comparison.differences, more) == ([], False)


@pytest.mark.parametrize("known", [(), (trial("aot_eager"),)])
@pytest.mark.parametrize(("output", "likeness"), [(ONE + 5e-7, "bit-equal"), (ONE + 1, "different")])
def test_what_a_backend_takes_apart_may_round_otherwise(known: Any, output: Any, likeness: str) -> None:
    """An operator that was in no graph before: ``lstm`` becomes matrix products under aot_eager, as under inductor."""
    new = replace(trial("aot_eager", output=output), lowered=True)
    comparison, more = compare_trial(Programs([trial(), *known], [trial(), new]), new)
    assert comparison.outputs == likeness and more is (not known and likeness == "different")
    plain = replace(new, lowered=False)
    assert compare_trial(Programs([trial(), trial("aot_eager")], [trial(), plain]), plain)[0].outputs != "bit-equal"


def test_only_aot_eager_takes_apart_what_a_mend_puts_into_the_graph() -> None:
    ran = Ran((trial(), trial("eager"), trial("aot_eager")))
    marked = _lowered(ran, cast(Candidate, {"lowered": True}))
    assert [one.lowered for one in marked.trials] == [False, False, True]
    assert all(one.operators for one in marked.trials) and not any(one.operators for one in ran.trials)
    assert _lowered(ran, cast(Candidate, {})) is ran


TWICE, SECOND_ORDER = Recipe(0, gradients=True, call_mode="twice"), Recipe(0, gradients=True, probe=SECOND)


@pytest.mark.parametrize("way", ["uncompiled", "eager"])
@pytest.mark.parametrize(
    ("recipe", "changed", "operators", "differs"),
    [
        (TWICE, {"gradient": ONE + 5e-7}, True, False),
        (TWICE, {"gradient": ONE + 1}, True, True),
        (TWICE, {"output": ONE + 5e-7}, True, True),
        (TWICE, {"gradient": ONE + 5e-7}, False, True),
        (SECOND_ORDER, {"output": ONE + 5e-7}, True, False),
        (SECOND_ORDER, {"output": ONE + 1}, True, True),
        (SECOND_ORDER, {"output": ONE + 5e-7}, False, True),
        (CALLS[0], {"gradient": ONE + 5e-7}, True, True),
    ],
)
def test_an_operator_may_sum_the_gradients_of_two_calls_in_another_order(
    way: Way, recipe: Recipe, changed: Any, operators: bool, differs: bool
) -> None:
    recipes = (recipe,)
    old, like = trial(recipes=recipes, effects=((),)), trial(way, recipes=recipes, effects=((),))
    new = replace(trial(way, recipes=recipes, effects=((),), **changed), operators=operators)
    known = (old, like) if way == "eager" else (old,)
    assert bool(compare_trial(Programs(known, (new,)), new)[0].differences) is differs


def test_what_differs_from_the_original_run_that_way_is_a_difference() -> None:
    new, old = trial("eager", output=ONE + 1), trial("eager", output=ONE + 2)
    comparison, more = compare_trial(Programs([PLAIN, old], [PLAIN, new]), new)
    assert (comparison.outputs, more) == ("different", False)


def test_an_exception_that_only_compiling_raises_is_compared_with_the_original_uncompiled() -> None:
    new = trial("eager", raised=Raised("ValueError", "bad"))
    assert compare_trial(Programs([PLAIN], [PLAIN, new]), new)[1]
    comparison, more = compare_trial(Programs([PLAIN, new], [PLAIN, new]), new)
    assert {one["what"] for one in comparison.differences} == {"original", "exception", "warning"}
    assert not more


def test_nothing_is_forgiven_uncompiled() -> None:
    new = trial(gradient=ONE + 5e-7, state={"program.more": 1})
    comparison, more = compare_trial(Programs([trial()], [new]), new)
    assert {(one["what"], one["severity"]) for one in comparison.differences} == {
        ("gradient", "close"), ("state", "moved"),
    }  # fmt: skip
    assert (comparison.gradients, more) == ("close", False)


def test_shorter_lists_keep_what_took_another_side() -> None:
    own, other = Recipe(0, own=True), Recipe(1, own=True)
    shaped, telling = Recipe(0, resize=(2, 3)), Recipe(0, weights="x1000", gradients=True)
    noisy, again = Recipe(0, "random", "permuted", "flipped", gradients=True), Recipe(0, again=True, gradients=True)
    plan = Plan((own, other, noisy, shaped, telling, again), frozenset({0, 4}))
    bare = Recipe(0, weights="x1000"), Recipe(0, again=True)
    assert plan.own == (own, other)
    assert plan.unshaped() == (own, other, noisy, telling, again)
    assert plan.lean() == (own, other, Recipe(0, "random", "permuted", "flipped"), *bare)
    assert plan.leanest() == (own, *bare)
    assert plan.everything()[:6] == plan.recipes and set(plan.lean()) <= set(plan.everything())


@pytest.mark.parametrize(("raised", "differs"), [("ConstraintViolationError", False), ("RuntimeError", True)])
def test_a_use_that_both_programs_refuse_alike_when_compiled_is_no_difference(raised: str, differs: bool) -> None:
    recipes = (Recipe(0, probe="with its first dimension marked dynamic"),)
    refused = Raised("ConstraintViolationError", "the first dimension is 4", (), "call")
    plain, old = trial(recipes=recipes), trial("eager", raised=refused, recipes=recipes)
    new = trial("eager", raised=Raised(raised, "the first dimension is 4", (), "call"), recipes=recipes)
    comparison, _ = compare_trial(Programs([plain, old], [plain, new]), new)
    assert bool([one for one in comparison.differences if "assumes" in one]) == differs


ONCE = Effect("log", "no cache is returned", "models WARNING", "forward")


@pytest.mark.parametrize(
    ("said", "differs"),
    [
        (replace(ONCE, record="helper"), False),  # in its own process it is the first call
        (Effect("log", "another text", "models WARNING", "forward"), True),
    ],
)
def test_what_a_program_says_once_is_no_difference_in_a_use_that_only_the_original_refuses(
    said: Effect, differs: bool
) -> None:
    probe = Recipe(0, probe="with its first dimension marked dynamic")
    refused = Raised("ConstraintViolationError", "the first dimension is 4", (), "call")
    plain = trial(recipes=(*CALLS, probe), effects=((ONCE,), (), (), ()))
    old = trial("eager", raised=refused, recipes=(probe,), effects=((),))
    new = trial("eager", recipes=(probe,), effects=((said,),))
    comparison, _ = compare_trial(Programs([plain, old], [plain, new]), new)
    assert bool([one for one in comparison.differences if "assumes" in one]) is differs


@pytest.mark.parametrize(
    ("recipe", "message", "differs"),
    [
        (Recipe(0, ints="smallest"), "sizes differ", False),
        (Recipe(0, ints="smallest"), "another text", True),
        (Recipe(0, own=True), "sizes differ", True),  # there the program does not run compiled at all
    ],
)
def test_what_compiled_code_alone_checks_may_raise_as_before(recipe: Recipe, message: str, differs: bool) -> None:
    plain, old = (
        trial(recipes=(recipe,)),
        trial("eager", raised=Raised("RuntimeError", "sizes differ"), recipes=(recipe,)),
    )
    new = trial("eager", raised=Raised("RuntimeError", message), recipes=(recipe,))
    comparison, _ = compare_trial(Programs([plain, old], [plain, new]), new)
    assert any(one["what"] == "exception" for one in comparison.differences) == differs


@pytest.mark.parametrize(
    ("plain", "old", "new", "equal"),
    [
        pytest.param((), (WARNING, WARNING), (WARNING,), True, id="one less of what only compiling says"),
        pytest.param((), (WARNING,), (), True, id="none of what only compiling says"),
        pytest.param((WARNING,), (WARNING,), (), False, id="none of what the program says"),
        pytest.param((), (), (WARNING,), False, id="a new one"),
        pytest.param((), (OUT,), (), False, id="no text that compiling says"),
    ],
)
def test_a_warning_of_compiling_alone_may_go(plain: Any, old: Any, new: Any, equal: bool) -> None:
    reference = trial(effects=(plain, (), ()))
    programs = Programs((reference, trial("eager", output=ONE + 5e-7, effects=(old, (), ()))), ())
    found, _ = compare_trial(programs, trial("eager", output=ONE + 5e-7, effects=(new, (), ())))
    assert (not [one for one in found.differences if one["what"] in ("warning", "stdout")]) is equal
