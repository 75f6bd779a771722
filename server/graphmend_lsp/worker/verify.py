"""The verdict's measurements: original and mended programs run side by side on the same calls, and compared.

Every program is loaded in a child of its own, which forks one child for each way of running it (`trials`), so that
module state, caches that warn once and random state are fresh in each. Only data comes back; it is compared here.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from .children import (
    MADE_UP,
    Caught,
    Request,
    caught,
    in_child,
    in_slots,
    origin_of,
    out_of_time,
    side_by_side,
    watched,
    ways_of,
)
from .compare import NO_TIME, Shown
from .compare_trials import Programs, change_state, changes_state, unsteady
from .enough import FLAG, Enough
from .failures import FailedError, failure
from .float64 import Double
from .forcing import forced_differences
from .handed import heard, tell
from .isolate import call_in_children
from .judged import Ran, assumed_places, conditions_of, judged, trials_wanted
from .loaded import Watch
from .observe import Observation
from .own_code import without_constants_of_its_own
from .plan import Plan
from .probes.compiled import compiled_uses
from .processes import can_fork
from .reach import reached
from .recipes import Recipe
from .rounding import Again, Call, doubtful, judge, needed, shown_by_inductor
from .settled import cuts_no_less, gains_nothing, gives_zeros, is_refused, is_unsafe, is_wrong
from .sharing import UnsharedError
from .slots import slot
from .texts import texts_changed
from .trials import (
    AT_ONCE,
    WAYS,
    Origin,
    Planned,
    Trial,
    Way,
    load,
    plan,
    run,
    trace,
)
from .wire import (
    Candidate,
    FailureData,
    Place,
    VerifyParams,
    VerifyResult,
)

PLAN = "plan"  # the file in which the original's process tells the plan
SEEN = "seen"  # and the one with what it did uncompiled
MARGIN = 1.5  # seconds of the limit that are left to compare and to answer
MOST_LOST = 6  # calls that make a kernel fail while the plan is made
SHARE_OF_FLOAT64 = 0.5  # of the time so far: what float64 needs at least, which makes fewer calls, and fewer ways
SPARED = 0.05  # of the limit that runs in float64 must not use: what is known already shall be told in time


def verify(params: VerifyParams, progress: Callable[[str], None], watch: Watch | None = None) -> VerifyResult:
    """Run and compare; one result for each candidate. Never raises for what the programs do.

    `watch` is told what the programs' processes touch, where those are forks.
    """
    started = time.monotonic()
    conditions = conditions_of(params["candidates"])
    files = tuple(sorted({file for candidate in params["candidates"] for file in candidate["texts"]}))
    with tempfile.TemporaryDirectory(prefix="graphmend-") as folder:
        deadline = started + params["limits"]["seconds"] - MARGIN
        request = Request(params, files, folder, deadline, watch if can_fork() else None, can_fork())
        candidates: Sequence[Candidate] = params["candidates"]
        if params.get("reached"):
            progress("checking whether the run reaches the mended code")
            failed, candidates = _reached(request)
            if failed is not None or not candidates:
                return VerifyResult(candidates=[], failure=failed)
        progress("running the original and the mended program")
        original, *mended = _all(request, conditions, candidates)
        if any(one.unshared for one in (original, *mended)):
            request = replace(request, shared=False)
            original, *mended = _all(request, conditions, candidates)
        if original.failed is not None:
            return VerifyResult(candidates=[], failure=original.failed)
        mended = [_lowered(one, candidate) for one, candidate in zip(mended, candidates, strict=True)]
        fused: dict[str, Mapping[Call, Shown]] = {}
        if "broken" in params:  # then the original need not be compiled to know what is its own
            mended = without_constants_of_its_own(params["texts"], candidates, original, mended, params["broken"])
        # what shows a candidate to be unsafe comes before what takes longest
        if "accepted" in params or any(
            one.get("inductor") and _is_unsafe_for_zeros(request, original, each)
            for one, each in zip(candidates, mended, strict=True)
        ):
            original = _with_compiled(request, candidates, original, mended, fused, progress)
            mended = without_constants_of_its_own(params["texts"], candidates, original, mended)
        for number, candidate in enumerate(candidates):
            if original.failed is not None:
                break
            if candidate.get("inductor") and not _is_decided(request, original, mended[number]):
                mended[number], ahead, found = _by_inductor(request, candidate, original, mended[number], progress)
                original = replace(original, trials=(*original.trials, *ahead))
                fused[candidate["id"]] = found
        progress("comparing them")
        original = _with_compiled(request, candidates, original, mended, fused, progress)
        if original.failed is not None:
            return VerifyResult(candidates=[], failure=original.failed)
        mended = without_constants_of_its_own(params["texts"], candidates, original, mended)
        shown = [
            _again(request, candidate, original, one, fused.get(candidate["id"], {}), progress, started)
            for candidate, one in zip(candidates, mended, strict=True)
        ]
        forced = [
            {}
            if params.get("proven") or _is_decided(request, original, one)
            else forced_differences(request, candidate, original, conditions, time.monotonic() - started, progress)
            for candidate, one in zip(candidates, mended, strict=True)
        ]
        results = [
            judged(candidate, original, one, conditions, params.get("before"), float64, started, failed)
            for candidate, one, float64, failed in zip(candidates, mended, shown, forced, strict=True)
        ]
    return VerifyResult(candidates=results, failure=None)


def _lowered(ran: Ran, candidate: Candidate) -> Ran:
    """What a mended program showed; where it has new operators, its trials are marked, and the one that takes them apart."""
    if not candidate.get("lowered"):
        return ran
    trials = (replace(one, operators=True, lowered=one.way == "aot_eager") for one in ran.trials)
    return replace(ran, trials=tuple(trials))


def _with_compiled(
    request: Request,
    candidates: Sequence[Candidate],
    original: Ran,
    mended: Sequence[Ran],
    fused: Mapping[str, Mapping[Call, Shown]],
    progress: Callable[[str], None],
) -> Ran:
    """The original with the compiled trials without which a mended program that may be right cannot be judged."""
    params, programs = request.params, Programs(original.trials, ())
    if original.failed is not None:
        return original
    wanted = dict.fromkeys(
        (way, recipes)
        for candidate, one in zip(candidates, mended, strict=True)
        if not is_wrong(original.trials, one.trials)
        and not is_refused(params.get("before"), original.trials, one.trials)
        for way, recipes in trials_wanted(
            original, one, params.get("before"), fused.get(candidate["id"], {}), _has_checks(params["texts"])
        )
        if programs.trial(way, recipes) is None
    )
    if not wanted or original.planned is None:
        return original
    by_inductor = any(way == "inductor" for way, _ in wanted)
    progress(f"running the original compiled{' with inductor' if by_inductor else ''}")
    (again,) = side_by_side(request, [partial(_compiled, request, original.planned, tuple(wanted))])
    dropped = (*original.dropped, *again.dropped)
    return replace(original, trials=(*original.trials, *again.trials), dropped=dropped, failed=again.failed)


def _has_checks(texts: Mapping[str, str]) -> bool:
    """Whether one of these texts may have a check of the graph already."""
    return any(word in text for text in texts.values() for word in ("graphmend", "custom_op("))


def _all(request: Request, conditions: Sequence[Place], candidates: Sequence[Candidate]) -> list[Ran]:
    """The original and each mended program, in this order."""
    for told in (PLAN, SEEN, FLAG):
        with suppress(FileNotFoundError):
            os.remove(os.path.join(request.folder, told))
    jobs = [partial(_original, request, conditions)]
    jobs += [partial(_mended, request, candidate) for candidate in candidates]
    return side_by_side(request, jobs)


def _reached(request: Request) -> tuple[FailureData | None, list[Candidate]]:
    """The candidates that the entry runs, found in a process of the original."""
    job = partial(watched, request.watch, partial(caught, partial(_reach, request)))
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

    It holds a slot from the start, before others can want one: a mended program that hangs must not keep it waiting.
    """
    with slot(request.folder, AT_ONCE):
        return _original_in_slot(request, conditions)


