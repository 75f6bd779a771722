"""What counts as state of a program: what it stores itself, not what torch.compile writes on what it compiles."""

from __future__ import annotations

import torch

from graphmend_lsp.worker.observe import Subject, state_of
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
