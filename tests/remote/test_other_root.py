"""The worker in another file-system root, as in a container: the project lies elsewhere there, or nowhere.

Where the kernel lets nobody make such a root, the worker sees the project moved to another folder instead: paths differ
as much, but the rest of the file system is the same, which the test says.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Plan

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("other_root.sh")
EXAMPLE = Path(__file__).parents[2] / "examples" / "gated_mlp.py"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc")
THERE = "/srv/the project"


def command(root: Path, project: Path | None) -> tuple[tuple[str, ...], str]:
    """What starts a Python in another root, and where the project is there."""
    venv = Path(sys.prefix)
    folders = ":".join(dict.fromkeys((*SYSTEM, sys.base_prefix, str(venv))))
    words = (str(SCRIPT), str(root), str(project) if project else "-", THERE, folders, "--")
    tried = subprocess.run(
        [*words, sys.executable, "-c", "import os; print(os.listdir('/srv'))"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if tried.returncode == 0 or (project is None and "No such file" in tried.stderr and "/srv" in tried.stderr):
        return (*words, sys.executable), THERE
    warnings.warn(
        f"no other root can be made here ({tried.stderr.strip()}); the project is moved instead", stacklevel=2
    )
    away = root / "moved"
    if project is not None:
        shutil.copytree(project, away)
    return ("env", sys.executable), str(away)


async def mend(words: tuple[str, ...], project: Path, there: str) -> Plan:
    session = Session(WorkerConfig(command=words, cwd=str(project), path_map=((str(project), there),)))
    try:
        return await session.mend(CheckRequest((str(project),)))
    finally:
        await session.close()


@pytest.mark.parametrize("has_copy", [True, False], ids=["copy there", "no copy there"])
def test_a_program_is_mended_and_proven_by_a_worker_in_another_root(tmp_path: Path, has_copy: bool) -> None:
    project = tmp_path / "here"
    project.mkdir()
    shutil.copy(EXAMPLE, project)
    root = tmp_path / "root"
    root.mkdir()
    words, there = command(root, project if has_copy else None)
    plan = asyncio.run(mend(words, project, there))
    assert plan.before.failures == plan.after.failures == ()
    assert sum(entry.graphs for entry in plan.before.entries) > 1
    assert sum(entry.graphs for entry in plan.after.entries) == 1
    assert [Path(one).name for one in plan.texts] == [EXAMPLE.name, "graphmend_support.py"]
    assert plan.verdict is not None
    assert plan.verdict.safety == "safe"
    assert {finding.site.path for finding in plan.before.findings} == {str(project / EXAMPLE.name)}
    left = os.listdir(root / "tmp") if (root / "tmp").exists() else []
    assert [name for name in left if not name.startswith("torchinductor_")] == []  # torch's own cache, empty


@pytest.mark.parametrize("text", ["here", "there"])
def test_what_is_checked_is_the_text_here(tmp_path: Path, text: str) -> None:
    """A copy there that is out of date is not what runs."""
    project, stale = tmp_path / "here", tmp_path / "stale"
    for folder, body in ((project, "here"), (stale, "there")):
        folder.mkdir()
        shutil.copy(EXAMPLE, folder)
        (folder / "names.py").write_text(f"NAME = {body!r}\n")
        entry = "import torch, names\n\n\ndef graphmend_entry():\n    assert names.NAME == "
        (folder / "m.py").write_text(f"{entry}{text!r}\n    return torch.nn.Linear(2, 2), (torch.ones(1, 2),)\n")
    root = tmp_path / "root"
    root.mkdir()
    words, there = command(root, stale)

    async def work() -> list[str]:
        session = Session(WorkerConfig(command=words, cwd=str(project), path_map=((str(project), there),)))
        try:
            report = await session.check(CheckRequest((str(project / "m.py"),)))
            return [failure.message for failure in report.failures]
        finally:
            await session.close()

    failures = asyncio.run(work())
    assert failures == [] if text == "here" else failures[0].startswith("AssertionError")
