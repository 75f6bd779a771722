"""The supervisor against workers that hang, die, flood and lie; and that no process is ever left."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from graphmend_lsp.engine.client import MAX_RESTARTS, NICE, WorkerClient, WorkerFailedError
from graphmend_lsp.engine.config import WorkerConfig, WorkerStatus
from graphmend_lsp.engine.session import Session

FAKE = str(Path(__file__).with_name("fake_worker.py"))


def client(behaviour: str) -> WorkerClient:
    # A command with {worker} is not sent the worker's files; the fake takes its behaviour and ignores the rest.
    return WorkerClient(None, (sys.executable, FAKE, behaviour, "{worker}"), None, {})


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" if Path("/proc").exists() else True


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="Windows has no such priorities")
@pytest.mark.parametrize("yields", [True, False])
async def test_a_worker_of_an_editor_lets_the_editor_go_first(tmp_path: Path, yields: bool) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {FAKE} good\n")
    python.chmod(0o755)
    worker = WorkerClient(str(python), (), None, {}, yields=yields)
    await worker.start()
    assert worker._process is not None
    behind = os.getpriority(os.PRIO_PROCESS, worker._process.pid) - os.getpriority(os.PRIO_PROCESS, 0)
    assert behind == (NICE if yields else 0)
    await worker.kill()


@pytest.mark.parametrize("behaviour", ["good", "babbles", "floods", "lies"])
async def test_answers_come_through(behaviour: str) -> None:
    worker, steps = client(behaviour), []
    result = await worker.request("analyse", {}, 30, lambda *news: steps.append(news))
    assert result["calls"] == 1
    assert steps == [("progress", "half way")]
    await worker.kill()


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("dies at start", "crash", "no such library"),
        ("old protocol", "crash", "did not start"),
        ("no torch", "no-torch", "torch is not installed"),
        ("dies at work", "crash", "ended unexpectedly"),
    ],
)
async def test_failures_are_told(behaviour: str, kind: str, words: str) -> None:
    worker = client(behaviour)
    with pytest.raises(WorkerFailedError) as caught:
        await worker.request("analyse", {}, 30)
    assert caught.value.failure.kind == kind
    assert words in caught.value.failure.message
    assert caught.value.failure.remedy
    await worker.kill()


async def test_a_worker_that_died_and_is_started_again_is_told() -> None:
    said: list[WorkerStatus] = []
    config = WorkerConfig(command=(sys.executable, FAKE, "dies at work", "{worker}"))
    session = Session(config, said.append)
    await session.start()
    await session.start()
    assert [one.message for one in said if one.state == "starting"] == [""]
    with pytest.raises(WorkerFailedError):
        await session._client.request("analyse", {}, 30)
    await session.start()
    words = [one.message for one in said if one.state == "starting"]
    assert words == ["", "The worker ended unexpectedly; GraphMend starts it again."]
    await session.close()


async def test_a_missing_interpreter_is_told() -> None:
    worker = WorkerClient("/nowhere/python", (), None, {})
    with pytest.raises(WorkerFailedError) as caught:
        await worker.start()
    assert caught.value.failure.kind == "no-worker"
    assert "graphmend.interpreter" in caught.value.failure.remedy


async def test_a_silent_worker_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmend_lsp.engine.client.READY_SECONDS", 0.5)
    worker = client("silent")
    with pytest.raises(WorkerFailedError):
        await worker.start()
    assert not worker.running


async def test_a_hanging_request_is_ended_and_leaves_no_process() -> None:
    worker = client("hangs")
    await worker.start()
    pid = worker._process.pid if worker._process else 0
    with pytest.raises(WorkerFailedError) as caught:
        await worker.request("analyse", {}, -19.7)
    assert caught.value.failure.kind == "timeout"
    assert not alive(pid)


async def test_cancelling_a_request_tells_the_worker_and_keeps_it() -> None:
    worker = client("hangs")
    await worker.start()
    task = asyncio.create_task(worker.request("analyse", {}, 30))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    end = time.monotonic() + 5
    while "cancelled 1" not in worker._stderr and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert "cancelled 1" in worker._stderr
    assert worker.running
    await worker.kill()
    assert not worker.running


async def test_it_is_not_started_for_ever() -> None:
    worker = client("dies at work")
    messages = []
    for _ in range(MAX_RESTARTS + 3):
        with pytest.raises(WorkerFailedError) as caught:
            await worker.request("analyse", {}, 30)
        messages.append(caught.value.failure.message)
    assert "does not start it again" in messages[-1]
    await worker.kill()
    with pytest.raises(WorkerFailedError) as caught:
        await worker.request("analyse", {}, 30)
    assert "ended unexpectedly" in caught.value.failure.message
    await worker.kill()


async def test_a_killed_worker_fails_what_waits() -> None:
    worker = client("hangs")
    await worker.start()
    task = asyncio.create_task(worker.request("analyse", {}, 30))
    await asyncio.sleep(0.1)
    await worker.kill()
    with pytest.raises(WorkerFailedError):
        await task
