"""JSON-RPC 2.0 over two byte streams, as LSP frames it: the ground that pygls' protocol stands on. Knows no method.

A thread reads and parses, a thread writes; messages are handed over on the event loop, in the order in which they came.
Nothing here imports pygls: it has to be there before pygls is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
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

Message = dict[str, Any]


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
    """One client. `receive` is called with each message that is one: with a method and, perhaps, a usable id, or with
    an id and what was answered. It is also pygls' writer (`write`, `close`)."""

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        receive: Callable[[Message], None],
        on_last_words: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._sink = sink
        self._receive = receive
        self._on_last_words = on_last_words
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="lsp-writer", daemon=True)
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

    def close(self) -> None:
        """Send what is still to be sent."""
        self._outgoing.put(None)
        if self._writer.is_alive():
            self._writer.join(timeout=0.5)

    def write(self, data: bytes) -> None:
        """Send the body of a message."""
        self._outgoing.put(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))

    def reply(self, number: int | str | None, result: Any) -> None:
        """Answer a request."""
        self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def fail(self, number: int | str | None, code: int, message: str) -> None:
        """Answer a request, or what may have been one, with an error."""
        self._send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})

    def _send(self, message: Message) -> None:
        self.write(json.dumps(message, separators=(",", ":")).encode("ascii"))

    # Reading (on the reader's thread)

    def _read(self) -> None:
        try:
            for frame in frames(self._source):
                item = frame if isinstance(frame, Malformed) else decode(frame)
                if isinstance(item, dict) and item.get("method") == "exit":
                    self._on_last_words()
                self.loop.call_soon_threadsafe(self.take, item)
        except (OSError, ValueError):
            pass  # the stream was closed under us: the client is gone
        except RuntimeError:
            return  # the loop is closed already
        self._on_last_words()
        try:
            self.loop.call_soon_threadsafe(self._ended.set)
        except RuntimeError:
            return

    # Writing (on the writer's thread)

    def _write(self) -> None:
        try:
            while (message := self._outgoing.get()) is not None:
                self._sink.write(message)
                self._sink.flush()
        except (OSError, ValueError):  # the client is gone
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._ended.set)

    # On the event loop

    def take(self, item: Any) -> None:
        """Hand a message over; what is none is answered here."""
        started = time.perf_counter()
        what = "a message"
        try:
            if isinstance(item, Malformed):
                self.fail(None, PARSE_ERROR, item.reason)
            elif not isinstance(item, dict):
                self.fail(None, INVALID_REQUEST, "a message must be one JSON object")
            elif isinstance(item.get("method"), str):
                what = item["method"]
                if "id" in item and usable_id(item["id"]) is None:
                    self.fail(None, INVALID_REQUEST, "an id must be a string or an integer")
                else:
                    self._receive(item)
            elif "id" in item and ("result" in item or "error" in item):
                self._receive(item)
            else:
                self.fail(usable_id(item.get("id")), INVALID_REQUEST, "a message needs a method or a result")
        except Exception as error:
            log_exception(f"while reading {what}", error)
        took = time.perf_counter() - started
        if took > SLOW_TURN:
            print(f"graphmend: {what} held the event loop for {took * 1000:.0f} ms", file=sys.stderr, flush=True)


def frames(source: BinaryIO) -> Iterator[bytes | Malformed]:
    """The bodies of the messages in a stream, up to its end; a header without a usable length is `Malformed`.

    A length that is wrong costs its own message only: where the next header stands within a body, or behind what a body
    was said to end before, that header counts.
    """
    stream = _Stream(source)
    while True:
        length: int | None = None
        seen = False
        while True:
            line = stream.line()
            if not line:
                return
            if not line.strip():
                if seen:
                    break
                continue
            seen = True
            if (told := _LENGTH.search(line)) is not None:
                length = int(told[1])
        if length is None or length > LARGEST_BODY:
            yield Malformed("a header needs a Content-Length that is a number")
            continue
        body = stream.body(length)
        if body is None:
            return
        yield body


_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,15})[ \t\r\n]*$", re.IGNORECASE)
_INSIDE = re.compile(rb"content-length[ \t]*:[ \t]*\d{1,15}[ \t]*\r?\n(?:[!-9;-~]+:[^\r\n]*\r?\n)*$", re.IGNORECASE)
_ENDS = (b"\n\r\n", b"\n\n")  # of a header
_CHUNK = 64 * 1024


class _Stream:
    """A client's bytes. What stands before a header within a body is a message if it is JSON by itself."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._bytes = bytearray()

    def line(self) -> bytes:
        """The next line with its end, or as much of it as a header may be long; empty at the end of the stream."""
        start = 0
        while (end := self._bytes.find(b"\n", start)) < 0 and len(self._bytes) < LONGEST_HEADER:
            start = len(self._bytes)
            if not self._more():
                break
        if end < 0 and len(self._bytes) >= LONGEST_HEADER:
            return self._take(len(self._bytes) - _HEADER_MARK)  # a header may begin within its last bytes
        return self._take(len(self._bytes) if end < 0 else end + 1)

    def body(self, length: int) -> bytes | None:
        """`length` bytes, fewer when the next header stands among them; None when the stream ends before."""
        looked = 0
        while True:
            begins = self._header_within(looked, length)
            if begins is not None:
                return self._take(begins)
            if len(self._bytes) >= length:
                return self._take(length - len(_begun(self._bytes[max(0, length - _HEADER_MARK) : length])))
            looked = max(0, len(self._bytes) - max(map(len, _ENDS)))
            if not self._more():
                return self._take(len(self._bytes)) if _is_json(self._bytes) else None

    def _header_within(self, looked: int, length: int) -> int | None:
        """Where the next header begins among the first `length` bytes. JSON holds no bare line ends in strings."""
        for end in _ENDS:
            found = self._bytes.find(end, looked, length)
            while found >= 0:
                first = max(0, found + 1 - _HEADER_MARK)
                if (header := _INSIDE.search(bytes(self._bytes[first : found + 1]))) is not None:
                    return first + header.start()
                found = self._bytes.find(end, found + 1, length)
        return None

    def _more(self) -> bool:
        read: Callable[[int], bytes] = getattr(self._source, "read1", self._source.read)
        chunk = read(_CHUNK)
        self._bytes += chunk
        return bool(chunk)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._bytes[:count])
        del self._bytes[:count]
        return taken


_HEADER_MARK = 512  # bytes that a header with a length and a type takes at most
_BEGUN = re.compile(
    b"(?:"
    + b"|".join(b"content-length"[:count] for count in range(14, 0, -1))
    + rb")$|content-length[ \t]*:?[ \t]*\d*[ \t]*\r?\n?$",
    re.IGNORECASE,
)


def _begun(tail: bytes | bytearray) -> bytes:
    """The beginning of a header with which the end of a body ends; a message ends with a brace."""
    if tail.rstrip().endswith((b"}", b"]")):
        return b""
    found = _BEGUN.search(tail)
    return b"" if found is None else bytes(found[0])


def _is_json(body: bytes | bytearray) -> bool:
    return not isinstance(decode(bytes(body)), Malformed)


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
