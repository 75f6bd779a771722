"""A child that was forked before there is anything to do, and has rehearsed: pages copied, caches filled, the fork paid.

It carries out one job, the next one; nothing of the user's has been in it before. Linux only, as forks are; standard
library only but for the rehearsal.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import tempfile
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .limits import free_mb, named, restrain
from .preload import SIZE, received
from .processes import Job, Post, Started, fork

NAME = "graphmend-spare"
READY = b"r"
ANSWER = 3.0  # seconds within which it must have taken its job
FREE_MB = 1024  # that the machine must have for one


class Spare:
    """The child, the socket on which it waits for its job, and a `folder` for temporary files.

    The folder is there while it rehearses, and again from when it has its job, whose own it is then.
    """

    def __init__(self, private: Sequence[int], rehearse: Callable[[str], None]) -> None:
        """Fork it; `private` descriptors are closed in it.

        Raises:
            OSError: that is not possible.
        """
        free = free_mb()
        if free is not None and free < FREE_MB:
            raise OSError("memory is short")
        self._orders, theirs = socket.socketpair()
        self._orders.settimeout(ANSWER)
        self.folder = os.path.join(tempfile.gettempdir(), f"graphmend-{uuid.uuid4().hex[:16]}")
        job = Job(partial(wait, theirs.fileno(), self.folder, rehearse), True, "load", None)
        self._started: Started | None = None
        self._ready = False
        try:
            self._started = fork(job, True, (*private, self._orders.fileno()))
        except OSError:
            self._orders.close()
            raise
        finally:
            theirs.close()

    def is_ready(self) -> bool:
        """Whether it has rehearsed, so that no job waits for that, or has died, which `start` tells."""
        if not self._ready:
            self._orders.setblocking(False)
            try:
                self._orders.recv(len(READY))
            except BlockingIOError:
                return False
            except OSError:
                pass  # it has died
            finally:
                self._orders.settimeout(ANSWER)
            self._ready = True
        return True

    @property
    def pid(self) -> int | None:
        """Its process, until it has a job."""
        return self._started.process.pid if self._started is not None else None

    def fileno(self) -> int:
        """What no other process needs."""
        return self._orders.fileno()

    def start(self, job: Job) -> Started:
        """Give it its job.

        Raises:
            OSError: it has died, or does not take it.
        """
        started = self._started
        if started is None or started.process.ended():
            raise OSError("the process ended")
        body = pickle.dumps(job)
        self._orders.sendall(SIZE.pack(len(body)) + body)
        self._started = None
        self._orders.close()
        return started

    def close(self) -> None:
        """End it, with its folder, unless it has a job."""
        self._orders.close()
        started, self._started = self._started, None
        if started is not None:
            started.process.kill()
            started.process.reap()
            for fd in (started.messages, started.output, started.pidfd):
                if fd is not None:
                    os.close(fd)
            shutil.rmtree(self.folder, ignore_errors=True)


def wait(control: int, folder: str, rehearse: Callable[[str], None], post: Post) -> Any:
    """The child's life: rehearse, wait for the job, do it. Ends when the other end does."""
    with named(NAME), socket.socket(fileno=control) as orders:
        os.makedirs(folder, 0o700)
        rehearse(folder)
        shutil.rmtree(folder, ignore_errors=True)
        orders.sendall(READY)
        head = received(orders, SIZE.size)
        body = received(orders, SIZE.unpack(head)[0]) if head is not None else None
    if body is None:
        raise SystemExit
    os.makedirs(folder, 0o700)
    job: Job = pickle.loads(body)
    restrain(job.memory_mb)
    post.stage(job.stage)
    return job.function(post) if job.posts else job.function()