def _original_in_slot(request: Request, conditions: Sequence[Place]) -> Ran:
    told: Planned | None = None
    places = assumed_places(request.params["candidates"])
    try:
        origin = origin_of(request, request.params["texts"], first=True)
        planned = _planned(request, origin, conditions, places)
        told = planned if planned.plan.failed is None else None
    except FailedError as error:
        return Ran((), failed=error.failure)
    except UnsharedError:
        return Ran((), unshared=True)
    finally:
        tell(os.path.join(request.folder, PLAN), told)
        if not os.path.exists(made_up := os.path.join(request.folder, MADE_UP)):  # nobody needs to wait
            tell(made_up, None)
    if told is None:
        return Ran((), planned, _call_failed(planned.plan.failed))
    chosen = told.plan
    try:
        calls = chosen.everything(any(one.get("inductor") for one in request.params["candidates"]))
        enough = Enough(request.folder) if _is_only(request) else None
        everything = partial(
            run, origin, "uncompiled", chosen, conditions, None, recipes=calls, places=places, enough=enough
        )
        first = _unbroken(request, everything)
        trials = [replace(first, unsteady=unsteady(planned.trial, first))]
        if changes_state(trials[0]):  # then what the shorter list shows depends on the calls it leaves out
            trials.append(in_child(request, partial(run, origin, "uncompiled", chosen, (), None, chosen.lean())))
        _tell_seen(request, trials)
        if request.params.get("before") is None:
            trials.append(in_child(request, partial(run, origin, "eager", chosen, (), None, chosen.own)))
    except FailedError as error:
        _tell_seen(request, ())
        return Ran((), planned, error.failure)
    return Ran(tuple(trials), planned)


