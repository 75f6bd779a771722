"""A submodule that fails: the first, second and fourth that is called raises, for whatever reason it may have.

Catches what is moved behind a module that raised: a counter, a buffer or a random number that was changed by then, a message
that is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from ..observe import Subject
from .base import Arguments, Probe
from .hooks import inner

NUMBERS = (1, 2, 4)


@contextmanager
def _failing(number: int, subject: Subject, _call: Arguments) -> Iterator[Subject]:
    calls = 0

    def hook(_module: torch.nn.Module, _inputs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            raise RuntimeError("it failed")

    handles = [part.register_forward_pre_hook(hook) for _, part in inner(subject)]
    try:
        yield subject
    finally:
        for handle in handles:
            handle.remove()


PROBES = tuple(
    Probe(
        f"with submodule call {number} failing",
        "raised-between",
        lambda subject, _call, number=number: len(inner(subject)) >= min(number, 2),  # type: ignore[misc]
        around=partial(_failing, number),
        refusals=True,
    )
    for number in NUMBERS
)
