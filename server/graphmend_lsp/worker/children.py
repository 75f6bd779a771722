"""The processes of one verdict: each program in a child of its own, which forks one for each way of running it.

Only data comes back. A failure, a death or the end of the time is data too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from .compare_trials import CALLED
from .failures import FailedError, failure, failure_of
from .handed import hand_on_arguments
from .isolate import call_in_children
from .judged import Ran
from .loaded import Watch
from .processes import can_fork
from .slots import slot
from .trials import AT_ONCE, PROGRAMS_AT_ONCE, WAYS, Origin, Trial, Way, build_once, load
from .wire import FailureData, Limits, VerifyParams

T = TypeVar("T")
MADE_UP = "made-up"  # the file in which arguments that were made up for the original are


@dataclass(frozen=True)
class Request:
    """What every process of one request knows. `files` are those that a candidate changes, `folder` is their own."""

    params: VerifyParams
    files: tuple[str, ...]
    folder: str
    deadline: float
    watch: Watch | None
    shared: bool = False  # whether a program is built once, and its ways run in forks of that


@dataclass(frozen=True)
class Caught:
    """A failure on its way out of a child."""

    failure: FailureData


def side_by_side(request: Request, jobs: Sequence[Callable[[], Ran]], seconds: float | None = None) -> list[Ran]:
    """Run programs, each in a process of its own; what failed says so. `seconds` is the limit, else the request's own."""
    limits = request.params["limits"]
    limits = limits if seconds is None else Limits(seconds=seconds, memory_mb=limits["memory_mb"])
    children = [partial(watched, request.watch, job) for job in jobs]
    outcomes = call_in_children(children, limits, PROGRAMS_AT_ONCE, "call")
    return [outcome.value or Ran((), failed=outcome.failure) for outcome in outcomes]


def ways_of(request: Request, jobs: Mapping[Way, Callable[..., Trial]]) -> Ran:
    """The trials of jobs that run a program each way; a job takes `recipes`, those that a process before it has left."""
    outcomes = dict(zip(jobs, in_slots(request, list(jobs.values())), strict=True))
    trials: list[Trial] = []
    for way in (one for one in WAYS if one in outcomes):
        outcome = outcomes[way]
        while isinstance(outcome, Trial) and outcome.left:
            (more,) = in_slots(request, [partial(jobs[way], recipes=outcome.left)])
            outcome = more if isinstance(more, Caught) else outcome.followed_by(more)
        if isinstance(outcome, Caught):
            if CALLED[way]:
                outcome.failure["message"] += f" ({CALLED[way].strip()})"
            return Ran(tuple(trials), failed=outcome.failure)
        trials.append(outcome)
    return Ran(tuple(trials))


def origin_of(request: Request, texts: Mapping[str, str], *, first: bool = False) -> Origin:
    """The program, loaded, and built, at once where children are forks of this process.

    The `first` to be made is the original: arguments that are made up are found for it, and are those of all others.

    Raises:
        FailedError: importing it or the entry failed.
        UnsharedError: it cannot be built at once, although the request says so.
    """
    hand_on_arguments(os.path.join(request.folder, MADE_UP), request.deadline, finds=first)
    loaded = load(request.params, texts, request.files) if can_fork() else None
    origin = Origin(request.params, texts, request.files, loaded, folder=request.folder)
    return build_once(origin) if request.shared else origin


def in_child(request: Request, job: Callable[[], T]) -> T:
    """Run it in a child, in the slot that this process holds.

    Raises:
        FailedError: it failed or died.
    """
    (found,) = _outcomes(request, [partial(caught, job)])
    if isinstance(found, Caught):
        raise FailedError(found.failure)
    return found


def in_slots(request: Request, jobs: Sequence[Callable[[], T]]) -> list[T | Caught]:
    """Run each in a child of its own. Forks are all made at once and wait for a slot."""
    waiting = [partial(_in_slot, job, request.folder) for job in jobs]
    if can_fork():
        return _outcomes(request, waiting)
    return [outcome for job in waiting for outcome in _outcomes(request, [job])]


def _outcomes(request: Request, jobs: Sequence[Callable[[], T | Caught]]) -> list[T | Caught]:
    left = request.deadline - time.monotonic()
    if left <= 0:
        return [Caught(out_of_time()) for _ in jobs]
    limits = Limits(seconds=left, memory_mb=request.params["limits"]["memory_mb"])
    outcomes = call_in_children([partial(watched, request.watch, job) for job in jobs], limits, len(jobs), "call")
    return [one.value if one.value is not None else Caught(one.failure or out_of_time()) for one in outcomes]


def watched(watch: Watch | None, function: Callable[[], T]) -> T:
    """In a child: what the function returns; what it touches is told to the request's process."""
    with watch.reporting() if watch is not None else nullcontext():
        return function()


def _in_slot(function: Callable[[], T], folder: str) -> T | Caught:
    with slot(folder, AT_ONCE):
        return caught(function)


def caught(function: Callable[[], T]) -> T | Caught:
    """In a child: what the function returns, or the failure that it raises."""
    try:
        return function()
    except Exception as error:
        return Caught(failure_of(error, "call"))


def out_of_time() -> FailureData:
    """What is said of a program that the time limit ended."""
    return failure("call", "timeout", "The time limit ended the comparison early.")
