"""The worker's own process: says hello, reads requests, runs each in a child, writes replies. It never computes.

One thread where children are forks. Nothing that comes over the pipe and nothing a child does ends it, but the end of
its input, `shutdown`, a signal, or the end of the process that started it; then no child and no temporary file is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .failures import failure
from .isolate import TICK, Child, new_pipe_reader, step
from .own_folder import new_folder, own_folder
from .preloads import Grown, Preloads
from .processes import Process, can_fork, reap_strangers
from .spare import Spare
from .tasks import carry_out, hello, passing_folder, rehearse, uncollected, warm_up, warm_up_later
from .wire import AnalyseParams, AnalyseResult, FailureData, Hello, Limits, MeasureParams, MeasureResult, VerifyParams

STDIN = "stdin"
LINE_LIMIT = 256 * 1024 * 1024
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
SOON = 3.0  # seconds that a proof has the machine for itself
IDLE = 1.0  # seconds between looks whether the process that started us is still there
METHODS: Mapping[str, frozenset[str]] = {  # what each must be given
    "analyse": AnalyseParams.__required_keys__, "verify": VerifyParams.__required_keys__,
    "measure": MeasureParams.__required_keys__,
}  # fmt: skip


class StoppedError(Exception):
    """The worker is to end."""


@dataclass
class Running:
    """A request whose child runs, with what its child has posted so far."""

    child: Child[Any]
    folder: str
    partial: AnalyseResult
    method: str
    params: dict[str, Any]
    grown: Grown | None
    begun: float = field(default_factory=time.monotonic)
    imported: tuple[object] | None = None  # what it told of its imports, once it has


@dataclass
class Server:
    """The requests at hand. `say` writes one message; `refusal` says why no request can be carried out, if so.

    Requests in `cold` are run from this process: from one with packages imported they did not fare as they should. Those in
    `held` wait, or have waited, for such a process.
    `compiled` is the folder of what was compiled for them, once there is one.
    In `ending` are processes of cancelled ones, killed but not yet gone, with their folders.
    """

    say: Callable[[Mapping[str, Any]], None]
    private: tuple[int, ...]
    refusal: FailureData | None
    at_once: int
    reader: Any
    preloads: Preloads
    spare: Spare | None = None
    cold: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    waiting: deque[tuple[int, str, dict[str, Any]]] = field(default_factory=deque)
    running: dict[int, Running] = field(default_factory=dict)
    ending: list[tuple[Process, str]] = field(default_factory=list)
    analyses: int = 0  # that were begun so far
    compiled: str = ""
    is_warm: bool = False  # whether what only a verdict needs is warmed up

    def handle(self, line: bytes) -> None:
        """One line of input.

        Raises:
            StoppedError: it was ``shutdown``.
        """
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            print("graphmend worker: skipped a line that is not JSON", file=sys.stderr)
            return
        number = message.get("id") if isinstance(message, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            print("graphmend worker: skipped a message without an id", file=sys.stderr)
            return
        method, params = message.get("method"), message.get("params", {})
        if method == "shutdown":
            self.say({"id": number, "result": {}})
            raise StoppedError
        if method == "cancel":
            self.cancel(params.get("id") if isinstance(params, dict) else None)
            return
        problem = problem_with(method, params)
        if problem is None and (number in self.running or any(number == known for known, _, _ in self.waiting)):
            problem = "the id is in use"
        if problem is not None:
            self.refuse(number, method, failure("worker", "protocol", f"The request cannot be read: {problem}."))
        elif self.refusal is not None:
            self.refuse(number, method, self.refusal)
        else:
            self.waiting.append((number, method, params))

    def cancel(self, number: object) -> None:
        """End a request, waiting or running; it answers that it was cancelled. An unknown one was answered before."""
        cancelled = failure("worker", "cancelled", "The run was cancelled.")
        for item in [item for item in self.waiting if item[0] == number]:
            self.waiting.remove(item)
            self.held.discard(item[0])
            self.refuse(item[0], item[1], cancelled)
        if isinstance(number, int) and number in self.running:
            request = self.running[number]
            if (process := request.child.abandon()) is not None:
                self.ending.append((process, request.folder))
            del self.running[number]
            self.refuse(number, request.method, cancelled)

    def refuse(self, number: int, method: object, why: FailureData) -> None:
        """Answer with a failure instead of a result."""
        self.say({"id": number, "result": _failed(method, why, None)})

    def start(self) -> None:
        """Give waiting requests a child each, as many as may run side by side."""
        for request in list(self.waiting):
            if len(self.running) >= self.at_once:
                return
            number, method, params = request
            grown = None if number in self.cold else self.preloads.pick(params)
            if grown is None and method == "verify" and number not in self.cold and self.waits(number, params):
                continue
            self.waiting.remove(request)
            self.analyses += method == "analyse"
            if method == "verify":
                self.warm_now()
            plain = grown is None and number not in self.cold
            spare = self.spare if plain and self.spare is not None and self.spare.is_ready() else None
            ready = grown or spare
            folder = spare.folder if spare is not None else new_folder()
            so_far = AnalyseResult(
                events=[], graphs=[], skipped=[], calls=0, device="cpu", seconds=0.0, failure=None
            )  # fmt: skip
            child: Child[Any] = Child(
                partial(carry_out, method, params, folder, compiled=self.compiled_for(method, params)),
                _limits(params),
                self.reader,
                stage="load",
                posts=True,
                on_post=partial(self.posted, number, so_far),
                top=True,
                private=self.descriptors,
                folder=folder,
                starter=ready.start if ready is not None else None,
            )
            self.running[number] = Running(child, folder, so_far, method, params, grown)
            if spare is not None:
                spare.close()
                self.spare = None
            if ready is not None and child.pid is None:
                if grown is not None:
                    self.preloads.drop(grown)
                self.run_cold(number)

    def waits(self, number: int, params: dict[str, Any]) -> bool:
        """Whether a proof waits until a process has the program's packages imported; each of its programs imports them."""
        self.grow()
        if not self.preloads.awaits(params):
            return False
        if number not in self.held:
            self.held.add(number)
            self.say({"id": number, "progress": {"message": "importing the program's packages once"}})
        return True

    def grow(self) -> None:
        """Start the process with packages imported that is wanted next."""
        if self.preloads.grow():
            self.reap()

    def compiled_for(self, method: str, params: dict[str, Any]) -> str:
        """The folder of compiled code for a request that compiles some; empty for others."""
        if method != "verify" or not can_fork() or not any(map(_compiles, params["candidates"])):
            return ""
        self.compiled = self.compiled or new_folder()
        return self.compiled

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What no child needs."""
        return (*self.private, *self.preloads.descriptors, *([self.spare.fileno()] if self.spare is not None else []))

    def warm(self, *, idle: bool) -> None:
        """Warm up what a verdict needs and an analysis does not: beside a first request, or while `idle`."""
        if not self.waiting and (idle or self.running):
            self.warm_now()

    def warm_now(self) -> None:
        """Do it, if that was not done."""
        if not self.is_warm and self.refusal is None and can_fork():
            self.is_warm = True
            # torch must not take the end for an error of what it compiles
            before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
            try:
                warm_up_later()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def prepare(self) -> None:
        """While nobody waits for an analysis: have a child ready for the next one, also beside a proof.

        Not beside the first proof: a command analyses once, proves, and ends. Nor beside one that may be done in a moment,
        which somebody waits for.
        """
        busy = any(
            request.method == "analyse" or self.analyses < 2 or time.monotonic() - request.begun < SOON
            for request in self.running.values()
        )
        if self.spare is None and not self.waiting and not busy and self.refusal is None and can_fork():
            with contextlib.suppress(OSError):
                self.spare = Spare(self.descriptors, rehearse)

    def posted(self, number: int, so_far: AnalyseResult, value: Any) -> None:
        """Something a child says while it runs."""
        if not (isinstance(value, tuple) and len(value) == 2):
            return
        kind, data = value
        if kind == "progress":
            self.say({"id": number, "progress": {"message": str(data)}})
        elif kind in ("event", "ahead"):
            if kind == "event":
                so_far["events"].append(data)
            if number in self.running and self.running[number].params.get("live") is True:
                self.say({"id": number, "event": data})
        elif kind == "graph":
            so_far["graphs"].append(data)
        elif kind == "skip":
            so_far["skipped"].append(data)
        elif kind == "calls":
            so_far["calls"] = data
        elif kind == "device":
            so_far["device"] = data
        elif kind == "imported" and number in self.running:
            self.running[number].imported = (data,)

    def settle(self) -> None:
        """Answer the requests whose child is done, and clear away what cancelled ones have left."""
        for process, folder in [one for one in self.ending if one[0].ended()]:
            self.clear_away(process, folder)
        for number, request in list(self.running.items()):
            outcome = request.child.outcome
            if outcome is None:
                continue
            result = outcome.value
            if outcome.failure is not None:
                result = _failed(request.method, outcome.failure, request.partial)
            if request.grown is not None and self.is_doubtful(request, result):
                self.run_cold(number)
                continue
            self.say({"id": number, "result": result})
            if request.imported is not None:
                self.preloads.learn(request.params, *request.imported)
            self.forget(number)
            self.cold.discard(number)
            self.held.discard(number)
        if not self.waiting and len(self.running) < self.at_once:
            self.grow()

    def is_doubtful(self, request: Running, result: Any) -> bool:
        """Whether a run whose packages were imported before may have failed because of that, or has changed what they see."""
        why = result.get("failure") if isinstance(result, dict) else None
        if request.imported == (None,):
            return True
        return why is not None and (why["stage"] == "load" or why["kind"] in ("crash", "import"))

    def run_cold(self, number: int) -> None:
        """Have a request carried out once more, from this process."""
        request = self.running[number]
        self.forget(number)
        self.cold.add(number)
        self.waiting.appendleft((number, request.method, request.params))

    def forget(self, number: int) -> None:
        """End a request's child and remove what it left on disk; a signal may come between, then `close` does it again."""
        request = self.running[number]
        request.child.close()
        self.reap()
        shutil.rmtree(request.folder, ignore_errors=True)
        del self.running[number]

    def clear_away(self, process: Process, folder: str) -> None:
        """See a killed process of a cancelled request to its end, with what it had started and left on disk."""
        process.reap()
        self.reap()
        shutil.rmtree(folder, ignore_errors=True)
        self.ending.remove((process, folder))

    def reap(self) -> None:
        """End what children left behind that are no more."""
        children = [*(request.child for request in self.running.values()), *self.preloads.children, self.spare]
        known = [child.pid for child in children if child is not None and child.pid is not None]
        reap_strangers([*known, *(process.pid for process, _ in self.ending)])

    def close(self) -> None:
        """End everything."""
        self.waiting.clear()
        for number in list(self.running):
            self.forget(number)
        for process, folder in list(self.ending):
            self.clear_away(process, folder)
        self.preloads.close()
        if self.spare is not None:
            self.spare.close()
            self.spare = None
        self.reap()
        if self.compiled:
            shutil.rmtree(self.compiled, ignore_errors=True)


