"""Messages from a child process to the one that waits for it: length-prefixed pickles over a pipe.

Standard library only. The reading side may refuse everything but plain data (`Messages(plain=True)`), so that what a
user's program does to its own process can never run code in the worker's.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any, Literal

Kind = Literal["post", "done", "failed"]
_HEAD = struct.Struct("!Q")
_LIMIT = 1 << 36


class ChannelLostError(Exception):
    """The user's program closed or replaced the pipe, or the reader is gone."""


class Channel:
    """The writing end, in the child. Only the process that made it can write, and only while the pipe is the same."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._owner = os.getpid()
        self._identity = _identity(fd)

    def say(self, kind: Kind, value: object) -> None:
        """Send one message.

        Raises:
            ChannelLostError: it cannot be sent.
        """
        if os.getpid() != self._owner:
            raise ChannelLostError("a copy of the process")
        body = pickle.dumps((kind, value), protocol=pickle.HIGHEST_PROTOCOL)
        if _identity(self._fd) != self._identity:
            raise ChannelLostError("the pipe is not there any more")
        data = memoryview(_HEAD.pack(len(body)) + body)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise ChannelLostError(str(error)) from error

    def close(self) -> None:
        """Close the pipe in this process."""
        with contextlib.suppress(OSError):
            os.close(self._fd)


class Messages:
    """The reading end: bytes in, whole messages out. A torn or strange message is dropped, never an error."""

    def __init__(self, *, plain: bool) -> None:
        self._buffer = bytearray()
        self._load = _load_plain if plain else pickle.loads

    def feed(self, data: bytes) -> Iterator[tuple[Kind, Any]]:
        """The messages that are complete with `data`."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._buffer)
            if size > _LIMIT:
                self._buffer.clear()
                return
            if len(self._buffer) < _HEAD.size + size:
                return
            body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
            del self._buffer[: _HEAD.size + size]
            with contextlib.suppress(Exception):
                kind, value = self._load(body)
                if kind in ("post", "done", "failed"):
                    yield kind, value


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


def _load_plain(body: bytes) -> Any:
    return _PlainUnpickler(io.BytesIO(body)).load()


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino
