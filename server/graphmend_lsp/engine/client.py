"""The worker process seen from the engine: start, ask, cancel, kill. Errors of the process are `WorkerFailedError`s.

The state machine is small: *stopped* -> start -> *ready* -> (dies or is killed) -> *stopped*. A worker that dies by
itself is started again at most `MAX_RESTARTS` times in a row without an answer in between; then it stays *failed* until
`WorkerClient.kill` is called (the user's restart).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graphmend_lsp.engine.interpreter import is_sent, worker_command
from graphmend_lsp.engine.remote import ATTEMPTS, READY, READY_SECONDS, Elsewhere, bootstrap_line, parcel
from graphmend_lsp.model import Failure
from graphmend_lsp.worker.wire import PROTOCOL, FailureData, Hello

MAX_RESTARTS = 4
NICE = 5  # how far a worker that yields stands behind this process, once it has loaded torch
START_SECONDS = 90.0
FAREWELL_SECONDS = 1.5
ENDING_SECONDS = 1.0  # that a worker of this machine has to end its runs, before it is killed
LINE_LIMIT = 256 * 1024 * 1024


# What a request tells while it is under way: ("progress", words), and of a `live` analysis ("event", BreakData).
OnNews = Callable[[str, Any], None]


class WorkerFailedError(Exception):
    """The worker could not be started or died; `failure` says why and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(data: FailureData) -> Failure:
    """A failure as the engine speaks of it."""
    return Failure(
        stage=data["stage"], kind=data["kind"], message=data["message"], remedy=data["remedy"],
        path=data["path"], line=data["line"], detail=data["detail"],
    )  # fmt: skip


