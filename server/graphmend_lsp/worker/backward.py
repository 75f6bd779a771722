"""The backward pass that training mode runs on what a program returned. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def backward(output: Any) -> bool:
    """Run it: of the result's ``loss`` where it has one, else of the sum of all its outputs that have a gradient.

    Returns whether there was anything to differentiate. What the program has run a backward pass of itself is left alone.
    """
    loss = loss_of(output)
    roots = [loss] if loss is not None else [one for one in tensors_in(output) if _differentiable(one)]
    if not roots:
        return False
    total = roots[0].sum()
    for root in roots[1:]:
        total = total + root.sum().to(total.device)
    if total.is_complex():
        total = total.abs()
    try:
        total.backward()
    except RuntimeError as error:
        if is_spent(error):
            return False
        raise
    return True


def is_spent(error: RuntimeError) -> bool:
    """Whether a backward pass fails because there was one: a training step returns the loss that it has differentiated."""
    return str(error).startswith("Trying to backward through the graph a second time")


def loss_of(output: Any) -> Any:
    """The result's ``loss`` (an attribute, or an item of a dict) when it is a tensor that has a gradient."""
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    return loss if _differentiable(loss) else None


def tensors_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors in a result: in containers, mappings and the attributes of plain result objects."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 6 or isinstance(value, (str, bytes, type, torch.nn.Module)):
        return
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth + 1)
    elif hasattr(value, "__dict__") and not callable(value):
        for item in vars(value).values():
            yield from tensors_in(item, depth + 1)


def _differentiable(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.requires_grad and (value.is_floating_point() or value.is_complex())
