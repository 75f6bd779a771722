"""The arguments of other calls made from the entry's own, as a recipe says. Deterministic; runs no user code.

The same recipe gives the same call in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .altered import poke
from .call_modes import transposed
from .observe import fresh_calls
from .other_numbers import NUMBERS, renumbered
from .recipes import Arguments, Recipe
from .snapshot import tensors_of


def make(recipe: Recipe, calls: Sequence[Arguments]) -> Arguments:
    """The arguments of the call that a recipe describes, as fresh copies."""
    ((args, kwargs),) = fresh_calls([calls[recipe.base]])
    tensors = [tensor for _, tensor in tensors_of((args, kwargs)) if not isinstance(tensor, torch.nn.Parameter)]
    replaced: dict[int, torch.Tensor] = {}
    generator = torch.Generator().manual_seed(recipe.seed)
    for index, tensor in enumerate(tensors):
        changed = tensor
        if recipe.only is None or recipe.only == index:
            changed = _other_values(changed, recipe, generator, tensors)
            if recipe.spot and changed.is_floating_point() and changed.numel():
                changed = _laid_like(changed, SPOTS[recipe.spot](changed.detach())).requires_grad_(
                    changed.requires_grad
                )
        if recipe.dtype and changed.is_floating_point():
            changed = changed.detach().to(getattr(torch, recipe.dtype)).requires_grad_(changed.requires_grad)
        if recipe.resize is not None:
            changed = _resized(changed, recipe.resize, recipe.axis)
        if recipe.call_mode == "transposed":
            changed = transposed(changed)
        if recipe.gradients and changed.is_floating_point() and changed.is_leaf and not changed.requires_grad:
            changed = changed.clone() if changed is tensor else changed
            changed.requires_grad_()
            if recipe.history:
                changed = changed * 1
        if changed is not tensor:
            replaced[id(tensor)] = changed
    made = substitute((args, kwargs), replaced)
    if recipe.numbers:
        made = renumbered(made, NUMBERS[recipe.numbers])
    return made[0], made[1]


def mark_changing(made: Arguments, original: Arguments, changes: Sequence[Recipe]) -> None:
    """Ask TorchDynamo to keep the sizes that those recipes change symbolic where it can, so that one graph serves them all.

    `made` is what a recipe made of `original`. A size of 1 always has a graph of its own.
    """
    for (_, new), (_, old) in zip(tensors_of(made), tensors_of(original), strict=False):
        if isinstance(new, torch.nn.Parameter) or new.dim() != old.dim():
            continue
        for resize, axis in dict.fromkeys((one.resize, one.axis) for one in changes):
            for dimension, size in enumerate(old.shape):
                changes_here = resize is not None and resize[0] == size and axis in (None, dimension)
                if changes_here and new.shape[dimension] > 1:
                    torch._dynamo.maybe_mark_dynamic(new, dimension)


SPOTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "one element 0": lambda t: poke(t, 0.0),
    "one element 1": lambda t: poke(t, 1.0),
    "one element -1": lambda t: poke(t, -1.0),
    "all elements equal": lambda t: t.reshape(-1)[-1:].expand(t.numel()).reshape(t.shape).clone(),
}
"""Where operations have no finite gradient, although the sum of all elements stays about as it was."""


def _other_values(
    tensor: torch.Tensor, recipe: Recipe, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    if tensor.layout != torch.strided or tensor.is_quantized or not tensor.numel():
        return tensor
    if tensor.dtype == torch.bool:
        made = _bools(tensor, recipe.bools)
    elif tensor.is_floating_point():
        made = _floats(tensor, recipe.floats, generator, all_tensors)
    elif tensor.is_complex():
        made = None if not recipe.floats else tensor.detach() * (1 + 1j)
    else:
        made = _ints(tensor, recipe.ints, generator, all_tensors)
    if made is None:
        return tensor
    return _laid_like(tensor, made.to(tensor.dtype)).requires_grad_(tensor.requires_grad)


def _laid_like(tensor: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """`made` with the strides of `tensor`, for which a program was compiled, unless elements of that share memory."""
    if made.shape != tensor.shape:
        return made
    if (viewed := tensor._base) is not None and viewed.layout == torch.strided:
        # A view stays one: what was compiled for it is compiled anew for another tensor.
        base = viewed.detach().clone().to(made.dtype)
        if base.stride() == viewed.stride():
            view = base.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
            return view.copy_(made) if not _overlaps(tensor) else made
    if made.stride() == tensor.stride():
        return made if made._base is None else made.clone()
    if _overlaps(tensor):
        return made
    laid = torch.empty_strided(tensor.size(), tensor.stride(), dtype=made.dtype, device=made.device)
    return laid.copy_(made)


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements of a tensor may share memory."""
    reach = 0  # of the dimensions so far, from the innermost on
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _floats(
    tensor: torch.Tensor, kind: str, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach().float() if tensor.element_size() < 4 else tensor.detach().clone()
    limit = torch.finfo(tensor.dtype).max

    def noise() -> torch.Tensor:
        return torch.randn(value.shape, generator=generator).to(value.device, value.dtype)

    makers: dict[str, Callable[[], torch.Tensor]] = {
        "random": lambda: noise() * (_spread(value) or 1.0) + _center(value),
        "negated": lambda: -value,
        "zero": lambda: torch.zeros_like(value),
        "one": lambda: torch.ones_like(value),
        "large": lambda: noise() * min(1e4, limit / 8),
        "huge": lambda: noise().sign() * (limit / 2),
        "tiny": lambda: noise() * 1e-6,
        "mixed": lambda: value.abs() * noise().sign(),
        "positive": lambda: value.abs() + 1,
        "x100": lambda: value * 100,
        "x0.01": lambda: value * 0.01,
        "+100": lambda: value + 100,
        "-100": lambda: value - 100,
        "one NaN": lambda: poke(value, float("nan")),
        "one inf": lambda: poke(value, float("inf")),
        "-inf": lambda: poke(value, float("-inf")),
        "all NaN": lambda: torch.full_like(value, float("nan")),
        "all inf": lambda: torch.full_like(value, float("inf")),
        "like another": lambda: _like_another(tensor, all_tensors),
    }
    return makers[kind]()


def _ints(
    tensor: torch.Tensor, kind: str, generator: torch.Generator, all_tensors: Sequence[torch.Tensor]
) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach().clone()
    wide = value.to(torch.int64)
    largest, smallest = int(wide.max()), int(wide.min())
    if smallest > 0:
        smallest = 0  # where a positive number is good as an index, zero is too

    def permuted() -> torch.Tensor:
        order = torch.randperm(value.numel(), generator=generator).to(value.device)
        return value.reshape(-1)[order].reshape(value.shape)

    def increasing() -> torch.Tensor:
        return (torch.arange(value.numel(), device=value.device) % (largest - smallest + 1) + smallest).reshape(
            value.shape
        )

    makers: dict[str, Callable[[], torch.Tensor | None]] = {
        "permuted": permuted,
        "smallest": lambda: torch.full_like(value, smallest),
        "largest": lambda: torch.full_like(value, largest),
        "zero": lambda: torch.zeros_like(value),
        "one smallest": lambda: poke(value, smallest),
        "one largest": lambda: poke(value, largest),
        "one zero": lambda: poke(value, 0),
        "increasing": increasing,
        # out of range on purpose; on CUDA a bad index ends the process instead of raising
        "one more": lambda: poke(value, largest + 1) if value.device.type == "cpu" else None,
        "like another": lambda: _like_another(tensor, all_tensors),
    }
    return makers[kind]()


def _bools(tensor: torch.Tensor, kind: str) -> torch.Tensor | None:
    if not kind:
        return None
    value = tensor.detach()
    return {"flipped": ~value, "true": torch.ones_like(value), "false": torch.zeros_like(value)}[kind]


def _resized(tensor: torch.Tensor, resize: tuple[int, int], axis: int | None) -> torch.Tensor:
    old, new = resize
    made = tensor
    for dimension in range(tensor.dim()):
        if tensor.shape[dimension] == old and (axis is None or axis == dimension):
            index = torch.arange(new, device=tensor.device) % old
            made = made.detach().index_select(dimension, index)
    return made if made is tensor else made.requires_grad_(tensor.requires_grad)


def substitute(value: Any, replaced: Mapping[int, torch.Tensor]) -> Any:
    """The (changeable) value with some tensors replaced, wherever in containers and objects they are."""
    if isinstance(value, torch.Tensor):
        return replaced.get(id(value), value)
    if isinstance(value, torch.nn.Module) or not replaced:
        return value
    if isinstance(value, tuple):
        parts = [substitute(part, replaced) for part in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return tuple(parts) if type(value) is tuple else value
    if isinstance(value, list):
        value[:] = [substitute(part, replaced) for part in value]
    elif isinstance(value, dict):
        for key in list(value):
            value[key] = substitute(value[key], replaced)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        for name, part in list(vars(value).items()):
            new = substitute(part, replaced)
            if new is not part:
                object.__setattr__(value, name, new)
    return value


def _like_another(tensor: torch.Tensor, all_tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    for other in all_tensors:
        if other is not tensor and other.shape == tensor.shape and other.dtype == tensor.dtype:
            return other.detach().clone()
    return tensor.detach().clone()


def _spread(value: torch.Tensor) -> float:
    finite = value[torch.isfinite(value)]
    return float(finite.std()) if finite.numel() > 1 else 1.0


def _center(value: torch.Tensor) -> float:
    finite = value[torch.isfinite(value)]
    return float(finite.mean()) if finite.numel() else 0.0
