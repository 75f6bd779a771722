"""The time that a mend-all has: what is not done by then is cancelled, and what is verified by then is kept.

Without a limit of its own a mend-all may take as long as it verifies something. Where it has verified nothing in `patience`
seconds, it tries no further mend: a verdict of what inductor compiles may take minutes, and there are many.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from graphmend_lsp.model import Failure

_T = TypeVar("_T")


class TimeLimit:
    """Seconds from its making on; None: no limit but the `patience`, which `wait` sets.

    `over` says whether the time is; `stopped` whether something was cancelled, or not begun, be it for its share of the time.
    `verified` asks whether a mend is verified; `ended` is what a mend that is not tried for the patience ends with.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.over = self.stopped = False
        self._begun = time.monotonic()
        self.ended: Failure | None = None
        self.verified: Callable[[], bool] = lambda: False
        self._patience: float | None = None
        self._ends = 0.0

    def wait(self, patience: float) -> None:
        """Without a limit, verify no further mend when none is verified in that many seconds from now."""
        if self.seconds is None:
            self._patience = patience
            self.go_on()

    def go_on(self) -> None:
        """Begin the patience anew."""
        if self._patience is not None:
            self._ends = self.passed + self._patience

    async def within(self, work: Coroutine[Any, Any, _T], share: float = 1.0) -> _T | None:
        """What the work gives; None when that share of all the time is over first."""
        if self.seconds is None:
            return await work
        left = share * self.seconds - self.passed
        try:
            if left > 0:
                return await asyncio.wait_for(work, left)
            work.close()
        except asyncio.TimeoutError:
            pass
        self.stopped = True
        self.over = self.over or self.passed >= self.seconds
        return None

    def spent(self) -> Failure | None:
        """Why no further mend is verified: nothing was until the patience was over. A verdict under way comes to its end."""
        if self._patience is None or self.passed < self._ends or self.verified():
            return None
        self.over = self.stopped = True
        words = f"GraphMend verified no mend in {self._patience:.3g} seconds, so it did not try this one."
        self.ended = Failure("compare", "timeout", words, "`graphmend-lsp mend --seconds N` verifies for longer.")
        return self.ended

    @property
    def passed(self) -> float:
        """The seconds since its making."""
        return time.monotonic() - self._begun

    @property
    def told(self) -> float | None:
        """The seconds that there were, where they were not enough."""
        return (self.seconds if self.seconds is not None else self._patience) if self.stopped else None
