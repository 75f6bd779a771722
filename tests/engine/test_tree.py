"""Several workers as one, against fakes: who is asked, that none is started in vain, and that none is left."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmend_lsp.engine.client import WorkerClient
from graphmend_lsp.engine.config import WorkerConfig
from graphmend_lsp.engine.tree import AT_ONCE, WorkerPool, client_of, usual_jobs

FAKE = str(Path(__file__).with_name("fake_worker.py"))


def pool(behaviour: str, jobs: int) -> tuple[WorkerPool, list[WorkerClient]]:
    made = client_of(WorkerConfig(command=(sys.executable, FAKE, behaviour, "{worker}"), jobs=jobs))
    assert isinstance(made, WorkerPool)
    return made, made._clients


async def until(met: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("requests", "started"), [(1, 1), (AT_ONCE, 1), (AT_ONCE + 1, 2), (2 * AT_ONCE, 2), (9, 3)])
async def test_a_worker_is_started_when_the_others_are_full(requests: int, started: int) -> None:
    workers, clients = pool("hangs", 3)
    await workers.start()
    tasks = [asyncio.create_task(workers.request("analyse", {}, 60)) for _ in range(requests)]
    await until(lambda: sum(workers._busy) == requests and sum(client.running for client in clients) == started)
    assert workers._busy == sorted(workers._busy, reverse=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert workers._busy == [0, 0, 0]
    processes = [client._process for client in clients if client._process is not None]
    assert len(processes) == started
    await workers.kill()
    assert not workers.running
    assert all(process.returncode is not None for process in processes)


async def test_every_request_is_answered() -> None:
    workers, _ = pool("good", 2)
    await workers.start()
    results = await asyncio.gather(*(workers.request("analyse", {}, 60) for _ in range(7)))
    assert [result["calls"] for result in results] == [1] * 7
    assert workers.hello is not None
    await workers.kill()


def test_one_job_is_a_worker_and_the_usual_number_is_at_least_one() -> None:
    assert isinstance(client_of(WorkerConfig()), WorkerClient)
    assert usual_jobs() >= 1
