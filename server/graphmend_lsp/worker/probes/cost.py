"""What a call costs, counted and not timed: operators that compute something, and the bytes of what they make.

Catches a loop that ended after two turns and now takes all 100,000; one row that was chosen where now all are computed; a
table as large as the largest number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..observe import Subject
from ..snapshot import tensors_of
from . import sizes
from .base import Arguments, Probe

COUNTED = "with its operators counted"
COUNTED_LARGE = "with its operators counted and a large batch"
MOST_TIMES = 10  # as many as this is not safe
LEAST_OPERATORS = 20  # programs of fewer count as having so many
LEAST_BYTES = 1 << 12
SMALL = 100_000  # parameters; of a larger program fewer rows show what each row costs, in a quarter of the time
FEWER = 128  # of these rows


class _Counting(TorchDispatchMode):
    """Counts what is not merely a view of something."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = 0
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        known = {_memory(one) for _, one in tensors_of((args, kwargs))}
        made = [one for _, one in tensors_of(result)]
        fresh = {_memory(one): one for one in made if _memory(one) not in known}
        self.operators += bool(fresh or not made or func._schema.is_mutable)
        self.bytes += sum(one.untyped_storage().nbytes() for one in fresh.values())
        return result


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata if tensor.layout == torch.strided else id(tensor)


@contextmanager
def _counted(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    """The result is what was counted."""

    def called(*args: Any, **kwargs: Any) -> list[int]:
        with torch.no_grad(), _Counting() as mode:
            subject.function(*args, **kwargs)
        return [mode.operators, mode.bytes]

    yield replace(subject, function=called)


@contextmanager
def _counted_large(subject: Subject, call: Arguments) -> Iterator[Subject]:
    weights = {id(one): one.numel() for module in subject.modules.values() for one in module.parameters()}
    size = sizes.LARGEST if sum(weights.values()) <= SMALL else FEWER
    with _counted(subject, call) as counted, sizes.enlarged(counted, call, size) as large:
        yield large


def grown(old: list[int], new: list[int]) -> str:
    """How much more the mended program costs, in words; empty where that is no more than `MOST_TIMES`."""
    words = []
    for name, before, after, least in zip(
        ("operators", "bytes of results"), old, new, (LEAST_OPERATORS, LEAST_BYTES), strict=True
    ):
        if after > MOST_TIMES * max(before, least):
            words.append(f"{before:,} {name} became {after:,}")
    return "; ".join(words)


PROBES = (
    Probe(COUNTED, "cost", lambda _subject, _call: True, around=_counted),
    Probe(COUNTED_LARGE, "cost", sizes.fits, around=_counted_large),
)
WORDS = frozenset((COUNTED, COUNTED_LARGE))
