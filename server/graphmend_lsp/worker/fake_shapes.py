"""Stand-ins where a shape depends on values: what an operator gives when a few elements, or all, were selected.

Works on fake tensors only, so that nothing large is ever allocated. Imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

FEW = 2  # elements that a condition on values selects
KNOWN_VALUES = 64  # elements up to which a tensor made from Python numbers keeps them
_LARGEST = 1 << 20  # elements that may be allocated where nothing better is known of an operator
_aten = torch.ops.aten


def stand_in(mode: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], everything: bool) -> Any:
    """The result of an operator whose shape depends on values; fake tensors of `mode`.

    `everything`: all elements are taken to be selected, rather than a few.
    """
    name = func._schema.name.removeprefix("aten::")
    with mode:
        if name in ("nonzero", "argwhere"):
            return _like(args[0], (_count(args[0].numel(), everything), args[0].dim()), torch.int64)
        if name == "masked_select":
            elements = torch.broadcast_shapes(args[0].shape, args[1].shape).numel()
            return _like(args[0], (_count(elements, everything),), args[0].dtype)
        if name == "index" and any(_is_mask(one) for one in args[1]):
            return func(args[0], _without_masks(args[1], everything), **kwargs)
        if name == "bincount":
            longest = max([FEW, *(one for one in (*args[1:], kwargs.get("minlength", 0)) if isinstance(one, int))])
            weights = next((one for one in (*args[1:], kwargs.get("weights")) if isinstance(one, torch.Tensor)), None)
            kinds = {torch.float32: torch.float32}
            dtype = torch.int64 if weights is None else kinds.get(weights.dtype, torch.float64)
            return _like(args[0], (longest,), dtype)
        if name == "repeat_interleave" and len(args) == 1:
            size = kwargs.get("output_size")
            return _like(args[0], (args[0].shape[0] if size is None else size,), args[0].dtype)
        if name in ("_unique2", "_unique"):
            size = _count(args[0].numel(), everything)
            inverse = _like(args[0], tuple(args[0].shape), torch.int64)
            found = (_like(args[0], (size,), args[0].dtype), inverse, _like(args[0], (size,), torch.int64))
            return found[: len(func._schema.returns)]
    return _computed(mode, func, args, kwargs)


def _count(elements: int, everything: bool) -> int:
    return int(elements) if everything else min(FEW, int(elements))


def _like(tensor: Any, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    return torch.empty(shape, dtype=dtype, device=tensor.device)


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _without_masks(indices: Sequence[Any], everything: bool) -> list[Any]:
    """The indices with each mask as the places that it selects, one tensor for each of its dimensions."""
    found: list[Any] = []
    for index in indices:
        if _is_mask(index):
            found += [_like(index, (_count(index.numel(), everything),), torch.int64) for _ in range(index.dim())]
        else:
            found.append(index)
    return found


def _computed(mode: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the operator gives for tensors full of ones, as fake tensors.

    Raises:
        RuntimeError: the tensors are too large for that.
    """
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    leaves = [one for one in _pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    if sum(one.numel() for one in leaves) > _LARGEST:
        raise RuntimeError(f"{func} cannot run without data: the shape of its result depends on values")
    device = leaves[0].device if leaves else torch.device("cpu")

    def real(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.ones(tuple(map(int, value.shape)), dtype=value.dtype)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    with unset_fake_temporarily():
        result = func(*_pytree.tree_map(real, args), **_pytree.tree_map(real, kwargs))
    with mode:
        return _pytree.tree_map(
            lambda one: (
                torch.empty(one.shape, dtype=one.dtype, device=device) if isinstance(one, torch.Tensor) else one
            ),
            result,
        )
