"""The verdict's measurements: original and mended programs run side by side on the same calls, and compared.

Every program is loaded in a child of its own, which forks one child for each way of running it (`trials`), so that
module state, caches that warn once and random state are fresh in each. Only data comes back; it is compared here.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
import tokenize
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from .compare import Shown
from .failures import FailedError, failure, failure_of
from .isolate import call_in_children
from .judged import Ran, conditions_of, judged, trials_wanted
from .loaded import Watch
from .observe import Observation
from .plan import Plan
from .probes.compiled import compiled_uses
from .processes import can_fork
from .reach import reached
from .recipes import Recipe
from .rounding import Again, Call, doubtful, judge, needed
from .trials import AT_ONCE, PROGRAMS_AT_ONCE, WAYS, Origin, Planned, Trial, Way, load, plan, run, trace
from .turns import turn
from .weigh import CALLED, Programs, changes_state
from .wire import (
    Candidate,
    FailureData,
    Limits,
    Place,
    VerifyParams,
    VerifyResult,
)

T = TypeVar("T")
PLAN = "plan"  # the file in which the original's process tells the plan
MARGIN = 1.5  # seconds of the limit that are left to compare and to answer
SPARED = 0.05  # of the limit that runs in float64 must not use: what is known already shall be told in time
WAIT = 0.004  # seconds between looks for the plan


@dataclass(frozen=True)
class Request:
    """What every process of one request knows. `files` are those that a candidate changes, `folder` is their own."""

    params: VerifyParams
    files: tuple[str, ...]
    folder: str
    deadline: float
    watch: Watch | None


@dataclass(frozen=True)
class Caught:
    """A failure on its way out of a child."""

    failure: FailureData


def verify(params: VerifyParams, progress: Callable[[str], None], watch: Watch | None = None) -> VerifyResult:
    """Run and compare; one result for each candidate. Never raises for what the programs do.

    `watch` is told what the programs' processes touch, where those are forks.
    """
    started = time.monotonic()
    conditions = conditions_of(params["candidates"])
    files = tuple(sorted({file for candidate in params["candidates"] for file in candidate["texts"]}))
    with tempfile.TemporaryDirectory(prefix="graphmend-") as folder:
        deadline = started + params["limits"]["seconds"] - MARGIN
        request = Request(params, files, folder, deadline, watch if can_fork() else None)
        candidates: Sequence[Candidate] = params["candidates"]
        if params.get("reached"):
            progress("looking whether what is mended is run")
            failed, candidates = _reached(request)
            if failed is not None or not candidates:
                return VerifyResult(candidates=[], failure=failed)
        jobs = [partial(_original, request, conditions)]
        jobs += [partial(_mended, request, candidate) for candidate in candidates]
        progress("running the original and the mended program")
        original, *mended = _side_by_side(request, jobs)
        if original.failed is not None:
            return VerifyResult(candidates=[], failure=original.failed)
        progress("comparing them")
        wanted = dict.fromkeys(
            (way, recipes) for one in mended for way, recipes in trials_wanted(original, one, params.get("before"))
        )
        if wanted and original.planned is not None:
            progress("running the original compiled")
            (again,) = _side_by_side(request, [partial(_compiled, request, original.planned, tuple(wanted))])
            if again.failed is not None:
                return VerifyResult(candidates=[], failure=again.failed)
            original = replace(original, trials=(*original.trials, *again.trials))
        shown = [
            _again(request, candidate, original, one, progress, started)
            for candidate, one in zip(candidates, mended, strict=True)
        ]
    results = [
        judged(candidate, original, one, conditions, params.get("before"), float64, started)
        for candidate, one, float64 in zip(candidates, mended, shown, strict=True)
    ]
    return VerifyResult(candidates=results, failure=None)


def _side_by_side(request: Request, jobs: Sequence[Callable[[], Ran]], seconds: float | None = None) -> list[Ran]:
    watched = [partial(_watched, request.watch, job) for job in jobs]
    limits = request.params["limits"]
    limits = limits if seconds is None else Limits(seconds=seconds, memory_mb=limits["memory_mb"])
    outcomes = call_in_children(watched, limits, PROGRAMS_AT_ONCE, "call")
    return [outcome.value or Ran((), failed=outcome.failure) for outcome in outcomes]


def _reached(request: Request) -> tuple[FailureData | None, list[Candidate]]:
    """The candidates that the entry runs, found in a process of the original."""
    job = partial(_watched, request.watch, partial(_caught, partial(_reach, request)))
    (outcome,) = call_in_children([job], request.params["limits"], 1, "call")
    if outcome.value is None or isinstance(outcome.value, Caught):
        return outcome.value.failure if outcome.value else outcome.failure, []
    ids = outcome.value
    return None, [candidate for candidate in request.params["candidates"] if candidate["id"] in ids]


def _reach(request: Request) -> frozenset[str]:
    params = request.params
    loaded = load(params, params["texts"], request.files)
    return reached(Origin(params, params["texts"], request.files, loaded), params["candidates"])


def _original(request: Request, conditions: Sequence[Place]) -> Ran:
    """In the original's process: load, plan, tell the others the plan, run uncompiled.

    It holds a turn from the start, before others can want one: a mended program that hangs must not keep it waiting.
    """
    with turn(request.folder, AT_ONCE):
        return _original_in_turn(request, conditions)


def _original_in_turn(request: Request, conditions: Sequence[Place]) -> Ran:
    chosen: Plan | None = None
    try:
        origin = _origin(request, request.params["texts"])
        planned = _in_child(request, partial(plan, origin, conditions))
        if planned.plan.failed is None:
            chosen = planned.plan
    except FailedError as error:
        return Ran((), failed=error.failure)
    finally:
        _tell(os.path.join(request.folder, PLAN), chosen)
    if chosen is None:
        return Ran((), planned, _call_failed(planned.plan.failed))
    try:
        calls = chosen.everything(any(one.get("inductor") for one in request.params["candidates"]))
        everything = partial(run, origin, "uncompiled", chosen, conditions, None, calls)
        trials = [_in_child(request, everything)]
        if changes_state(trials[0]):  # then what the shorter list shows depends on the calls it leaves out
            trials.append(_in_child(request, partial(run, origin, "uncompiled", chosen, (), None, chosen.lean())))
        if request.params.get("before") is None:
            trials.append(_in_child(request, partial(run, origin, "eager", chosen, (), None, chosen.own)))
    except FailedError as error:
        return Ran((), planned, error.failure)
    return Ran(tuple(trials), planned)


def _mended(request: Request, candidate: Candidate) -> Ran:
    """In a mended program's process: load, wait for the plan, run every way."""
    try:
        origin = _origin(request, {**request.params["texts"], **candidate["texts"]})
    except FailedError as error:
        return Ran((), failed=error.failure)
    chosen = _heard(os.path.join(request.folder, PLAN), request.deadline)
    if chosen is None:
        return Ran((), failed=_out_of_time())
    ways: tuple[Way, ...] = ("eager", "aot_eager", "uncompiled")  # the longest first
    if candidate.get("inductor"):
        ways = ("inductor", *ways)
    ran = _ways(request, {way: partial(run, origin, way, chosen, (), candidate["changed"]) for way in ways})
    uses = compiled_uses(_texts_changed(request, candidate), chosen.probes)
    if ran.failed is not None or not uses:
        return ran
    jobs = [partial(run, origin, way, chosen, (), None, recipes) for way, recipes in uses.items()]
    found = _in_turns(request, jobs)
    return replace(ran, trials=(*ran.trials, *(one for one in found if not isinstance(one, Caught))))