def _planned(request: Request, origin: Origin, conditions: Sequence[Place], places: Sequence[Place]) -> Planned:
    """The plan; on CUDA without calls that make a kernel fail, each of which ends a process that plans.

    Raises:
        FailedError: the entry failed, or too many such calls did.
    """
    lost: list[Recipe] = []
    while len(lost) <= MOST_LOST:
        found = in_child(request, partial(plan, origin, conditions, places, tuple(lost)))
        if isinstance(found, Planned):
            return found
        lost.append(found)
    said = f"CUDA kernels fail when GraphMend calls the program with other values, as in {lost[-1].label}."
    raise FailedError(failure("call", "exception", said, "Verify on the CPU (--device cpu)."))


def _unbroken(request: Request, job: Callable[..., Trial]) -> Trial:
    """The trial of a job; where a call makes a kernel fail, other processes make the calls behind it.

    Raises:
        FailedError: the job failed or died.
    """
    trial = in_child(request, job)
    while trial.left:
        trial = trial.followed_by(in_child(request, partial(job, recipes=trial.left)))
    return trial


def _tell_seen(request: Request, trials: Sequence[Trial]) -> None:
    """Tell the mended programs' processes what the original did uncompiled, where one of them may ask."""
    candidates = request.params["candidates"]
    if len(candidates) > 1 or any(one.get("inductor") for one in candidates):
        tell(os.path.join(request.folder, SEEN), tuple(trials))


