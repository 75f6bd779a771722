"""Work-done progress of one long job, where the client shows it; its cancel button cancels the job's task."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.model import Progress

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_PATIENCE = 0.25  # seconds a job takes at least to be worth a progress bar
_CREATE_PATIENCE = 5.0
_TICK = 2.0  # seconds


class ProgressBars:
    """The running jobs by token."""

    def __init__(self, server: GraphMendServer, supported: bool) -> None:
        self._server = server
        self._supported = supported
        self._tasks: dict[int | str, asyncio.Task[object]] = {}

    def cancel(self, token: int | str) -> None:
        """The user pressed cancel."""
        task = self._tasks.get(token)
        if task is not None:
            task.cancel()

    @asynccontextmanager
    async def bar(self, title: str, token: int | str | None = None) -> AsyncIterator[Bar]:
        """A bar around the current task; with the `token` that a request brought, or one of our own after a moment."""
        bar = Bar(self._server, title)
        ticking = self._server.spawn(bar.tick(), "progress clock")
        opening: asyncio.Task[None] | None = None
        task = asyncio.current_task()
        if token is not None:
            self._track(token, task)
            bar.begin(token)
        elif self._supported:
            opening = self._server.spawn(self._open(bar, task), "progress")
        try:
            yield bar
        finally:
            ticking.cancel()
            if opening is not None:
                opening.cancel()
            bar.end()
            if bar.token is not None:
                self._tasks.pop(bar.token, None)

    async def _open(self, bar: Bar, task: asyncio.Task[object] | None) -> None:
        await asyncio.sleep(_PATIENCE)
        token = f"graphmend-{uuid.uuid4()}"
        asked = self._server.window_work_done_progress_create_async(types.WorkDoneProgressCreateParams(token))
        try:
            await asyncio.wait_for(asked, _CREATE_PATIENCE)
        except (JsonRpcException, asyncio.TimeoutError):
            return
        self._track(token, task)
        bar.begin(token)

    def _track(self, token: int | str, task: asyncio.Task[object] | None) -> None:
        if task is not None:
            self._tasks[token] = task


class Bar:
    """One bar; silent until it has begun."""

    def __init__(self, server: GraphMendServer, title: str) -> None:
        self._server = server
        self._title = title
        self._last = Progress("")
        self._since = time.monotonic()
        self.token: int | str | None = None
        self.closing = ""  # what it says at its end

    def begin(self, token: int | str) -> None:
        """Show it."""
        self.token = token
        message, percentage = _parts(self._last)
        self._tell(types.WorkDoneProgressBegin(self._title, cancellable=True, message=message, percentage=percentage))

    def report(self, step: Progress) -> None:
        """The next step."""
        if step != self._last:
            self._last, self._since = step, time.monotonic()
            message, percentage = _parts(step)
            self._tell(types.WorkDoneProgressReport(cancellable=True, message=message, percentage=percentage))

    async def tick(self) -> None:
        """Say how long the step under way takes, every few seconds: a bar that stands still looks dead."""
        while True:
            await asyncio.sleep(_TICK)
            seconds = int(time.monotonic() - self._since)
            message, percentage = _parts(self._last)
            if message and seconds >= _TICK:
                told = f"{message} ({seconds} s)"
                self._tell(types.WorkDoneProgressReport(cancellable=True, message=told, percentage=percentage))

    def end(self) -> None:
        """Take it away."""
        self._tell(types.WorkDoneProgressEnd(message=self.closing or None))

    def _tell(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self.token is not None:
            self._server.progress(types.ProgressParams(self.token, value))


def _parts(step: Progress) -> tuple[str | None, int | None]:
    return step.message or None, None if step.percent is None else min(max(step.percent, 0), 100)
