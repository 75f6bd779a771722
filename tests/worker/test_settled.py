"""Which mended programs need not be compiled in further ways, by what they showed so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from graphmend_lsp.worker.effects import Effect
from graphmend_lsp.worker.observe import Raised
from graphmend_lsp.worker.probes.dynamic import CONSTANT, MARKED, told_of
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.settled import gains_nothing, gives_zeros, is_refused, is_unsafe, is_wrong
from graphmend_lsp.worker.trials import Trial, Way
from graphmend_lsp.worker.wire import CountsData
from tests.worker.test_compare_trials import trial

PRINTED = ((Effect("stdout", "said\n"),), (), ())


@pytest.mark.parametrize(
    ("other", "wrong"),
    [
        ({}, False),
        ({"output": torch.ones(3)}, True),
        ({"output": torch.ones(2).int()}, True),
        ({"output": torch.ones(2) * 1.001}, False),  # float64 may show that it is rounding
        ({"state": {"model.count": 2}}, True),
        ({"effects": PRINTED}, False),  # a text: unsafe, not wrong
        ({"way": "eager", "output": torch.ones(3)}, False),  # compiling may be the reason
    ],
)
def test_what_differs_uncompiled_is_wrong_already(other: dict[str, Any], wrong: bool) -> None:
    original = trial(state={"model.count": 1})
    assert is_wrong([original], [trial(**{"state": {"model.count": 1}, **other})]) is wrong


def test_a_probe_that_differs_leaves_it_to_the_verdict() -> None:
    calls = (Recipe(0, own=True), Recipe(0, probe="as the first call"))
    old, new = trial(recipes=calls), trial(recipes=calls)
    other = trial(output=torch.ones(3), recipes=calls).observations[1]
    object.__setattr__(new, "observations", (new.observations[0], other))
    assert not is_wrong([old], [new])


def counts(graphs: int = 2, breaks: int = 1, frames: int = 0, rests: int = 0, refused: int = 0) -> CountsData:
    return CountsData(
        graphs=graphs, breaks=breaks, skipped_frames=frames, skipped_rests=rests, recompiles=0, refused=refused
    )


@pytest.mark.parametrize(
    ("before", "after", "nothing"),
    [
        (counts(), counts(), True),
        (counts(), counts(1, 0), False),
        (counts(), counts(3, 1), True),
        (counts(3, 2), counts(2, 2), False),
        (counts(3, 2), counts(3, 1), False),
        (counts(0, 1, 1), counts(1, 0, 0), False),
        (counts(2, 1, 0), counts(1, 1, 1), True),
        (counts(0, 2, 1), counts(0, 1, 1), False),
        (counts(1, 1, refused=1), counts(2, 1), False),  # it could not be compiled at all
        (None, counts(), False),
    ],
)
def test_a_program_that_is_cut_as_before_gains_nothing(
    before: CountsData | None, after: CountsData, nothing: bool
) -> None:
    new = trial("eager")
    object.__setattr__(new, "counts", after)
    assert gains_nothing(before, [new]) is nothing
    assert not gains_nothing(before, [trial("uncompiled")])


def test_a_use_that_differs_is_unsafe_but_for_what_the_user_accepts() -> None:
    calls = (Recipe(0, own=True), Recipe(0, probe=MARKED))
    old, new = trial(recipes=calls), trial(recipes=calls)
    raised = replace(new.observations[1], raised=Raised(CONSTANT, "x becomes constant at a.py:3: for row in x:"))
    object.__setattr__(new, "observations", (new.observations[0], raised))
    assert is_unsafe([old], [new], ())
    assert not is_unsafe([old], [new], ("constant-dimension",))
    assert not is_unsafe([old], [old], ())
    assert told_of(new, {"for row in x:"}) is new
    assert not is_unsafe([old], [told_of(new, {"for row in y:"})], ())


def test_a_gradient_that_became_zeros_is_unsafe_unless_the_compiled_original_has_them() -> None:
    """Inductor need not compile what is unsafe already."""

    def made(way: Way = "uncompiled", zeros: bool = False) -> Trial:
        one = trial(way, gradient=torch.zeros(2))
        for seen in one.observations if not zeros else ():
            cast(dict[str, Any], seen.parts)["gradient"] = {}
        return one

    old, new = made(), [made(), made("eager", zeros=True)]
    assert gives_zeros([old], new)
    assert gives_zeros([old, made("eager")], new)
    assert not gives_zeros([old, made("eager", zeros=True)], new)
    assert not gives_zeros([old], [made(), made("eager")])


def test_what_raises_compiled_alone_is_refused() -> None:
    """The original then need not be compiled: nothing that it does there makes the mended program right."""
    old, failing = trial(), trial(way="eager")
    raised = replace(failing.observations[0], raised=Raised("RuntimeError", "no"))
    object.__setattr__(failing, "observations", (raised, *failing.observations[1:]))
    assert is_refused(counts(), [old], [trial(), failing])
    assert not is_refused(counts(), [old], [trial(), trial(way="eager")])
    assert not is_refused(counts(refused=1), [old], [failing])  # so does the original
    assert not is_refused(None, [old], [failing])
    object.__setattr__(old, "observations", (raised, *old.observations[1:]))
    assert not is_refused(counts(), [old], [failing])  # uncompiled, too
