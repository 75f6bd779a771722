"""One thread for pure work, so that the event loop turns. Jobs run one by one; the thread keeps no process alive."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """A daemon thread with a queue (an executor's threads would be waited for at exit)."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result; a cancelled call that has not begun is left out."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        def job() -> None:
            if future.cancelled():
                return
            try:
                result, error = function(*arguments), None
            except Exception as problem:
                result, error = None, problem
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                return  # the loop is closed: the server is ending

        if not self._thread.is_alive():
            self._thread.start()
        self._jobs.put(job)
        return await future

    def _work(self) -> None:
        while True:
            self._jobs.get()()
