"""The verdict's measurements: original and mended programs run side by side on the same calls, and compared.

Every program is loaded in a child of its own, which forks one child for each way of running it (`trials`), so that
module state, caches that warn once and random state are fresh in each. Only data comes back; it is compared here.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from .compare import PARTS, Comparison, Side
from .effects import Effect
from .failures import FailedError, failure, failure_of
from .isolate import call_in_child, call_in_children
from .observe import Observation
from .plan import Plan
from .processes import can_fork
from .trials import PROGRAMS_AT_ONCE, WAYS, Origin, Planned, Trial, Way, load, plan, run
from .variants import gradient_of
from .wire import (
    Candidate,
    CandidateResult,
    CountsData,
    Difference,
    FailureData,
    Limits,
    Place,
    SideData,
    VerifyParams,
    VerifyResult,
)

T = TypeVar("T")
MAX_DIFFERENCES = 60
MARGIN = 1.5  # seconds of the limit that are left to compare and to answer
WAIT = 0.004  # seconds between looks for the plan
_CALLED: Mapping[Way, str] = {
    "uncompiled": "", "eager": " compiled", "aot_eager": " compiled with aot_eager",
}  # fmt: skip
_NOTHING = CountsData(graphs=0, breaks=0, skipped_frames=0, recompiles=0)


@dataclass(frozen=True)
class Ran:
    """All that one program showed. `failed` says which way stopped it, after which nothing was run."""

    trials: tuple[Trial, ...]
    planned: Planned | None = None
    failed: FailureData | None = None

    def way(self, way: Way) -> Trial | None:
        """The trial of that way, if it came to one."""
        return next((trial for trial in self.trials if trial.way == way), None)


@dataclass(frozen=True)
class Caught:
    """A failure on its way out of a child."""

    failure: FailureData


def verify(params: VerifyParams, progress: Callable[[str], None]) -> VerifyResult:
    """Run and compare; one result for each candidate. Never raises for what the programs do."""
    started = time.monotonic()
    deadline = started + params["limits"]["seconds"] - MARGIN
    conditions = _conditions(params["candidates"])
    files = sorted({file for candidate in params["candidates"] for file in candidate["texts"]})
    with tempfile.TemporaryDirectory(prefix="graphmend-") as folder:
        place = os.path.join(folder, "plan")
        jobs = [partial(_original, params, conditions, files, place, deadline)]
        jobs += [partial(_mended, params, candidate, files, place, deadline) for candidate in params["candidates"]]
        progress("running the original and the mended program")
        outcomes = call_in_children(jobs, params["limits"], PROGRAMS_AT_ONCE, "call")
    results = [outcome.value or Ran((), failed=outcome.failure) for outcome in outcomes]
    original = results[0]
    if original.failed is not None:
        return VerifyResult(candidates=[], failure=original.failed)
    progress("comparing them")
    candidates = [
        _judged(candidate, original, mended, conditions, started)
        for candidate, mended in zip(params["candidates"], results[1:], strict=True)
    ]
    return VerifyResult(candidates=candidates, failure=None)


def _original(
    params: VerifyParams, conditions: Sequence[Place], files: Sequence[str], place: str, deadline: float
) -> Ran:
    """In the original's process: load, plan, tell the others the plan, run every way."""
    chosen: Plan | None = None
    planned: Planned | None = None
    try:
        origin = _origin(params, params["texts"], files)
        planned = _in_child(partial(plan, origin, conditions), params["limits"], deadline)
        if planned.plan.failed is None:
            chosen = planned.plan
    except FailedError as error:
        return Ran((), failed=error.failure)
    finally:
        _tell(place, chosen)
    if chosen is None:
        return Ran((), planned, _call_failed(planned.plan.failed))
    return _all_ways(origin, chosen, deadline, planned, conditions)


def _mended(params: VerifyParams, candidate: Candidate, files: Sequence[str], place: str, deadline: float) -> Ran:
    """In a mended program's process: load, wait for the plan, run every way."""
    try:
        origin = _origin(params, {**params["texts"], **candidate["texts"]}, files)
    except FailedError as error:
        return Ran((), failed=error.failure)
    chosen = _heard(place, deadline)
    if chosen is None:
        return Ran((), failed=_out_of_time())
    return _all_ways(origin, chosen, deadline, None, (), candidate["changed"])


