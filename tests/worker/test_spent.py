"""A training step runs its own backward pass: its loss cannot be differentiated again, and its gradients are those to compare."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graphmend_lsp.worker.backward import backward
from graphmend_lsp.worker.effects import Listener
from graphmend_lsp.worker.observe import Subject, observe
from graphmend_lsp.worker.snapshot import Store


class _Step(torch.nn.Module):
    def __init__(self, more: bool) -> None:
        super().__init__()
        self.linear, self.more = torch.nn.Linear(3, 1), more

    def forward(self, x: torch.Tensor) -> Any:
        loss = self.linear(x).sin().square().mean()
        loss.backward()
        return (loss, self.linear(x).sin()) if self.more else loss


def _observed(program: torch.nn.Module) -> Any:
    return observe(Subject(program, {"model": program}, ()), "call", (torch.ones(2, 3),), {}, Store(), Listener())


def test_the_gradients_are_those_of_the_step() -> None:
    torch.manual_seed(0)
    step = _Step(more=False)
    seen = _observed(step)
    assert seen.raised is None and len(seen.parts["gradient"]) == 2
    assert backward(step(torch.ones(2, 3))) is False


def test_what_another_result_adds_before_it_is_found_out_is_left_out() -> None:
    torch.manual_seed(0)
    one, more = _Step(more=False), _Step(more=True)
    more.load_state_dict(one.state_dict())
    assert _observed(one).parts["gradient"] == _observed(more).parts["gradient"]


def test_another_error_of_a_backward_pass_is_told() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x.requires_grad_().exp()
        y.detach().add_(1)
        return y

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward(program(torch.ones(3)))
    seen = observe(Subject(program, {}, ()), "call", (torch.ones(3),), {}, Store(), Listener())
    assert seen.raised is not None and seen.raised.stage == "backward"
