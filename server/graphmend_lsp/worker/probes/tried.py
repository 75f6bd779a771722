"""Operators that a mend made, called with other arguments than the entry gives them.

The sizes of an operator's results were guessed from the entry's calls. Here its function runs on tensors with more rows, fewer
rows and other sizes of each dimension; where that gives results of other sizes than was said, the program raises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..observe import Subject
from .base import Arguments, Probe

TRIED = "with its operators called with other sizes"
MARK = "_graphmend_tried"
"""The name in torch under which the support module finds what tries an operator."""
SECONDS = 2.0  # for all operators of one call
_WRONG = (
    "graphmend_support.operator: the result"  # how the support module begins to say that sizes are not as it was said
)


class UntriedError(Exception):
    """An operator raised for every other size."""


UNTRIED = f".{UntriedError.__name__}"


class _Trier:
    """Calls each operator that a program reaches with other arguments."""

    def __init__(self) -> None:
        self.deadline = time.monotonic() + SECONDS
        self.untried = False

    def __call__(self, agrees: Callable[..., None], arguments: Sequence[Any]) -> None:
        """Call one operator's function with other arguments than these; `agrees` raises where it gives what was not said.

        Raises:
            RuntimeError: it gave results of other sizes than was said.
        """
        took, made = False, False
        for others in _others(arguments):
            if made and time.monotonic() > self.deadline:
                break
            made = True
            try:
                agrees(*others)
            except RuntimeError as error:
                if str(error).startswith(_WRONG):
                    raise
            except Exception:  # the function takes no such sizes
                continue
            else:
                took = True
        self.untried |= made and not took


def _others(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments with other sizes: of all tensors, and of each alone."""
    tensors = [at for at, one in enumerate(arguments) if isinstance(one, torch.Tensor) and one.dim()]
    ranks = max((arguments[at].dim() for at in tensors), default=0)
    groups = [tensors, *([[at] for at in tensors] if len(tensors) > 1 else [])]
    for axis in range(ranks):
        for group in groups:
            fit = [at for at in group if arguments[at].dim() > axis]
            for change in (_doubled, _longer, _shorter):
                made = {at: change(arguments[at], axis) for at in fit}
                if made and all(one is not None for one in made.values()):
                    yield [made.get(at, one) for at, one in enumerate(arguments)]


def _doubled(one: torch.Tensor, axis: int) -> torch.Tensor | None:
    return torch.cat([one, one], axis)


def _longer(one: torch.Tensor, axis: int) -> torch.Tensor | None:
    return torch.cat([one, one.narrow(axis, 0, 1)], axis) if one.shape[axis] else None


def _shorter(one: torch.Tensor, axis: int) -> torch.Tensor | None:
    return one.narrow(axis, 0, one.shape[axis] - 1).clone() if one.shape[axis] > 1 else None


@contextmanager
def _trying(subject: Subject, _call: Arguments) -> Iterator[Subject]:
    def called(*args: Any, **kwargs: Any) -> None:
        trier = vars(torch)[MARK] = _Trier()
        try:
            subject.function(*args, **kwargs)
        finally:
            del vars(torch)[MARK]
        if trier.untried:
            raise UntriedError("an operator took no other sizes")

    yield replace(subject, function=called)


PROBES = (Probe(TRIED, "result-shapes", lambda _subject, _call: True, around=_trying),)
