"""The model as a whole in another dtype, parameters, buffers and inputs.

Catches ``boost = 2.0 if x.max() > 1 else 0.5`` as ``torch.where(c, 2.0, 0.5)``: what met a number meets a float32 tensor,
which wins over a bfloat16 parameter without dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from ..variants import substitute
from .base import Arguments, Around, Probe


def _has_floats(subject: Subject, call: Arguments) -> bool:
    return any(_casts(tensor) for _, tensor in tensors_of(call)) or any(map(_casts, _weights(subject)))


def _weights(subject: Subject) -> list[torch.Tensor]:
    return [one for module in subject.modules.values() for one in (*module.parameters(), *module.buffers())]


def _casts(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.float32, torch.float64)


def _cast(dtype: torch.dtype) -> Around:
    """As ``Module.to`` does it: parameters get other data, buffers become other tensors, and other attributes stay."""

    @contextmanager
    def around(subject: Subject, _call: Arguments) -> Iterator[Subject]:
        parts = {id(part): part for module in subject.modules.values() for part in module.modules()}.values()
        parameters = {
            id(one): (one, one.data) for part in parts for one in part._parameters.values() if one is not None
        }
        buffers = [(part._buffers, dict(part._buffers)) for part in parts]
        try:
            for one, data in parameters.values():
                if one.is_floating_point():
                    one.data = data.to(dtype)
            for held, known in buffers:
                held.update({name: one.to(dtype) for name, one in known.items() if one is not None and _casts(one)})
            yield subject
        finally:
            for one, data in parameters.values():
                one.data = data
            for held, known in buffers:
                held.clear()
                held.update(known)

    return around


def _inputs_in(dtype: torch.dtype, call: Arguments) -> Arguments:
    made = {
        id(tensor): tensor.detach().to(dtype).requires_grad_(tensor.requires_grad)
        for _, tensor in tensors_of(call)
        if _casts(tensor) and not isinstance(tensor, torch.nn.Parameter)
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _in(dtype: torch.dtype) -> Probe:
    name = str(dtype).removeprefix("torch.")
    return Probe(
        f"with model and inputs cast to {name}",
        "dtype",
        _has_floats,
        lambda call: _inputs_in(dtype, call),
        _cast(dtype),
    )


def _as_narrow(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().nan_to_num(0, 0, 0).clamp(-128, 127).to(torch.int16)


def _has_both(_subject: Subject, call: Arguments) -> bool:
    tensors = [one for _, one in tensors_of(call) if not isinstance(one, torch.nn.Parameter)]
    return any(map(_casts, tensors)) and any(map(_counts, tensors))


def _counts(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int32, torch.int64)


def _exchanged(call: Arguments) -> Arguments:
    """Floating inputs are integers of 16 bits, and integers are floating."""
    made = {
        id(one): one.detach() + 0.5 if _counts(one) else _as_narrow(one)
        for _, one in tensors_of(call)
        if (_casts(one) or _counts(one)) and not isinstance(one, torch.nn.Parameter)
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _inputs(call: Arguments, *, floating: bool) -> list[torch.Tensor]:
    """The inputs of a common dtype of that kind that have elements."""
    fits = _casts if floating else _counts
    return [one for _, one in tensors_of(call) if fits(one) and one.numel() and not isinstance(one, torch.nn.Parameter)]


def _alone(number: int, dtype: torch.dtype, *, floating: bool) -> Probe:
    """One input is narrower than the others, and has no dimensions: then it does not decide about a result's dtype."""
    kind = "floating" if floating else "integer"

    def change(call: Arguments) -> Arguments:
        inputs = _inputs(call, floating=floating)
        if len(inputs) <= number:
            return call
        one = inputs[number]
        first = one.detach().reshape(-1)[0].nan_to_num(0, 0, 0).to(dtype)
        args, kwargs = substitute(call, {id(one): first.requires_grad_(one.requires_grad and dtype.is_floating_point)})
        return args, kwargs

    return Probe(
        f"with {kind} input {number + 1} as one {str(dtype).removeprefix('torch.')} number without dimensions",
        "dtype",
        lambda _subject, call: len(_inputs(call, floating=floating)) > number,
        change,
        throughout=True,
    )


def _counted(number: int) -> Probe:
    """One floating input holds integers, and the others are half as wide as Python's numbers would make it."""

    def change(call: Arguments) -> Arguments:
        floating = _inputs(call, floating=True)
        made = {
            id(one): _as_narrow(one) if place == number else one.detach().to(torch.bfloat16)
            for place, one in enumerate(floating)
        }
        args, kwargs = substitute(call, made)
        return args, kwargs

    return Probe(
        f"with floating input {number + 1} as integers and the others in bfloat16",
        "dtype",
        lambda _subject, call: len(_inputs(call, floating=True)) > number,
        change,
        throughout=True,
    )


_TOLD_APART = 3
"""How many inputs are changed one by one."""

PROBES = (
    *map(_in, (torch.bfloat16, torch.float16, torch.float64)),
    Probe("with integers and floating numbers exchanged", "dtype", _has_both, _exchanged, throughout=True),
    *(_alone(number, dtype, floating=True) for dtype in (torch.bfloat16, torch.int16) for number in range(_TOLD_APART)),
    *(_alone(number, torch.int8, floating=False) for number in range(_TOLD_APART)),
    *map(_counted, range(_TOLD_APART)),
)
