"""Several fake runs of one program, each with other answers, until both sides of every condition were seen.

Pure: what a run is, the caller says. A run that raises because of what was answered is no failure of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .oracle import Profile
from .wire import Answer, BreakData, FailureData, GraphData, SkipData

PROFILES = (Profile(), Profile(number=0), Profile(selects_all=True), Profile(number=2), Profile(0, True))
_EXCEPTION = "GB0088"  # Dynamo met an exception that the program raises

_Place = tuple[str, int, "int | None"]
_Side = tuple[_Place, bool]


@dataclass(frozen=True)
class Once:
    """One run. `events` come with how many truth tests were answered before each; `asked`: other values were asked for."""

    answers: tuple[Answer, ...]
    events: tuple[tuple[int, BreakData], ...]
    graphs: tuple[GraphData, ...]
    skipped: tuple[SkipData, ...]
    asked: bool = False
    failure: FailureData | None = None

    @property
    def sides(self) -> set[_Side]:
        """The sides of conditions that it took."""
        return {_side(answer) for answer in self.answers}


@dataclass
class Explored:
    """All runs that count, in order; `main` is the one whose graphs are the program's. `left`: sides not taken."""

    runs: list[Once] = field(default_factory=list)
    main: Once | None = None
    made: int = 0
    left: int = 0

    @property
    def failure(self) -> FailureData | None:
        """Why no run came to its end; None when one did."""
        return self.main.failure if self.main is not None else None


Run = Callable[[Sequence[bool], Profile], Once]


def explore(run: Run, budget: int, in_time: Callable[[], bool]) -> Explored:
    """Run with false answers first, then turn answers over, the latest first, each side of each condition once.

    `budget` is how many runs are made at most, but for the first; no run begins when it is no longer `in_time`.
    """
    found = Explored()
    profile, first = _first(run, budget, in_time, found)
    found.runs.append(first)
    seen = first.sides
    todo = _turned(first, 0, seen)
    while todo and found.made < budget and in_time():
        script, side = todo.pop()
        if side in seen:
            continue
        once = run(script, profile)
        found.made += 1
        found.runs.append(once)
        seen |= once.sides
        todo += _turned(once, len(script), seen)
    found.left = len({side for _, side in todo if side not in seen})
    found.main = next((one for one in found.runs if one.failure is None), first)
    return found


def events_of(runs: Sequence[Once]) -> list[BreakData]:
    """The breaks of all runs, those of one site from the run that met it first, with the answers they depend on."""
    found: list[BreakData] = []
    known: set[tuple[object, ...]] = set()
    ended = any(once.failure is None for once in runs)
    for number, once in enumerate(runs):
        mine = set()
        for before, event in once.events:
            site = site_of(event)
            if site in known or ((ended or number) and _is_raised_on_purpose(once, event)):
                continue
            mine.add(site)
            found.append({**event, "answers": decisive(runs, once, before, site)})
        known |= mine
    return found


def in_order(found: Explored) -> int:
    """How many of the first of `events_of` are the events of the main run, in order; 0 when they are told otherwise."""
    main = found.main
    if main is None or main is not found.runs[0]:
        return 0
    ended = any(once.failure is None for once in found.runs)
    return 0 if any(ended and _is_raised_on_purpose(main, event) for _, event in main.events) else len(main.events)


def decisive(runs: Sequence[Once], once: Once, before: int, site: tuple[object, ...]) -> list[Answer]:
    """Of the answers `before` the site was met in the run `once`, those without which it was not met.

    An answer is one when a run that answered it otherwise, and the others alike as far as it was asked, came to its end
    and did not get there. (That a check did not raise goes without saying.)
    """
    sides = {_side(answer) for answer in once.answers[:before]}
    chosen: dict[_Side, Answer] = {}
    for answer in once.answers[:before]:
        place, value = _side(answer)
        if (place, value) in chosen:
            continue
        for other in runs:
            taken = other.sides
            if other.failure is not None or (place, not value) not in taken or (place, value) in taken:
                continue
            if any(site_of(event) == site for _, event in other.events):
                continue
            if all(_agree(where, sides, taken) for where, _ in sides if where != place):
                chosen[place, value] = answer
                break
    return list(chosen.values())


def site_of(event: BreakData) -> tuple[object, ...]:
    """What makes two events one site: the innermost frame of the user's code and the cause."""
    frames = [frame for frame in event["frames"] if frame["kind"] == "code"] or event["frames"]
    place = frames[-1] if frames else None
    where = () if place is None else (place["file"], place["line"], place["column"])
    return (event["cause"]["gb_type"], event["root"]["gb_type"], *where)


def _first(run: Run, budget: int, in_time: Callable[[], bool], found: Explored) -> tuple[Profile, Once]:
    """The first run that ends well, with other values than truth tests tried where they were asked for."""
    failed: list[tuple[Profile, Once]] = []
    for profile in PROFILES:
        once = run((), profile)
        found.made += 1
        if once.failure is None:
            return profile, once
        failed.append((profile, once))
        if not once.asked or found.made >= max(budget, 2) or not in_time():
            break
    return failed[0]


def _turned(once: Once, start: int, seen: set[_Side]) -> list[tuple[tuple[bool, ...], _Side]]:
    """The scripts that turn one of the answers from `start` on over, for sides not `seen`; each side once."""
    scripts = []
    new: set[_Side] = set()
    values = [answer["value"] for answer in once.answers]
    for number in range(start, len(values)):
        place, value = _side(once.answers[number])
        side = (place, not value)
        if side not in seen and side not in new:
            new.add(side)
            scripts.append(((*values[:number], not value), side))
    return scripts


def _is_raised_on_purpose(once: Once, event: BreakData) -> bool:
    """Whether an event of a run that ended in an exception is nothing but that exception, or on the line that raises it."""
    if once.failure is None:
        return False
    frames = [frame for frame in event["frames"] if frame["kind"] == "code"][-1:]
    if any((frame["file"], frame["line"]) == (once.failure["path"], once.failure["line"]) for frame in frames):
        return True
    return event["outcome"] == "raised" or _EXCEPTION in (event["cause"]["gb_id"], event["root"]["gb_id"])


def _agree(where: _Place, one: set[_Side], other: set[_Side]) -> bool:
    asked = [value for value in (True, False) if (where, value) in other]
    return not asked or any((where, value) in one for value in asked)


def _side(answer: Answer) -> _Side:
    return (answer["file"], answer["line"], answer["column"]), answer["value"]