def _mended(request: Request, candidate: Candidate) -> Ran:
    """In a mended program's process: load, wait for the plan, run every way."""
    try:
        origin = origin_of(request, {**request.params["texts"], **candidate["texts"]})
    except FailedError as error:
        return Ran((), failed=error.failure)
    except UnsharedError:
        return Ran((), unshared=True)
    if _is_only(request) and origin.built is not None:
        return _with_uses(request, candidate, origin, *_before_the_plan(request, candidate, origin))
    planned: Planned | None = heard(os.path.join(request.folder, PLAN), request.deadline)
    if planned is None:
        return Ran((), failed=out_of_time())
    first = _in_own_calls(request, candidate, origin, planned.plan.own)
    if first is not None and _is_wrong_already(planned, first):
        return Ran((first,), differed=True)
    return _with_uses(request, candidate, origin, _in_stages(request, candidate, origin, planned), planned)


def _before_the_plan(request: Request, candidate: Candidate, origin: Origin) -> tuple[Ran, Planned | None]:
    """An only mended program, every way: while the original's process plans, it makes the entry's own calls and is compiled."""
    assert origin.built is not None
    own = tuple(Recipe(base, own=True) for base in range(len(origin.built.program.calls)))
    first = _in_own_calls(request, candidate, origin, own)
    ways: tuple[Way, ...] = ("eager", "aot_eager", "uncompiled")  # the longest first
    ways = ("uncompiled",) if request.params.get("proven") else ways
    jobs = {way: partial(_as_planned, request, candidate, origin, way, first) for way in ways}
    ran = ways_of(request, jobs)
    planned: Planned | None = heard(os.path.join(request.folder, PLAN), request.deadline)
    if planned is None:
        return Ran((), failed=out_of_time()), None
    wrong = first is not None and _is_wrong_already(planned, first)
    return (Ran((first,), differed=True), None) if first is not None and wrong else (ran, planned)


def _as_planned(
    request: Request,
    candidate: Candidate,
    origin: Origin,
    way: Way,
    first: Trial | None,
    recipes: Sequence[Recipe] | None = None,
) -> Trial:
    """One way of an only mended program; compiled with the first backend it does not wait for the plan."""

    def planned() -> tuple[Plan, Enough | None]:
        found: Planned | None = heard(os.path.join(request.folder, PLAN), request.deadline)
        if found is None or (first is not None and _is_wrong_already(found, first)):
            raise FailedError(out_of_time())  # nobody looks at it
        return found.plan, _enough(request, found)

    if way == "eager":
        return run(origin, way, planned, (), candidate["changed"])
    chosen, enough = planned()
    return run(origin, way, chosen, (), candidate["changed"], recipes, enough=enough)


def _with_uses(request: Request, candidate: Candidate, origin: Origin, ran: Ran, planned: Planned | None) -> Ran:
    """What ran, with the probes that have to be compiled."""
    if ran.failed is not None or planned is None:
        return ran
    if request.params.get("alone") and gains_nothing(request.params.get("before"), ran.trials):
        return ran
    chosen = planned.plan
    uses = compiled_uses(texts_changed(request.params["texts"], candidate["texts"]), chosen.probes)
    if not uses:
        return ran
    jobs = [partial(run, origin, way, chosen, (), None, recipes) for way, recipes in uses.items()]
    trials, dropped = _probes_of(in_slots(request, jobs), list(uses.values()))
    return replace(ran, trials=(*ran.trials, *trials), dropped=dropped)


def _probes_of(
    found: Sequence[Trial | Caught], recipes: Sequence[tuple[Recipe, ...]]
) -> tuple[tuple[Trial, ...], tuple[str, ...]]:
    """The compiled trials of probes that came to an end; of the others, what was left out and why, in words."""
    trials = tuple(one for one in found if not isinstance(one, Caught))
    dropped = tuple(
        f"{each.use}, compiled: {one.failure['message']}"
        for one, those in zip(found, recipes, strict=True)
        if isinstance(one, Caught)
        for each in those
    )
    return trials, tuple(dict.fromkeys(dropped))


def _in_own_calls(request: Request, candidate: Candidate, origin: Origin, calls: tuple[Recipe, ...]) -> Trial | None:
    """The entry's own calls of a mended program, uncompiled; None where their process failed."""
    own = Plan(calls, frozenset())
    (seen,) = in_slots(request, [partial(run, origin, "uncompiled", own, (), candidate["changed"], calls)])
    return None if isinstance(seen, Caught) else seen


