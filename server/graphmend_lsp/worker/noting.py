"""What values were in the functions that hold a break: the entry's calls made once more, uncompiled, with those watched.

The run that is reported comes first and is not touched: a fork, made before it, waits with the program as it was built and
makes the calls afterwards. It takes at most a tenth of the run's time (`SHARE`, `LEAST`), and what fails or is late, or a
process that cannot fork, gives no facts, never an error.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

from .compiling import compiles_itself, uncompiled
from .limits import die_with_parent
from .noted_code import ENTER, LEAVE, NOTE, UNBOUND, Watched, watch
from .noted_values import Frame, Groups, Joined
from .places import is_installed, kind_of
from .processes import can_fork
from .program import Program, seed
from .trials import text_of
from .wire import BreakData, CallerData, NotedFunction, NotedValue

SHARE = 0.1
"""Of the time that the run took, how much noting may take."""
LEAST = 0.25
"""Seconds that noting may take after however short a run; it takes them only where the calls do."""
GRACE = 0.1
MOST_FUNCTIONS = 32
MOST_CALLERS = 16

Targets = list[tuple[str, int]]
"""Files, and lines in functions of them."""


class Noting:
    """A fork that waits; see `ready`. It is at its end after `take` or `close`."""

    def __init__(self, pid: int, asks: int, answers: int) -> None:
        self._pid, self._asks, self._answers = pid, asks, answers

    def take(self, events: Sequence[BreakData], seconds: float) -> list[NotedFunction]:
        """What was noted around these breaks, of a run that took so many seconds; waits for it. Never raises."""
        wanted = targets_of(events)
        if not wanted:
            return []
        budget = max(LEAST, SHARE * seconds)
        try:
            os.write(self._asks, json.dumps([budget, wanted]).encode() + b"\n")
            return list(json.loads(_read(self._answers, time.monotonic() + budget + GRACE)))
        except (OSError, ValueError):
            return []

    def close(self) -> None:
        """End the fork."""
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(self._pid, 0)
        for pipe in (self._asks, self._answers):
            with contextlib.suppress(OSError):
                os.close(pipe)


@contextlib.contextmanager
def ready(program: Callable[[], Program], mode: str) -> Iterator[Noting | None]:
    """A fork of this process as it is now, to make the program's calls later; None where there can be none.

    `program` is called in the fork: it gives the one that this process has built, or builds it there, for a device that a
    process cannot share with a fork.
    """
    noting = _fork(program, mode)
    try:
        yield noting
    finally:
        if noting is not None:
            noting.close()


def targets_of(events: Iterable[BreakData]) -> Targets:
    """The functions around the breaks: the innermost two of each chain, and the innermost that is not installed."""
    found: dict[tuple[str, int], None] = {}
    for event in events:
        code = [frame for frame in event["frames"] if frame["kind"] == "code" and not frame["file"].startswith("<")]
        own = [frame for frame in code if not is_installed(frame["file"])]
        for frame in (*code[-2:][::-1], *own[-1:]):
            found[frame["file"], frame["line"]] = None
    return list(found)[:MOST_FUNCTIONS]


class Notes:
    """The hooks, and what they were told. `over` is called when the time (of `time.monotonic`) has come."""

    def __init__(self, due: float, over: Callable[[], NoReturn]) -> None:
        self.watched = Watched()
        self._due, self._over = due, over
        self._joined: list[Joined | None] = []
        self._groups: list[Groups] = []
        self._entered: Counter[int] = Counter()
        self._raised: Counter[int] = Counter()
        self._callers: dict[int, Counter[tuple[str, int, str]]] = {}
        self._frames: dict[int, tuple[Frame, object]] = {}

    def begin(self) -> None:
        """Put the hooks where the watched code finds them."""
        self._joined = [Joined() for _ in self.watched.places]
        self._groups = [Groups() for _ in self.watched.functions]
        for name, hook in ((NOTE, self.note), (UNBOUND, self.unbound), (ENTER, self.enter), (LEAVE, self.leave)):
            setattr(builtins, name, hook)

    def note(self, place: int, value: Any) -> Any:
        """An expression gave a value: hand it on."""
        joined = self._joined[place]
        if joined is None or (value is None and joined.constant == (None,)):
            return value
        if time.monotonic() > self._due:
            self._over()
        try:
            joined.take(value, place, self._frame(sys._getframe(1), place))
        except Exception:  # a class that is not what it says
            self._joined[place] = None
        return value

    def unbound(self, place: int) -> None:
        """A name has no value."""
        joined = self._joined[place]
        if joined is not None:
            joined.take_unbound()

    def enter(self, function: int) -> None:
        """A watched function begins."""
        frame = sys._getframe(1)
        self._entered[function] += 1
        self._frames[id(frame)] = Frame(self._groups[function]), sys.exc_info()[1]
        callers = self._callers.setdefault(function, Counter())
        outer = frame.f_back
        while outer is not None and kind_of(outer.f_code.co_filename) != "code":
            outer = None if kind_of(outer.f_code.co_filename) == "worker" else outer.f_back
        if outer is not None:
            callers[outer.f_code.co_filename, outer.f_lineno, outer.f_code.co_name] += 1

    def leave(self, function: int) -> None:
        """A watched function ends."""
        frame, before = self._frames.pop(id(sys._getframe(1)), (None, None))
        error = sys.exc_info()[1]
        if error is not None and error is not before:
            self._raised[function] += 1
        if frame is not None:
            frame.groups.leave(frame.seen.values())

    def _frame(self, frame: FrameType | None, place: int) -> Frame | None:
        for _ in range(3):
            if frame is None:
                break
            found = self._frames.get(id(frame))
            if found is not None:
                return found[0]
            frame = frame.f_back if frame.f_code.co_name.startswith("<") else None
        self._groups[self.watched.places[place].function].unknown.add(place)
        return None

    def data(self) -> list[NotedFunction]:
        """All that was told, function by function, of those that were entered."""
        for frame, _ in self._frames.values():
            frame.groups.leave(frame.seen.values())
        self._frames.clear()
        values: dict[int, list[NotedValue]] = {number: [] for number in self._entered}
        for number, (place, joined) in enumerate(zip(self.watched.places, self._joined, strict=True)):
            if joined is not None and joined.kinds:
                fact = joined.data(self._groups[place.function].of(number))
                values[place.function] += [
                    NotedValue(at=list(span), name=place.name, value=fact) for span in place.spans
                ]
        return [
            NotedFunction(
                file=file,
                function=name,
                line=line,
                entered=self._entered[number],
                raised=self._raised[number],
                callers=[
                    CallerData(file=caller[0], line=caller[1], function=caller[2], times=times)
                    for caller, times in self._callers[number].most_common(MOST_CALLERS)
                ],
                values=values[number],
            )
            for number, (file, name, line) in enumerate(self.watched.functions)
            if number in self._entered
        ]


def run_noted(program: Program, mode: str, wanted: Targets, notes: Notes) -> list[NotedFunction]:
    """Watch the functions, make the calls as far as they go, tell what was noted."""
    import torch

    from .backward import backward

    for file in dict.fromkeys(file for file, _ in wanted):
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
            watch(file, text_of(file), [line for path, line in wanted if path == file], notes.watched)
    notes.begin()
    function = uncompiled(program.callable)
    stance: Any = torch.compiler.set_stance("force_eager") if compiles_itself(function) else contextlib.nullcontext()
    with contextlib.suppress(Exception), stance:
        for number, call in enumerate(program.calls, 1):
            seed()
            output = function(*call.args, **call.kwargs)
            if mode == "train" and number < len(program.calls):
                backward(output)
    return notes.data()


def _fork(program: Callable[[], Program], mode: str) -> Noting | None:
    if not _can_note():
        return None
    pipes: list[int] = []
    try:
        pipes += os.pipe()
        pipes += os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS libraries, which handle forks
            pid = os.fork()
    except OSError:
        for pipe in pipes:
            os.close(pipe)
        return None
    theirs, asks, answers, mine = pipes
    if pid == 0:
        try:
            die_with_parent()
            os.close(asks)
            os.close(answers)
            _wait(program, mode, theirs, mine)
        finally:
            os._exit(0)
    os.close(theirs)
    os.close(mine)
    return Noting(pid, asks, answers)


def _can_note() -> bool:
    """Whether a fork of this process can compute and goes unnoticed by the program."""
    import torch

    return (
        can_fork()
        and threading.active_count() == 1
        and signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
        and not torch.cuda.is_initialized()
    )


def _wait(program: Callable[[], Program], mode: str, asks: int, answers: int) -> None:
    """The fork's life: wait for what is wanted, note it, tell it."""
    import torch

    asked = os.fdopen(asks, "rb").readline()
    if not asked:
        return
    budget, wanted = json.loads(asked)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    torch.set_num_threads(1)  # a pool of threads does not outlive a fork

    def over() -> NoReturn:
        tell()
        os._exit(0)

    def tell() -> None:
        with os.fdopen(os.dup(answers), "wb") as pipe:
            pipe.write(json.dumps(notes.data()).encode())

    notes = Notes(time.monotonic() + budget, over)
    run_noted(program(), mode, [(file, line) for file, line in wanted], notes)
    tell()


def _read(pipe: int, due: float) -> bytes:
    """All that comes until the other end is closed; nothing when that is later than `due`."""
    found = bytearray()
    while (left := due - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return bytes(found)
        found += part
    return b""
