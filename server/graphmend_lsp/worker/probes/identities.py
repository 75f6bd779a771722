"""Which tensor objects and memories come out of a call, and which state is bound anew by it; the first call of all.

Catches ``return x`` on one side as ``torch.where(...)``, behind which an in-place change arrives at nobody; a buffer that is
bound anew in every call, so that a module that shares it keeps the old one; an input that is kept,
as a copy; a cache that is built on a side not taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from .base import Arguments, Probe


def _state(subject: Subject) -> dict[str, torch.Tensor]:
    """Buffers, parameters, and tensors that are plain attributes or globals of the program, by name."""
    found = {
        f"{file.__name__}.{key}": one
        for file in subject.files
        for key, one in vars(file).items()
        if isinstance(one, torch.Tensor)
    }
    for root, module in subject.modules.items():
        for prefix, part in module.named_modules(prefix=root):
            named = {**part._parameters, **part._buffers, **vars(part)}
            found.update({f"{prefix}.{key}": one for key, one in named.items() if isinstance(one, torch.Tensor)})
    for name, value in subject.held_now().items():
        found.update({f"{name}{path}": one for path, one in tensors_of(value)})
    return found


def _memory(tensor: torch.Tensor) -> int:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout != torch.strided or not tensor.numel():
        return 0
    return tensor.untyped_storage().data_ptr()


@contextmanager
def _told(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """The result, with what in it and in the state is whose memory, and which state is another tensor than before."""

    def called(*args: Any, **kwargs: Any) -> tuple[Any, str, str]:
        before = _state(subject)
        inputs = {f"input{path}": tensor for path, tensor in (*tensors_of(args), *tensors_of(kwargs))}
        result = subject.function(*args, **kwargs)
        after = _state(subject)
        anew = [name for name, one in after.items() if name in before and one is not before[name]]
        aliases = [
            f"{what} is {'' if tensor is one else 'in the memory of '}{name}"
            for those, known in (
                ({f"result{path}": tensor for path, tensor in tensors_of(result)}, inputs | before), (after, inputs)
            )
            for what, tensor in those.items()
            for name, one in known.items()
            if tensor is one or (_memory(tensor) and _memory(tensor) == _memory(one))
        ]  # fmt: skip
        return result, "; ".join(sorted(aliases)), "; ".join(sorted(anew))

    yield replace(subject, function=called)


def _is_floating(_subject: Subject, call: Arguments) -> bool:
    return any(one.is_floating_point() for _, one in tensors_of(call))


PROBES = (
    Probe("as the first call", "inside-effects", lambda _subject, _call: True),
    Probe("as the first call, with gradients", "inside-effects", _is_floating, gradients=True),
    Probe("as the first call, with shared tensors", "identity", lambda _subject, _call: True, around=_told),
)
