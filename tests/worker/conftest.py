"""The workers of these tests. What a program does must not reach the next one, so one worker runs the programs of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.worker.worker_pipes import Worker

Workers = Callable[[str], Worker]

each_worker = pytest.mark.parametrize("worker", ["fork", pytest.param("spawn", marks=pytest.mark.slow)], indirect=True)
"""For tests of its processes, which both kinds must pass; these workers are theirs, and hold no packages preloaded."""


@pytest.fixture(scope="session")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """The worker of that name, started when it is first needed; it ends in order and leaves no file."""
    started: dict[str, Worker] = {}
    with ExitStack() as ends:

        def of(name: str) -> Worker:
            if name not in started or started[name].process.poll() is not None:
                folder = tmp_path_factory.mktemp("temporary")
                spawns = {"GRAPHMEND_WORKER_SPAWN": "1"} if name == "spawn" else {}
                started[name] = Worker({"TMPDIR": str(folder), **spawns})
                ends.callback(_end, started[name], folder)
            return started[name]

        yield of


@pytest.fixture
def worker(workers: Workers, request: pytest.FixtureRequest) -> Iterator[Worker]:
    """The worker of all, or the one that `each_worker` names; no test may end it."""
    started = workers(getattr(request, "param", "all"))
    yield started
    assert started.process.poll() is None, "the test ended the worker"


def _end(worker: Worker, folder: Path) -> None:
    assert worker.close() == 0
    assert list(folder.iterdir()) == []
