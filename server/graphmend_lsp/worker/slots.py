"""Slots for processes that compute, so that no more of them compute at a time than the machine should be asked for.

A slot is a lock on a file of a folder that the processes share; the system takes it back when its holder dies. Where
there are no such locks nobody waits. Standard library only.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WAIT = 0.005  # seconds between two tries


@contextmanager
def slot(folder: str, at_once: int) -> Iterator[None]:
    """Wait until fewer than `at_once` others hold a slot of the folder, and hold one while the context lasts."""
    held = _wait(folder, at_once)
    try:
        yield
    finally:
        with suppress(OSError):  # the program may have closed descriptors that are not its own
            os.close(held)


if sys.platform == "win32":

    def _wait(_folder: str, _at_once: int) -> int:
        return os.open(os.devnull, os.O_RDONLY)

else:
    import fcntl

    def _wait(folder: str, at_once: int) -> int:
        queue, *places = (_opened(folder, name) for name in ("queue", *(f"slot-{n}" for n in range(at_once))))
        fcntl.lockf(queue, fcntl.LOCK_EX)  # only the first in the queue looks for a slot
        try:
            while True:
                for place in places:
                    with suppress(OSError):
                        fcntl.lockf(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        places.remove(place)
                        return place
                time.sleep(WAIT)
        finally:
            for one in (queue, *places):
                os.close(one)

    def _opened(folder: str, name: str) -> int:
        return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT, 0o600)
