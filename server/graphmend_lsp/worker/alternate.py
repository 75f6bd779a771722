"""Two processes that compute in turn, each waiting while the other does: what one measures, the other does not disturb.

The turns are files of a folder that both share, so that it works wherever children can be started. Standard library only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WAIT = 0.002  # seconds between two looks
LOOK = 0.2  # seconds between looks whether the other is still there


class LeftAloneError(Exception):
    """The other process has ended before its turn, or the time is over."""


@dataclass
class Alternation:
    """One side: `number` 0 begins, 1 follows. `deadline` is of `time.monotonic`."""

    folder: str
    number: int
    deadline: float
    made: int = 0

    @contextmanager
    def present(self) -> Iterator[None]:
        """As long as the context lasts the other side may count on this one."""
        self._write(f"pid-{self.number}", str(os.getpid()))
        try:
            yield
        finally:
            self._write(f"gone-{self.number}")

    @contextmanager
    def turn(self, *, last: bool = False) -> Iterator[None]:
        """Wait for this side's next turn and hold it. `last`: said by side 0, whose rounds end with this one.

        Raises:
            LeftAloneError: it does not come.
        """
        own = 2 * self.made + self.number
        self.made += 1
        if own:
            self._wait(f"turn-{own - 1}")
        yield
        if last:
            self._write("last")
        self._write(f"turn-{own}")

    @property
    def is_over(self) -> bool:
        """Whether side 0 has had its last turn, as side 1 sees it in its own."""
        return os.path.exists(os.path.join(self.folder, "last"))

    def _wait(self, name: str) -> None:
        place = os.path.join(self.folder, name)
        looked = time.monotonic()
        while not os.path.exists(place):
            now = time.monotonic()
            if now > self.deadline:
                raise LeftAloneError("the time is over")
            if now - looked > LOOK:
                looked = now
                if self._is_alone() and not os.path.exists(place):
                    raise LeftAloneError("the other process has ended")
            time.sleep(WAIT)

    def _is_alone(self) -> bool:
        other = 1 - self.number
        if os.path.exists(os.path.join(self.folder, f"gone-{other}")):
            return True
        try:
            with open(os.path.join(self.folder, f"pid-{other}"), encoding="ascii") as file:
                pid = int(file.read() or 0)
        except (OSError, ValueError):  # it has not begun
            return False
        if os.name != "posix" or not pid:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def _write(self, name: str, text: str = "") -> None:
        place = os.path.join(self.folder, name)
        with open(f"{place}.new", "w", encoding="ascii") as file:
            file.write(text)
        os.replace(f"{place}.new", place)
