"""Inputs laid out otherwise, without elements, and tensors that are used where no gradient is known.

Catches ``x.view(...)`` behind a ``torch.where``, which is contiguous where the branch gave a transposed or an expanded
tensor as it was, and refused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..call_modes import transposed
from ..observe import Subject
from ..snapshot import tensors_of
from ..variants import substitute
from .base import Arguments, Probe

CHANNELS_LAST = "with channels last"


def _plain(call: Arguments) -> list[torch.Tensor]:
    return [one for _, one in tensors_of(call) if type(one) is torch.Tensor and one.layout == torch.strided]


def _turns(_subject: Subject, call: Arguments) -> bool:
    return any(transposed(one) is not one for one in _plain(call))


def _transposed(call: Arguments) -> Arguments:
    args, kwargs = substitute(call, {id(one): transposed(one) for one in _plain(call)})
    return args, kwargs


def _repeatable(call: Arguments) -> list[torch.Tensor]:
    return [one for one in _plain(call) if one.dim() and one.numel() and one.is_leaf]


def _expanded(call: Arguments) -> Arguments:
    """Every tensor with dimensions repeats the first element of its second one, or of its only one, without a memory of its own
    for it."""
    made = {
        id(one): one.detach().narrow(min(1, one.dim() - 1), 0, 1).expand(one.shape).requires_grad_(one.requires_grad)
        for one in _repeatable(call)
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _has_rows(_subject: Subject, call: Arguments) -> bool:
    return any(one.dim() > 1 and len(one) > 1 for one in _repeatable(call))


def _of_one_row(call: Arguments) -> Arguments:
    """Every tensor with several dimensions repeats its first row, without a memory of its own for the others."""
    made = {
        id(one): one.detach()[:1].expand(one.shape).requires_grad_(one.requires_grad)
        for one in _repeatable(call)
        if one.dim() > 1
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


def _is_image(_subject: Subject, call: Arguments) -> bool:
    return any(one.dim() == 4 for one in _plain(call))


def _channels_last(call: Arguments) -> Arguments:
    made = {
        id(one): one.detach().contiguous(memory_format=torch.channels_last).requires_grad_(one.requires_grad)
        for one in _plain(call)
        if one.dim() == 4
    }
    args, kwargs = substitute(call, made)
    return args, kwargs


@contextmanager
def _model_channels_last(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    weights = [one for module in subject.modules.values() for one in module.parameters() if one.dim() == 4]
    kept = [(one, one.data) for one in weights]
    try:
        for one, data in kept:
            one.data = data.contiguous(memory_format=torch.channels_last)
        yield subject
    finally:
        for one, data in kept:
            one.data = data


@contextmanager
def _inference(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    def called(*args: Any, **kwargs: Any) -> Any:
        with torch.inference_mode():
            return subject.function(*args, **kwargs)

    yield replace(subject, function=called)


PROBES = (
    Probe("with tensors transposed in memory", "layout", _turns, _transposed, refusals=True),
    Probe("with expanded tensors", "layout", lambda _subject, call: bool(_repeatable(call)), _expanded, refusals=True),
    Probe("with rows that are one row expanded", "layout", _has_rows, _of_one_row, refusals=True),
    Probe(CHANNELS_LAST, "layout", _is_image, _channels_last, _model_channels_last, refusals=True),
    Probe("in inference mode", "settings", lambda _subject, _call: True, around=_inference, refusals=True),
)
