"""What the trials of two programs say of a mend: which trial is compared with which, and what of it counts.

Pure: data in, data out. What a single call differs in is found elsewhere (`compare`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from .compare import PARTS, Comparison, Shown, Side, compare_refusals
from .effects import Effect
from .observe import Observation
from .probes.dynamic import CONSTANT, ELSEWHERE
from .probes.training import SECOND
from .recipes import Recipe, gradient_of
from .snapshot import Snapshot
from .trials import Trial, Way
from .used import marked, probe_differences, refused_uses, tests
from .wire import Difference

CALLED: Mapping[Way, str] = {
    "uncompiled": "", "eager": " compiled", "aot_eager": " compiled with aot_eager",
    "inductor": " compiled with inductor",
}  # fmt: skip
_GRAVEST = ("different", "exception", "close", "moved")
TEXTS = ("stdout", "stderr", "log", "warning", "effects", "exception")


@dataclass(frozen=True)
class Programs:
    """The trials of the original and of one mended program; of each at least the uncompiled one, with all calls."""

    original: Sequence[Trial]
    mended: Sequence[Trial]

    def trial(self, way: Way, recipes: Sequence[Recipe]) -> Trial | None:
        """The original's trial of those very calls that way."""
        return next((one for one in self.original if one.way == way and one.recipes == tuple(recipes)), None)

    @property
    def references(self) -> list[Trial]:
        """The original's uncompiled trials; the first has every call."""
        return [one for one in self.original if one.way == "uncompiled"]


@dataclass(frozen=True)
class Pair:
    """One call of both programs, as it is compared. `refused`: the original raises, and only that is compared."""

    recipe: Recipe
    label: str
    original: Side
    mended: Side
    compiled: bool
    forgiving: tuple[str, ...] = ()
    refused: bool = False

    def compare(self, comparison: Comparison, shown: Shown | None = None) -> Comparison:
        """The comparison, with this call added to it."""
        comparison.add(
            self.label, self.original, self.mended, compiled=self.compiled, forgiving=self.forgiving, shown=shown
        )
        return comparison


@dataclass(frozen=True)
class Pairs:
    """The calls of one trial. `told`: how the original differs from itself. `like`: it was run the same way.

    `complete`: there is a call of the original for each.
    """

    pairs: tuple[Pair, ...]
    told: tuple[Difference, ...] = ()
    like: bool = True
    complete: bool = True


def compare_trial(
    programs: Programs, new: Trial, shown: Mapping[tuple[Way, Recipe], Shown] | None = None
) -> tuple[Comparison, bool]:
    """Compare one trial of the mended program with the original; whether the original must be run that way to judge.

    `shown` is what float64 showed of calls that were made again in it.
    """
    found = paired(programs, new)
    comparison = Comparison(differences=list(found.told))
    refused = refused_uses(found.pairs)
    for pair in sorted(found.pairs, key=lambda one: (bool(one.recipe.probe), one.recipe.odd)):
        if pair.recipe.probe in refused:
            continue
        if pair.refused:
            comparison.differences += compare_refusals(pair.mended.seen.label, pair.original.seen, pair.mended.seen)
        elif pair.recipe.odd:
            known = {(one["what"], one["where"]) for one in comparison.differences if not tests(one, pair.recipe)}
            comparison.differences += [one for one in _in_use(pair, new) if (one["what"], one["where"]) not in known]
        else:
            pair.compare(comparison, (shown or {}).get((new.way, pair.recipe)))
    if new.way == "inductor" or new.lowered:
        comparison.differences = [
            {**one, "fused": True} if one.get("rounded") else one for one in comparison.differences
        ]
    elif new.operators:
        comparison.differences = [
            {**one, "fused": True} if one.get("rounded") and one["what"] == "gradient" else one
            for one in comparison.differences
        ]
    unlike = [one for one in comparison.differences if not one.get("fused")]
    return comparison, not found.like and (bool(unlike) or not found.complete)


