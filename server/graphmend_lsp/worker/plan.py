"""Which calls a mend is tried with: the entry's, others until both sides of every condition ran, the first one again.

Runs the original program, uncompiled, in a child of its own; what it says holds for every child of the same verdict.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .call_modes import modes_for
from .effects import Listener
from .exercised import Exercised
from .observe import Observation, Raised, Subject, draws, fresh_calls
from .performing import TooLongError, interrupted_after, perform
from .probe import Sides
from .probes import probing
from .recipes import (
    Arguments,
    Recipe,
    asks_gradients,
    gradient_of,
    odd,
    reflagging,
    renumbering,
    reshaping,
    searching,
    standard,
    unusual,
)
from .snapshot import Store, tensors_of
from .variants import SPOTS
from .wire import Place

STANDARD_SHARE = 0.1  # of the time limit, for values that any mend is tried with
LARGEST_SHARE = 0.4  # of the time limit: as much as `STANDARD_CALLS` may take where one call is slow
STANDARD_CALLS = (
    480  # about as many as a mend is tried with in all programs and ways; each counts as what the latest took
)
SEARCH_SHARE = 0.25  # of the time limit, until the search for unseen sides ends
RUNS = 6  # how often each chosen call is run again, at most: two programs, three ways
MOST_RESHAPED = 2
MOST_GRADIENTS = 4  # the entry's calls of which it is known whether a backward pass goes through them
MOST_NEAR = 2  # calls that showed a side, from which others are made with single elements changed
PATIENCE = 20  # times the longest call so far that a made-up call may take
LEAST_PATIENCE = 1.0  # seconds
MOST_PROBED = 3  # calls that are probed
PROBE_RUNS = 2  # how often each is run: two programs
PROBED = (
    "",
    "random",
    "negated",
    "zero",
    "one",
    "tiny",
    "positive",
    "mixed",
    "like another",
)  # no numbers that overflow
FIRST = "as the first call"


@dataclass(frozen=True)
class Plan:
    """The calls, in order. `telling` are the numbers of those that showed a side for the first time.

    `late` are made behind them, uncompiled only: what they show does not depend on how a program is compiled. `probes`
    come last, each from the state that the program was loaded in. `untried` says what there was no time for.
    """

    recipes: tuple[Recipe, ...]
    telling: frozenset[int]
    failed: Observation | None = None  # the last of the entry's calls when all of them raised
    late: tuple[Recipe, ...] = ()
    probes: tuple[Recipe, ...] = ()
    untried: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[Recipe, ...]:
        """The entry's calls as they are."""
        return tuple(recipe for recipe in self.recipes if recipe.own)

    @property
    def uncompiled(self) -> tuple[Recipe, ...]:
        """The calls that are made uncompiled."""
        return (*self.recipes, *self.late, *self.probes)

    def unshaped(self) -> tuple[Recipe, ...]:
        """All calls but those of another shape that showed no new side."""
        return tuple(one for number, one in enumerate(self.recipes) if not one.resize or number in self.telling)

    def lean(self) -> tuple[Recipe, ...]:
        """The calls that show lost effects: as given, one with other values, those that took another side, the end."""
        kept: dict[Recipe, None] = {}
        for number, recipe in enumerate(self.recipes):
            if _asks_alone(recipe):  # a tensor's text changes with its history
                kept[recipe] = None
                continue
            plain = recipe.own or recipe.again or number in self.telling
            if plain or (recipe.floats, recipe.ints, recipe.bools) == ("random", "permuted", "flipped"):
                kept[replace(recipe, gradients=False)] = None
        return tuple(kept)

    def leanest(self) -> tuple[Recipe, ...]:
        """The first call, those that took another side, the first call again."""
        kept = [
            replace(recipe, gradients=False)
            for number, recipe in enumerate(self.recipes)
            if number == 0 or recipe.again or number in self.telling
        ]
        return tuple(dict.fromkeys(kept))

    def of_every_size(self) -> tuple[Recipe, ...]:
        """All calls, also those with smaller inputs; gradients in one of them only, and none at other sizes, because each form
        is compiled anew."""
        smaller = [one for one in self.late if one.resize is not None and not (one.raises or one.call_mode)]
        kept = [one if _asks_alone(one) else replace(one, gradients=False) for one in (*self.recipes, *smaller)]
        kept = [replace(one, call_mode="no_grad") if one.resize is not None else one for one in kept]
        return tuple(dict.fromkeys(kept))

    def everything(self, every_size: bool = False) -> tuple[Recipe, ...]:
        """All calls, and behind them the forms of them that only the shorter lists have, or that `of_every_size` has."""
        calls = (*self.recipes, *self.late)
        forms = (*self.lean(), *self.leanest(), *(self.of_every_size() if every_size else ()))
        return (*calls, *dict.fromkeys(one for one in forms if one not in calls), *self.probes)


