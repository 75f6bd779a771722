"""What the trials of the original and of a mended program say together: a candidate's result.

Only data is looked at here; nothing is run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .compare import Comparison, Shown
from .compare_trials import Programs, compare_trial, distinct
from .failures import failure
from .forced import failing_side, is_called
from .places import key_of
from .recipes import Recipe
from .rounding import Call
from .trials import Planned, Trial, Way
from .used import exercised, left_untried, probed_kinds
from .wire import Candidate, CandidateResult, CountsData, Difference, FailureData, Place, SideData

MAX_DIFFERENCES = 60
Key = tuple[object, ...]
_NOTHING = CountsData(graphs=0, breaks=0, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)


@dataclass(frozen=True)
class Ran:
    """All that one program showed. `failed` says which way stopped it, after which nothing was run.

    `dropped` are compiled probes that could not be run to an end, each in words with the reason.
    `beside` counts calls that were compared in float64 alone. `unshared`: nothing was run, because its ways cannot run in forks
    of the process that built it. `differed`: its entry's calls differed from the original's, after which nothing was compiled.
    """

    trials: tuple[Trial, ...]
    planned: Planned | None = None
    failed: FailureData | None = None
    dropped: tuple[str, ...] = ()
    beside: int = 0
    unshared: bool = False
    differed: bool = False

    def way(self, way: Way) -> Trial | None:
        """The trial of that way, if it came to one."""
        return next((trial for trial in self.trials if trial.way == way), None)


def trials_wanted(
    original: Ran,
    mended: Ran,
    before: CountsData | None,
    shown: Mapping[Call, Shown],
    checks: bool = False,
) -> list[tuple[Way, tuple[Recipe, ...]]]:
    """The compiled trials of the original without which the mended program cannot be judged.

    `shown` is what float64 showed by now. `checks`: whether the original may have checks in its graphs, which compiled code
    may overtake in it already.
    """
    wanted: list[tuple[Way, tuple[Recipe, ...]]] = []
    programs = Programs(original.trials, mended.trials)
    for trial in mended.trials:
        in_use = any(recipe.probe for recipe in trial.recipes)
        known = before or _counted(original)
        more = trial.way == "eager" and not (trial.slow or in_use) and trial.counts["recompiles"] > known["recompiles"]
        overtaken = checks and bool(trial.disordered)
        if trial.way != "uncompiled" and (more or overtaken or compare_trial(programs, trial, shown)[1]):
            wanted.append((trial.way, trial.recipes))
    return wanted


def _counted(original: Ran) -> CountsData:
    """The counts of the original's trial with most calls, but for probes."""
    trials = [one for one in original.trials if one.way == "eager" and not any(each.probe for each in one.recipes)]
    return max(trials, key=lambda trial: len(trial.recipes)).counts if trials else _NOTHING


def judged(
    candidate: Candidate,
    original: Ran,
    mended: Ran,
    conditions: Sequence[Place],
    before: CountsData | None,
    shown: Mapping[Call, Shown],
    started: float,
    forced: Mapping[Key, Sequence[Difference] | None] | None = None,
) -> CandidateResult:
    """Compare every trial of the mended program with the original's of the same calls. `started` is a monotonic clock's.

    `forced` are the conditions of checks that were made to fail in both programs, with what differed then; None for a
    condition of another kind, whose side that no call takes was taken in both, and was the same.
    """
    forced = forced or {}
    programs = Programs(original.trials, mended.trials)
    comparison = Comparison()
    for trial in mended.trials:
        comparison.join(compare_trial(programs, trial, shown)[0])
    after, uncompiled = mended.way("eager"), mended.way("uncompiled")
    reference = next(iter(programs.references), None)
    untried = list(original.planned.plan.untried) if original.planned else []
    probed = [one for one in mended.trials if one.way == "uncompiled" or any(each.probe for each in one.recipes)]
    untried += [words for one in probed for words in left_untried(reference, one)]
    untried += [*mended.dropped, *original.dropped]
    result = CandidateResult(
        id=candidate["id"],
        before=before or _counted(original),
        after=after.counts if after else _NOTHING,
        outputs=comparison.outputs,
        gradients=comparison.gradients,
        state=comparison.state,
        effects=comparison.effects,
        differences=distinct(
            [
                *comparison.differences,
                *_recompiles(programs, after),
                *_disordered(original, mended),
                *(one for those in forced.values() for one in those or ()),
            ]
        )[:MAX_DIFFERENCES],
        rounded=sorted(comparison.rounded),
        unlike_sides=list(uncompiled.unlike) if uncompiled else [],
        sides=[
            _failed(side, forced[key_of(side["condition"])]) if key_of(side["condition"]) in forced else side
            for side in sides_of(candidate, conditions, reference.sides if reference else ())
        ],
        events=list(after.events) if after else [],
        graphs=list(after.graphs) if after else [],
        calls=sum(len(trial.observations) for trial in mended.trials) + mended.beside,
        seconds=time.monotonic() - started,
        failure=mended.failed,
        probed=probed_kinds(uncompiled.recipes, uncompiled.observations) if uncompiled else [],
        untried=list(dict.fromkeys(untried)),
    )
    if mended.differed and all(one["severity"] == "moved" for one in result["differences"]):
        result["failure"] = _not_compiled()
    if (places := candidate.get("assumed")) is not None:
        result["exercised"], result["unmet"] = exercised(places, reference, uncompiled)
    return result


