"""Work-done progress of one long job, where the client shows it; its cancel button cancels the job's task."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graphmend_lsp.lsp.rpc import Connection, RpcError
from graphmend_lsp.model import Progress

_PATIENCE = 0.25  # seconds a job takes at least to be worth a progress bar
_CREATE_PATIENCE = 5.0


class ProgressBars:
    """The running jobs by token."""

    def __init__(self, connection: Connection, supported: bool) -> None:
        self._connection = connection
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
        bar = Bar(self._connection, title)
        opening: asyncio.Task[None] | None = None
        task = asyncio.current_task()
        if token is not None:
            self._track(token, task)
            bar.begin(token)
        elif self._supported:
            opening = self._connection.spawn(self._open(bar, task), "progress")
        try:
            yield bar
        finally:
            if opening is not None:
                opening.cancel()
            bar.end()
            if bar.token is not None:
                self._tasks.pop(bar.token, None)

    async def _open(self, bar: Bar, task: asyncio.Task[object] | None) -> None:
        await asyncio.sleep(_PATIENCE)
        token = f"graphmend-{uuid.uuid4()}"
        asked = self._connection.request("window/workDoneProgress/create", {"token": token})
        try:
            await asyncio.wait_for(asked, _CREATE_PATIENCE)
        except (RpcError, asyncio.TimeoutError):
            return
        self._track(token, task)
        bar.begin(token)

    def _track(self, token: int | str, task: asyncio.Task[object] | None) -> None:
        if task is not None:
            self._tasks[token] = task


class Bar:
    """One bar; silent until it has begun."""

    def __init__(self, connection: Connection, title: str) -> None:
        self._connection = connection
        self._title = title
        self._last = Progress("")
        self.token: int | str | None = None

    def begin(self, token: int | str) -> None:
        """Show it."""
        self.token = token
        self._tell({"kind": "begin", "title": self._title, "cancellable": True} | _parts(self._last))

    def report(self, step: Progress) -> None:
        """The next step."""
        if step != self._last:
            self._last = step
            self._tell({"kind": "report", "cancellable": True} | _parts(step))

    def end(self) -> None:
        """Take it away."""
        self._tell({"kind": "end"})

    def _tell(self, value: dict[str, object]) -> None:
        if self.token is not None:
            self._connection.notify("$/progress", {"token": self.token, "value": value})


def _parts(step: Progress) -> dict[str, object]:
    parts: dict[str, object] = {"message": step.message} if step.message else {}
    return parts if step.percent is None else parts | {"percentage": min(max(step.percent, 0), 100)}
