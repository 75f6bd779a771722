"""The rule while_loop through the whole engine: what the worker proves of `torch.while_loop`, and what it says of gradients."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Finding, Report, Verdict

_SOLVER = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.1)
{gradients}
    def forward(self, x):
        h = torch.zeros_like(x)
        change = torch.ones(())
        n = 0
        while change > 1e-3 and n < 20:
            new = torch.tanh(self.drop(self.inner(h)) + x) / 2
            change = (new - h).abs().max()
            h = new
            n += 1
        return h


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.ones(2, 4),), (torch.randn(2, 4),)]
"""
_DOUBLED = """\
import torch

{gradients}
def fn(x):
    while x.abs().sum() < 100:
        x = {turn}
    return x.sin()


def graphmend_entry():
    return fn, [(torch.ones(4, 4),), (torch.full((4, 4), 99.0),)]
"""
_OFF = "@torch.no_grad()"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session() -> AsyncIterator[Session]:
    one = Session(WorkerConfig(seconds=300))
    yield one
    await one.close()


async def _proven(session: Session, folder: Path, text: str) -> tuple[CheckRequest, Report, Finding]:
    (folder / "program.py").write_text(text)
    request = CheckRequest(paths=(str(folder / "program.py"),), modes=("eval", "train"), rules=("while_loop",))
    report = await session.prove(request, await session.check(request))
    assert report.failures == ()
    (finding,) = [one for one in report.findings if one.site.evidence == "dynamo"]
    return request, report, finding


def _offered(finding: Finding) -> list[tuple[str, str]]:
    return [(one.mend.rule, one.safety) for one in finding.candidates]


def _kinds(verdict: Verdict) -> set[str]:
    return {one.kind for one in verdict.assumes}


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("text", "assumes"),
    [
        (_SOLVER.format(gradients=f"\n    {_OFF}"), {"inside-effects"}),  # hooks of modules in the loop
        (_DOUBLED.format(gradients=_OFF, turn="x * 2"), set()),
    ],
)
async def test_without_gradients_it_is_one_graph(
    session: Session, tmp_path: Path, text: str, assumes: set[str]
) -> None:
    """With dropout, too: in training the loop stays."""
    request, _, finding = await _proven(session, tmp_path, text)
    safety = "unsafe" if assumes else "safe"
    assert _offered(finding) == [("while_loop", safety)]
    plan = await session.mend(replace(request, modes=("eval",), unsafe=bool(assumes)))
    assert plan.verdict is not None and plan.verdict.safety == safety
    assert bool(assumes) == bool(plan.verdict.assumes)
    assert assumes <= {kind for one in finding.candidates if one.verdict for kind in _kinds(one.verdict)}
    assert (plan.verdict.after.graphs, plan.verdict.after.breaks) == (1, 0)
    assert "torch.while_loop(" in "".join(plan.texts.values())


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_with_gradients_it_is_not_offered_and_says_whom_it_serves(session: Session, tmp_path: Path) -> None:
    _, _, finding = await _proven(session, tmp_path, _DOUBLED.format(gradients="", turn="x * 2"))
    assert "while_loop" not in [rule for rule, _ in _offered(finding)]
    (reason,) = [one.reason for one in finding.declined if one.rule == "while_loop"]
    assert "it serves calls without gradients only (`torch.no_grad()`)" in reason


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("turn", ["torch.stack([x * 2])[0].T.abs()", "torch.nn.functional.pad(x * 2, (0, 1))"])
async def test_what_torch_while_loop_does_not_hold_is_not_offered(session: Session, tmp_path: Path, turn: str) -> None:
    """A turn that changes strides or shape where the text does not show it."""
    _, _, finding = await _proven(session, tmp_path, _DOUBLED.format(gradients=_OFF, turn=turn))
    assert "while_loop" not in [rule for rule, _ in _offered(finding)]
    assert any(one.rule == "while_loop" for one in finding.declined)
