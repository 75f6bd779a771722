"""What counts as state of a program: what it stores itself, not what torch.compile writes on what it compiles."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.observe import Subject, state_of
from graphmend_lsp.worker.parts import find_parts
from graphmend_lsp.worker.probes import Kept
from graphmend_lsp.worker.snapshot import Store


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2


def test_a_compiled_module_has_the_state_of_the_module() -> None:
    model, store = Counting(), Store()
    subject = Subject(model, {"model": model}, ())
    before = state_of(subject, store)
    torch.compile(model, backend="eager")
    assert state_of(subject, store) == before
    model(torch.ones(2))
    after = state_of(subject, store)
    assert {name for name in after if after[name] != before.get(name)} == {"model.calls"}


class Holding:
    def __init__(self, model: torch.nn.Module) -> None:
        self.model = torch.compile(model, backend="eager")
        self.context = self.model.dynamo_ctx


def test_what_torch_compile_keeps_for_itself_is_no_state() -> None:
    """It holds addresses, which differ in two loads of one program; a difference ends a verdict before anything is compiled."""
    store = Store()
    states = []
    for _ in range(2):
        file = types.ModuleType("program")
        model = torch.compile(Counting(), backend="eager")
        vars(file).update(model=model, held=[Holding(Counting())])
        states.append(state_of(Subject(model, find_parts(model).modules, (file,)), store))
    assert states[0] == states[1]
    assert {"model.calls", "program.held[0].context"} <= set(states[0])
    model(torch.ones(2))
    after = state_of(Subject(model, find_parts(model).modules, (file,)), store)
    assert {name for name in after if after[name] != states[1].get(name)} == {"model.calls"}


class Trainer:
    def __init__(self) -> None:
        self.model = Counting()
        self.steps = 0
        self.noise = torch.Generator().manual_seed(0)

    def step(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return self.model(x) + torch.rand(2, generator=self.noise)


SUPPORT: dict[str, Any] = {"__name__": "package.graphmend_support"}
exec("def wrapped(function):\n    state = []\n    return lambda x: (state.append(x), function(x))[1]", SUPPORT)


def closed(trainer: Trainer) -> Any:
    count, seen = 0, []

    def step(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        seen.append(x)
        return trainer.step(x)

    return SUPPORT["wrapped"](step)


def test_what_a_class_keeps_for_all_of_its_objects_is_state_and_put_back() -> None:
    file = types.ModuleType("program")
    exec(
        "class Meter:\n    __slots__ = ()\n    count, seen = 0, []\n\ndef f(x):\n    Meter.count += 1\n    Meter.seen.append(x)",
        vars(file),
    )
    function, store = vars(file)["f"], Store()
    subject = Subject(function, {}, (file,))
    kept, before = Kept(subject), state_of(subject, store)
    function(1)
    after = state_of(subject, store)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {f"program.Meter.{name}" for name in ("count", "seen", "seen[0]")}
    kept.put_back()
    assert state_of(subject, store) == before


OWN = {"model.calls", "self.steps", "self.noise"}
CLOSED = {"model.calls", "trainer.steps", "trainer.noise", "count", "seen", "seen[0]"}


@pytest.mark.parametrize(("function", "changes"), [(Trainer().step, OWN), (closed(Trainer()), CLOSED)])
def test_what_an_object_and_a_closure_keep_is_state_and_put_back(function: Any, changes: set[str]) -> None:
    """Also behind a wrapper that a mend puts around it, whose own cells are none of the program's."""
    store, parts = Store(), find_parts(function)
    subject = Subject(function, parts.modules, (), parts.held)
    kept, before = Kept(subject), state_of(subject, store)
    function(torch.ones(2))
    after = state_of(subject, store)
    assert {name for name in after if after[name] != before.get(name)} == changes
    kept.put_back()
    assert state_of(subject, store) == before
