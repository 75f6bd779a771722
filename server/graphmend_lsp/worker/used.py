"""What a use of the program shows that its entry does not have: differences, each with the assumption that it breaks.

Pure: data in, data out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .compare import Comparison, Side, compare_refusals
from .observe import Observation
from .probes import PROBES
from .recipes import Recipe
from .wire import Difference

if TYPE_CHECKING:
    from .weigh import Pair

NEVER_ENDED = "TooLongError"
_MANNERS = {"autocast": "dtype", "twice": "backward", "transposed": "layout", "": ""}


def assumed(recipe: Recipe) -> str:
    """The kind of assumption that a call puts to the test; empty for one that the entry's own stand for."""
    if recipe.dtype:
        return "dtype"
    if recipe.probe:
        return PROBES[recipe.probe].kind
    return _MANNERS[recipe.manner] or ("shapes" if recipe.odd else "")


def probe_differences(pair: Pair) -> list[Difference]:
    """How the programs differ in a probe. What the original refuses says nothing, unless the probe is made for that."""
    probe = PROBES[pair.recipe.probe]
    old, new = pair.original.seen, pair.mended.seen
    if any(one.raised is not None and one.raised.type == NEVER_ENDED for one in (old, new)):
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
            ended[kind] = ended.get(kind, True) and (raised is None or raised.type != NEVER_ENDED)
    return sorted(kind for kind, all_of_them in ended.items() if all_of_them)


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
