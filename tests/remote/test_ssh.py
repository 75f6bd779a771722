"""The worker on another machine: over a real ssh connection, with no file of ours and no checkout there."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Entry, Report
from tests.remote.conftest import Box

pytestmark = pytest.mark.slow

ENTRY = """import torch
from shapes import size
from pkg.deep import gate
import importlib


def graphmend_entry():
    scale = importlib.import_module("pkg." + "late").SCALE
    return gate.Gate(scale), (torch.ones(2, size()),)
"""
GATE = """import torch
from ..lower import limit


class Gate(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        if x.sum() > limit():
            x = x * self.scale
        return x + 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of several files: a package, one of its parts without ``__init__.py``, and a module beside the entry."""
    folder = tmp_path / "here" / "my project"
    texts = {
        "pyproject.toml": "",
        "entry.py": ENTRY,
        "shapes.py": "def size():\n    return 4\n",
        "pkg/__init__.py": "",
        "pkg/lower.py": "def limit():\n    return 1\n",
        "pkg/late.py": "SCALE = 3.0\n",
        "pkg/deep/gate.py": GATE,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def check(command: tuple[str, ...], project: Path, *pairs: tuple[str, str]) -> Report:
    async def work() -> Report:
        session = Session(WorkerConfig(command=command, cwd=str(project), path_map=pairs))
        try:
            return await session.check(
                CheckRequest((str(project),), entries=(Entry(str(project / "entry.py"), "graphmend_entry"),))
            )
        finally:
            await session.close()

    return asyncio.run(work())


def met(report: Report) -> list[tuple[str, int, str | None]]:
    return [
        (finding.site.path, finding.site.span.start.line, finding.site.gb_id)
        for finding in report.findings
        if finding.site.evidence == "dynamo"
    ]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """The folder for temporary files on the other side, for this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def leftovers(temporary: Path) -> list[Path]:
    return list(temporary.glob("graphmend-worker-*"))


def processes(mark: str) -> list[str]:
    """The command lines of processes whose environment or words hold the mark."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [words for folder in folders if mark in (words := _read(folder / "cmdline") + _read(folder / "environ"))]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


@pytest.mark.parametrize(
    "start", ["{python}", "echo 'Welcome to the box!'; printf 'no line end'; exec {python}"], ids=["plain", "noise"]
)
def test_breaks_come_back_over_ssh_from_a_machine_without_the_project(
    box: Box, project: Path, temporary: Path, start: str
) -> None:
    away = str(project.parent.parent / "nowhere" / "there")
    said = f"export TMPDIR={shlex.quote(str(temporary))}; {start.format(python=shlex.quote(box.python))}"
    command = (*box.ssh, said)
    report = check(command, project, (str(project), away))
    assert report.failures == ()
    assert met(report) == [(str(project / "pkg/deep/gate.py"), 11, "GB0170")]
    (site,) = (finding.site for finding in report.findings if finding.site.evidence == "dynamo")
    assert {frame.path for frame in site.chain if frame.kind == "code"} == {str(project / "pkg/deep/gate.py")}
    assert leftovers(temporary) == []


def test_the_failure_of_a_program_there_is_told_at_its_line_here(box: Box, project: Path) -> None:
    (project / "shapes.py").write_text("def size():\n    return 1 / 0\n")
    report = check((*box.ssh, box.python), project, (str(project), "/nowhere/there"))
    (failure,) = report.failures
    assert (failure.kind, failure.path, failure.line) == ("exception", str(project / "shapes.py"), 2)
    assert f'"{project / "shapes.py"}", line 2' in failure.detail
    assert "/nowhere/there" not in failure.message + failure.detail


def test_a_module_that_is_nowhere_is_an_error(box: Box, project: Path) -> None:
    (project / "shapes.py").write_text("import not_there_either\n")
    (failure,) = check((*box.ssh, box.python), project).failures
    assert failure.kind == "import"
    assert "not_there_either" in failure.message


@pytest.mark.parametrize(
    ("start", "words"),
    [("no-such-python", "no-such-python"), ("exit 3", "did not start"), ("cat >/dev/null; true", "did not start")],
)
def test_a_command_that_starts_no_python_is_told(
    box: Box, project: Path, monkeypatch: pytest.MonkeyPatch, start: str, words: str
) -> None:
    monkeypatch.setattr("graphmend_lsp.engine.client.READY_SECONDS", 5.0)
    (failure,) = check((*box.ssh, start), project).failures
    assert words in failure.message
    assert "by hand" in failure.remedy


@pytest.mark.parametrize("how", ["cancelled", "killed"])
def test_a_run_that_hangs_there_leaves_no_process(box: Box, project: Path, temporary: Path, how: str) -> None:
    mark = f"graphmend-mark-{os.getpid()}-{how}"
    (project / "shapes.py").write_text(
        f"import os, time\ndef size():\n    open({str(project.parent / 'up')!r}, 'w').close()\n    time.sleep(600)\n"
    )
    own = f"GRAPHMEND_MARK={mark} TMPDIR={shlex.quote(str(temporary))}"
    command = (*box.ssh, f"{own} exec {shlex.quote(box.python)}")
    if how == "cancelled":

        async def work() -> None:
            session = Session(WorkerConfig(command=command, cwd=str(project)))
            entry = Entry(str(project / "entry.py"), "graphmend_entry")
            task = asyncio.create_task(session.check(CheckRequest((str(project),), entries=(entry,))))
            while not (project.parent / "up").exists():
                assert not task.done()
                await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await session.close()

        asyncio.run(work())
    else:  # the engine itself is gone from one moment to the next
        words = [sys.executable, "-m", "graphmend_lsp", "check", "entry.py", "--worker-command", shlex.join(command)]
        engine = subprocess.Popen(words, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (project.parent / "up").exists():
            assert engine.poll() is None
            time.sleep(0.1)
        engine.kill()
        engine.wait()
    end = time.monotonic() + 20
    while (left := processes(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []
    assert leftovers(temporary) == []
