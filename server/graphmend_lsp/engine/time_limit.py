"""The time that a mend-all has: what is not done by then is cancelled, and what is verified by then is kept.

Without a limit of its own a mend-all may take as long as it verifies something. Where it has verified nothing in `patience`
seconds, it ends: each verdict of a mend that inductor compiles may take minutes, and there are many.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class TimeLimit:
    """Seconds from its making on; None: no limit but the `patience`, which `wait` sets.

    `over` says whether something was cancelled.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.over = False
        self._begun = time.monotonic()
        self._patience: float | None = None
        self._ends = 0.0

    def wait(self, patience: float) -> None:
        """Without a limit, end when nothing is verified in that many seconds from now."""
        if self.seconds is None:
            self._patience = patience
            self._ends = time.monotonic() + patience

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
        self.over = True
        return None

    async def hopeful(self, work: Coroutine[Any, Any, _T], share: float, has_verified: Callable[[], bool]) -> _T | None:
        """As `within`; without a limit, None when the patience is over and `has_verified` then says that there is nothing."""
        if self._patience is None or has_verified():
            return await self.within(work, share)
        left = self._ends - time.monotonic()
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task,), timeout=max(left, 0.0))
            if not task.done() and has_verified():
                await asyncio.wait((task,))
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
        if not task.cancelled():
            return task.result()
        self.over = True
        return None

    @property
    def passed(self) -> float:
        """The seconds since its making."""
        return time.monotonic() - self._begun

    @property
    def told(self) -> float | None:
        """The seconds that there were, where they were not enough."""
        return (self.seconds if self.seconds is not None else self._patience) if self.over else None
