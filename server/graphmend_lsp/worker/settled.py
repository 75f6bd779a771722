"""When a mended program need not be run in more ways, because what it showed is decisive: it is wrong, or gains nothing.

Pure: data in, data out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .compare import is_zeros
from .compare_trials import TEXTS, Programs, compare_trial
from .rounding import doubtful
from .trials import Trial
from .wire import CountsData, Difference


def is_wrong(original: Sequence[Trial], mended: Sequence[Trial], state: bool = True) -> bool:
    """Whether it differs uncompiled already, in what makes a mend wrong, and float64 could not show that it is rounding.

    Without `state` that says nothing: another run of the original may leave it otherwise, too.
    """
    uncompiled = next((one for one in mended if one.way == "uncompiled"), None)
    if uncompiled is None or not any(one.way == "uncompiled" for one in original):
        return False
    programs = Programs(original, (uncompiled,))
    comparison, _ = compare_trial(programs, uncompiled)
    fatal = [
        one
        for one in comparison.differences
        if one["severity"] == "different"
        and "assumes" not in one
        and one["what"] not in TEXTS
        and (state or one["what"] != "state")
    ]
    return bool(fatal) and not doubtful(programs)


def is_unsafe(original: Sequence[Trial], mended: Sequence[Trial], accepted: Collection[str]) -> bool:
    """Whether it is unsafe whatever else is seen: what differs breaks an assumption of a kind that is not `accepted`."""
    return any(one.get("assumes", "") not in ("", *accepted) for one in _differences(original, mended))


def gives_zeros(original: Sequence[Trial], mended: Sequence[Trial]) -> bool:
    """Whether a gradient became zeros where there was none: unsafe, if the original has none when it is compiled, too."""
    return any(map(is_zeros, _differences(original, mended)))


def _differences(original: Sequence[Trial], mended: Sequence[Trial]) -> list[Difference]:
    programs = Programs(original, mended)
    return [one for trial in mended for one in compare_trial(programs, trial)[0].differences]


def is_refused(before: CountsData | None, original: Sequence[Trial], mended: Sequence[Trial]) -> bool:
    """Whether it raises when compiled, in a call of the entry that the original makes, which torch.compile takes as it is."""
    old = next((one for one in original if one.way == "uncompiled"), None)
    if before is None or before["refused"] or old is None:
        return False
    made = {recipe for recipe, seen in zip(old.recipes, old.observations, strict=False) if seen.raised is None}
    return any(
        recipe.own and recipe in made and seen.raised is not None
        for one in mended
        if one.way != "uncompiled"
        for recipe, seen in zip(one.recipes, one.observations, strict=False)
    )


def gains_nothing(before: CountsData | None, mended: Sequence[Trial]) -> bool:
    """Whether it is cut by no less than the original, whose counts are known: fewer frames, graphs and breaks all not."""
    eager = next((one for one in mended if one.way == "eager"), None)
    return before is not None and eager is not None and cuts_no_less(before, eager.counts)


def cuts_no_less(before: CountsData, after: CountsData) -> bool:
    """Whether the second program is cut by no less than the first."""
    if after["refused"] != before["refused"]:
        return after["refused"] > before["refused"]
    left_before, left_after = (one["skipped_frames"] + one["skipped_rests"] for one in (before, after))
    if left_after != left_before or after["skipped_frames"] != before["skipped_frames"]:
        return left_after > left_before  # fewer of them, or others: that may be a gain
    if after["graphs"] != before["graphs"] and before["graphs"] > 0 and after["graphs"] > 0:
        return after["graphs"] > before["graphs"]
    return after["breaks"] >= before["breaks"]