def paired(programs: Programs, new: Trial) -> Pairs:
    """The calls of a trial of the mended program, each with the one of the original that it is compared with.

    What the mended program does compiled is compared with what the original does uncompiled. Only where that differs in
    anything, compiling may be the reason, and like is compared with like. Compiling alone may sum gradients in another
    order and leave marks in the state, as of ``is_compiling()``; what the mend does to both is seen uncompiled.
    """
    like = programs.trial(new.way, new.recipes) if new.way != "uncompiled" else None
    if like is not None:
        return _with_like(programs, like, new)
    reference, seen = _uncompiled(programs, new.recipes)
    news = new.observations
    if new.way != "uncompiled":
        repeated = _repeated(programs.references[0])
        seen, news = _without_repeats(seen, repeated), _without_repeats(news, repeated)
    hidden = _chance(reference, new) | programs.references[0].unsteady | _made_by_compiling(new, programs.mended, seen)
    seen, news = _without_state(seen, hidden), _without_state(news, hidden)
    compiled = new.way != "uncompiled"
    pairs = [
        Pair(
            recipe, f"{second.label}{CALLED[new.way]}", Side(first, reference.blobs), Side(second, new.blobs), compiled,
            _unlike(new, recipe), refused=recipe.raises and first.raised is not None,
        )
        for recipe, first, second in zip(new.recipes, seen, news, strict=False)
    ]  # fmt: skip
    return Pairs(tuple(pairs), like=not compiled, complete=len(seen) >= len(news))


def changes_state(trial: Trial) -> bool:
    """Whether the state is not the same after every call, but for those behind which it is put back: probes, and calls with
    other weights or in the other mode. What these leave behind is seen in the calls after them."""
    states = _states(trial)
    return any(one != states[0] for one in states[1:])


def change_state(program: Sequence[Trial]) -> bool:
    """The same of any trial of a program; what is there only because the program was compiled, as Dynamo's globals, is no state
    that a call depends on."""
    plain = [one for one in program if one.way == "uncompiled"]
    if any(map(changes_state, plain or program)):
        return True
    known = {path for one in plain for seen in (one.start, *_states(one)) for path in seen}
    compiled = [_states(one) for one in program if one.way != "uncompiled"]
    return any(
        one.get(path) != states[0].get(path)
        for states in compiled
        for one in states[1:]
        if one != states[0]
        for path in known
    )


def _states(trial: Trial) -> list[Snapshot]:
    """The state after every call of a trial behind which it is not put back."""
    seen = zip(trial.recipes, trial.observations, strict=False)
    return [one.parts.get("state", {}) for recipe, one in seen if not (recipe.probe or recipe.weights or recipe.mode)]


def unsteady(one: Trial, other: Trial) -> frozenset[str]:
    """Paths in the state that two uncompiled runs of one program leave otherwise: a time, an address, a count of objects."""
    found: set[str] = set()
    second = dict(zip(other.recipes, other.observations, strict=False))
    for recipe, seen in zip(one.recipes, one.observations, strict=False):
        if recipe.own and recipe in second:
            before, after = (each.parts.get("state", {}) for each in (seen, second[recipe]))
            found |= {path for path, leaf in before.items() if path in after and leaf != after[path]}
    return frozenset(found)


def _in_use(pair: Pair, new: Trial) -> list[Difference]:
    """What differs in a call that the entry's own do not stand for."""
    if pair.recipe.probe:
        return [one for one in probe_differences(pair) if not _is_helper(one, new)]
    differences = pair.compare(Comparison()).differences
    return [marked(_lighter(one), pair.recipe) for one in differences if one["severity"] != "moved"]


def _is_helper(one: Difference, new: Trial) -> bool:
    """Whether it is a global that the mended program has from the start."""
    return one["what"] == "state" and one["where"] in new.start and one["detail"].startswith("new")


def _lighter(one: Difference) -> Difference:
    """Of a call that the program was perhaps never meant for: what differs there makes a mend unsafe, not wrong."""
    return {**one, "severity": "exception"} if one["severity"] in ("different", "close") else one