class WorkerClient:
    """One worker process, started when first needed. All of it runs on one event loop.

    `place` is given for a worker that is elsewhere: it sees other paths, and perhaps none of the files.
    """

    def __init__(
        self,
        python: str | None,
        command: tuple[str, ...],
        cwd: str | None,
        env: Mapping[str, str],
        place: Elsewhere | None = None,
        yields: bool = False,
    ) -> None:
        self._yields = yields
        self._python, self._command, self._cwd, self._env = python, command, cwd, dict(env)
        self._place = place
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening: dict[int, OnNews] = {}
        self._stderr: deque[str] = deque(maxlen=40)
        self._starting = asyncio.Lock()
        self._last_id = 0
        self._deaths = 0
        self.hello: Hello | None = None
        self.death = ""  # what it said last, when it ended by itself and was not started since

    @property
    def running(self) -> bool:
        """Whether a process is there and has said hello."""
        return self._process is not None and self._process.returncode is None and self.hello is not None

    async def start(self) -> Hello:
        """Start the worker if it does not run, and return its hello.

        Raises:
            WorkerFailedError: no interpreter, no hello in time, another protocol, torch missing or too old.
        """
        async with self._starting:
            if self.running and self.hello is not None:
                return self.hello
            if self._deaths > MAX_RESTARTS:
                raise WorkerFailedError(
                    self._dead(f"The worker stopped {self._deaths} times, so GraphMend does not start it again.")
                )
            hello = await self._spawn()
            if hello["failure"] is not None:
                failure = failure_of(hello["failure"])
                await self.kill()
                raise WorkerFailedError(failure)
            return hello

    async def _spawn(self) -> Hello:
        await self.kill(forget_deaths=False)
        command = worker_command(self._python, self._command, self._cwd)
        if command is None:
            raise WorkerFailedError(_no_worker("No Python interpreter was found."))
        environment = {**os.environ, **self._env}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd=self._cwd, env=environment, limit=LINE_LIMIT, start_new_session=sys.platform != "win32",
            )  # fmt: skip
        except (OSError, ValueError) as error:
            words = f"The worker could not be started with {command[0]}: {error}."
            raise WorkerFailedError(_no_worker(words)) from error
        self._stderr.clear()
        self._readers = [asyncio.create_task(self._read_errors(self._process))]
        try:
            if is_sent(self._command):
                await self._send_worker(self._process)
            hello = await asyncio.wait_for(self._read_hello(self._process), self._patience)
        except (asyncio.TimeoutError, ValueError, OSError, WorkerFailedError) as error:
            await asyncio.sleep(0.05)
            failure = self._dead(self._why_not(command[0], error))
            if self._command:
                failure = replace(failure, remedy=f"Run “{' '.join(self._command)}” by hand; it must start a Python.")
            self._deaths += 1
            await self.kill(forget_deaths=False)
            raise WorkerFailedError(failure) from error
        except asyncio.CancelledError:
            await self.kill(forget_deaths=False)
            raise
        if self._yields and not self._command:
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
        self.hello, self.death = hello, ""
        self._readers.append(asyncio.create_task(self._read_replies(self._process)))
        return hello

    @property
    def _patience(self) -> float:
        """Seconds until the hello: a command may wait for a queue, a container or a slow line."""
        return READY_SECONDS if self._command else START_SECONDS

    def _why_not(self, program: str, error: BaseException) -> str:
        if isinstance(error, asyncio.TimeoutError):
            return f"The worker did not start with {program} within {self._patience:.0f} s."
        words = [line.lstrip("> ") for line in self._stderr if line.strip("> ")]
        return f"The worker did not start with {program}" + (f": {words[-1]}" if words else ".")

    async def _send_worker(self, process: asyncio.subprocess.Process) -> None:
        """Give the worker's files to the Python that the command starts; what it prints before that is passed over."""
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(bootstrap_line())

        async def ready(stream: asyncio.StreamReader) -> bool:
            while line := await stream.readline():
                if READY in line:
                    return True
            return False

        if not await asyncio.wait_for(ready(process.stdout), READY_SECONDS):
            raise WorkerFailedError(self._dead("The command ended before it started a Python."))
        folder = self._cwd or os.getcwd()
        process.stdin.write(await asyncio.to_thread(parcel, self._place.paths.there(folder) if self._place else folder))
        await process.stdin.drain()

    async def _read_hello(self, process: asyncio.subprocess.Process) -> Hello:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and isinstance(message.get("hello"), dict):
                hello: Hello = message["hello"]
                if hello.get("protocol") != PROTOCOL:
                    raise ValueError("another protocol")
                return hello
        raise WorkerFailedError(self._dead("The worker ended before it was ready."))

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, on_news: OnNews | None = None
    ) -> dict[str, Any]:
        """Ask the worker and wait for its result. Cancelling the task cancels the work in the worker.

        `seconds` is how long the worker itself may take; when it is silent much longer than that, it is killed.
        `on_news` is told what is known before the result: see `OnNews`.
        Paths in `params` and in the result are those of this side. A worker elsewhere is asked again where it lacked a
        module that this side has.

        Raises:
            WorkerFailedError: the worker cannot be started, died, or did not answer in time.
        """
        place = self._place
        if place is None:
            return await self._ask(method, params, seconds, on_news)
        heard = None if on_news is None else _from(place, on_news)
        for attempt in range(ATTEMPTS):
            sent = await asyncio.to_thread(place.outgoing, params)
            result = place.incoming(await self._ask(method, sent, seconds, heard))
            if attempt == ATTEMPTS - 1 or not await asyncio.to_thread(place.learns, params, result):
                break
        return result

    async def _ask(
        self, method: str, params: Mapping[str, Any], seconds: float, on_news: OnNews | None
    ) -> dict[str, Any]:
        await self.start()
        process = self._process
        assert process is not None and process.stdin is not None
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        if on_news is not None:
            self._listening[number] = on_news
        try:
            process.stdin.write(json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n")
            await process.stdin.drain()
            result = await asyncio.wait_for(asyncio.shield(answer), seconds + 20.0)
            self._deaths = 0
            return result
        except asyncio.TimeoutError as error:
            await self.kill(forget_deaths=False)
            message = f"The worker did not answer within {seconds + 20.0:.0f} s and was stopped."
            raise WorkerFailedError(
                Failure(
                    "worker",
                    "timeout",
                    message,
                    "Raise the time limit (setting graphmend.worker.timeout), or run a smaller entry.",
                )
            ) from error
        except (ConnectionError, BrokenPipeError) as error:
            raise WorkerFailedError(self._dead("The connection to the worker broke.")) from error
        except asyncio.CancelledError:
            self._say({"id": 0, "method": "cancel", "params": {"id": number}})
            raise
        finally:
            self._pending.pop(number, None)
            self._listening.pop(number, None)
            if answer.done() and not answer.cancelled():
                answer.exception()

    def _say(self, message: Mapping[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read_replies(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                continue
            if not line:
                break
            try:
                message = json.loads(line)
                number = message["id"]
            except (ValueError, KeyError, TypeError):
                continue
            listening = self._listening.get(number)
            if isinstance(progress := message.get("progress"), dict):
                if listening is not None:
                    listening("progress", str(progress.get("message", "")))
            elif isinstance(event := message.get("event"), dict):
                if listening is not None:
                    listening("event", event)
            elif isinstance(result := message.get("result"), dict):
                waiting = self._pending.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(result)
        if self._process is process:
            self._deaths += 1
            await asyncio.sleep(0.05)
            self.death = "The worker ended unexpectedly" + (f": {self._stderr[-1]}" if self._stderr else "")
            failure = self._dead(f"{self.death.rstrip('.')}.")
            for waiting in self._pending.values():
                if not waiting.done():
                    waiting.set_exception(WorkerFailedError(failure))
            self.hello = None

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            while line := await process.stderr.readline():
                self._stderr.append(line.decode("utf-8", "replace").rstrip()[:400])

    def _dead(self, message: str) -> Failure:
        return Failure(
            "worker", "crash", message, "Restart the server. The log has the worker's last output.",
            detail="\n".join(self._stderr),
        )  # fmt: skip

    async def kill(self, *, forget_deaths: bool = True) -> None:
        """End the process and all its children, now; requests that wait fail. Safe to call at any time."""
        process, self._process, self.hello = self._process, None, None
        if forget_deaths:
            self._deaths = 0
        if process is not None:
            if process.returncode is None:
                await _farewell(process, elsewhere=bool(self._command))
            kill_group(process)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), 5.0)
        for reader in self._readers:
            reader.cancel()
        if self._readers and asyncio.current_task() not in self._readers:
            await asyncio.gather(*self._readers, return_exceptions=True)
        self._readers = []
        stopped = WorkerFailedError(Failure("worker", "cancelled", "The worker was stopped.", "Run the check again."))
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(stopped)


def _from(place: Elsewhere, tell: OnNews) -> OnNews:
    def heard(kind: str, data: Any) -> None:
        tell(kind, place.incoming({"events": [data]})["events"][0] if kind == "event" else data)

    return heard


def _no_worker(message: str) -> Failure:
    return Failure("worker", "no-worker", message, "Choose a Python that has torch (setting graphmend.interpreter).")


async def _farewell(process: asyncio.subprocess.Process, *, elsewhere: bool) -> None:
    """Close its input and ask it to end: only it knows what its runs have left, and where their temporary files are.

    What runs `elsewhere` is out of reach of a signal and ends with its input.
    """
    if process.stdin is not None:
        process.stdin.close()
    for ask in (None, signal.SIGTERM) if elsewhere else (signal.SIGTERM,):
        if ask is not None and sys.platform != "win32":
            with contextlib.suppress(OSError):
                os.killpg(process.pid, ask)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), FAREWELL_SECONDS if elsewhere else ENDING_SECONDS)
            return


def kill_group(process: asyncio.subprocess.Process) -> None:
    """SIGKILL the process's whole group (the process alone where there are no groups). Never raises."""
    with contextlib.suppress(ProcessLookupError, PermissionError, OSError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    transport = getattr(process, "_transport", None)
    if transport is not None and process.returncode is not None:
        transport.close()
