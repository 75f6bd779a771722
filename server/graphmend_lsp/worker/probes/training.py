"""The entry's program as it is trained: parameters that ask for gradients, a step of SGD with weight decay, second gradients.

Catches gradients of zeros where there were none (weight decay moves an expert that was not used), and a gradient whose own
gradient is another one, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from .base import Arguments, Probe

SECOND = "with second gradients"


def _parameters(subject: Subject) -> list[torch.nn.Parameter]:
    found = {id(one): one for module in subject.modules.values() for one in module.parameters()}
    return [one for one in found.values() if one.is_floating_point()]


def _trains(subject: Subject, _call: Arguments) -> bool:
    return bool(_parameters(subject))


def _gives(value: Any) -> list[torch.Tensor]:
    return [one for _, one in tensors_of(value) if one.requires_grad and one.is_floating_point()]


@contextmanager
def _trained(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """Every parameter asks for its gradient; behind the backward pass one step is made, whose weights are the result."""
    asked = [(one, one.requires_grad, one.data) for one in _parameters(subject)]

    def step(*args: Any, **kwargs: Any) -> Sequence[torch.Tensor]:
        weights = [one for one, _, _ in asked]
        optimizer = torch.optim.SGD(weights, lr=0.1, weight_decay=0.1)
        optimizer.zero_grad()
        results = _gives(subject.function(*args, **kwargs))
        if results:
            torch.autograd.backward([one.sum() for one in results])
        optimizer.step()
        return [one.detach().clone() for one in weights]

    try:
        for one, _, data in asked:
            one.data = data.clone()
            one.requires_grad_()
        yield replace(subject, function=step)
    finally:
        for one, asks, data in asked:
            one.data, one.grad = data, None
            one.requires_grad_(asks)


def _is_differentiable(subject: Subject, call: Arguments) -> bool:
    return any(one.is_floating_point() for _, one in tensors_of(call)) or bool(_parameters(subject))


@contextmanager
def _second(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """The results are the first gradients, and those of their sum; zeros where an input has none: no optimizer sees that."""

    def called(*args: Any, **kwargs: Any) -> list[torch.Tensor | None]:
        inputs = [one for _, one in tensors_of((args, kwargs)) if one.requires_grad and one.is_leaf]
        leaves = [*inputs, *(one for one in _parameters(subject) if one.requires_grad)]
        results = _gives(subject.function(*args, **kwargs))
        if not results or not leaves:
            return []
        first = torch.autograd.grad([one.sum() for one in results], leaves, create_graph=True, allow_unused=True)
        again = [one for one in first if one is not None and one.requires_grad]
        second: Sequence[torch.Tensor | None] = [None] * len(leaves)
        if again:
            second = torch.autograd.grad([one.sum() for one in again], leaves, allow_unused=True)
        zeros = [torch.zeros_like(one) for one in inputs] + [None] * (len(leaves) - len(inputs))
        pairs = zip((*first, *second), zeros * 2, strict=True)
        return [none if one is None else one.detach() for one, none in pairs]

    yield replace(subject, function=called)


PROBES = (
    Probe("after one training step with weight decay", "zero-gradients", _trains, around=_trained),
    Probe(SECOND, "backward", _is_differentiable, around=_second,
          values=(("", ""), ("zero", "")), gradients=True),
)  # fmt: skip