def _not_compiled() -> FailureData:
    """What is said of a mended program whose first run differed, as two runs of the original do, so that no other was made."""
    message = "The original's results differ from run to run, so GraphMend did not compile the mended program."
    return failure(
        "call", "cancelled", message, "Make the entry's results the same in every run: set seeds, and fill new tensors."
    )


def _disordered(original: Ran, mended: Ran) -> list[Difference]:
    """What compiled code may do in front of a check that the program makes first, and could not do before."""
    known = [one for trial in original.trials for one in trial.disordered]
    return [one for trial in mended.trials for one in trial.disordered if one not in known]


def _recompiles(programs: Programs, after: Trial | None) -> list[Difference]:
    before = programs.trial("eager", after.recipes) if after is not None else None
    if before is None or after is None or after.counts["recompiles"] <= before.counts["recompiles"]:
        return []
    detail = f"{before.counts['recompiles']} became {after.counts['recompiles']}"
    return [Difference(what="recompilations", where="", call="later calls", detail=detail, severity="moved")]


def conditions_of(candidates: Sequence[Candidate]) -> list[Place]:
    """The conditions of all candidates, each once."""
    found: dict[tuple[object, ...], Place] = {}
    for candidate in candidates:
        for place in candidate["conditions"]:
            found.setdefault(key_of(place), place)
    return list(found.values())


def assumed_places(candidates: Sequence[Candidate]) -> list[Place]:
    """The places that all candidates assume something of, each once."""
    found: dict[tuple[object, ...], Place] = {}
    for candidate in candidates:
        for place in candidate.get("assumed", ()):
            found.setdefault(key_of(place), place)
    return list(found.values())


def unfailed(original: Ran, candidate: Candidate, conditions: Sequence[Place], texts: Mapping[str, str]) -> list[Place]:
    """The conditions of the candidate's checks that no call of the original failed; `texts` are those of its files."""
    reference = next(iter(Programs(original.trials, ()).references), None)
    found = []
    for side in sides_of(candidate, conditions, reference.sides if reference else ()):
        place = side["condition"]
        text = texts.get(place["file"], "")
        failing = failing_side(text, place)
        if failing is None or side["true" if failing else "false"]:
            continue
        if side["false" if failing else "true"] or is_called(text, place):  # which may be made in compiled code alone
            found.append(place)
    return found


def untaken(original: Ran, candidate: Candidate, conditions: Sequence[Place]) -> list[tuple[Place, bool]]:
    """The conditions in operators of the candidate to which every call of the original gave the other value than that."""
    reference = next(iter(Programs(original.trials, ()).references), None)
    outlined = [key_of(one) for one in candidate.get("outlined", ())]
    return [
        (side["condition"], not side["true"])
        for side in sides_of(candidate, conditions, reference.sides if reference else ())
        if side["true"] != side["false"] and key_of(side["condition"]) in outlined
    ]


def same_side(original: Ran, mended: Ran) -> bool:
    """Whether two programs that take a side which no call takes give the same, in a call that comes to its end too."""
    programs = Programs(original.trials, mended.trials)
    if original.failed is not None or mended.failed is not None or not programs.references:
        return False
    ended = all(any(each.raised is None for each in one.observations) for one in programs.references)
    differences = [one for trial in mended.trials for one in compare_trial(programs, trial)[0].differences]
    return ended and all(one["severity"] == "moved" for one in differences)


def compared(original: Ran, mended: Ran) -> tuple[Difference, ...] | None:
    """What differs between two programs in which one check fails; None when it was not reached, or not in every call.

    A check that only compiled code makes is reached where both are compiled: then their ways are compared, each with its like.
    """
    programs = Programs(original.trials, mended.trials)
    for reference in programs.references:
        if all(one.raised is not None for one in reference.observations):
            differences = [one for trial in mended.trials for one in compare_trial(programs, trial)[0].differences]
            differences += _disordered(original, mended)
            return tuple(_in_words(one) for one in differences if one["severity"] != "moved")
    ways = [(old, new) for new in mended.trials for old in original.trials if old.way == new.way != "uncompiled"]
    if not ways or any(one.raised is None for old, _ in ways for one in old.observations):
        return None
    found: list[Difference] = []
    for old, new in ways:
        as_they_are = Programs((replace(old, way="uncompiled"),), (replace(new, way="uncompiled"),))
        found += compare_trial(as_they_are, as_they_are.mended[0])[0].differences
    found += _disordered(original, mended)
    return tuple(_in_words(one) for one in found if one["severity"] != "moved")


def _in_words(one: Difference) -> Difference:
    """The difference, which makes a mend unsafe: it was seen in a call that the program did not make by itself."""
    severity = "exception" if one["severity"] in ("different", "close") else one["severity"]
    return {**one, "call": f"{one['call']}, with the check made to fail", "severity": severity}


def _failed(side: SideData, differences: Sequence[Difference] | None) -> SideData:
    if differences is None:
        return {**side, "true": True, "false": True, "taken": not side["true"]}
    return {**side, "forced": True} if differences else {**side, "true": True, "false": True, "forced": True}


def sides_of(candidate: Candidate, conditions: Sequence[Place], watched: Sequence[SideData]) -> list[SideData]:
    """Which values each of the candidate's conditions took, of what was `watched` of all `conditions`."""
    seen = {key_of(place): side for place, side in zip(conditions, watched, strict=False)}
    return [
        seen.get(key_of(place), SideData(condition=place, true=False, false=False)) for place in candidate["conditions"]
    ]