def _is_wrong_already(planned: Planned, seen: Trial) -> bool:
    """Whether the entry's own calls show a mended program to be wrong, so that it need not be compiled."""
    pairs = zip(planned.trial.observations, seen.observations, strict=False)
    raises = any(old.raised is None and new.raised is not None for old, new in pairs)
    return raises or is_wrong((planned.trial,), (seen,), state=False)


def _is_only(request: Request) -> bool:
    """Whether nothing but an only candidate's verdict needs the runs, of a program that torch.compile takes as it is."""
    before = request.params.get("before")
    return len(request.params["candidates"]) == 1 and before is not None and not before["refused"]


def _enough(request: Request, planned: Planned) -> Enough | None:
    """What ends the runs of an only mended program, once it is known not to be a mend to offer."""
    before = request.params.get("before")
    if not _is_only(request) or before is None:
        return None
    raised = tuple(one.raised is not None for one in planned.trial.observations)
    vain = partial(cuts_no_less, before) if request.params.get("alone") else None
    return Enough(request.folder, raised, vain)


def _in_stages(request: Request, candidate: Candidate, origin: Origin, planned: Planned) -> Ran:
    """Every way; what costs most only of what is neither wrong by then nor gains nothing.

    Of several candidates most are declined: those are compiled with a second backend only when it may matter. One alone
    is probably right, and its ways fill the machine.
    """
    chosen, enough = planned.plan, _enough(request, planned)
    first: tuple[Way, ...] = ("eager", "uncompiled")
    several = len(request.params["candidates"]) > 1
    stages: list[tuple[Way, ...]] = (
        [first, ("aot_eager",)] if several else [("eager", "aot_eager", "uncompiled")]
    )  # the longest first
    stages = [("uncompiled",)] if request.params.get("proven") else stages
    ran = Ran(())
    for number, ways in enumerate(stages):
        if number and _is_settled(request, ran):
            break
        jobs = {way: partial(run, origin, way, chosen, (), candidate["changed"], enough=enough) for way in ways}
        more = ways_of(request, jobs)
        trials = (*ran.trials, *more.trials)
        ran = replace(more, trials=tuple(sorted(trials, key=lambda one: WAYS.index(one.way))))
        if ran.failed is not None:
            break
    return ran


