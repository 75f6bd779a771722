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
@pytest.mark.parametrize(("function", "becomes"), [("kept", "safe"), ("branch", "")])
async def test_settings_are_proven(tmp_path: Path, function: str, becomes: str) -> None:
    """A size that no rewrite removes is captured; a setting under which the program raises is never offered."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(function=function))
    session = Session(WorkerConfig(cwd=str(tmp_path)))
    try:
        plan = await session.mend(CheckRequest((str(file),), device="cpu", rules=("capture",)))
    finally:
        await session.close()
    text = plan.texts.get(str(file), "")
    assert (f"@_capture_data\ndef {function}" in text) == (becomes == "safe")
    declined = [one.reason for finding in plan.left for one in finding.declined]
    assert becomes or any("GuardOnDataDependentSymNode" in one for one in declined), declined