def serve(path: list[str]) -> int:
    """Run the worker on this process's stdin and stdout; `path` is sys.path as the user's program shall have it."""
    with own_folder():
        return _serve(path)


def _serve(path: list[str]) -> int:
    incoming, outgoing = _take_pipes()
    for one in ENDS:
        signal.signal(one, _stop)
    say = partial(_write, outgoing)
    reader = new_pipe_reader()
    server: Server | None = None
    try:
        with passing_folder(), uncollected():
            said = hello()
            sys.path[:] = path
            say({"hello": said})
            refusal = _refusal(said)
            if refusal is None:
                warm_up(rest=not can_fork())
        cores = os.cpu_count() or 1
        pipes = (incoming, outgoing)
        server = Server(say, pipes, refusal, 2 if cores <= 4 else 4, reader, Preloads(reader, pipes))
        reader.add(incoming, (STDIN, 0))
        _loop(server, reader)
    except (StoppedError, BrokenPipeError, ConnectionError):
        pass
    finally:
        for one in ENDS:
            signal.signal(one, signal.SIG_IGN)
        if server is not None:
            server.close()
    return 0


def problem_with(method: object, params: object) -> str | None:
    """Why these parameters cannot be used, in words; None when they can."""
    if not isinstance(method, str) or method not in METHODS:
        return f"there is no method {method!r}"
    if not isinstance(params, dict):
        return "params is not an object"
    missing = sorted(METHODS[method] - params.keys())
    if missing:
        return f"params has no {missing[0]}"
    if method == "measure" and not (isinstance(params["candidates"], list) and len(params["candidates"]) == 1):
        return "candidates is not a list of one"
    kinds = {"entry": dict, "texts": dict, "sources": dict, "roots": list, "limits": dict, "candidates": list}
    for name, kind in kinds.items():
        if name in params and not isinstance(params[name], kind):
            return f"{name} is not {'a list' if kind is list else 'an object'}"
    if not all(isinstance(params["entry"].get(name), str) for name in ("file", "function", "kind")):
        return "entry has no file, function and kind"
    if not isinstance(params["limits"].get("seconds"), (int, float)):
        return "limits has no seconds"
    for name in ("texts", "sources"):
        if not all(isinstance(item, str) for pair in params.get(name, {}).items() for item in pair):
            return f"{name} is not made of strings"
    return None