def _by_inductor(
    request: Request, candidate: Candidate, original: Ran, mended: Ran, progress: Callable[[str], None]
) -> tuple[Ran, tuple[Trial, ...], Mapping[Call, Shown]]:
    """A mended program with its trial under inductor, the original's where it is needed, and what float64 shows.

    Inductor takes long. What it compiles is rounded otherwise than what runs uncompiled, nearly always: so the mended program
    is compiled in float64, too, and compared with the uncompiled original in both; in forms that need a graph of their own
    (other sizes, gradients of inputs) in float64 alone. Where that shows nothing but rounding, the original need not be compiled.
    """
    planned, texts = original.planned, request.params["texts"]
    assert planned is not None
    chosen, new_texts = planned.plan, {**texts, **candidate["texts"]}
    every = chosen.of_every_size()
    behind = change_state(original.trials) or change_state(mended.trials)
    sized = () if behind else tuple(one for one in every if one.resize is not None)
    alike = tuple(one for one in every if one not in sized)
    first_form = alike if behind else tuple(one for one in alike if one.own or not one.gradients)
    programs = Programs(original.trials, mended.trials)

    def wanted(recipes: tuple[Recipe, ...]) -> dict[Way, tuple[Recipe, ...]]:
        lists: dict[Way, tuple[Recipe, ...]] = {"inductor": recipes}
        return needed(programs, lists, chosen.everything(every_size=True), lists)

    enough = _enough(request, planned)
    lists = [wanted(alike)]  # what a program says once, in its first call, it says again in a process of other calls
    lists += [{"uncompiled": sized, "inductor": sized}] if sized else []
    plain: list[dict[Way, tuple[Recipe, ...]]] = [{"uncompiled": one["uncompiled"]} for one in lists]
    progress("running the mended program compiled with inductor")
    new, *ran_again = side_by_side(
        request,
        [
            partial(_inductor, request, new_texts, chosen, enough, first_form),
            *(partial(_doubled, request, new_texts, chosen, one, "widened") for one in lists),
            *(partial(_doubled, request, texts, chosen, one, "widened") for one in plain),
        ],
        max(1.0, request.deadline - time.monotonic()),
    )
    ran = replace(mended, trials=(*mended.trials, *new.trials), failed=new.failed)
    if new.failed is not None or os.path.exists(os.path.join(request.folder, FLAG)):
        return ran, (), {}
    trials = [one.trials for one in ran_again]
    fresh, old = trials[: len(lists)], trials[len(lists) :]
    compiled = all(one[-1].compiled for one in fresh if one)  # a torch may not compile in the mode that widens
    if compiled and all(one.failed is None for one in ran_again):
        shown = shown_by_inductor(Programs(original.trials, ran.trials), old, fresh)
        if all(shown.get(("inductor", recipe)) == "" for recipe in every if recipe not in first_form):
            return replace(ran, beside=len(every) - len(first_form)), (), shown
    progress("running both compiled with inductor")
    jobs = [partial(_inductor, request, new_texts, chosen, enough, every)]
    if programs.trial("inductor", every) is None:
        jobs.append(partial(_inductor, request, texts, chosen, Enough(request.folder), every))
    new, *first = side_by_side(request, jobs, max(1.0, request.deadline - time.monotonic()))
    ahead = tuple(trial for one in first for trial in one.trials)
    return replace(mended, trials=(*mended.trials, *new.trials), failed=new.failed), ahead, {}


def _inductor(
    request: Request, texts: Mapping[str, str], chosen: Plan, enough: Enough | None, recipes: tuple[Recipe, ...]
) -> Ran:
    """In a process of one program: its trial under inductor."""
    try:
        origin = origin_of(request, texts)
    except FailedError as error:
        return Ran((), failed=error.failure)
    return ways_of(request, {"inductor": partial(run, origin, "inductor", chosen, recipes=recipes, enough=enough)})


def _is_decided(request: Request, original: Ran, mended: Ran) -> bool:
    """Whether an only mended program need not be run in more ways."""
    alone = request.params.get("alone") and gains_nothing(request.params.get("before"), mended.trials)
    ended = os.path.exists(os.path.join(request.folder, FLAG))
    if alone or ended or mended.failed is not None or is_wrong(original.trials, mended.trials):
        return True
    accepted = request.params.get("accepted")
    if accepted is None:
        return _is_unsafe_for_zeros(request, original, mended)
    return is_unsafe(original.trials, mended.trials, accepted)


def _is_unsafe_for_zeros(request: Request, original: Ran, mended: Ran) -> bool:
    return not request.params.get("zeros") and gives_zeros(original.trials, mended.trials)


def _is_settled(request: Request, ran: Ran) -> bool:
    """Whether no further way can make it a mend to offer."""
    if request.params.get("alone") and gains_nothing(request.params.get("before"), ran.trials):
        return True
    original: tuple[Trial, ...] | None = heard(os.path.join(request.folder, SEEN), request.deadline)
    return original is not None and is_wrong(original, ran.trials)