def distinct(differences: Sequence[Difference]) -> list[Difference]:
    """Each difference once, where it is seen first, the gravest first; the same place differs in many calls and ways."""
    found: dict[tuple[str, ...], Difference] = {}
    for one in differences:
        words = one["detail"] if one["what"] in TEXTS else ""
        kind = "fused" if one.get("fused") else "rounded" if one.get("rounded") else one["severity"]
        broken = one.get("assumes")
        found.setdefault(("assumes", broken) if broken else (one["what"], one["where"], kind, words), one)
    return sorted(found.values(), key=lambda one: (_GRAVEST.index(one["severity"]), not one.get("rounded")))


def _with_like(programs: Programs, old: Trial, new: Trial) -> Pairs:
    """Call by call, compiled with compiled; where only compiling stops the original, with it uncompiled."""
    pairs: list[Pair] = []
    told: list[Difference] = []
    reference = programs.references[0]
    plain = dict(zip(reference.recipes, reference.observations, strict=False))
    repeated, once = _repeated(reference), _said_once(reference)
    olds, news = _without_repeats(old.observations, repeated), _without_repeats(new.observations, repeated)
    chance = _chance(old, new) | reference.unsteady
    olds = _without_state(olds, chance | _made_by_dynamo(old, programs.references))
    news = _without_state(news, chance | _made_by_dynamo(new, programs.mended))
    for recipe, first, second in zip(new.recipes, olds, news, strict=False):
        label = f"{first.label}{CALLED[old.way]}"
        forgiving = _noisy(new, recipe)
        uncompiled = plain.get(recipe) or plain.get(gradient_of(recipe))
        first = first if uncompiled is None else _without_new_warnings(first, uncompiled, second)
        one, other = Side(first, old.blobs), Side(second, new.blobs)
        as_before = _is_as_before(recipe, first, second)
        if uncompiled is not None and first.raised != uncompiled.raised and not as_before:
            told.append(_unlike_itself(label, first, uncompiled))
            one, forgiving = Side(uncompiled, reference.blobs), PARTS
            if recipe.probe:  # made in a process of its own
                other = Side(_without_effects(second, once.difference(map(_words, uncompiled.effects))), new.blobs)
            if recipe not in plain:  # it was run with gradients only: effects and exception can be compared
                one, other = _bare(one), _bare(other)
        fails = recipe.raises and first.raised is not None and first.raised.stage == "backward"
        pairs.append(Pair(recipe, label, one, other, True, forgiving, refused=fails))
    return Pairs(tuple(pairs), tuple(told))


def _without_new_warnings(old: Observation, plain: Observation, new: Observation) -> Observation:
    """What the original did compiled, without warnings that it gives only there, and the mended program less often."""
    known = {(one.about, one.text) for one in plain.effects if one.kind == "warning"}
    left = Counter((one.about, one.text) for one in new.effects if one.kind == "warning")
    kept = []
    for one in old.effects:
        said = (one.about, one.text)
        if one.kind != "warning" or said in known or left[said] > 0:
            kept.append(one)
            left[said] -= one.kind == "warning"
    return replace(old, effects=tuple(kept)) if len(kept) < len(old.effects) else old


def _is_as_before(recipe: Recipe, first: Observation, second: Observation) -> bool:
    """Whether a call that the program does not make raises compiled what the original raises compiled: torch.compile refuses
    that use anyway, or the program checks more where it is compiled."""
    if recipe.probe:
        return _is_raised_alike(first, second)
    return not recipe.own and first.raised is not None and first.raised == second.raised


def _is_raised_alike(first: Observation, second: Observation) -> bool:
    if first.raised is None or second.raised is None:
        return False
    return first.raised.type == second.raised.type or (first.raised.type, second.raised.type) == (CONSTANT, ELSEWHERE)


def _uncompiled(programs: Programs, recipes: Sequence[Recipe]) -> tuple[Trial, tuple[Observation, ...]]:
    """What the original did uncompiled in those calls, from a trial of that very list where there is one."""
    for trial in programs.references:
        if trial.recipes == tuple(recipes):
            return trial, trial.observations
    full = programs.references[0]
    if full.recipes[: len(recipes)] == tuple(recipes):
        return full, full.observations[: len(recipes)]
    known = dict(zip(full.recipes, full.observations, strict=False))
    return full, tuple(known[recipe] for recipe in recipes if recipe in known)


