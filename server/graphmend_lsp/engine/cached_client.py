"""The worker with its kept results: what a request would show is given without the worker where it is known.

Keeping goes on beside the next request; `settle` waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from graphmend_lsp.engine.cache import Cache
from graphmend_lsp.engine.cached_question import question_of
from graphmend_lsp.engine.client import OnNews, WorkerFailedError
from graphmend_lsp.engine.config import WorkerConfig
from graphmend_lsp.model import Failure
from graphmend_lsp.worker.wire import Hello

OnStart = Callable[[str], None]  # told why the worker is started again; nothing at a first start
CACHED = "cached"  # the key under which a result says that it was kept


class Client(Protocol):
    """The worker as the engine has it; see `WorkerClient`."""

    @property
    def running(self) -> bool:
        """Whether a process is there and has said hello."""
        ...

    @property
    def death(self) -> str:
        """What it said last, when it ended by itself and was not started since; empty otherwise."""
        ...

    async def start(self) -> Hello:
        """Start it if it does not run."""
        ...

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, on_news: OnNews | None = None
    ) -> dict[str, Any]:
        """Ask it and wait for the result."""
        ...

    async def kill(self) -> None:
        """End it."""
        ...


class CachedClient:
    """A worker (or several as one) with a `Cache` in front; without one it only passes on.

    `not_started` says why the worker could not be started when it was last needed; `on_start` is told when it is.
    """

    def __init__(
        self, client: Client, cache: Cache | None, config: WorkerConfig, on_start: OnStart = lambda _words: None
    ) -> None:
        self._client, self._cache, self._config, self._on_start = client, cache, config, on_start
        self._keeping: set[asyncio.Task[None]] = set()
        self._told: Hello | None = None
        self._asked = 0
        self._recalled = 0
        self._kept_only = contextvars.ContextVar("kept_only", default=False)
        self.not_started: Failure | None = None

    @property
    def running(self) -> bool:
        """Whether the worker's process is there and has said hello."""
        return self._client.running

    @property
    def hello(self) -> Hello | None:
        """Who the worker is that was last asked, or that made the last kept result that was given."""
        return self._told

    @property
    def words(self) -> str:
        """What a status line says when nothing since the last time it was asked needed the worker; empty when it did."""
        cached = self._recalled > 0 and self._asked == 0
        self._asked = self._recalled = 0
        return "cached: no loaded file has changed" if cached else ""

    @contextlib.contextmanager
    def kept_only(self) -> Iterator[None]:
        """In the context a request whose result is not kept fails instead of starting the worker."""
        token = self._kept_only.set(True)
        try:
            yield
        finally:
            self._kept_only.reset(token)

    async def recall(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The kept result of a request, marked with `CACHED`; None when only the worker can tell."""
        if self._cache is None:
            return None
        question = await asyncio.to_thread(question_of, method, params, self._config)
        found = await asyncio.to_thread(self._cache.find, question) if question is not None else None
        if found is None:
            return None
        self._told = found.hello
        self._recalled += 1
        return {**found.result, CACHED: True}

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, on_news: OnNews | None = None
    ) -> dict[str, Any]:
        """See `WorkerClient.request`; the kept result where there is one."""
        if (known := await self.recall(method, params)) is not None:
            return known
        if self._kept_only.get():
            raise WorkerFailedError(Failure("worker", "cancelled", "The result is not kept.", "Run the check."))
        hello = await self.start()
        self._asked += 1
        if self._cache is None:
            return await self._client.request(method, params, seconds, on_news)
        standing = not self._cache.knows(hello)
        result = await self._client.request(method, {**params, "standing": standing}, seconds, on_news)
        task = asyncio.create_task(self._keep(self._cache, method, params, result, hello))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)
        return result

    async def start(self) -> Hello:
        """Start the worker if it does not run.

        Raises:
            WorkerFailedError: see `WorkerClient.start`.
        """
        if not self._client.running:
            death = self._client.death
            self._on_start(f"{death.rstrip('.')}; GraphMend starts it again." if death else "")
        try:
            hello = await self._client.start()
        except WorkerFailedError as error:
            self.not_started = error.failure
            raise
        self.not_started, self._told = None, hello
        return hello

    async def _keep(
        self, cache: Cache, method: str, params: Mapping[str, Any], result: Mapping[str, Any], hello: Hello
    ) -> None:
        question = await asyncio.to_thread(question_of, method, params, self._config)
        if question is not None:
            await asyncio.to_thread(cache.keep, question, result, hello)

    async def settle(self, seconds: float = 10.0) -> None:
        """Wait until what was asked for so far is kept."""
        if self._keeping:
            await asyncio.wait(list(self._keeping), timeout=seconds)

    async def kill(self) -> None:
        """See `WorkerClient.kill`."""
        await self._client.kill()
