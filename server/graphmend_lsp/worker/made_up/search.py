"""The bounded search for inputs that a program takes: guess, call it uncompiled, read the error, change the guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from .repair import Case, Guess, Inputs, repairs
from .trial import Trouble

TRIALS = 24
SECONDS = 30.0


@dataclass(frozen=True)
class Found:
    """Inputs that the program takes, or `trouble`: what the first guess, `inputs`, failed with."""

    inputs: Inputs
    trouble: Trouble | None
    trials: int


def search(
    call: Callable[[Inputs], Trouble | None],
    first: Inputs,
    allowed: dict[str, bool],
    guess: Guess,
    seconds: float = SECONDS,
    trials: int = TRIALS,
) -> Found:
    """Depth first: a change that leads to another error is followed before the next change of the same error is tried."""
    begun = time.monotonic()
    waiting: list[Inputs] = [first]
    tried: set[str] = set()
    failed: tuple[Inputs, Trouble] | None = None
    known: set[str] = set()
    count = 0
    while waiting and count < trials and time.monotonic() - begun < seconds:
        inputs = waiting.pop()
        key = repr(sorted(inputs.items()))
        if key in tried:
            continue
        tried.add(key)
        count += 1
        trouble = call(inputs)
        if trouble is None:
            return Found(inputs, None, count)
        new = trouble.words not in known
        known.add(trouble.words)
        failed = failed or (inputs, trouble)
        if new:
            waiting += reversed(list(repairs(Case(trouble, inputs, allowed, guess)))[:12])
    if failed is None:
        return Found(first, Trouble("TimeoutError", "the first call did not end in time"), count)
    return Found(failed[0], failed[1], count)


def sentence(trouble: Trouble | None, limit: int = 200) -> str:
    """A trouble for a message."""
    words = "" if trouble is None else trouble.words
    return words if len(words) <= limit else words[: limit - 2] + " …"
