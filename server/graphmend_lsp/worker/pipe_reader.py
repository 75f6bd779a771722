"""Bytes from several pipes as they come: by `select` where processes fork, by threads where that cannot be.

A process that forks must have one thread only, so `SelectPipeReader` has none; Windows cannot select pipes, so `ThreadPipeReader`
reads each in a thread of its own. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import threading
import time
from collections.abc import Hashable
from typing import Protocol

CHUNK = 1 << 16
Event = tuple[Hashable, bytes]


class PipeReader(Protocol):
    """Watches file descriptors; owns those it is given and closes them on `drop`."""

    def add(self, fd: int, key: Hashable) -> None:
        """Read `fd` from now on; what it gives is reported under `key`, its end as empty bytes, once."""

    def watch(self, fd: int, key: Hashable) -> None:
        """Report empty bytes under `key` when `fd` becomes readable; nothing is read. May do nothing."""

    def wait(self, seconds: float) -> list[Event]:
        """What has come, after at most that long; an empty list when nothing did."""

    def drain(self, key: Hashable) -> list[Event]:
        """What can still be had under `key`, whose writer has ended."""

    def drop(self, key: Hashable) -> None:
        """Forget everything under `key` and close it."""

    def close(self) -> None:
        """Give back what the reader itself needs."""


class SelectPipeReader:
    """One thread, one selector."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._keys: dict[int, Hashable] = {}

    def add(self, fd: int, key: Hashable) -> None:
        """See `PipeReader`."""
        os.set_blocking(fd, False)
        self._selector.register(fd, selectors.EVENT_READ, (key, True))
        self._keys[fd] = key

    def watch(self, fd: int, key: Hashable) -> None:
        """See `PipeReader`."""
        self._selector.register(fd, selectors.EVENT_READ, (key, False))
        self._keys[fd] = key

    def wait(self, seconds: float) -> list[Event]:
        """See `PipeReader`."""
        events: list[Event] = []
        for item, _ in self._selector.select(max(0.0, seconds)):
            key, is_pipe = item.data
            data = self._read(item.fd) if is_pipe else b""
            if data is None:
                continue
            if not data:
                self._selector.unregister(item.fd)
            events.append((key, data))
        return events

    def drain(self, key: Hashable) -> list[Event]:
        """See `PipeReader`."""
        events: list[Event] = []
        for item in list(self._selector.get_map().values()):
            if item.data == (key, True):
                while data := self._read(item.fd):
                    events.append((key, data))
        return events

    def drop(self, key: Hashable) -> None:
        """See `PipeReader`."""
        for fd in [fd for fd, known in self._keys.items() if known == key]:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(fd)
            with contextlib.suppress(OSError):
                os.close(fd)
            del self._keys[fd]

    def close(self) -> None:
        """See `PipeReader`."""
        for key in list(self._keys.values()):
            self.drop(key)
        self._selector.close()

    def _read(self, fd: int) -> bytes | None:
        """Some bytes, none at the end, None when there are none yet."""
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""


class ThreadPipeReader:
    """One daemon thread for each pipe and a queue."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[int, Hashable, bytes]] = queue.Queue(maxsize=256)
        self._keys: dict[int, Hashable] = {}  # by a number of our own: the fd may be reused

    def add(self, fd: int, key: Hashable) -> None:
        """See `PipeReader`."""
        number = max(self._keys, default=0) + 1
        self._keys[number] = key
        threading.Thread(target=self._read, args=(fd, number, key), daemon=True).start()

    def watch(self, fd: int, key: Hashable) -> None:
        """Not possible with threads; the pipe's end tells."""

    def wait(self, seconds: float) -> list[Event]:
        """See `PipeReader`."""
        events: list[Event] = []
        end = time.monotonic() + max(0.0, seconds)
        while not events:
            left = end - time.monotonic()
            try:
                number, key, data = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if self._keys.get(number) == key:
                events.append((key, data))
        return events

    def drain(self, key: Hashable) -> list[Event]:
        """See `PipeReader`. Gives the readers a moment, because a grandchild may hold the pipe open for good."""
        events: list[Event] = []
        others: list[tuple[int, Hashable, bytes]] = []
        end = time.monotonic() + 0.3
        open_ones = sum(known == key for known in self._keys.values())
        while open_ones and (left := end - time.monotonic()) > 0:
            try:
                item = self._queue.get(timeout=left)
            except queue.Empty:
                break
            if item[1] != key:
                others.append(item)
            elif item[2]:
                events.append((key, item[2]))
            else:
                open_ones -= 1
        for item in others:
            self._queue.put(item)
        return events

    def drop(self, key: Hashable) -> None:
        """See `PipeReader`; a reader closes its pipe when that ends."""
        for number in [number for number, known in self._keys.items() if known == key]:
            del self._keys[number]

    def close(self) -> None:
        """See `PipeReader`."""
        self._keys.clear()

    def _read(self, fd: int, number: int, key: Hashable) -> None:
        with contextlib.suppress(OSError):
            while (data := os.read(fd, CHUNK)) and number in self._keys:
                self._queue.put((number, key, data))
        self._queue.put((number, key, b""))
        with contextlib.suppress(OSError):
            os.close(fd)