def _texts_changed(request: Request, candidate: Candidate) -> list[tuple[str, str]]:
    """Each changed file before and after."""
    pairs = []
    for file, new in candidate["texts"].items():
        old = request.params["texts"].get(file)
        if old is None:
            try:
                with tokenize.open(file) as opened:  # not `text_of`: here the mended text stands for the file
                    old = opened.read()
            except (OSError, SyntaxError, UnicodeError):
                old = ""
        pairs.append((old, new))
    return pairs


def _compiled(request: Request, planned: Planned, wanted: Sequence[tuple[Way, tuple[Recipe, ...]]]) -> Ran:
    """In a process of the original once more: run the ways, with the calls, that could not be judged without."""
    try:
        origin = _origin(request, request.params["texts"])
        jobs = [partial(run, origin, way, planned.plan, (), None, recipes) for way, recipes in wanted]
    except FailedError as error:
        return Ran((), failed=error.failure)
    trials: list[Trial] = []
    for outcome in _in_turns(request, jobs):
        if isinstance(outcome, Caught):
            outcome.failure["message"] += " (the original, compiled)"
            return Ran((), failed=outcome.failure)
        trials.append(outcome)
    return Ran(tuple(trials))


def _again(
    request: Request,
    candidate: Candidate,
    original: Ran,
    mended: Ran,
    progress: Callable[[str], None],
    started: float,
) -> Mapping[Call, Shown]:
    """What float64 shows of the calls in which nothing but floating results differs, where those are beyond the bound."""
    programs = Programs(original.trials, mended.trials)
    doubts = doubtful(programs) if mended.failed is None else {}
    if not doubts or original.planned is None:
        return {}
    left = request.deadline - time.monotonic() - SPARED * request.params["limits"]["seconds"]
    if left < time.monotonic() - started:  # it may take as long again
        return _each(doubts, "there was no time left to run it in float64")
    progress("running both in float64")
    texts = request.params["texts"]
    chosen = original.planned.plan
    wanted = needed(programs, doubts, chosen.everything())
    sides = ({**texts}, {**texts, **candidate["texts"]})
    ran = _side_by_side(request, [partial(_doubled, request, side, chosen, wanted) for side in sides], left)
    for failed in (one.failed for one in ran if one.failed is not None):
        return _each(doubts, f"in float64 it could not be run: {failed['message']}")
    first, second = (Again(one.trials[0], one.trials[1:]) for one in ran)
    return judge(programs, doubts, first, second)


