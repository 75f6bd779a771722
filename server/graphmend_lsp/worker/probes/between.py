"""What is changed in place between the forward and the backward pass: buffers, inputs, results.

Catches a buffer that was read by ``.item()`` and is now saved for the backward pass, as the tensor itself; an operator that
keeps an input of which the program keeps nothing; an index or a condition that is kept, and was read as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from ..snapshot import tensors_of
from .base import Arguments, Around, Probe

What = Callable[[Subject, Arguments, Any], list[torch.Tensor]]


def _buffers(subject: Subject, _call: Arguments, _result: Any) -> list[torch.Tensor]:
    return [one for module in subject.modules.values() for one in module.buffers()]


def _inputs(_subject: Subject, call: Arguments, _result: Any) -> list[torch.Tensor]:
    return [one for _, one in tensors_of(call)]


def _results(_subject: Subject, _call: Arguments, result: Any) -> list[torch.Tensor]:
    return [one for _, one in tensors_of(result)]


def _touched(what: What) -> Around:
    @contextmanager
    def around(subject: Subject, _call: Arguments) -> Iterator[Subject]:
        def called(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
            result = subject.function(*args, **kwargs)
            kept = [one * 1 for _, one in tensors_of(result) if one.requires_grad]
            with torch.no_grad():
                for one in what(subject, (args, kwargs), result):
                    if not isinstance(one, torch.nn.Parameter):
                        one.logical_and_(one) if one.dtype == torch.bool else one.mul_(1)
            return kept

        yield replace(subject, function=called)

    return around


def _asks(subject: Subject, call: Arguments) -> bool:
    return any(one.is_floating_point() for _, one in tensors_of(call)) or any(
        one.requires_grad for module in subject.modules.values() for one in module.parameters()
    )


def _asks_with_buffers(subject: Subject, call: Arguments) -> bool:
    return _asks(subject, call) and bool(_buffers(subject, call, None))


PROBES = (
    Probe("with buffers changed in place before the backward pass", "backward", _asks_with_buffers,
          around=_touched(_buffers), gradients=True),
    Probe("with inputs changed in place before the backward pass", "backward", _asks, around=_touched(_inputs)),
    Probe("with inputs that take gradients changed in place before the backward pass", "backward", _asks,
          around=_touched(_inputs), gradients=True, throughout=True),
    Probe("with results changed in place before the backward pass", "backward", _asks, around=_touched(_results),
          gradients=True),
)  # fmt: skip
