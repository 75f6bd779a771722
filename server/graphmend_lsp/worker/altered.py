"""A program changed for one call and put back behind it: its weights, and whether its modules train."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import torch

WEIGHTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "x1000": lambda t: t * 1e3,
    "negated": lambda t: -t,
    "zero": torch.zeros_like,
    "x1e6": lambda t: t * 1e6,
    "with one NaN": lambda t: poke(t, float("nan")),
    "with one inf": lambda t: poke(t, float("inf")),
    "all inf": lambda t: torch.full_like(t, float("inf")),
}


@contextmanager
def other_weights(kind: str, modules: Mapping[str, torch.nn.Module]) -> Iterator[None]:
    """Parameters and floating buffers changed in place while the context lasts, and put back after it."""
    if not kind:
        yield
        return
    kept: list[tuple[torch.Tensor, torch.Tensor]] = []
    with torch.no_grad():
        for module in modules.values():
            for tensor in (*module.parameters(), *module.buffers()):
                if tensor.is_floating_point() and not any(tensor is one for one, _ in kept):
                    kept.append((tensor, tensor.detach().clone()))
                    tensor.copy_(WEIGHTS[kind](tensor))
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in kept:
                tensor.copy_(value)


@contextmanager
def other_mode(mode: Literal["", "train", "eval"], modules: Mapping[str, torch.nn.Module]) -> Iterator[None]:
    """Modules in train or eval mode while the context lasts, and each as it was after it."""
    if not mode:
        yield
        return
    kept = [(part, part.training) for module in modules.values() for part in module.modules()]
    for module in modules.values():
        module.train(mode == "train")
    try:
        yield
    finally:
        for part, training in kept:
            part.training = training


def poke(tensor: torch.Tensor, number: float) -> torch.Tensor:
    """The tensor with that number in its middle."""
    made = tensor.detach().clone(memory_format=torch.contiguous_format)
    if made.numel():
        made.view(-1)[made.numel() // 2] = number
    return made
