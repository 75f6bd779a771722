"""The time that a mend-all is given: what is not done by then is cancelled, and what is proven by then is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class TimeLimit:
    """Seconds from its making on; None: no limit. `over` says whether something was cancelled for it."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.over = False
        self._begun = time.monotonic()

    async def within(self, work: Coroutine[Any, Any, _T], share: float = 1.0) -> _T | None:
        """What the work gives; None when that share of all the time is over first."""
        if self.seconds is None:
            return await work
        left = self._begun + share * self.seconds - time.monotonic()
        try:
            if left > 0:
                return await asyncio.wait_for(work, left)
            work.close()
        except asyncio.TimeoutError:
            pass
        self.over = True
        return None

    @property
    def told(self) -> float | None:
        """The seconds that were given, where they were not enough."""
        return self.seconds if self.over else None
