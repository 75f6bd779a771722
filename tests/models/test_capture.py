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


ROWS = """\
import torch
from torch import nn


class Patch(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.own, self.both = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(16, 8)

    def forward(self, x, rows):
        y = self.before(x)
        if len(rows) > 0:
            z = self.own(x[rows])
            y[rows] = self.both(torch.cat([y[rows], z], -1))
        return y.relu()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = Patch()

    def forward(self, x, mask):
        rows = torch.where(mask)[0]
        return self.patch(x, rows).sum()


def graphmend_entry():
    torch.manual_seed(0)
    masks = [torch.tensor(one) for one in ([True, False, True, False], [False] * 4, [True] * 4)]
    return Model(), [(torch.randn(4, 8), mask) for mask in masks]
"""


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="inductor needs a compiler")
async def test_a_break_in_another_function_behind_a_first_is_mended_too(tmp_path: Path) -> None:
    """How many rows there are is captured, which alone saves nothing, and the layer that asks for their number becomes an
    operator. Where there are none, its weights' gradients are zeros and not None: safe for who accepts that."""
    (tmp_path / "program.py").write_text(ROWS)
    request = CheckRequest((str(tmp_path / "program.py"),), device="cpu", modes=("eval",), assume=("zero-gradients",))
    session = Session(WorkerConfig(cwd=str(tmp_path), seconds=240))
    try:
        plan = await session.mend(request)
    finally:
        await session.close()
    assert not any(one.site.is_met for one in plan.after.findings)
    assert [one.mend.rule for one in plan.applied] == ["capture", "opaque"]
    assert plan.verdict is not None and plan.verdict.safety == "safe" and plan.verdict.gradients == "close"
    assert [one.kind for one in plan.verdict.accepted] == ["zero-gradients"]
