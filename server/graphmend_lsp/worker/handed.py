"""What the processes of one request hand each other through files of its folder. Standard library only."""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import dataclass
from typing import Any, TypeVar

WAIT = 0.004  # seconds between looks for it
T = TypeVar("T")


@dataclass(frozen=True)
class _Arguments:
    """Where what is made up for an entry is handed on, until when, and whether this process finds it or takes it."""

    place: str
    deadline: float
    finds: bool


_arguments: _Arguments | None = None


def tell(place: str, what: object) -> None:
    """Put it there, whole at once."""
    with open(f"{place}.new", "wb") as file:
        pickle.dump(what, file)
    os.replace(f"{place}.new", place)


def heard(place: str, deadline: float) -> Any:
    """What was put there; None when nothing is before the deadline, of a monotonic clock."""
    while not os.path.exists(place):
        if time.monotonic() > deadline:
            return None
        time.sleep(WAIT)
    with open(place, "rb") as file:
        return pickle.load(file)


def hand_on_arguments(place: str, deadline: float, *, finds: bool) -> None:
    """Here and in forks of this process: made-up arguments are put there by the one that finds them, and taken by all others.

    A mended program gets the very arguments of the original, also where it fails with them.
    """
    global _arguments
    _arguments = _Arguments(place, deadline, finds)


def arguments_of(kind: type[T]) -> T | None:
    """What another process has made up, where it did; waits for that."""
    if _arguments is None or _arguments.finds:
        return None
    found = heard(_arguments.place, _arguments.deadline)
    return found if isinstance(found, kind) else None


def tell_arguments(found: object) -> None:
    """Hand on what was made up here, unless it cannot be sent: then it is made up again."""
    if _arguments is None or not _arguments.finds:
        return
    try:
        tell(_arguments.place, found)
    except Exception:  # it is made of anything that the program has
        tell(_arguments.place, None)
