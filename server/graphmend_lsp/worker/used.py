"""What a use of the program shows that its entry does not have: differences, each with the assumption that it breaks.

Pure: data in, data out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .compare import Comparison, Side, compare_refusals
from .observe import Observation
from .places import key_of
from .probes import PROBES, cost, dynamic, tried
from .recipes import Recipe
from .wire import AssumedPlace, Difference

if TYPE_CHECKING:
    from .compare_trials import Pair
    from .trials import Trial

NEVER_ENDED = "TooLongError"
_KIND_OF_MODE = {"autocast": "dtype", "twice": "backward", "transposed": "layout", "no_grad": "", "": ""}


def assumed(recipe: Recipe) -> str:
    """The kind of assumption that a call puts to the test; empty for one that the entry's own stand for."""
    if recipe.dtype:
        return "dtype"
    if recipe.probe:
        return PROBES[recipe.probe].kind
    return _KIND_OF_MODE[recipe.call_mode] or ("shapes" if recipe.odd else "")


def probe_differences(pair: Pair) -> list[Difference]:
    """How the programs differ in a probe. What the original refuses says nothing, unless the probe is made for that."""
    probe = PROBES[pair.recipe.probe]
    old, new = pair.original.seen, pair.mended.seen
    if any(one.raised is not None and one.raised.type == NEVER_ENDED for one in (old, new)):
        return []
    if pair.recipe.probe in cost.WORDS:
        return _cost(pair)
    if new.raised is not None and new.raised.type in (tried.UNTRIED, dynamic.ELSEWHERE):
        return []
    if old.raised is not None and not probe.refusals:
        return []
    if old.raised is not None and new.raised is not None and old.raised.type == new.raised.type:
        said = [] if not probe.messages or old.raised == new.raised else compare_refusals(pair.label, old, new)
        found = [*said, *_left_behind(pair)]
    else:
        found = pair.compare(Comparison()).differences
    told = [one for one in found if one["severity"] != "moved" or (one["what"] == "state" and not pair.compiled)]
    return [marked(one, pair.recipe) for one in told]


def refused_uses(pairs: Sequence[Pair]) -> frozenset[str]:
    """The probes of uses that the original refuses in one of the calls, where it then has no such use at all."""
    return frozenset(
        one.recipe.probe
        for one in pairs
        if one.recipe.probe and PROBES[one.recipe.probe].throughout and one.original.seen.raised is not None
    )


def _cost(pair: Pair) -> list[Difference]:
    """Where the mended program costs many times what the original does."""
    old, new = (
        [int(leaf.text[4:]) for leaf in one.seen.parts.get("output", {}).values() if leaf.text.startswith("int ")]
        for one in (pair.original, pair.mended)
    )
    if len(old) != 2 or len(new) != 2:  # what counts them is in the way of the program, as of torch.cond
        return []
    words = cost.grown(old, new)
    told = Difference(what="cost", where="", call=pair.label, detail=words, severity="exception")
    return [marked(told, pair.recipe)] if words else []


def marked(one: Difference, recipe: Recipe) -> Difference:
    """A difference as one that breaks an assumption: it makes a mend unsafe, never wrong."""
    kind = assumed(recipe)
    if not kind or "assumes" in one:
        return one
    return {**one, "severity": "exception", "assumes": kind}


def tests(one: Difference, recipe: Recipe) -> bool:
    """Whether a difference is of the same kind as what the recipe puts to the test: then it is told in both."""
    return one.get("assumes") == assumed(recipe)


def probed_kinds(recipes: Sequence[Recipe], observations: Sequence[Observation]) -> list[str]:
    """The kinds of assumptions for which every call was made to an end that says something."""
    ended: dict[str, bool] = {}
    for recipe, seen in zip(recipes, observations, strict=False):
        if kind := assumed(recipe):
            raised = seen.raised
            ended[kind] = ended.get(kind, True) and (raised is None or raised.type not in (NEVER_ENDED, tried.UNTRIED))
    return sorted(kind for kind, all_of_them in ended.items() if all_of_them)


def exercised(
    places: Sequence[AssumedPlace], original: Trial | None, mended: Trial | None
) -> tuple[list[int], list[int]]:
    """Of places that something is assumed of, by number: those that probes of the kind ran, and those that nothing ran.

    Each probe of the kind that the original takes must run the place; in another use it says nothing of the place.
    """
    if original is None or mended is None:
        return [], []
    news = dict(zip(mended.recipes, mended.observations, strict=False))
    numbers = {key_of(place): number for number, place in enumerate(original.watched)}
    took: dict[tuple[str, str], list[frozenset[int]]] = {}
    for recipe, seen, reached in zip(original.recipes, original.observations, original.reached, strict=False):
        kind, new = assumed(recipe), news.get(recipe)
        if recipe.probe and not recipe.dtype and new is not None and _says(recipe, seen) and _says(recipe, new):
            took.setdefault((kind, recipe.use), []).append(reached)
    held, unmet = [], []
    for number, place in enumerate(places):
        at = numbers.get(key_of(place), -1)
        uses = [any(at in one for one in runs) for (kind, _), runs in took.items() if kind == place["kind"]]
        if uses and all(uses):
            held.append(number)
        if not any(at in one for one in original.reached):
            unmet.append(number)
    return held, unmet


def left_untried(original: Trial | None, mended: Trial | None) -> list[str]:
    """Probes that the original came to an end with, uncompiled, and the mended program did not, in words."""
    if original is None or mended is None:
        return []
    way = "" if mended.way == "uncompiled" else ", compiled"
    olds = dict(zip(original.recipes, original.observations, strict=False))
    pairs = [(recipe, olds.get(recipe), new) for recipe, new in zip(mended.recipes, mended.observations, strict=False)]
    found = [
        f"{recipe.use}{way}: the mended program {new.raised.message.replace('it ', '')}"
        for recipe, old, new in pairs
        if recipe.probe and old is not None and not _is_endless(old) and _is_endless(new) and new.raised is not None
    ]
    return list(dict.fromkeys(found))


def _says(recipe: Recipe, seen: Observation) -> bool:
    """Whether a call came to an end that says something."""
    refuses = bool(recipe.probe) and PROBES[recipe.probe].refusals
    return seen.raised is None or (refuses and not _is_endless(seen))


def _is_endless(seen: Observation) -> bool:
    return seen.raised is not None and seen.raised.type == NEVER_ENDED


def _left_behind(pair: Pair) -> list[Difference]:
    """What differs in state, inputs, random state and messages behind a call that both programs refuse alike."""
    sides = [replace(side.seen, raised=None) for side in (pair.original, pair.mended)]
    parts = ("state", "input", "random state")
    bare = [replace(one, parts={name: one.parts[name] for name in parts if name in one.parts}) for one in sides]
    comparison = Comparison()
    comparison.add(
        pair.label, Side(bare[0], pair.original.blobs), Side(bare[1], pair.mended.blobs), compiled=pair.compiled
    )
    return comparison.differences