def _unlike(trial: Trial, recipe: Recipe) -> tuple[str, ...]:
    """The parts that come out close at best where the reference ran uncompiled."""
    if trial.way == "inductor" or trial.lowered:
        return PARTS
    return ("gradient",) if trial.way != "uncompiled" else _summed_apart(trial, recipe)


def _noisy(trial: Trial, recipe: Recipe) -> tuple[str, ...]:
    """The parts that come out close at best: aot_eager sums the gradients of one graph in another order, inductor fuses."""
    if trial.way == "inductor" or trial.lowered:
        return PARTS
    return ("gradient",) if trial.way == "aot_eager" else _summed_apart(trial, recipe)


def _summed_apart(trial: Trial, recipe: Recipe) -> tuple[str, ...]:
    """The parts that come out close where an operator sums by itself what one backward pass sums as it comes: gradients of two
    calls of a program, and gradients of gradients, which the program gives."""
    if not trial.operators:
        return ()
    return ("output", "gradient") if recipe.probe == SECOND else ("gradient",) if recipe.call_mode == "twice" else ()


def _repeated(trial: Trial) -> frozenset[Effect]:
    """Warnings that are shown in more than one call, but for probes."""
    seen = [one for recipe, one in zip(trial.recipes, trial.observations, strict=False) if not recipe.probe]
    heard = [one for each in seen for one in dict.fromkeys(each.effects) if one.kind == "warning"]
    return frozenset(one for one, times in Counter(heard).items() if times > 1)


def _words(one: Effect) -> tuple[str, ...]:
    """What an effect is, whoever wrote the record."""
    return one.kind, one.about, one.text


def _said_once(trial: Trial) -> frozenset[tuple[str, ...]]:
    """What a program says in its first call and in none of several later ones: it does so in every process."""
    seen = [one for recipe, one in zip(trial.recipes, trial.observations, strict=False) if not recipe.probe]
    later = {_words(one) for each in seen[1:] for one in each.effects}
    return frozenset(map(_words, seen[0].effects)) - later if len(seen) > 1 else frozenset()


def _without_effects(observation: Observation, known: Collection[tuple[str, ...]]) -> Observation:
    return replace(observation, effects=tuple(one for one in observation.effects if _words(one) not in known))


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


def _chance(old: Trial, new: Trial) -> set[str]:
    """State that differed before the first call already: the program's chance, not the mend's doing."""
    return {path for path, leaf in old.start.items() if path in new.start and leaf != new.start[path]}


def _made_by_compiling(trial: Trial, program: Sequence[Trial], others: Sequence[Observation]) -> set[str]:
    """State of a compiled trial that is never there when the same program (all trials of it) runs uncompiled."""
    plain = [one for one in program if one.way == "uncompiled"]
    if trial.way == "uncompiled" or not plain:
        return set()
    known = {path for one in plain for path in one.start}
    known |= {
        path for seen in (*others, *(each for one in plain for each in one.observations)) for path in _state(seen)
    }
    return {path for seen in trial.observations for path in _state(seen)} - known


def _made_by_dynamo(trial: Trial, program: Sequence[Trial]) -> set[str]:
    """Of that, the globals: names that Dynamo gives to what its code uses."""
    made = _made_by_compiling(trial, program, ())
    return {path for path in made if not any(path.startswith(f"{name}.") for name in trial.modules)}


def _state(observation: Observation) -> Collection[str]:
    return observation.parts.get("state", {}).keys()


def _without_state(observations: Sequence[Observation], paths: AbstractSet[str]) -> tuple[Observation, ...]:
    """The observations without that of their state; snapshots that several share stay shared."""
    if not paths:
        return tuple(observations)
    left: dict[int, Snapshot] = {}
    kept = []
    for each in observations:
        state = each.parts.get("state")
        if state is None or paths.isdisjoint(state):
            kept.append(each)
            continue
        if id(state) not in left:
            left[id(state)] = {path: leaf for path, leaf in state.items() if path not in paths}
        kept.append(replace(each, parts={**each.parts, "state": left[id(state)]}))
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
