"""The program's modules with other values loaded into them, and copied: what is kept beside a buffer knows nothing of that.

Catches a number that mirrors a buffer and stays what it was after ``load_state_dict``; a name that is new in the
``state_dict``, so that older files no longer load; an attribute that no pickle takes.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from .base import Arguments, Probe


def _has_state(subject: Subject, _call: Arguments) -> bool:
    return any(True for module in subject.modules.values() for _ in module.state_dict().values())


def _other(value: Any) -> Any:
    """Numbers that the program may have after a step of training; integers are one more."""
    if not isinstance(value, torch.Tensor) or value.is_complex():
        return value
    if value.dtype == torch.bool:
        return ~value
    return value * 1.5 + 0.25 if value.is_floating_point() else value + 1


@contextmanager
def _loaded(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """Behind the program's own call the values are loaded, and the next call is the result."""

    def called(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            subject.function(*args, **kwargs)
        for module in subject.modules.values():
            module.load_state_dict({name: _other(one) for name, one in module.state_dict().items()})
        return subject.function(*args, **kwargs)

    kept = [(module, copy.deepcopy(module.state_dict())) for module in subject.modules.values()]
    try:
        yield replace(subject, function=called)
    finally:
        for module, state in kept:
            module.load_state_dict(state, strict=False)


@contextmanager
def _copied(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """The names that are saved, whether a pickle takes the module, and what its copy gives where it can be called."""

    def called(*args: Any, **kwargs: Any) -> Any:
        subject.function(*args, **kwargs)
        names = {root: list(module.state_dict()) for root, module in subject.modules.items()}
        taken = {root: _pickled(module) for root, module in subject.modules.items()}
        copied = copy.deepcopy(subject.function) if isinstance(subject.function, torch.nn.Module) else None
        return names, taken, copied(*args, **kwargs) if copied is not None else None

    yield replace(subject, function=called)


def _pickled(module: torch.nn.Module) -> str:
    try:
        pickle.Pickler(io.BytesIO()).dump(vars(module))
    except Exception as error:
        return type(error).__name__
    return ""


PROBES = (
    Probe("with other values loaded behind its first call", "saved", _has_state, around=_loaded),
    Probe("saved and copied behind its first call", "saved", _has_state, around=_copied),
)