def _all_ways(
    origin: Origin,
    chosen: Plan,
    deadline: float,
    planned: Planned | None,
    conditions: Sequence[Place],
    changed: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> Ran:
    trials: list[Trial] = []
    for way in WAYS:
        try:
            job = partial(run, origin, way, chosen, conditions, changed)
            trials.append(_in_child(job, origin.params["limits"], deadline))
        except FailedError as error:
            failed = error.failure
            if _CALLED[way]:
                failed["message"] = f"{failed['message']} ({_CALLED[way].strip()})"
            return Ran(tuple(trials), planned, failed)
    return Ran(tuple(trials), planned)


def _origin(params: VerifyParams, texts: Mapping[str, str], files: Sequence[str]) -> Origin:
    """The program, loaded at once where children are forks of this process."""
    return Origin(params, texts, files, load(params, texts, files) if can_fork() else None)


def _in_child(function: Callable[[], T], limits: Limits, deadline: float) -> T:
    """Run in a child with the time that is left.

    Raises:
        FailedError: it failed or died.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise FailedError(_out_of_time())
    outcome = call_in_child(partial(_caught, function), Limits(seconds=left, memory_mb=limits["memory_mb"]), "call")
    if outcome.failure is not None:
        raise FailedError(outcome.failure)
    assert outcome.value is not None
    if isinstance(outcome.value, Caught):
        raise FailedError(outcome.value.failure)
    return outcome.value


def _caught(function: Callable[[], T]) -> T | Caught:
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


def _judged(
    candidate: Candidate, original: Ran, mended: Ran, conditions: Sequence[Place], started: float
) -> CandidateResult:
    comparison = Comparison()
    before, after = original.way("eager"), mended.way("eager")
    reference = original.way("uncompiled")
    chosen = original.planned.plan if original.planned else None
    calls = 0
    for way in WAYS:
        old, new = original.way(way), mended.way(way)
        if old is None or new is None or reference is None or chosen is None:
            continue
        calls += _compare_way(comparison, chosen, old, new, reference)
    watched = reference.sides if reference is not None else ()
    return CandidateResult(
        id=candidate["id"],
        before=before.counts if before else _NOTHING,
        after=after.counts if after else _NOTHING,
        outputs=comparison.outputs,
        gradients=comparison.gradients,
        state=comparison.state,
        effects=comparison.effects,
        differences=_distinct([*comparison.differences, *_recompiles(before, after)])[:MAX_DIFFERENCES],
        unlike_sides=list(uncompiled.unlike) if (uncompiled := mended.way("uncompiled")) else [],
        sides=_sides_of(candidate, conditions, watched),
        events=list(after.events) if after else [],
        graphs=list(after.graphs) if after else [],
        calls=calls,
        seconds=time.monotonic() - started,
        failure=mended.failed,
    )


def _compare_way(comparison: Comparison, chosen: Plan, old: Trial, new: Trial, reference: Trial) -> int:
    """Compare two trials call by call, like with like; where only compiling stops the original, with it uncompiled."""
    plain = dict(zip(chosen.recipes, reference.observations, strict=False))
    recipes = chosen.lean() if old.way == "aot_eager" else chosen.recipes
    compiled = old.way != "uncompiled"
    # aot_eager sums the gradients of one graph in another order than those of several
    noisy: tuple[str, ...] = ("gradient",) if old.way == "aot_eager" else ()
    olds, news = old.observations, new.observations
    if compiled:
        repeated = _repeated(reference.observations)
        olds, news = _without_repeats(olds, repeated), _without_repeats(news, repeated)
    chance = {path for path, leaf in old.start.items() if path in new.start and leaf != new.start[path]}
    olds, news = _without_state(olds, chance), _without_state(news, chance)
    for recipe, first, second in zip(recipes, olds, news, strict=False):
        label = f"{first.label}{_CALLED[old.way]}"
        forgiving = noisy
        uncompiled = plain.get(recipe) or plain.get(gradient_of(recipe))
        one, other = Side(first, old.blobs), Side(second, new.blobs)
        if uncompiled is not None and first.raised != uncompiled.raised:
            comparison.differences.append(_unlike_itself(label, first, uncompiled))
            one, forgiving = Side(uncompiled, reference.blobs), PARTS
            if recipe not in plain:  # it was run with gradients only: effects and exception can be compared
                one, other = _bare(one), _bare(other)
        comparison.add(label, one, other, compiled=compiled, forgiving=forgiving)
    return min(len(old.observations), len(new.observations))


def _repeated(observations: Sequence[Observation]) -> frozenset[Effect]:
    """Warnings that are shown in more than one call."""
    heard = [one for each in observations for one in dict.fromkeys(each.effects) if one.kind == "warning"]
    return frozenset(one for one, times in Counter(heard).items() if times > 1)


def _without_repeats(observations: Sequence[Observation], repeated: Collection[Effect]) -> tuple[Observation, ...]:
    """The observations with each warning where it is first shown, unless it is `repeated` anyway.

    By default Python shows a warning once for each place, but whenever Dynamo compiles, Python forgets what it showed.
    """
    heard: set[Effect] = set()
    kept: list[Observation] = []
    for each in observations:
        effects = tuple(one for one in each.effects if one.kind != "warning" or one in repeated or one not in heard)
        heard.update(effects)
        kept.append(replace(each, effects=effects))
    return tuple(kept)


def _without_state(observations: Sequence[Observation], paths: Collection[str]) -> tuple[Observation, ...]:
    """The observations without what differed before the first call already: the program's chance, not the mend's doing."""
    kept = []
    for each in observations:
        state = {path: leaf for path, leaf in each.parts.get("state", {}).items() if path not in paths}
        kept.append(replace(each, parts={**each.parts, "state": state}) if "state" in each.parts else each)
    return tuple(kept)


def _bare(side: Side) -> Side:
    return Side(replace(side.seen, parts={}), {})


def _unlike_itself(label: str, compiled: Observation, uncompiled: Observation) -> Difference:
    said = compiled.raised or uncompiled.raised
    detail = (
        f"the original {'raises' if compiled.raised else 'does not raise'} {said.type if said else ''} when it is "
        "compiled, other than uncompiled; compared with it uncompiled"
    )
    return Difference(what="original", where="", call=label, detail=detail, severity="moved")


def _recompiles(before: Trial | None, after: Trial | None) -> list[Difference]:
    if before is None or after is None or after.counts["recompiles"] <= before.counts["recompiles"]:
        return []
    detail = f"{before.counts['recompiles']} became {after.counts['recompiles']}"
    return [Difference(what="recompilations", where="", call="later calls", detail=detail, severity="moved")]


def _distinct(differences: Sequence[Difference]) -> list[Difference]:
    """Each difference once, where it is seen first; the same place differs in many calls and ways."""
    found: dict[tuple[str, ...], Difference] = {}
    for one in differences:
        words = one["detail"] if one["what"] in ("stdout", "stderr", "log", "warning", "effects", "exception") else ""
        found.setdefault((one["what"], one["where"], one["severity"], words), one)
    return list(found.values())


def _conditions(candidates: Sequence[Candidate]) -> list[Place]:
    """The conditions of all candidates, each once."""
    found: dict[tuple[object, ...], Place] = {}
    for candidate in candidates:
        for place in candidate["conditions"]:
            found.setdefault(_key(place), place)
    return list(found.values())


def _sides_of(candidate: Candidate, conditions: Sequence[Place], watched: Sequence[SideData]) -> list[SideData]:
    seen = {_key(place): side for place, side in zip(conditions, watched, strict=False)}
    return [
        seen.get(_key(place), SideData(condition=place, true=False, false=False)) for place in candidate["conditions"]
    ]


def _key(place: Place) -> tuple[object, ...]:
    return (place["file"], place["line"], place["column"], place["end_line"], place["end_column"])


def _out_of_time() -> FailureData:
    return failure("call", "timeout", "The time limit was over before everything was compared.")


def _call_failed(observation: Observation | None) -> FailureData:
    raised = observation.raised if observation is not None else None
    said = f"{raised.type}: {raised.message}" if raised else "it did not run"
    return failure("backward" if raised and raised.stage == "backward" else "call", "exception", said)
