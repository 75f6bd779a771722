"""JSON-RPC 2.0 over two byte streams, as LSP frames it. Knows nothing of LSP's methods.

A thread reads and parses, a thread writes; handlers run on the event loop, in the order in which messages came. One
is a plain function (answered at once) or returns a coroutine (answered when it ends; `$/cancelRequest` cancels it).
Whatever a client sends, every request gets exactly one answer and the connection goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
CONTENT_MODIFIED = -32801
REQUEST_FAILED = -32803

SLOW_TURN = 0.1  # seconds on the event loop that are worth a line in the log
LARGEST_BODY = 512 * 1024 * 1024
LONGEST_HEADER = 64 * 1024

Handler = Callable[[Any], Any]
Gate = Callable[[str], "RpcError | None"]


class RpcError(Exception):
    """A request that is answered with an error. `message` is read by people and names no file of this machine."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no message; `reason` goes into the error reply."""

    reason: str


class Connection:
    """One client. `handlers` answers by method name; `gate` may refuse a method (the life cycle does)."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        handlers: Mapping[str, Handler],
        gate: Gate,
        on_last_words: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._sink = sink
        self._handlers = handlers
        self._gate = gate
        self._on_last_words = on_last_words
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="lsp-writer", daemon=True)
        self._running: dict[int | str, asyncio.Task[Any]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self.loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Serve until the client is gone or `end` is called."""
        self._writer.start()
        threading.Thread(target=self._read, name="lsp-reader", daemon=True).start()
        await self._ended.wait()

    def end(self) -> None:
        """Stop serving; `run` returns."""
        self._ended.set()

    async def close(self) -> None:
        """Cancel what still runs and send what is still to be sent."""
        tasks = [*self._running.values(), *self._background]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.5)
        self._outgoing.put(None)
        if self._writer.is_alive():
            self._writer.join(timeout=0.5)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        """Ask the client; its result, or an `RpcError`."""
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[Any] = self.loop.create_future()
        self._waiting[number] = future
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run `work` beside the handlers; an exception in it is logged and goes no further."""
        task = self.loop.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._settled)
        return task

    def _settled(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, RpcError):
            log_exception(f"in {task.get_name()}", error)

    # Reading (on the reader's thread)

    def _read(self) -> None:
        try:
            for frame in frames(self._source):
                item = frame if isinstance(frame, Malformed) else decode(frame)
                if isinstance(item, dict) and item.get("method") == "exit":
                    self._on_last_words()
                self.loop.call_soon_threadsafe(self._receive, item)
        except (OSError, ValueError):
            pass  # the stream was closed under us: the client is gone
        except RuntimeError:
            return  # the loop is closed already
        self._on_last_words()
        try:
            self.loop.call_soon_threadsafe(self._ended.set)
        except RuntimeError:
            return

    # Writing (`_send` anywhere, `_write` on the writer's thread)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message, separators=(",", ":")).encode("ascii")
        self._outgoing.put(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _write(self) -> None:
        try:
            while (message := self._outgoing.get()) is not None:
                self._sink.write(message)
                self._sink.flush()
        except (OSError, ValueError):  # the client is gone
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._ended.set)

    # Dispatch (on the event loop)

    def _receive(self, item: Any) -> None:
        started = time.perf_counter()
        what = "a message"
        try:
            if isinstance(item, Malformed):
                self._fail(None, PARSE_ERROR, item.reason)
            elif not isinstance(item, dict):
                self._fail(None, INVALID_REQUEST, "a message must be one JSON object")
            elif isinstance(item.get("method"), str):
                what = item["method"]
                self._dispatch(item["method"], item.get("params"), item)
            elif "id" in item and ("result" in item or "error" in item):
                self._answer(item)
            else:
                self._fail(usable_id(item.get("id")), INVALID_REQUEST, "a message needs a method or a result")
        except Exception as error:
            log_exception(f"while reading {what}", error)
        took = time.perf_counter() - started
        if took > SLOW_TURN:
            print(f"graphmend: {what} held the event loop for {took * 1000:.0f} ms", file=sys.stderr, flush=True)

    def _dispatch(self, method: str, params: Any, message: dict[str, Any]) -> None:
        is_request = "id" in message
        number = usable_id(message.get("id"))
        if is_request and number is None:
            self._fail(None, INVALID_REQUEST, "an id must be a string or an integer")
            return
        refusal = self._gate(method)
        if refusal is not None:
            if number is not None:
                self._fail(number, refusal.code, refusal.message)
            return
        if method == "$/cancelRequest":
            self._cancel(params)
            return
        handler = self._handlers.get(method)
        if handler is None:
            if number is not None:
                self._fail(number, METHOD_NOT_FOUND, f"{method[:100]} is not supported")
            return
        try:
            outcome = handler(params)
        except Exception as error:
            self._fail_with(number, method, error)
            return
        if not asyncio.iscoroutine(outcome):
            if number is not None:
                self._send({"jsonrpc": "2.0", "id": number, "result": outcome})
            return
        # Answered when the task is done, not in it: a task that is cancelled before it began runs nothing.
        task = self.loop.create_task(outcome, name=method)
        if number is None:
            self._background.add(task)
            task.add_done_callback(self._settled)
        else:
            self._running[number] = task
            task.add_done_callback(lambda done: self._finish(number, method, done))

    def _finish(self, number: int | str, method: str, task: asyncio.Task[Any]) -> None:
        if self._running.get(number) is task:
            del self._running[number]
        if task.cancelled():
            self._fail(number, REQUEST_CANCELLED, "cancelled")
        elif (error := task.exception()) is not None:
            self._fail_with(number, method, error)
        else:
            self._send({"jsonrpc": "2.0", "id": number, "result": task.result()})

    def _cancel(self, params: Any) -> None:
        number = usable_id(params.get("id")) if isinstance(params, dict) else None
        if number is not None and number in self._running:
            self._running[number].cancel()

    def _answer(self, message: dict[str, Any]) -> None:
        number = message["id"]
        future = self._waiting.pop(number, None) if isinstance(number, int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
            return
        code = error.get("code") if isinstance(error, dict) else None
        text = error.get("message") if isinstance(error, dict) else None
        future.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, str(text)[:500]))

    def _fail_with(self, number: int | str | None, method: str, error: BaseException) -> None:
        if isinstance(error, RpcError):
            if number is not None:
                self._fail(number, error.code, error.message)
            return
        log_exception(f"in {method}", error)
        if number is not None:
            self._fail(number, INTERNAL_ERROR, f"{method} failed inside GraphMend; its log (stderr) says how")

    def _fail(self, number: int | str | None, code: int, message: str) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


def frames(source: BinaryIO) -> Iterator[bytes | Malformed]:
    """The bodies of the messages in a stream, up to its end; a header without a usable length is `Malformed`."""
    while True:
        length: int | None = None
        seen = False
        while True:
            line = source.readline(LONGEST_HEADER)
            if not line:
                return
            line = line.strip()
            if not line:
                if seen:
                    break
                continue
            seen = True
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value) if value.strip().isdigit() and len(value) < 16 else None
        if length is None or length > LARGEST_BODY:
            yield Malformed("a header needs a Content-Length that is a number")
            continue
        body = source.read(length)
        if len(body) < length:
            return
        yield body


def decode(body: bytes) -> Any:
    """A body as JSON, or `Malformed`."""
    try:
        return json.loads(body)
    except ValueError as error:
        return Malformed(f"not JSON: {str(error)[:200]}")
    except RecursionError:
        return Malformed("not JSON: nested too deeply")


def usable_id(value: object) -> int | str | None:
    """A request id, None for what cannot be one."""
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None


def log_exception(where: str, error: BaseException) -> None:
    """Write an exception to stderr, which editors show as the server's log."""
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print(f"graphmend: failed {where}\n{lines}", file=sys.stderr, flush=True)