def _loop(server: Server, reader: Any) -> None:
    parent = os.getppid()
    rest = bytearray()
    listened, idle = False, False
    while True:
        server.start()
        if listened:  # before that, nothing may wait for what the first request does not need
            server.warm(idle=idle)
            server.prepare()
        children = [*(request.child for request in server.running.values()), *server.preloads.children]
        seconds = (TICK if server.ending else IDLE) if listened else 0.0
        news = step(reader, children, seconds)
        listened, idle = True, listened and not news and not server.ending
        for _, data in news:
            if not data:
                return
            rest += data
            *lines, last = rest.split(b"\n")
            rest = bytearray() if len(last) > LINE_LIMIT else bytearray(last)
            for line in lines:
                if line.strip():
                    server.handle(bytes(line))
        server.settle()
        if os.getppid() != parent:
            return


def _take_pipes() -> tuple[int, int]:
    """The protocol's pipes under numbers of our own; 0 is empty then, and what is printed goes to stderr."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def _write(fd: int, message: Mapping[str, Any]) -> None:
    data = memoryview(json.dumps(message, default=str).encode() + b"\n")
    while data:
        data = data[os.write(fd, data) :]


def _failed(method: object, why: FailureData, so_far: AnalyseResult | None) -> dict[str, Any]:
    if method == "verify":
        return {"candidates": [], "failure": why}
    if method == "measure":
        return {**MeasureResult(backend="", device="cpu", original=None, mended=None, failure=why)}
    base = so_far or AnalyseResult(
        events=[], graphs=[], skipped=[], calls=0, device="cpu", seconds=0.0, failure=None
    )  # fmt: skip
    return {**base, "failure": why}


def _compiles(candidate: object) -> bool:
    return isinstance(candidate, dict) and candidate.get("inductor") is True


def _refusal(said: Hello) -> FailureData | None:
    if said["failure"] is not None:
        return said["failure"]
    if said["missing"]:
        words = f"torch {said['torch']} lacks what the recorder needs: {', '.join(said['missing'])}."
        return failure("worker", "old-torch", words, "Use torch 2.9 to 2.15, or update graphmend-lsp.")
    return None


def _limits(params: Mapping[str, Any]) -> Limits:
    memory = params["limits"].get("memory_mb")
    return Limits(seconds=float(params["limits"]["seconds"]), memory_mb=memory if isinstance(memory, int) else None)


def _stop(_number: int, _frame: object) -> None:
    raise StoppedError
