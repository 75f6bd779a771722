"""What becomes of the assumptions of a mend: open, discharged by a probe, or accepted by the user. Pure.

A mend declares its own (`Mend.assumes`); the worker adds those that a probe found to be broken, and says for which kinds
every probe came to its end with nothing different, and at which places. A probe says something of an assumption only where
it ran its places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from graphmend_lsp.engine.programs import places_assumed
from graphmend_lsp.model import Assumption, AssumptionKind, Mend
from graphmend_lsp.worker.wire import CandidateResult, Difference

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """The assumptions of a verdict. `shown` is what a probe showed of an open one, in words.

    `unmet` are those of whose places no call ran any: what another entry shows decides.
    """

    open: tuple[Assumption, ...] = ()
    discharged: tuple[Assumption, ...] = ()
    accepted: tuple[Assumption, ...] = ()
    shown: Mapping[AssumptionKind, str] = field(default_factory=dict)
    unmet: tuple[Assumption, ...] = ()

    def told(self, one: Assumption) -> str:
        """An open assumption as a reason."""
        shown = self.shown.get(one.kind)
        return f"assumes that {one.words}" + (f" ({shown})" if shown else "")


def standing_of(
    result: CandidateResult,
    mends: Sequence[Mend],
    accepted: Collection[str] = (),
    written: Sequence[Assumption] = (),
) -> Standing:
    """What a run showed of what these mends assume, and of what is read off their texts (`written`)."""
    broken: dict[AssumptionKind, str] = {}
    for one in result["differences"]:
        if (kind := kind_of(one.get("assumes", ""))) is not None:
            broken.setdefault(kind, words_of(one))
    declared = list(dict.fromkeys((*(one for mend in mends for one in mend.assumes), *written)))
    known = {one.kind for one in declared}
    declared += [Assumption(kind) for kind in broken if kind not in known]
    if untried := result.get("untried"):
        more = f" and {len(untried) - _SHOWN} more" if len(untried) > _SHOWN else ""
        words = f"nothing differs in the uses that the time limit left untried ({'; '.join(untried[:_SHOWN])}{more})"
        declared.append(Assumption("not-tried", words))
    held = {kind for kind in result.get("probed", ()) if kind not in broken} - ({"not-tried"} if untried else set())
    places = _places(result, mends)
    discharged = tuple(one for one in declared if one.kind in held and all(places.exercised(one)))
    left = [one for one in declared if one not in discharged]
    asked = [one for one in left if one.kind not in accepted]
    unmet = tuple(one for one in asked if one.kind not in broken and places.is_unmet(one))
    return Standing(
        tuple(one for one in asked if one not in unmet),
        discharged,
        tuple(one for one in left if one.kind in accepted),
        broken,
        unmet,
    )


@dataclass(frozen=True)
class _Places:
    """The numbers of the places of each assumption, and what became of them; none where the worker was asked for none."""

    numbers: Mapping[Assumption, Sequence[int]]
    held: Collection[int]
    missed: Collection[int]

    def exercised(self, one: Assumption) -> list[bool]:
        """Whether a probe ran each place."""
        return [number in self.held for number in self.numbers.get(one, ())]

    def is_unmet(self, one: Assumption) -> bool:
        """Whether there are places, and no call ran any of them."""
        numbers = self.numbers.get(one, ())
        return bool(numbers) and all(number in self.missed for number in numbers)


def _places(result: CandidateResult, mends: Sequence[Mend]) -> _Places:
    if "exercised" not in result:
        return _Places({}, (), ())
    numbers: dict[Assumption, list[int]] = {}
    for number, (one, _, _) in enumerate(places_assumed(mends)):
        numbers.setdefault(one, []).append(number)
    return _Places(numbers, result["exercised"], result.get("unmet", ()))


def kind_of(word: str) -> AssumptionKind | None:
    """A kind as the worker or a user writes it; None when there is no such kind."""
    return next((kind for kind in get_args(AssumptionKind) if kind == word), None)


def words_of(one: Difference) -> str:
    """A difference in words."""
    where = f" {one['where']}" if one["where"] else ""
    return f"{one['what']}{where} in {one['call']}: {one['detail']}"
