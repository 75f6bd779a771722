"""A worker that was sent, on this machine: where a fork is not safe, when it is killed, and by a Python that is too old."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.remote import READY, bootstrap_line, parcel
from graphmend_lsp.engine.session import Session
from graphmend_lsp.worker import bootstrap
from graphmend_lsp.worker.wire import PROTOCOL

EXAMPLE = Path(__file__).parents[2] / "examples" / "gated_mlp.py"


def test_both_sides_say_the_same_words() -> None:
    assert bootstrap.READY.encode() == READY
    assert bootstrap_line().count(b"\n") == 1
    assert bootstrap_line().isascii()


def bootstrapped(line: bytes, temporary: Path) -> subprocess.Popen[bytes]:
    """A bootstrap that was given its worker, which here is one line of Python."""
    words = [sys.executable, "-u", "-q", "-i"]
    env = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(bootstrap_line())
    process.stdin.flush()
    while READY not in process.stdout.readline():
        assert process.poll() is None
    process.stdin.write(line)
    process.stdin.flush()
    return process


def packed(program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    place = tmp_path / "worker"
    (place / "inner").mkdir(parents=True)
    (place / "__main__.py").write_text(program)
    (place / "inner" / "__init__.py").write_text("WORD = 'ü'\n")
    monkeypatch.setattr("graphmend_lsp.engine.remote.WORKER", place)
    line = parcel(str(tmp_path))
    monkeypatch.undo()
    return line


def test_the_worker_has_the_pipes_and_the_folder_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, sys, inner\nprint(inner.WORD, os.getcwd(), sys.stdin.readline())\nsys.exit(7)\n"
    (tmp_path / "t").mkdir()
    process = bootstrapped(packed(program, monkeypatch, tmp_path), tmp_path / "t")
    said, errors = process.communicate(b"a request\n", timeout=60)
    assert said.decode().split() == ["ü", str(tmp_path), "a", "request"], errors
    assert process.returncode == 7
    assert list((tmp_path / "t").iterdir()) == []


def test_a_request_to_end_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\nprint('up', flush=True)\ntime.sleep(600)\n"
    (tmp_path / "t").mkdir()
    process = bootstrapped(packed(program, monkeypatch, tmp_path), tmp_path / "t")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3
    assert list((tmp_path / "t").iterdir()) == []


def test_what_a_killed_bootstrap_left_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    line = packed("import sys\nprint('up', flush=True)\nsys.stdin.read()\n", monkeypatch, tmp_path)
    killed, living = (bootstrapped(line, temporary) for _ in range(2))
    for process in (killed, living):
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
    killed.kill()
    killed.wait(60)
    for folder in temporary.iterdir():
        os.utime(folder, (time.time() - 3600,) * 2)
    (temporary / f"{bootstrap.PREFIX}young").mkdir()
    (temporary / "other").mkdir()
    third = bootstrapped(line, temporary)
    assert third.stdout is not None
    assert third.stdout.readline() == b"up\n"
    assert len(list(temporary.iterdir())) == 4  # the living one's, the third's, the young one, the other
    for process in (living, third):
        process.communicate(timeout=60)
    assert sorted(path.name for path in temporary.iterdir()) == [f"{bootstrap.PREFIX}young", "other"]


def test_a_python_that_is_too_old_is_told() -> None:
    """A Python that claims to be 3.8: it is asked before it runs anything newer."""
    lines = b"import sys; sys.version_info = (3, 8, 1, 'final', 0)\n" + bootstrap_line()
    process = subprocess.Popen(
        [sys.executable, "-u", "-q", "-i"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    said, errors = process.communicate(lines + parcel(None), timeout=60)
    hello = json.loads(said.splitlines()[-1])["hello"]
    assert hello["protocol"] == PROTOCOL, errors
    assert "3.8.1; the worker needs 3.10" in hello["failure"]["message"]
    assert process.returncode == 1


@pytest.mark.slow
def test_a_program_is_proven_without_a_copy_where_children_are_fresh_processes(tmp_path: Path) -> None:
    project = tmp_path / "here"
    project.mkdir()
    shutil.copy(EXAMPLE, project)
    temporary = tmp_path / "t"
    temporary.mkdir()
    command = ("env", "GRAPHMEND_WORKER_SPAWN=1", f"TMPDIR={temporary}", sys.executable)
    config = WorkerConfig(command=command, cwd=str(project), path_map=((str(project), "/nowhere/at/all"),))

    async def work() -> None:
        session = Session(config)
        try:
            request = CheckRequest((str(project),))
            report = await session.check(request)
            assert report.failures == ()
            proven = await session.prove(request, report)
            met = [finding for finding in proven.findings if finding.site.evidence == "dynamo"]
            assert [candidate.safety for finding in met for candidate in finding.candidates][:1] == ["safe"]
        finally:
            await session.close()

    asyncio.run(work())
    assert list(temporary.glob(f"{bootstrap.PREFIX}*")) == []
