"""A call made otherwise than the entry makes it: under autocast, without gradients, twice before its backward pass, laid out
in another way.

What these show no other values show: sides of one dtype that autocast gives two, a buffer that is written although an
earlier result still needs it, a side that takes one layout in memory only. For children that run user code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch

from .observe import Subject
from .snapshot import tensors_of

CallMode = Literal["", "autocast", "twice", "transposed", "no_grad"]
WORDS: dict[CallMode, str] = {
    "": "",
    "autocast": " under autocast to bfloat16",
    "twice": ", called twice before one backward pass",
    "transposed": " with tensors transposed in memory",
    "no_grad": " without gradients",
}


def modes_for(call: Any, subject: Subject, gradients: bool) -> list[CallMode]:
    """The modes that say more of a call than it says already. `gradients`: its inputs may ask for theirs."""
    tensors = [tensor for _, tensor in tensors_of(call)]
    parameters = [one for module in subject.modules.values() for one in module.parameters()]
    found: list[CallMode] = []
    if any(tensor.dtype == torch.float32 for tensor in (*tensors, *parameters)):
        found.append("autocast")
    if gradients or any(one.requires_grad for one in (*tensors, *parameters)):
        found.append("twice")
    if any(transposed(tensor) is not tensor for tensor in tensors):
        found.append("transposed")
    return found


def subject_in(mode: CallMode, subject: Subject, call: Any) -> Subject:
    """The subject, called in that mode where that is not the arguments' matter. `call` says which device it is."""
    if mode == "autocast":
        return replace(subject, function=_under_autocast(subject.function, _device(subject, call)))
    if mode == "twice":
        return replace(subject, function=_twice(subject.function))
    if mode == "no_grad":
        return replace(subject, function=torch.no_grad()(subject.function))
    return subject


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a memory of its own with its dimensions in the other order; itself where that is no other layout."""
    if type(tensor) is not torch.Tensor or tensor.layout != torch.strided or tensor.is_quantized or not tensor.numel():
        return tensor
    if sum(size > 1 for size in tensor.shape) < 2 or not tensor.is_contiguous() or not tensor.is_leaf:
        return tensor
    turned = list(reversed(range(tensor.dim())))
    strides = torch.empty(tensor.permute(turned).shape, device="meta").permute(turned).stride()
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor.detach()).requires_grad_(tensor.requires_grad)


def _device(subject: Subject, call: Any) -> str:
    tensors: Sequence[torch.Tensor] = [tensor for _, tensor in tensors_of(call)]
    weights = [one for module in subject.modules.values() for one in module.parameters()]
    return "cuda" if any(one.is_cuda for one in (*tensors, *weights)) else "cpu"


def _under_autocast(function: Callable[..., Any], device: str) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device, dtype=torch.bfloat16):
            return function(*args, **kwargs)

    return called


def _twice(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives what has a gradient of both results, each by itself: a tensor that both return counts twice."""

    def called(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
        both = [function(*args, **kwargs) for _ in range(2)]
        return [tensor * 1 for one in both for _, tensor in tensors_of(one) if tensor.requires_grad]

    return called
