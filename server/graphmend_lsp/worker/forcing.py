"""A mend's checks that no call fails, made to fail, and its sides that no call takes, taken: in both programs, compared.

What is forced, and how, is in `forced`; here are the processes and what follows from them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from .children import Request, origin_of, side_by_side, ways_of
from .failures import FailedError
from .forced import Forced, condition_text, failing_side, is_called
from .judged import Ran, compared, same_side, unfailed, untaken
from .places import key_of
from .plan import Plan
from .trials import Way, run, text_of
from .wire import Candidate, Difference, Place

MOST_FORCED = 3  # checks of one mend that are made to fail, each in runs of its own; and sides
LEAST_SECONDS = 10.0  # that both programs have on a side


def forced_differences(
    request: Request,
    candidate: Candidate,
    original: Ran,
    conditions: Sequence[Place],
    seconds: float,
    progress: Callable[[str], None],
) -> dict[tuple[object, ...], Sequence[Difference] | None]:
    """What differs where a check that no call fails is made to fail in both programs; by the check's condition.

    And None for each condition of an operator, whose code is what it was, of which both do the same on the side that no call
    takes. What did not come to an end is left out. `seconds` is how long the verification took so far.
    """
    if original.planned is None:
        return {}
    texts, chosen = request.params["texts"], original.planned.plan
    known = {place["file"]: texts.get(place["file"]) or _text_of(place["file"]) for place in candidate["conditions"]}
    found: dict[tuple[object, ...], Sequence[Difference] | None] = {}
    sides = untaken(original, candidate, conditions)
    for place, value in sides if len(sides) <= MOST_FORCED else ():
        progress("running both programs on a side that no call takes")
        text = condition_text(known[place["file"]], place)
        limit = max(LEAST_SECONDS, seconds)  # a loop may not end when its condition never changes
        if text and _does_the_same(request, candidate, chosen, Forced(place, value=value, text=text), limit):
            found[key_of(place)] = None
    for place in unfailed(original, candidate, conditions, known)[:MOST_FORCED]:
        progress("running both programs with a check made to fail")
        differences = _failed_alike(request, candidate, chosen, place, known)
        if differences is not None:
            found[key_of(place)] = differences
    return found


def _failed_alike(
    request: Request, candidate: Candidate, chosen: Plan, place: Place, texts: Mapping[str, str]
) -> Sequence[Difference] | None:
    """What differs between both programs where a check fails; None where that did not come to an end."""
    others = [
        one
        for one in candidate["conditions"]
        if one["file"] == place["file"] and failing_side(texts[one["file"]], one) is not None
    ]
    changed = candidate["changed"]
    ways: tuple[Way, ...] = ("eager", "aot_eager", "uncompiled")
    old_ways = ways if is_called(texts[place["file"]], place) else ("uncompiled",)
    old, new = _both(request, candidate, chosen, (Forced(place), old_ways), (Forced(place, changed, others), ways))
    return compared(old, new) if old.failed is None and new.failed is None else None


def _does_the_same(request: Request, candidate: Candidate, chosen: Plan, side: Forced, seconds: float) -> bool:
    """Whether both programs do the same on a side, in the entry's calls, and come to an end in this time."""
    changed = candidate["changed"]
    if not any(changed.values()):
        return False
    mended = replace(side, changed=changed)
    ways: tuple[Way, ...] = ("eager", "uncompiled")
    return same_side(*_both(request, candidate, chosen, (side, ("uncompiled",)), (mended, ways), seconds))


def _both(
    request: Request,
    candidate: Candidate,
    chosen: Plan,
    old: tuple[Forced, tuple[Way, ...]],
    new: tuple[Forced, tuple[Way, ...]],
    seconds: float | None = None,
) -> list[Ran]:
    """Run the original and the mended program, forced like this, each these ways."""
    texts = request.params["texts"]
    jobs = [
        partial(_failing, request, texts, *old, None, chosen),
        partial(_failing, request, {**texts, **candidate["texts"]}, *new, candidate["changed"], chosen),
    ]
    left = max(1.0, request.deadline - time.monotonic())
    return side_by_side(request, jobs, left if seconds is None else min(left, seconds))


def _failing(
    request: Request,
    texts: Mapping[str, str],
    forced: Forced,
    ways: tuple[Way, ...],
    changed: Mapping[str, Sequence[Sequence[int]]] | None,
    chosen: Plan,
) -> Ran:
    """In a process of one program: its trials of the entry's own calls with a check made to fail, or a side taken."""
    try:
        origin = origin_of(request, texts)
    except FailedError as error:
        return Ran((), failed=error.failure)
    jobs = {way: partial(run, origin, way, chosen, (), changed, recipes=chosen.own, forced=forced) for way in ways}
    return ways_of(request, jobs)


def _text_of(file: str) -> str:
    try:
        return text_of(file)
    except (OSError, SyntaxError, UnicodeError):
        return ""
