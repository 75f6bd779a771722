"""A function run in a child process, so that nothing it does can harm the caller, and every death of it is a `Failure`.

Where forking is safe the child is a fork and the function any callable. Elsewhere the child is a fresh process of the
same worker and the function must be picklable: a `functools.partial` of a module-level function.
Standard library only; runs in the user's interpreter.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .channel import Messages
from .failures import failure
from .limits import dumped_place, family, resident_mb, signal_name, tidy_dump
from .pipe_reader import PipeReader, SelectPipeReader, ThreadPipeReader
from .processes import CHANNEL_LOST, Job, Post, Process, Started, can_fork, fork, spawn
from .wire import FailureData, FailureKind, FailureStage, Limits

__all__ = ["Child", "Outcome", "Post", "call_in_child", "call_in_children", "new_pipe_reader", "step"]

T = TypeVar("T")

TICK = 0.1  # seconds between looks at clock and memory
START_SECONDS = 60.0  # that a fresh process may take before the program's own time begins
LAST_WORDS = 0.2  # seconds that a child which is out of time has to say where it is
TAIL = 32768  # bytes of its output that are kept


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What the function returned, or why it did not. `failure` is None exactly when it returned."""

    value: T | None
    failure: FailureData | None


def call_in_child(
    function: Callable[[], T],
    limits: Limits,
    stage: FailureStage = "call",
) -> Outcome[T]:
    """Run `function` in a child and wait for it. Its result must be picklable; what fails is said to be the `stage`.

    Never raises for what happens there. The child belongs to the caller's process group.
    """
    return call_in_children([function], limits, 1, stage)[0]