def _compiled(request: Request, planned: Planned, wanted: Sequence[tuple[Way, tuple[Recipe, ...]]]) -> Ran:
    """In a process of the original once more: run the ways, with the calls, that could not be judged without."""
    try:
        origin = origin_of(request, request.params["texts"])
        jobs = [partial(run, origin, way, planned.plan, (), None, recipes) for way, recipes in wanted]
    except FailedError as error:
        return Ran((), failed=error.failure)
    found = in_slots(request, jobs)
    of_probes = [any(one.probe for one in recipes) for _, recipes in wanted]
    for outcome, probes in zip(found, of_probes, strict=True):
        if isinstance(outcome, Caught) and not probes:
            outcome.failure["message"] += " (the original, compiled)"
            return Ran((), failed=outcome.failure)
    trials, dropped = _probes_of(found, [recipes for _, recipes in wanted])
    return Ran(trials, dropped=tuple(f"{one} (the original)" for one in dropped))


def _again(
    request: Request,
    candidate: Candidate,
    original: Ran,
    mended: Ran,
    fused: Mapping[Call, Shown],
    progress: Callable[[str], None],
    started: float,
) -> Mapping[Call, Shown]:
    """What float64 shows of the calls in which nothing but floating results differs, where those are beyond the bound.

    `fused` is what it showed of calls under inductor already, with the uncompiled original: that it is rounding stays so.
    """
    programs = Programs(original.trials, mended.trials)
    doubts = doubtful(programs) if mended.failed is None else {}
    known = {call: words for call, words in fused.items() if words == "" or original.way("inductor") is None}
    doubts = {way: tuple(one for one in recipes if (way, one) not in known) for way, recipes in doubts.items()}
    doubts = {way: recipes for way, recipes in doubts.items() if recipes}
    if not doubts or original.planned is None:
        return known
    left = request.deadline - time.monotonic() - SPARED * request.params["limits"]["seconds"]
    if left < SHARE_OF_FLOAT64 * (time.monotonic() - started):
        return {**known, **_each(doubts, NO_TIME)}
    progress("running both in float64")
    texts = request.params["texts"]
    chosen = original.planned.plan
    wanted = needed(programs, doubts, chosen.everything(every_size="inductor" in doubts))
    sides = ({**texts}, {**texts, **candidate["texts"]})
    # what a mend itself puts into float32 must be seen, but not what only inductor rounds: its uncompiled calls are bit-equal
    double: Double = "widened" if set(doubts) == {"inductor"} else "double"
    ran = side_by_side(request, [partial(_doubled, request, side, chosen, wanted, double) for side in sides], left)
    for failed in (one.failed for one in ran if one.failed is not None):
        return {**known, **_each(doubts, f"in float64 it failed: {failed['message']}")}
    first, second = (Again(one.trials[0], one.trials[1:]) for one in ran)
    return {**known, **judge(programs, doubts, first, second)}


def _each(doubts: Mapping[Way, Sequence[Recipe]], shown: Shown) -> Mapping[Call, Shown]:
    return {(way, recipe): shown for way, recipes in doubts.items() for recipe in recipes}


def _doubled(
    request: Request, texts: Mapping[str, str], chosen: Plan, wanted: Mapping[Way, tuple[Recipe, ...]], double: Double
) -> Ran:
    """In a process of one program: those calls uncompiled as they are, then each way in float64, uncompiled first."""
    try:
        origin = origin_of(request, texts)
    except FailedError as error:
        return Ran((), failed=error.failure)
    kinds: tuple[Double, ...] = ("", double)
    jobs = [partial(trace, origin, wanted["uncompiled"], kind) for kind in kinds]
    jobs += [
        partial(run, origin, way, chosen, (), None, recipes, double=double)
        for way, recipes in wanted.items()
        if way != "uncompiled"
    ]
    trials: list[Trial] = []
    for outcome in in_slots(request, jobs):
        if isinstance(outcome, Caught):
            return Ran(tuple(trials), failed=outcome.failure)
        trials.append(outcome)
    return Ran(tuple(trials))


def _call_failed(observation: Observation | None) -> FailureData:
    raised = observation.raised if observation is not None else None
    said = f"{raised.type}: {raised.message}" if raised else "it did not run"
    return failure("backward" if raised and raised.stage == "backward" else "call", "exception", said)
