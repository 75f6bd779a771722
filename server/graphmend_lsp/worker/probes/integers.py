"""Integers at the ends of their dtype, in narrower dtypes, and too large for float32.

Catches ``labels.max().item() + 1``, which is 256 of uint8 as a number and 0 as a tensor, and 2 ** 63 of int64;
``abs(q.min().item())`` of int8; ``step.item() / 64``, which Python divides in float64.
"""

from __future__ import annotations

import functools
import inspect
import types

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from ..variants import substitute
from .base import Arguments, Probe

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_NARROW = (torch.uint8, torch.int8, torch.int16)
BEYOND_FLOAT32 = (1 << 24) + 1
"""The least positive integer that float32 does not hold."""

HUGE = 50_000
"""A size whose square int32 does not hold."""


def _integers(call: Arguments) -> list[torch.Tensor]:
    return [tensor for _, tensor in tensors_of(call) if tensor.dtype in _INTEGERS and tensor.numel()]


def _has_integers(_subject: Subject, call: Arguments) -> bool:
    return bool(_integers(call))


def _has_wide(_subject: Subject, call: Arguments) -> bool:
    return any(tensor.dtype in (torch.int32, torch.int64) for tensor in _integers(call))


def _clamped(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In that dtype, as far as it has the numbers; in int64 first, because an end may be none of the tensor's own dtype."""
    return tensor.detach().long().clamp(torch.iinfo(dtype).min, torch.iinfo(dtype).max).to(dtype)


def _ended(tensor: torch.Tensor, dtype: torch.dtype, *, largest: bool) -> torch.Tensor:
    """In that dtype, with one number at an end of it."""
    made = _clamped(tensor, dtype)
    made = made.clone(memory_format=torch.contiguous_format)
    made.view(-1)[made.numel() // 2] = torch.iinfo(dtype).max if largest else torch.iinfo(dtype).min
    return made


def _at_ends(call: Arguments, *, largest: bool) -> Arguments:
    """Integers of 32 bits would be sizes that few machines have; of 64 bits none has them, and the program says so at once."""
    made = {id(one): _ended(one, one.dtype, largest=largest) for one in _integers(call) if _has_end(one)}
    args, kwargs = substitute(call, made)
    return args, kwargs


def _in(dtype: torch.dtype, call: Arguments) -> Arguments:
    args, kwargs = substitute(call, {id(one): _ended(one, dtype, largest=True) for one in _integers(call)})
    return args, kwargs


def _as_they_are(dtype: torch.dtype, call: Arguments) -> Arguments:
    """The same numbers in that dtype, as far as it has them: what is an index in one is a mask in another."""
    made = {id(one): _clamped(one, dtype) for one in _integers(call)}
    args, kwargs = substitute(call, made)
    return args, kwargs


def _beyond_float32(call: Arguments) -> Arguments:
    wide = [one for one in _integers(call) if one.dtype in (torch.int32, torch.int64)]
    made = {id(one): (one + BEYOND_FLOAT32) | 1 for one in wide}  # of the even ones it holds half
    args, kwargs = substitute(call, made)
    return args, kwargs


def _has_end(tensor: torch.Tensor) -> bool:
    """Whether numbers at the end of its dtype can be tried: on CUDA an index out of range ends the process."""
    return tensor.dtype in _NARROW or (tensor.dtype is torch.int64 and tensor.device.type == "cpu")


def _has_ends(_subject: Subject, call: Arguments) -> bool:
    return any(_has_end(one) for one in _integers(call))


def _can_widen(_subject: Subject, call: Arguments) -> bool:
    integers = _integers(call)
    return any(one.dtype is not torch.int64 for one in integers) and all(one.device.type == "cpu" for one in integers)


def _computes_narrow(subject: Subject, call: Arguments) -> bool:
    """Whether the program names an integer dtype of 32 bits or less, and has tensors whose sizes can grow."""
    return bool(_growing(call)) and any(_names_narrow(file) for file in subject.files)


@functools.cache
def _names_narrow(file: types.ModuleType) -> bool:
    try:
        text = inspect.getsource(file)
    except (OSError, TypeError):
        return False
    return any(word in text for word in ("int32", "int16", "int8", ".int()", ".short()"))


def _growing(call: Arguments) -> list[torch.Tensor]:
    tensors = [one for _, one in tensors_of(call) if type(one) is torch.Tensor and one.layout == torch.strided]
    return [one for one in tensors if one.dim() > 1 and one.numel() and not one.requires_grad]


def _huge(call: Arguments) -> Arguments:
    """Every tensor of two dimensions and more is its first element, repeated without a memory of its own."""
    made = {
        id(one): one.detach()[(slice(0, 1),) * one.dim()].expand(*([HUGE] * 2), *one.shape[2:])
        for one in _growing(call)
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


PROBES = (
    Probe("with an integer at the upper end of its dtype", "number-range", _has_ends,
          lambda call: _at_ends(call, largest=True)),
    Probe("with an integer at the lower end of its dtype", "number-range", _has_ends,
          lambda call: _at_ends(call, largest=False)),
    Probe("with sizes whose product exceeds int32", "number-range", _computes_narrow, _huge),
    Probe("with integers in uint8", "number-range", _has_integers, lambda call: _in(torch.uint8, call)),
    Probe("with integers in int8", "number-range", _has_integers, lambda call: _in(torch.int8, call)),
    Probe("with integers in int64", "number-range", _can_widen, lambda call: _in(torch.int64, call)),
    Probe("with the same integers in uint8", "dtype", _has_integers, lambda call: _as_they_are(torch.uint8, call)),
    Probe("with the same integers in int8", "dtype", _has_integers, lambda call: _as_they_are(torch.int8, call)),
    Probe("with integers that float32 cannot hold", "float64", _has_wide, _beyond_float32),
)  # fmt: skip