def call_in_children(
    functions: Sequence[Callable[[], T]],
    limits: Limits,
    at_once: int = 2,
    stage: FailureStage = "call",
) -> list[Outcome[T]]:
    """Run each function in a child of its own, `at_once` of them side by side; outcomes in the order of the functions.

    `limits` hold for each child.
    """
    reader = new_pipe_reader()
    waiting = list(enumerate(functions))[::-1]
    running: dict[int, Child[T]] = {}
    outcomes: dict[int, Outcome[T]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(1, at_once):
                number, function = waiting.pop()
                running[number] = Child(function, limits, reader, stage=stage)
            step(reader, running.values(), TICK)
            for number, child in list(running.items()):
                if child.outcome is not None:
                    outcomes[number] = child.outcome
                    running.pop(number).close()
    finally:
        for child in running.values():
            child.close()
        reader.close()
    return [outcomes[number] for number in range(len(functions))]


def new_pipe_reader() -> PipeReader:
    """What reads the pipes of children on this platform."""
    return SelectPipeReader() if can_fork() else ThreadPipeReader()


def step(reader: PipeReader, children: Iterable[Child[Any]], seconds: float) -> list[tuple[object, bytes]]:
    """Wait at most that long for news, give them to the children; what is not theirs is returned."""
    known = {key: child for child in children for key in child.keys}
    soon = min([seconds, *(child.patience() for child in known.values())])
    others: list[tuple[object, bytes]] = []
    for key, data in reader.wait(soon):
        if isinstance(key, tuple) and key in known:
            known[key].hear(key, data)
        else:
            others.append((key, data))
    for child in dict.fromkeys(known.values()):
        child.check()
    return others


class Child(Generic[T]):
    """A started child. `outcome` is None until it is settled; `close` must be called in the end.

    `top` children get a process group of their own, which is killed as a whole, and may send plain data only; the
    others stay in the caller's group. `posts` says that the function takes a `Post`; what it posts goes to `on_post`.
    A `starter` starts the job in another way than from this process.
    """

    def __init__(
        self,
        function: Callable[..., T],
        limits: Limits,
        reader: PipeReader,
        *,
        stage: FailureStage,
        posts: bool = False,
        on_post: Callable[[Any], None] | None = None,
        top: bool = False,
        private: Sequence[int] = (),
        folder: str | None = None,
        starter: Callable[[Job], Started] | None = None,
    ) -> None:
        self.outcome: Outcome[T] | None = None
        self.stage: FailureStage = stage
        self._limits, self._reader, self._on_post = limits, reader, on_post
        self._messages = Messages(plain=top)
        self._tail = bytearray()
        self._doom: FailureKind | None = None
        self._kill_at: float | None = None
        self._due = time.monotonic() + max(START_SECONDS, limits["seconds"])
        self._alive = False
        self._started: Started | None = None
        job = Job(function, posts, stage, limits["memory_mb"])
        try:
            if starter is not None:
                self._started = starter(job)
            else:
                self._started = fork(job, top, private) if can_fork() else spawn(job, top, folder)
        except (OSError, pickle.PicklingError, AttributeError, TypeError) as error:
            said = f"No process could be started for the program: {type(error).__name__}: {error}"
            self.outcome = Outcome(
                None, failure("worker", "no-worker", said, "Close other programs to free memory, and run again.")
            )
            self.keys: tuple[tuple[int, str], ...] = ((id(self), "none"),)
            return
        pid = self._started.process.pid
        self.keys = ((pid, "messages"), (pid, "output"), (pid, "ended"))
        reader.add(self._started.messages, self.keys[0])
        reader.add(self._started.output, self.keys[1])
        if self._started.pidfd is not None:
            reader.watch(self._started.pidfd, self.keys[2])

    def hear(self, key: tuple[object, ...], data: bytes) -> None:
        """Take what came under one of `keys`."""
        if key[1] == "output":
            self._tail += data
            del self._tail[:-TAIL]
        elif key[1] == "messages":
            if not self._alive:  # a fresh process has imported torch by now; that was not the program's time
                self._alive = True
                self._due = time.monotonic() + self._limits["seconds"]
            for kind, value in self._messages.feed(data):
                if kind == "post":
                    self._posted(value)
                elif self.outcome is None and self._doom != "memory":
                    # What comes in the last words of one that is out of time is complete, and as good as in time.
                    self.outcome = Outcome(value, None) if kind == "done" else Outcome(None, value)

    def patience(self) -> float:
        """For how many seconds nothing needs to be done with this child, unless it says something."""
        due = self._kill_at if self._kill_at is not None else self._due
        if due == math.inf and self._limits["memory_mb"] is None:
            return math.inf
        return min(max(0.0, due - time.monotonic()), TICK)

    def check(self) -> None:
        """Look at its life, its time and its memory."""
        if self.outcome is not None or self._started is None:
            return
        process = self._started.process
        now = time.monotonic()
        if process.ended():
            for key in self.keys[:2]:
                for _, data in self._reader.drain(key):
                    self.hear(key, data)
            process.kill()  # what it left behind in its group
            status = process.reap()
            if self.outcome is None:
                self.outcome = Outcome(None, self._death(status))
        elif self._kill_at is not None:
            if now >= self._kill_at:
                process.kill()
        elif now >= self._due:
            self._condemn("timeout")
        elif self._limits["memory_mb"] is not None and self._used_mb(process.pid) > self._limits["memory_mb"]:
            self._condemn("memory")

    def rest(self) -> None:
        """It may live, and take memory, as long as it likes from now on."""
        self._due = math.inf
        self._limits = Limits(seconds=self._limits["seconds"], memory_mb=None)

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return self._started.process.pid if self._started is not None else None

    def close(self) -> None:
        """End it, if it still runs, with all it started, and forget it."""
        if (process := self.abandon()) is not None:
            process.reap()

    def abandon(self) -> Process | None:
        """End it as `close` does, without waiting: a process with much memory takes its time. It is the caller's to reap."""
        if self._started is None:
            return None
        process = self._started.process
        process.kill()
        for key in self.keys:
            self._reader.drop(key)
        self._started = None
        return process

    def _posted(self, value: Any) -> None:
        if isinstance(value, tuple) and len(value) == 2 and value[0] == "stage":
            self.stage = value[1]
        elif self._on_post is not None:
            self._on_post(value)

    def _condemn(self, kind: FailureKind) -> None:
        """Let it say where it is, then kill it."""
        assert self._started is not None
        self._doom = kind
        self._tail.clear()
        self._kill_at = time.monotonic() + LAST_WORDS
        if hasattr(signal, "SIGUSR2"):
            with contextlib.suppress(OSError):
                os.kill(self._started.process.pid, signal.SIGUSR2)

    def _used_mb(self, pid: int) -> float:
        base = self._started.base_mb if self._started is not None else 0.0
        return sum(max(0.0, resident_mb([one]) - base) for one in family(pid))

    def _death(self, status: int) -> FailureData:
        text = self._tail.decode("utf-8", "replace")
        path, line = dumped_place(text)
        last = {"path": path, "line": line, "detail": tidy_dump(text)}
        if self._doom == "timeout":
            message = f"The program did not end within {self._limits['seconds']:g} s."
            return failure(self.stage, "timeout", message, **last)  # type: ignore[arg-type]
        if self._doom == "memory":
            message = f"The program needs more than {self._limits['memory_mb']} MiB of memory."
            return failure(self.stage, "memory", message, **last)  # type: ignore[arg-type]
        if status == CHANNEL_LOST:
            message = "The program closed file descriptors that it did not open, so its result is lost."
            return failure(self.stage, "exit", message, "Close only files that the program itself opened.", **last)  # type: ignore[arg-type]
        if status >= 0:
            message = f"The program ended its process with exit status {status}."
            return failure(self.stage, "exit", message, **last)  # type: ignore[arg-type]
        name = signal_name(-status)
        if name == "SIGKILL":
            message = "The system killed the program, most likely because memory ran out."
            return failure(self.stage, "memory", message, **last)  # type: ignore[arg-type]
        said = {"SIGSEGV": " (segmentation fault)", "SIGABRT": " (abort)"}.get(name, "")
        return failure(self.stage, "crash", f"The program's process died of {name}{said}.", **last)  # type: ignore[arg-type]
