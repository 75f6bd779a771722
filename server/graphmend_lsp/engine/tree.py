"""A whole tree of entries is spread over several worker processes, which the engine uses as one."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.client import OnNews, WorkerClient
from graphmend_lsp.engine.config import WorkerConfig
from graphmend_lsp.engine.interpreter import is_sent
from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.remote import Elsewhere
from graphmend_lsp.worker.wire import Hello

AT_ONCE = 2  # requests that one worker process is given
WORKER_MB = 2000  # of memory that a worker process with its runs is reckoned to need


def usual_jobs() -> int:
    """Half the cores, but no more workers than fit into the free memory, and at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    free = _free_mb()
    return max(1, min(cores // 2, cores if free is None else free // WORKER_MB))


def _free_mb() -> int | None:
    if sys.platform == "linux":
        found = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
        return None if found is None else int(found[1]) // 1024
    return None


def client_of(config: WorkerConfig) -> WorkerClient | WorkerPool:
    """The worker, or the workers, that a configuration asks for; none is started yet."""
    place = None
    if is_sent(config.command) or config.path_map:
        told = config.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        folders = tuple(os.path.abspath(folder) for folder in told.split(os.pathsep) if folder)
        place = Elsewhere(PathMap(config.path_map), folders)
    clients = [
        WorkerClient(config.python, config.command, config.cwd, config.env, place, config.yields)
        for _ in range(max(1, config.jobs))
    ]
    return clients[0] if len(clients) == 1 else WorkerPool(clients)


class WorkerPool:
    """Several worker processes as one. A request goes to one that has room; another is started when none has."""

    def __init__(self, clients: Sequence[WorkerClient]) -> None:
        self._clients = list(clients)
        self._busy = [0] * len(self._clients)

    @property
    def hello(self) -> Hello | None:
        """What the first of the running workers said."""
        return next((client.hello for client in self._clients if client.hello is not None), None)

    @property
    def running(self) -> bool:
        """Whether one of them runs."""
        return any(client.running for client in self._clients)

    @property
    def death(self) -> str:
        """What the first of the workers that ended by themselves said last; empty when none did."""
        return next((client.death for client in self._clients if client.death), "")

    async def start(self) -> Hello:
        """Start the first; what keeps it from starting would keep the others.

        Raises:
            WorkerFailedError: it cannot be started.
        """
        return await self._clients[0].start()

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, on_news: OnNews | None = None
    ) -> dict[str, Any]:
        """Ask one of them, as `WorkerClient.request` does."""
        number = min(range(len(self._clients)), key=self._burden)
        self._busy[number] += 1
        try:
            return await self._clients[number].request(method, params, seconds, on_news)
        finally:
            self._busy[number] -= 1

    def _burden(self, index: int) -> tuple[bool, bool, int, int]:
        """What is least for the worker to ask: one with room, rather one that is up, rather one with nothing to do."""
        busy = self._busy[index]
        return busy >= AT_ONCE, not (busy or self._clients[index].running), busy, index

    async def kill(self, *, forget_deaths: bool = True) -> None:
        """End them all, with all their children."""
        await asyncio.gather(*(client.kill(forget_deaths=forget_deaths) for client in self._clients))
