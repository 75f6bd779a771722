"""TorchDynamo's settings, proven: under inductor, too, with every size that the original takes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session

PROGRAM = """\
import torch


def kept(x):
    return x.sin()[x > 0] * 2


def branch(x):
    kept = x[x > 0]
    return kept * 2 if kept.numel() else x


def graphmend_entry():
    return {function}, (torch.tensor([1.0, -1.0, 2.0]),)
"""


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="inductor needs a compiler")
@pytest.mark.parametrize(("function", "offered"), [("kept", [("capture", "safe")]), ("branch", [])])
async def test_settings_are_proven(tmp_path: Path, function: str, offered: list[tuple[str, str]]) -> None:
    """A size that no rewrite removes is captured; a setting under which the program raises is never offered."""
    (tmp_path / "program.py").write_text(PROGRAM.replace("{function}", function))
    request = CheckRequest((str(tmp_path / "program.py"),), device="cpu", rules=("capture",))
    session = Session(WorkerConfig(cwd=str(tmp_path), seconds=240))
    try:
        report = await session.prove(request, await session.check(request))
    finally:
        await session.close()
    finding = report.findings[0]
    assert [(one.mend.rule, one.safety) for one in finding.candidates] == offered
    assert offered or any("GuardOnDataDependentSymNode" in one.reason for one in finding.declined), finding.declined
