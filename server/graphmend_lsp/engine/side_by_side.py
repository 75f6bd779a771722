"""Several things at a time, told in their order: what a mend-all asks of many entries, over as many workers as there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


async def in_order(tasks: Sequence[Callable[[], Awaitable[_T]]], jobs: int) -> AsyncIterator[_T]:
    """What the tasks give, in their order, `jobs` (from 1 on) at a time; the next are begun when these have been taken."""
    for start in range(0, len(tasks), jobs):
        several = tasks[start : start + jobs]
        for one in [await several[0]()] if len(several) == 1 else await asyncio.gather(*(task() for task in several)):
            yield one
