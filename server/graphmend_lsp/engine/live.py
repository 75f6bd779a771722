"""What runs that are under way have met so far, told as it grows, so that a break is shown when TorchDynamo meets it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.worker.wire import BreakData

PAUSE = 0.25  # seconds between two tellings: a model may break a hundred times


class Live:
    """Tells one state at a time, the newest; what is met while one is being told is told with the next."""

    def __init__(self, tell: Callable[[Mapping[Key, Run]], Awaitable[None]]) -> None:
        self._tell = tell
        self._events: dict[Key, tuple[BreakData, ...]] = {}
        self._telling: asyncio.Task[None] | None = None
        self._more = False

    def met(self, key: Key, event: BreakData) -> None:
        """A run has met a break, perhaps again. One that ends the program is told with the end alone, which says more."""
        if event["outcome"] == "raised" or event in self._events.get(key, ()):
            return
        self._events[key] = (*self._events.get(key, ()), event)
        self._more = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_all())

    async def end(self) -> None:
        """Tell nothing more: the whole is known."""
        self._more = False
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _tell_all(self) -> None:
        while self._more:
            self._more = False
            await self._tell({key: Run(events=events, ended=False) for key, events in self._events.items()})
            await asyncio.sleep(PAUSE)
