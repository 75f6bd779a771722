"""Whether what two programs differ in is rounding alone: then the same call made in float64 gives both the same.

A difference of the programs stays as large beside the values when the precision rises; one of rounding in float32
becomes 2**29 times smaller. Pure: data in, data out. What runs the calls again is elsewhere (`float64`, `verify`).

It is rounding only where in float64

* both programs run the lines that they run in float32, draw the same random numbers, and give the same but for
  rounding: else what was shown holds for another path;
* what is beyond the bound was near to its value in float64, and neither program much nearer than the other: else
  float32 is too coarse for these values, or one of the programs does more in float32;
* every difference is smaller by `SHRINK` at least, also those that are within the bound of float32.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from .compare import Comparison, Shown, Side, compare_leaves, is_zero
from .compare_trials import Pair, Programs, change_state, paired
from .float64 import WIDER
from .recipes import Recipe
from .snapshot import Leaf, read_back
from .trials import WAYS, Trial, Way

RESULTS = ("output", "gradient")
SHRINK = 2.0**-24  # of the largest difference of a tensor, or of its distance from float64; rounding gives about 2**-29
SHRINK_EACH = 2.0**-20  # of each element's own difference, which may be small by luck
UNSEEN = 2.0**-27  # of an element: less than float32 can hold
FLOOR = 2.0**-48  # of the largest value: 16 roundings in float64
APART = 2.0**-12  # of the largest value: what two orders of the same sums may differ by in float32
NEAR = 2.0**-8  # of the largest value: how far float32 may be from float64, where it is the same computation
NOISE = 2.0**-20  # of the largest value of all gradients, for both, where a gradient is nothing but rounding
NOISE_EXACT = 2.0**-44  # so in float64
AS_EXACT = 8  # times as far from float64 as the other program
ROUNDED = 2.0**-22  # of the largest value: what both programs may be off by anyway

Call = tuple[Way, Recipe]


@dataclass(frozen=True)
class Again:
    """One program, run again: uncompiled as it is, and in float64 one trial for each way, the first one uncompiled.

    Both uncompiled trials make the same calls, and have the paths of them.
    """

    plain: Trial
    double: tuple[Trial, ...]


def doubtful(programs: Programs) -> dict[Way, tuple[Recipe, ...]]:
    """The calls that differ in floating outputs and gradients alone, by more than the bound; none if others differ otherwise."""
    found: dict[Way, tuple[Recipe, ...]] = {}
    for trial in _whole(programs.mended):
        recipes: list[Recipe] = []
        for pair in paired(programs, trial).pairs:
            doubt = _doubt(pair)
            if doubt is None:
                return {}
            recipes += [pair.recipe] if doubt else []
        if recipes:
            found[trial.way] = tuple(recipes)
    return found


def _doubt(pair: Pair) -> bool | None:
    """Whether a call differs by more than the bound in floating results alone; None when it differs otherwise."""
    if pair.refused or pair.recipe.odd:
        return False
    grave = [one for one in pair.compare(Comparison()).differences if one["severity"] in ("different", "exception")]
    if not any(one["severity"] == "different" for one in grave):
        return False
    only_results = all(one["severity"] == "different" and one["what"] in RESULTS for one in grave)
    return True if only_results and _may_be_rounding(pair) else None


def _whole(trials: Sequence[Trial]) -> list[Trial]:
    """The first trial of each way. A later one has compiled probes: what differs there is an assumption."""
    return list({trial.way: trial for trial in reversed(trials)}.values())[::-1]


def needed(
    programs: Programs,
    doubts: Mapping[Way, Sequence[Recipe]],
    everything: Sequence[Recipe],
    lists: Mapping[Way, Sequence[Recipe]] | None = None,
) -> dict[Way, tuple[Recipe, ...]]:
    """The calls to make again, in order, uncompiled first: where calls leave state behind, all before a doubtful one.

    `lists` are the calls of each way, by default those that the mended program's trials made.
    """
    behind = change_state(programs.original) or change_state(programs.mended)
    lists = lists or {trial.way: trial.recipes for trial in _whole(programs.mended)}
    lists = {way: tuple(recipes) for way, recipes in lists.items()} | {"uncompiled": tuple(everything)}
    wanted = {**doubts, "uncompiled": tuple({one for recipes in doubts.values() for one in recipes})}
    chosen: dict[Way, tuple[Recipe, ...]] = {}
    for way in (way for way in WAYS if way in wanted):
        last = max(lists[way].index(recipe) for recipe in wanted[way])
        until = lists[way][: last + 1]
        chosen[way] = tuple(one for one in until if behind or one.own or one in wanted[way])
    return chosen


def judge(
    programs: Programs,
    doubts: Mapping[Way, Sequence[Recipe]],
    original: Again,
    mended: Again,
    coarse: Collection[Recipe] = (),
) -> dict[Call, Shown]:
    """What float64 showed of each doubtful call: nothing but rounding (empty words), or why that is not shown.

    In calls that may be `coarse` it is enough that both give the same in float64, however far float32 is from it.
    """
    double = Programs(original.double, mended.double)
    strays = _strays(original) | _strays(mended)
    shown: dict[Call, Shown] = {}
    for trial in double.mended:
        before = next(one for one in programs.mended if one.way == trial.way)
        first = {pair.recipe: pair for pair in paired(programs, before).pairs}
        second = {pair.recipe: pair for pair in paired(double, trial).pairs}
        for recipe in doubts.get(trial.way, ()):
            if recipe in second:
                shown[trial.way, recipe] = reason(
                    first[recipe], second[recipe], recipe in strays, coarse=recipe in coarse
                )
    return shown


def shown_by_inductor(
    programs: Programs, original: Sequence[Sequence[Trial]], mended: Sequence[Sequence[Trial]]
) -> dict[Call, Shown]:
    """What float64 shows of calls under inductor, which only the mended program was compiled by.

    `original` are, for each list of calls, its uncompiled trials, as it is and in float64; `mended` has that of inductor in
    float64 behind those two. What inductor made in float64 alone stands beside what ran uncompiled in float32.
    Made-up values may be such that float32 is too coarse for the program. What both programs make of them uncompiled is equal to
    the last bit; that inductor makes the same of them in float64 leaves nothing but its own rounding.
    """
    found: dict[Call, Shown] = {}
    coarse = _made_up_and_equal(programs)
    fused = next(one for one in programs.mended if one.way == "inductor")
    others = [one for one in programs.mended if one.way == "uncompiled"]
    for (plain, double), (as_it_is, uncompiled, exact) in zip(original, mended, strict=True):
        again = Again(plain, (double,)), Again(as_it_is, (uncompiled, exact))
        both = Programs(programs.original, [*others, fused])
        doubts = [pair.recipe for pair in paired(both, fused).pairs if _doubt(pair)]
        found |= judge(both, {"inductor": doubts}, *again, coarse)
        both = Programs(programs.original, [*others, replace(as_it_is, way="inductor")])
        found |= judge(both, {"inductor": [one for one in exact.recipes if one not in fused.recipes]}, *again)
    return found


def _made_up_and_equal(programs: Programs) -> frozenset[Recipe]:
    """The calls with made-up values whose results are the same in both programs, uncompiled."""
    mended = next((one for one in programs.mended if one.way == "uncompiled"), None)
    if mended is None or not programs.references:
        return frozenset()
    original = programs.references[0]
    seen = dict(zip(original.recipes, original.observations, strict=False))
    same = [
        recipe
        for recipe, new in zip(mended.recipes, mended.observations, strict=False)
        if recipe.floats  # the values of the others are the entry's
        and (old := seen.get(recipe)) is not None
        and all(old.parts.get(part) == new.parts.get(part) for part in RESULTS)
    ]
    return frozenset((*same, *(replace(one, gradients=False) for one in same)))  # a form that inductor compiles, too


def _may_be_rounding(pair: Pair) -> bool:
    """Whether results have the same form, and all that is beyond the bound is finite and could be wider."""
    if pair.original.seen.raised is not None or pair.mended.seen.raised is not None:
        return False
    for part in RESULTS:
        old, new = (side.seen.parts.get(part, {}) for side in (pair.original, pair.mended))
        more = [leaf for path, leaf in new.items() if path not in old]
        if old.keys() - new.keys() or (part == "output" and more):
            return False
        if not all(is_zero(leaf, pair.mended.blobs) for leaf in more):
            return False
        if not all(_could_be_wider(leaf, new[path], pair) for path, leaf in old.items()):
            return False
    return True


def _could_be_wider(old: Leaf, new: Leaf, pair: Pair) -> bool:
    differs = compare_leaves(old, new, pair.original.blobs, pair.mended.blobs, signed_zeros=False)
    if differs is None or differs[0] == "close":
        return True
    first, second = read_back(old, pair.original.blobs), read_back(new, pair.mended.blobs)
    if old.text != new.text or first is None or second is None or old.dtype not in WIDER:
        return False
    return _alike_where_odd([first, second])


def _strays(program: Again) -> set[Recipe]:
    """The calls in which the program runs other lines in float64."""
    plain = dict(zip(program.plain.recipes, program.plain.paths, strict=True))
    double = program.double[0]
    paths = dict(zip(double.recipes, double.paths, strict=True))
    return {recipe for recipe, path in plain.items() if paths.get(recipe) != path}


def reason(plain: Pair, double: Pair, strays: bool, *, coarse: bool = False) -> str:
    """What float64 shows of one call; `strays`: other lines run there. `coarse`: float32 may be far from it."""
    for side in (double.original, double.mended):
        if side.seen.raised is not None:
            return f"in float64 it raises {side.seen.raised.type}, so the cause may not be rounding alone"
    if strays:
        return "in float64 other lines run, so the cause may not be rounding alone"
    for one in double.compare(Comparison()).differences:
        if one["severity"] in ("different", "exception") and one["what"] not in RESULTS:
            where = f" of {one['what']} {one['where']}".rstrip()
            return f"in float64 they differ too: {one['detail']}{where}"
    sides = [(plain.original, double.original), (plain.mended, double.mended)]
    if any(one.seen.parts["random state"] != two.seen.parts["random state"] for one, two in sides):
        return "in float64 it draws other random numbers, so the cause may not be rounding alone"
    for part in RESULTS:
        snapshots = [side.seen.parts.get(part, {}) for side in _four(plain, double)]
        more = [leaf for path, leaf in snapshots[3].items() if path not in snapshots[2]]
        unlike = any(snapshots[first].keys() != snapshots[second].keys() for first, second in ((0, 2), (1, 3)))
        if unlike or not all(is_zero(leaf, double.mended.blobs) for leaf in more):
            return "in float64 its results have another form, so the cause may not be rounding alone"
        gradients = snapshots[2].values() if part == "gradient" else ()
        largest = max((_largest(leaf, double.original) for leaf in gradients), default=0.0)
        for path in snapshots[0]:
            leaves = [snapshot[path] for snapshot in snapshots]
            if words := _leaf_reason(leaves, _four(plain, double), largest, coarse):
                return f"{words} ({part} {path})".replace(" )", ")")
    return ""


def _four(plain: Pair, double: Pair) -> list[Side]:
    return [plain.original, plain.mended, double.original, double.mended]


def _leaf_reason(leaves: Sequence[Leaf], sides: Sequence[Side], largest: float, coarse: bool) -> str:
    """Why the difference at one place of the results is not shown to be rounding; empty when it is, or there is none."""
    texts = [leaf.text.replace("float32", "float64").replace("complex64", "complex128") for leaf in leaves]
    tensors = [_tensor(leaf, side) for leaf, side in zip(leaves, sides, strict=True)]
    old, new, exact_old, exact_new = tensors
    if len(set(texts)) > 1:
        return "in float64 it gives something else, so the cause may not be rounding alone"
    if old is None or new is None or exact_old is None or exact_new is None:  # too large to be kept, or no plain tensor
        same = leaves[0].digest == leaves[1].digest and leaves[2].digest == leaves[3].digest
        return "" if same else "its contents are too large to compare in float64"
    if not (exact_old.is_floating_point() or exact_old.is_complex()):
        same = torch.equal(old, exact_old) and torch.equal(new, exact_new)
        return "" if same else "in float64 it gives something else, so the cause may not be rounding alone"
    if not _alike_where_odd(tensors):
        return "in float64 other elements are finite, so the cause may not be rounding alone"
    old, new, exact_old, exact_new = map(_finite, tensors)
    scale = _norm(exact_old)
    apart, exactly = (old - new).abs(), (exact_old - exact_new).abs()
    if not exactly.numel() or not (float(apart.max()) or float(exactly.max())):
        return ""
    if leaves[2].dtype in WIDER:
        return "it computes in float32 even from float64 inputs, so the cause may not be rounding alone"
    strayed = [_norm(old - exact_old), _norm(new - exact_new)]
    differs = compare_leaves(leaves[0], leaves[1], sides[0].blobs, sides[1].blobs, signed_zeros=False)
    # Where float32 gives both the same by luck, how far it is from float64 tells how much these values are rounded.
    whole = largest if _is_noise(old, exact_old, largest) and _is_noise(new, exact_new, largest) else scale
    allowed = max(SHRINK * max(float(apart.max()), min(strayed)), FLOOR * whole)
    differ_too = f"in float64 they differ too, by {float(exactly.max()):.1e}: it is more than rounding"
    if differs is not None and differs[0] != "close" and not coarse:
        near = max(APART * scale, NOISE * largest)
        if float(apart.max()) > near and _norm((old - new) - (exact_old - exact_new)) <= NEAR * float(apart.max()):
            return differ_too
        if float(apart.max()) > near:
            return f"float32 is too coarse for these values: {float(apart.max()):.1e} apart, of {scale:.1e}"
        if max(strayed) > max(NEAR * scale, NOISE * largest):
            return f"float32 is too coarse for these values: {max(strayed):.1e} away from float64, of {scale:.1e}"
        if max(strayed) > AS_EXACT * max(min(strayed), ROUNDED * scale):
            return f"from its result in float64 one is {max(strayed):.1e} away, the other {min(strayed):.1e}"
    each = torch.clamp(torch.maximum(SHRINK_EACH * apart, UNSEEN * exact_old.abs()), min=FLOOR * largest)
    if float(exactly.max()) > allowed or bool((exactly > each).any()):
        return differ_too
    return ""


def _is_noise(value: torch.Tensor, exact: torch.Tensor, largest: float) -> bool:
    """Whether a gradient is nothing but rounding, beside the largest of the call: in float64 it is nearly 0, and another."""
    return _norm(exact) <= NOISE_EXACT * largest and 2 * _norm(value - exact) >= max(_norm(value), _norm(exact))


def _tensor(leaf: Leaf, side: Side) -> torch.Tensor | None:
    if leaf.number is not None:
        return torch.tensor([leaf.number], dtype=torch.float64)
    return read_back(leaf, side.blobs)


def _alike_where_odd(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether what is NaN or infinite is that in all of them."""
    wide = torch.complex128 if tensors[0].is_complex() else torch.float64
    odd = [torch.where(torch.isfinite(one), torch.zeros((), dtype=wide), one.to(wide)) for one in tensors]
    return all(torch.equal(torch.nan_to_num(odd[0], nan=1.0), torch.nan_to_num(one, nan=1.0)) for one in odd) and all(
        torch.equal(torch.isfinite(tensors[0]), torch.isfinite(one)) for one in tensors
    )


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return torch.where(torch.isfinite(tensor), tensor.to(wide), torch.zeros((), dtype=wide))


def _largest(leaf: Leaf, side: Side) -> float:
    tensor = _tensor(leaf, side)
    if tensor is None or not (tensor.is_floating_point() or tensor.is_complex()):
        return 0.0
    return _norm(_finite(tensor))


def _norm(tensor: torch.Tensor) -> float:
    return float(tensor.abs().max()) if tensor.numel() else 0.0