def _each(doubts: Mapping[Way, Sequence[Recipe]], shown: Shown) -> Mapping[Call, Shown]:
    return {(way, recipe): shown for way, recipes in doubts.items() for recipe in recipes}


def _doubled(request: Request, texts: Mapping[str, str], chosen: Plan, wanted: Mapping[Way, tuple[Recipe, ...]]) -> Ran:
    """In a process of one program: those calls uncompiled as they are, then each way in float64, uncompiled first."""
    try:
        origin = _origin(request, texts)
    except FailedError as error:
        return Ran((), failed=error.failure)
    jobs = [partial(trace, origin, wanted["uncompiled"], double) for double in (False, True)]
    jobs += [
        partial(run, origin, way, chosen, (), None, recipes, double=True)
        for way, recipes in wanted.items()
        if way != "uncompiled"
    ]
    trials: list[Trial] = []
    for outcome in _in_turns(request, jobs):
        if isinstance(outcome, Caught):
            return Ran(tuple(trials), failed=outcome.failure)
        trials.append(outcome)
    return Ran(tuple(trials))


def _ways(request: Request, jobs: Mapping[Way, Callable[[], Trial]]) -> Ran:
    outcomes = dict(zip(jobs, _in_turns(request, list(jobs.values())), strict=True))
    trials: list[Trial] = []
    for way in (one for one in WAYS if one in outcomes):
        outcome = outcomes[way]
        if isinstance(outcome, Caught):
            if CALLED[way]:
                outcome.failure["message"] += f" ({CALLED[way].strip()})"
            return Ran(tuple(trials), failed=outcome.failure)
        trials.append(outcome)
    return Ran(tuple(trials))


def _origin(request: Request, texts: Mapping[str, str]) -> Origin:
    """The program, loaded at once where children are forks of this process."""
    loaded = load(request.params, texts, request.files) if can_fork() else None
    return Origin(request.params, texts, request.files, loaded)


def _in_child(request: Request, job: Callable[[], T]) -> T:
    """Run it in a child, in the turn that this process holds.

    Raises:
        FailedError: it failed or died.
    """
    (found,) = _outcomes(request, [partial(_caught, job)])
    if isinstance(found, Caught):
        raise FailedError(found.failure)
    return found


def _in_turns(request: Request, jobs: Sequence[Callable[[], T]]) -> list[T | Caught]:
    """Run each in a child of its own. Forks are all made at once and wait for their turn."""
    waiting = [partial(_in_turn, job, request.folder) for job in jobs]
    if can_fork():
        return _outcomes(request, waiting)
    return [outcome for job in waiting for outcome in _outcomes(request, [job])]


def _outcomes(request: Request, jobs: Sequence[Callable[[], T | Caught]]) -> list[T | Caught]:
    left = request.deadline - time.monotonic()
    if left <= 0:
        return [Caught(_out_of_time()) for _ in jobs]
    limits = Limits(seconds=left, memory_mb=request.params["limits"]["memory_mb"])
    outcomes = call_in_children([partial(_watched, request.watch, job) for job in jobs], limits, len(jobs), "call")
    return [one.value if one.value is not None else Caught(one.failure or _out_of_time()) for one in outcomes]


def _watched(watch: Watch | None, function: Callable[[], T]) -> T:
    """In a child: what the function returns; what it touches is told to the request's process."""
    with watch.reporting() if watch is not None else nullcontext():
        return function()


def _in_turn(function: Callable[[], T], folder: str) -> T | Caught:
    with turn(folder, AT_ONCE):
        return _caught(function)


def _caught(function: Callable[[], T]) -> T | Caught:
    """In a child: what the function returns, or the failure that it raises."""
    try:
        return function()
    except Exception as error:
        return Caught(failure_of(error, "call"))


def _tell(place: str, chosen: Plan | None) -> None:
    with open(f"{place}.new", "wb") as file:
        pickle.dump(chosen, file)
    os.replace(f"{place}.new", place)


def _heard(place: str, deadline: float) -> Plan | None:
    while not os.path.exists(place):
        if time.monotonic() > deadline:
            return None
        time.sleep(WAIT)
    with open(place, "rb") as file:
        chosen: Plan | None = pickle.load(file)
    return chosen


def _out_of_time() -> FailureData:
    return failure("call", "timeout", "The time limit was over before everything was compared.")


def _call_failed(observation: Observation | None) -> FailureData:
    raised = observation.raised if observation is not None else None
    said = f"{raised.type}: {raised.message}" if raised else "it did not run"
    return failure("backward" if raised and raised.stage == "backward" else "call", "exception", said)
