"""A thousand requests, most of them hostile, against one worker, and a smaller number through the whole language server.

Every one is answered, with the right kind; behind them is no process, no temporary file and no descriptor more than
before, and memory is flat. The seed is fixed and printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.client import WorkerClient, WorkerFailedError
from tests.chaos.programs import DEEDS, LINES, Deed
from tests.lsp.wire import NEOVIM, REAL, Client, action_params
from tests.worker.worker_pipes import name_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEED = 20241109
REQUESTS, SETTLED = 1000, 200  # memory is compared between these two
AT_ONCE = 4  # requests under way; the worker runs two of them
SAVES = 40
# What a process may gain between the two. Its allocator's slack is below 2 MiB; 8 MiB in 800 requests is 10 KiB a
# request, less than the texts and results of one request take: none of them may be kept.
SLACK_MB = 8.0
MARK = "GRAPHMEND_CHAOS"
LEFT = DEEDS["is cancelled with a daemon"]  # the worker is ended while it runs


def marked(mark: str, *, waiting: bool = True) -> dict[int, str]:
    """The living processes whose environment has the mark, with what they are; on request without the one that is
    waiting for the next run."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            left_out = not waiting and folder.name.isdigit() and name_of(int(folder.name)) == "graphmend-spare"
            if (
                folder.name.isdigit()
                and not left_out
                and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
            ):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def memory(pid: int) -> float:
    """What a process keeps in memory that is no file's content, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return holds


def params(file: Path, deed: Deed) -> dict[str, Any]:
    return {
        "entry": {"file": str(file), "function": "graphmend_entry", "kind": "function"},
        "texts": {}, "roots": [str(file.parent)], "device": "cpu", "mode": "eval",
        "limits": {"seconds": deed.seconds, "memory_mb": deed.memory_mb},
    }  # fmt: skip


async def answered(client: WorkerClient, file: Path, deed: Deed, wait: float) -> tuple[str | None, dict[str, Any]]:
    """The kind of failure that is told of the program, and the whole result."""
    file.write_text(deed.text)
    asked = asyncio.create_task(client.request("analyse", params(file, deed), 120.0))
    if deed.cancelled:
        await asyncio.sleep(wait)
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked
        return "cancelled", {}
    try:
        result = await asked
    except WorkerFailedError as error:
        return f"the worker failed: {error.failure.message}", {}
    return (result["failure"] or {}).get("kind"), result


async def storm(client: WorkerClient, folder: Path, count: int, chance: random.Random) -> list[str]:
    """Make that many requests, a few at a time; what was not answered as it should be."""
    names = chance.choices(list(DEEDS), [deed.weight for deed in DEEDS.values()], k=count)
    jobs = list(enumerate(names))[::-1]
    wrong: list[str] = []

    async def work() -> None:
        while jobs:
            number, name = jobs.pop()
            if chance.random() < 0.1:
                process = client._process
                assert process is not None and process.stdin is not None
                process.stdin.write(chance.choice(LINES) + b"\n")
            deed = DEEDS[name]
            kind, result = await answered(client, folder / f"model{number}.py", deed, chance.uniform(0.0, 0.3))
            if kind not in deed.kinds or (kind is None and len(result["events"]) != deed.breaks):
                wrong.append(f"{number} {name}: {kind} {result.get('failure')} {len(result.get('events', ()))} breaks")

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return wrong


async def test_a_thousand_requests(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    chance, mark = random.Random(SEED), uuid.uuid4().hex
    temporary, folder = tmp_path / "temporary", tmp_path / "project"
    temporary.mkdir()
    folder.mkdir()
    client = WorkerClient(sys.executable, (), str(folder), {"TMPDIR": str(temporary), MARK: mark})
    try:
        await client.start()
        assert client._process is not None
        worker = client._process.pid

        def rest() -> tuple[float, int]:
            alone = until(lambda: [name_of(pid) for pid in marked(mark) if pid != worker] == ["graphmend-spare"])
            assert alone, {pid: name_of(pid) for pid in marked(mark)}
            # The worker's own folder holds its lock alone.
            assert until(lambda: [*temporary.glob("*/*")] == [*temporary.glob("*/lock")]), [*temporary.glob("*/*")]
            return memory(worker), descriptors(worker)

        wrong = await storm(client, folder, SETTLED, chance)
        settled, own = rest(), descriptors(os.getpid())
        wrong += await storm(client, folder, REQUESTS - SETTLED, chance)
        end = rest()
        print(f"worker: {settled[0]:.1f} MiB after {SETTLED}, {end[0]:.1f} MiB after {REQUESTS}; {end[1]} descriptors")
        assert wrong == [], Counter(one.split(":")[0].partition(" ")[2] for one in wrong)
        assert client._process is not None and client._process.pid == worker, "the worker was started again"
        assert end[0] - settled[0] < SLACK_MB
        assert end[1] == settled[1]
        assert descriptors(os.getpid()) == own
        left = asyncio.create_task(answered(client, folder / "left.py", replace(LEFT, cancelled=False), 0))
        while len(marked(mark, waiting=False)) < 3:  # the worker, the run, its daemon
            await asyncio.sleep(0.05)
    finally:
        await client.kill()
    assert "was stopped" in str((await left)[0])
    assert until(lambda: marked(mark) == {}), marked(mark)
    assert list(temporary.iterdir()) == []


# What a save of such a program has to end in: words of the diagnostics
SHOWN = {
    "good": None, "breaks": "GB", "raises": "ZeroDivisionError", "missing package": "no_such_package_at_all", "exits hard": "exit status 7",
    "segmentation fault": "SIGSEGV", "abort": "SIGABRT", "leaves a daemon": None, "leaves threads": None, "fills its output": None,
    "closes everything": "file descriptors", "deletes its own file": None, "hangs": "did not end within",
}  # fmt: skip


def test_saves_through_the_language_server(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    chance, mark = random.Random(SEED), uuid.uuid4().hex
    temporary, folder = tmp_path / "temporary", tmp_path / "project"
    temporary.mkdir()
    folder.mkdir()
    path = folder / "model.py"
    path.write_text(DEEDS["good"].text)
    client = Client(REAL, {"TMPDIR": str(temporary), MARK: mark})
    options = {
        "trusted": True,
        "settings": {"interpreter": [sys.executable], "device": "cpu", "worker": {"timeout": 2}},
    }
    try:
        client.initialize(NEOVIM, initializationOptions=options, rootUri=folder.as_uri())
        client.open(path.as_uri(), DEEDS["good"].text)
        version, figures = 1, []
        # Each program once and its mends, so that what the server loads and keeps for good is there at the first figure
        warming = [[name] for name in (*SHOWN, "breaks")]
        rest = [chance.choices(list(SHOWN), k=chance.choice((1, 1, 3))) for _ in range(SAVES - len(warming))]
        for number, names in enumerate([*warming, *rest]):  # the last wins
            if number == len(warming):
                assert until(lambda: is_mended(client, path)), "no mend was shown"
            if number in (len(warming), SAVES - 1):
                figures.append((memory(client.process.pid), descriptors(client.process.pid)))
            for name in names:
                version += 1
                text = f"{DEEDS[name].text}# {number}\n"
                path.write_text(text)
                client.change(path.as_uri(), version, [{"text": text}])
                client.save(path.as_uri())
            shown = settled(client, version)
            if "deletes its own file" in names[:-1] and not path.exists() and "FileNotFoundError" in " ".join(shown):
                continue  # a run of an earlier text deleted the last one, as the diagnostic says
            if SHOWN[name] is None:
                assert not any("did not" in said or "Error" in said for said in shown), (number, name, shown)
            else:
                assert SHOWN[name] in " ".join(shown), (number, name, shown)
        print(f"server: {figures[0][0]:.1f} MiB after {len(warming)} saves, {figures[1][0]:.1f} MiB after {SAVES}")
        assert figures[1][0] - figures[0][0] < SLACK_MB
        assert abs(figures[1][1] - figures[0][1]) <= 2  # pipes of the mending child, which comes and goes
        client.ask("shutdown")
        client.notify("exit")
        assert client.code() == 0
    finally:
        client.stop()
    assert until(lambda: marked(mark) == {}), marked(mark)
    assert until(lambda: list(temporary.iterdir()) == []), list(temporary.iterdir())


def is_mended(client: Client, path: Path) -> bool:
    """Whether the quick fix of the break that the last save showed is there."""
    actions = client.result("textDocument/codeAction", action_params(path.as_uri(), (0, 0), (100, 0)))
    return any(action["title"].startswith("Mend graph break") for action in actions or ())


def settled(client: Client, version: int, seconds: float = 90.0) -> list[str]:
    """The diagnostics of that version when the run of its save is over, as words."""
    shown: list[str] = []
    state, busy = "", False
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            message = client.next(1.0)
        except queue.Empty:
            if busy and state not in ("busy", "starting"):
                return shown
            continue
        assert message is not None, "the server ended"
        if message.get("method") == "graphmend/status":
            state = message["params"]["state"]
            busy = busy or state == "busy"
        params = message.get("params") if message.get("method") == "textDocument/publishDiagnostics" else None
        if params is not None and params.get("version", version) == version:
            shown = [f"{one.get('code')} {one['message']}" for one in params["diagnostics"]]
    raise AssertionError(f"the run did not end: {state} {json.dumps(shown)}")
