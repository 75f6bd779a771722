"""Operators that a mend made, called with other arguments than the entry gives them.

The sizes of an operator's results were guessed from the entry's calls. Here its function runs on tensors with other sizes of
each dimension, and with other numbers; where that gives results of other sizes than was said, the program raises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..cuda import is_lost
from ..observe import Subject
from ..snapshot import type_name
from .base import Arguments, Probe

TRIED = "with its operators called with other sizes"
MARK = "_graphmend_tried"
"""The name in torch under which the support module finds what tries an operator."""
SECONDS = 2.0  # for all operators of one call; each is called at least once
_WRONG = (
    "graphmend_support.operator: the result"  # so the support module begins to tell of another result than was said
)


class UntriedError(Exception):
    """An operator raised for all other sizes."""


UNTRIED = type_name(UntriedError)


class _Trier:
    """Calls each operator that a program reaches with other arguments."""

    def __init__(self) -> None:
        self.deadline = time.monotonic() + SECONDS
        self.untried = False

    def __call__(self, agrees: Callable[..., None], arguments: Sequence[Any]) -> None:
        """Call one operator's function with other arguments than these; `agrees` raises where it gives what was not said.

        Raises:
            RuntimeError: it gave results of other sizes than was said, or the device is lost.
        """
        took = False
        for number, others in enumerate(_others(arguments)):
            if number and time.monotonic() > self.deadline:
                break
            try:
                agrees(*others)
            except Exception as error:
                if str(error).startswith(_WRONG) or is_lost():
                    raise
            else:
                took = True
        self.untried |= not took


def _others(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments with other sizes, of all tensors and of each alone, and with other numbers.

    A number that is one of the sizes goes with it; others change by themselves.
    """
    tensors = [at for at, one in enumerate(arguments) if _tensors(one)]
    ranks = max((one.dim() for at in tensors for one in _tensors(arguments[at])), default=0)
    for axis in range(ranks):
        for group in (tensors, *([at] for at in tensors if len(tensors) > 1)):
            fit = [at for at in group if all(one.dim() > axis for one in _tensors(arguments[at]))]
            for change in (_doubled, _longer, _shorter):
                least = 2 if change is _shorter else 1  # a tensor without elements is no operator's
                if fit and all(one.shape[axis] >= least for at in fit for one in _tensors(arguments[at])):
                    yield _changed(arguments, fit, partial(change, axis=axis))
    known = {size for at in tensors for one in _tensors(arguments[at]) for size in one.shape}
    for at, one in enumerate(arguments):
        if type(one) is int and one not in known:
            yield [*arguments[:at], one + 1, *arguments[at + 1 :]]
    whole = [at for at in tensors if all(_is_whole(one) for one in _tensors(arguments[at]))]
    for at in whole:
        yield _changed(arguments, [at], lambda one: one + 1)
    if not ranks:
        yield list(arguments)


def _tensors(argument: Any) -> list[torch.Tensor]:
    found = argument if isinstance(argument, (list, tuple)) else [argument]
    return [one for one in found if isinstance(one, torch.Tensor)]


def _is_whole(one: torch.Tensor) -> bool:
    """Whether it holds integers, on a device that a number out of range does not lose."""
    return one.device.type == "cpu" and one.dtype != torch.bool and not (one.is_floating_point() or one.is_complex())


def _changed(
    arguments: Sequence[Any], places: Sequence[int], change: Callable[[torch.Tensor], torch.Tensor]
) -> list[Any]:
    """The arguments with the tensors at these places changed, and the numbers that are sizes of them."""
    sizes: dict[int, int] = {}

    def made(one: torch.Tensor) -> torch.Tensor:
        other = change(one)
        sizes.update({old: new for old, new in zip(one.shape, other.shape, strict=True) if old != new})
        return other

    found = list(arguments)
    for at in places:
        one = arguments[at]
        found[at] = made(one) if isinstance(one, torch.Tensor) else [made(each) for each in one]
    return [sizes.get(one, one) if type(one) is int else one for one in found]


def _doubled(one: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.cat([one, one], axis)


def _longer(one: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.cat([one, one.narrow(axis, 0, 1)], axis)


def _shorter(one: torch.Tensor, axis: int) -> torch.Tensor:
    return one.narrow(axis, 0, one.shape[axis] - 1).clone()


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
