"""Calls in which the program raises, for what they leave behind: state, random state, messages.

Catches a message that is lost because an index behind it is out of range, and a counter that is counted up although the
``loss.item()`` in front of it raises, of a loss with two elements.
"""

from __future__ import annotations

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from ..variants import substitute
from .base import Arguments, Probe

OUT_OF_RANGE = "with indices out of range"


def _has_integers(_subject: Subject, call: Arguments) -> bool:
    return any(_is_index(tensor) for _, tensor in tensors_of(call))


def _is_index(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int32, torch.int64) and tensor.numel() > 0 and tensor.device.type == "cpu"


def _out_of_range(call: Arguments) -> Arguments:
    made = {id(one): one + 100_003 for _, one in tensors_of(call) if _is_index(one)}
    args, kwargs = substitute(call, made)
    return args, kwargs


def _has_single(_subject: Subject, call: Arguments) -> bool:
    return any(_is_single(tensor) for _, tensor in tensors_of(call))


def _is_single(tensor: torch.Tensor) -> bool:
    return tensor.numel() == 1 and not isinstance(tensor, torch.nn.Parameter)


def _two(call: Arguments) -> Arguments:
    made = {
        id(one): one.detach().reshape(1).repeat(2).requires_grad_(one.requires_grad)
        for _, one in tensors_of(call)
        if _is_single(one)
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _has_floats(_subject: Subject, call: Arguments) -> bool:
    return any(tensor.is_floating_point() and tensor.dim() for _, tensor in tensors_of(call))


def _one_longer(call: Arguments) -> Arguments:
    """The last dimension of the first floating tensor is one longer: most layers refuse that."""
    tensor = next(one for _, one in tensors_of(call) if one.is_floating_point() and one.dim())
    longer = torch.cat([tensor.detach(), tensor.detach().narrow(-1, 0, min(1, tensor.shape[-1]))], -1)
    args, kwargs = substitute(call, {id(tensor): longer.requires_grad_(tensor.requires_grad)})
    return args, kwargs


PROBES = (
    Probe(OUT_OF_RANGE, "raised-between", _has_integers, _out_of_range, refusals=True),
    Probe("with two elements instead of one", "raised-between", _has_single, _two, refusals=True),
    Probe("with a last dimension longer by 1", "raised-between", _has_floats, _one_longer, refusals=True),
    Probe("with NaN in place of a number", "raised-between", _has_floats, values=(("one NaN", ""),), refusals=True),
)