def _asks_alone(recipe: Recipe) -> bool:
    """Whether a call of the entry's asks for gradients, and is as it is in all else."""
    return replace(recipe, raises=False) == gradient_of(Recipe(recipe.base))


def choose(
    subject: Subject,
    calls: Sequence[Arguments],
    sides: Sides,
    listener: Listener,
    store: Store,
    seconds: float,
    places: Sequence[Place] = (),
    lost: Collection[Recipe] = (),
    *,
    probed: bool = True,
) -> tuple[Plan, list[Observation], Store]:
    """The plan, and what was seen in the entry's own calls on the way. Calls that run one of `places` are probed.

    `lost` are calls that made a kernel fail: none like them is made. Without `probed` no call is.

    Raises:
        DeviceLostError: another one did.
    """
    return _Search(subject, calls, sides, listener, store, seconds, places, lost).run(probed)


def _kin(recipe: Recipe) -> Recipe:
    """What calls have in common that fail in one kernel: what is done to their values."""
    return Recipe(
        0, recipe.floats, recipe.ints, recipe.bools, spot=recipe.spot, weights=recipe.weights, resize=recipe.resize,
        numbers=recipe.numbers, dtype=recipe.dtype,
    )  # fmt: skip


class _Search:
    def __init__(
        self,
        subject: Subject,
        calls: Sequence[Arguments],
        sides: Sides,
        listener: Listener,
        store: Store,
        seconds: float,
        places: Sequence[Place],
        lost: Collection[Recipe],
    ) -> None:
        self.subject = subject
        self.calls = calls
        self.pristine = fresh_calls(calls)
        self.sides = sides
        self.listener = listener
        self.seconds = seconds
        self.places = Exercised(places)
        self.ran: dict[int, frozenset[int]] = {}  # the places that each of the entry's calls ran
        self.store = store
        self.recipes: list[Recipe] = []
        self.telling: set[int] = set()
        self.refused: list[Recipe] = []  # made-up values for which the program raises
        self.raising: set[int] = set()  # the entry's calls that raise as they are
        self.checks: dict[Recipe, str] = {}  # the types of what calls raise that are kept for what they show
        self.checking: set[str] = set()  # and of those that showed a side of a condition: the program's own checks
        self.fresh: list[Recipe] = []  # what is refused behind other calls, to be made as the first one
        self.untried: list[str] = []
        self.probed = 0
        self.gradients = False
        self.history = False  # whether inputs that are no leaves may ask for gradients
        self.lost = frozenset(map(_kin, lost))
        self.started = time.monotonic()
        self.longest = 0.0  # seconds; the first call pays what is set up once
        self.latest = 0.0

    def run(self, probed: bool) -> tuple[Plan, list[Observation], Store]:
        own = [self.as_given(base) for base in range(len(self.calls))]
        self.raising = {base for base, one in enumerate(own) if one.raised}
        if len(self.raising) == len(own):
            return Plan(tuple(self.recipes), frozenset(self.telling), own[-1]), own, self.store
        self.find_gradients()
        bases = [base for base in range(len(self.calls)) if base not in self.raising]
        for base in bases:
            chosen = standard(base, self.pristine[base])
            for recipe in chosen if base == bases[0] else chosen[:1]:
                if not self.missing and not self.affords(recipe):
                    continue
                seen = self.try_out(recipe)
                if (
                    seen.raised is not None
                    and seen.raised.stage == "call"
                    and seen.raised.type != TooLongError.__name__
                ):
                    self.refused.append(replace(recipe, raises=True))
        for base in bases:
            for recipe in searching(base, self.pristine[base], bool(self.subject.modules), draws(own[base])):
                if not self.missing or self.spent() > self.seconds * SEARCH_SHARE:
                    break
                self.try_out(recipe, telling_only=True)
        self.reshape(bases[0])
        self.renumber(bases[0])
        again = Recipe(bases[0], again=True, gradients=self.gradients)
        self.recipes.append(again)
        late = (
            *self.single_out(bases),
            *self.in_other_mode(bases),
            *self.in_odd_form(bases[0]),
            *self.with_history(bases),
            *self.with_gradients(bases),
            *self.with_other_flags(bases),
            *self.made_unusual(bases),
            *self.refused,
        )
        probes = self.probe(bases) if probed else ()
        untried = tuple(dict.fromkeys(self.untried))
        return Plan(tuple(self.recipes), frozenset(self.telling), None, late, probes, untried), own, self.store

    def probe(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """Uses that the entry does not show, as many as there is time for."""
        near = (*(Recipe(base) for base in bases[:MOST_NEAR]), *self.near(bases))
        near = tuple(one for one in dict.fromkeys(near) if not one.weights and one.floats in PROBED)[:MOST_PROBED]
        near = tuple(dict.fromkeys((*near, *map(Recipe, self.reaching(bases)))))
        wanted = probing(self.subject, near, self.pristine, gradients=self.gradients, history=self.history)
        chosen: list[Recipe] = []
        for one in (*self.fresh, *wanted):
            self.probed = len(chosen)
            if self.affords(one):
                chosen.append(one)
        return tuple(chosen)

    def as_given(self, base: int) -> Observation:
        """A call of the entry, as it is."""
        with self.places.watched() as ran:
            seen = self.try_out(Recipe(base, own=True), always=True)
        self.ran[base] = frozenset(ran)
        return seen

    def reaching(self, bases: Sequence[int]) -> list[int]:
        """Further calls of the entry, each the first that runs a place of those that something is assumed of."""
        known = frozenset[int]().union(*(self.ran[base] for base in bases[:MOST_NEAR]))
        found: list[int] = []
        for base in bases[MOST_NEAR:]:
            if not self.ran[base] <= known:
                known |= self.ran[base]
                found.append(base)
        return found[:MOST_PROBED]

    def affords(self, recipe: Recipe, share: float = STANDARD_SHARE) -> bool:
        """Whether there is time for one more call; what there is none for is told."""
        allowed = max(self.seconds * share, min(self.seconds * LARGEST_SHARE, STANDARD_CALLS * self.latest))
        if self.spent() <= allowed:
            return True
        self.untried.append(recipe.use)
        return False

    @property
    def missing(self) -> bool:
        return not self.sides.complete

    def spent(self) -> float:
        """Seconds since the start, and those that the chosen calls will take when they are run again."""
        again = RUNS * self.latest * len(self.recipes) / 2 + PROBE_RUNS * self.latest * self.probed
        return time.monotonic() - self.started + again

    def find_gradients(self) -> None:
        """Whether floating inputs may ask for gradients: the program must take them as well as without.

        A call whose backward pass fails is kept: who asks for none has the outputs, and AOTAutograd traces both at once.
        """
        bases = [base for base in range(len(self.calls)) if base not in self.raising]
        for base in bases[:MOST_GRADIENTS]:
            if not asks_gradients(self.pristine[base]):
                continue
            recipe = gradient_of(Recipe(base))
            raised = self.observe(recipe).raised
            if raised is None and base == bases[0]:
                self.gradients = True
                self.recipes.append(recipe)
            elif raised is not None and raised.stage == "backward":
                self.recipes.append(replace(recipe, raises=True))

    def single_out(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """Calls near those that showed a side, with elements at which the other side may have no gradient."""
        found: list[Recipe] = []
        for recipe in self.near(bases):
            if not any(part.is_floating_point() for _, part in tensors_of(self.pristine[recipe.base])):
                continue
            for spot in SPOTS:
                one = replace(recipe, spot=spot, gradients=self.gradients)
                if not self.affords(one):
                    continue
                if self.observe(one).raised is None:
                    found.append(one)
        return tuple(found)

    def in_other_mode(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """The same in train mode where the program is proven in eval mode, and the other way round: both use its source."""
        modes = {module.training for module in self.subject.modules.values()}
        if len(modes) != 1:
            return ()
        mode: Literal["train", "eval"] = "eval" if modes.pop() else "train"
        found: list[Recipe] = []
        raising = [Recipe(base) for base in sorted(self.raising)[:MOST_NEAR]]
        for recipe in (*self.near(bases), *raising):
            one = replace(recipe, mode=mode, gradients=self.gradients)
            if not self.affords(one):
                continue
            # A check that fails leaves what it leaves in this mode, too (running statistics, for one).
            if (raised := self.observe(one).raised) is None or raised.type == self.checks.get(recipe):
                found.append(one)
        return tuple(found)

    def in_odd_form(self, base: int) -> tuple[Recipe, ...]:
        """Calls of another form that the program takes."""
        found: list[Recipe] = []
        refused: set[str] = set()
        for recipe in odd(base, self.pristine[base]):
            if recipe.dtype in refused or not self.affords(recipe):
                continue
            if (raised := self.observe(recipe).raised) is None:
                found.append(recipe)
                if recipe.resize is not None and asks_gradients(self.pristine[base]):
                    found += self.that_run([gradient_of(recipe)])  # what a loop without turns gives has no history
            elif self.is_checked(raised):
                found.append(replace(recipe, raises=True))
            elif recipe.dtype:
                refused.add(recipe.dtype)
                self.fresh.append(replace(recipe, probe=FIRST))  # what earlier calls left behind may be the reason
        return tuple(found)

    def with_history(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """Inputs that ask for gradients and are no leaves: texts name their history, and ``x.zero_()`` refuses leaves."""
        if not asks_gradients(self.pristine[bases[0]]):
            return ()
        one = replace(gradient_of(Recipe(bases[0])), history=True)
        self.history = self.observe(one).raised is None
        return (one,) if self.history else ()

    def with_gradients(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """Calls that take gradients where the entry's first does not: a side that changes an input in place is not theirs."""
        if self.gradients:
            return ()
        return self.that_run([gradient_of(one) for one in self.near(bases) if asks_gradients(self.pristine[one.base])])

    def with_other_flags(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """The entry's calls with their flags the other way round: what is traced for one call says nothing of them."""
        return self.that_run([one for base in bases[:MOST_NEAR] for one in reflagging(base, self.pristine[base])])

    def that_run(self, recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
        """Those of some calls that the program takes."""
        return tuple(one for one in recipes if self.affords(one) and self.observe(one).raised is None)

    def made_unusual(self, bases: Sequence[int]) -> tuple[Recipe, ...]:
        """Calls near those that showed a side, in another mode and with smaller inputs, where the program takes them."""
        found: list[Recipe] = []
        for recipe in self.near(bases):
            call = self.pristine[recipe.base]
            for one in unusual(recipe, call, modes_for(call, self.subject, self.gradients)):
                one = replace(one, gradients=self.gradients and one.call_mode == "twice")
                if not self.affords(one):
                    continue
                if (raised := self.observe(one).raised) is None:
                    found.append(one)
                elif one.resize is not None and self.is_checked(raised) and self.takes_size(one):
                    found.append(replace(one, raises=True))
        return tuple(found)

    def takes_size(self, recipe: Recipe) -> bool:
        """Whether the program takes the call of the entry in that size, or its own check refuses it for the size alone."""
        plain = Recipe(recipe.base, resize=recipe.resize, axis=recipe.axis)
        raised = self.observe(plain).raised
        return raised is None or self.is_checked(raised)

    def is_checked(self, raised: Raised) -> bool:
        """Whether it is what a check of the program raises: what stands behind the check must not raise in its place."""
        return raised.stage == "call" and raised.type in self.checking

    def renumber(self, base: int) -> None:
        """Other Python numbers, compiled as well: Dynamo traces those that change in another way."""
        for recipe in renumbering(base, self.pristine[base]):
            if self.affords(recipe, SEARCH_SHARE):
                self.try_out(recipe)

    def near(self, bases: Sequence[int]) -> list[Recipe]:
        """The entry's first calls, and made-up ones that showed a side of a condition."""
        shown = [recipe for number, recipe in enumerate(self.recipes) if number in self.telling and not recipe.own]
        own = [Recipe(base) for base in bases[: MOST_NEAR if self.sides.conditions else 1]]
        return list(dict.fromkeys((*own, *shown[:MOST_NEAR])))

    def reshape(self, base: int) -> None:
        accepted: set[int | None] = set()
        for recipe in reshaping(base, self.pristine[base]):
            if len(accepted) >= MOST_RESHAPED:
                return
            if not self.affords(recipe, SEARCH_SHARE):
                continue
            if recipe.axis not in accepted and self.try_out(recipe).raised is None:
                accepted.add(recipe.axis)

    def try_out(self, recipe: Recipe, *, always: bool = False, telling_only: bool = False) -> Observation:
        """Run a call and keep it when it proves something: it runs, or raises on a side that was not seen before.

        A call that asks for gradients may be refused for that alone; then it is tried without.
        """
        if self.gradients and not always:
            recipe = gradient_of(recipe)
        before = self.sides.count
        observation = self.observe(recipe)
        if observation.raised is not None and recipe.gradients and self.sides.count == before:
            recipe = replace(recipe, gradients=False)
            observation = self.observe(recipe)
        telling = self.sides.count > before
        if observation.raised is not None:
            self.checks[replace(recipe, own=False)] = observation.raised.type
            if telling and observation.raised.stage == "call":
                self.checking.add(observation.raised.type)
        if always or telling or (observation.raised is None and not telling_only):
            if telling:
                self.telling.add(len(self.recipes))
            self.recipes.append(recipe)
        return observation

    def observe(self, recipe: Recipe) -> Observation:
        if self.lost and not recipe.own and _kin(recipe) in self.lost:
            return Observation(recipe.label, {}, (), Raised("torch.AcceleratorError", "a kernel failed"))
        started = time.monotonic()
        patience = None if recipe.own else max(LEAST_PATIENCE, PATIENCE * self.longest)
        try:
            with interrupted_after(patience), self.sides.believed(not recipe.odd):
                observation = perform(self.subject, recipe, self.calls, self.pristine, self.store, self.listener)
        except TooLongError:  # a loop that these values never end; what it showed cannot be run again
            return Observation(recipe.label, {}, self.listener.take(), Raised("TooLongError", "it did not end"))
        self.latest = time.monotonic() - started
        self.longest = max(self.longest, self.latest)
        return observation
