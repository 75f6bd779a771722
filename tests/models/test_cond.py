"""The rule cond through the whole engine: what the worker proves of `torch.cond`, and what it keeps from being offered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Report

_ROOT = """\
import torch


def fn(x):
    if x.min() > 0:
        y = torch.sqrt(x)
    else:
        y = x * 2
    return (y + 1).sin()


def graphmend_entry():
    return fn, [(torch.arange(1.0, 5.0).requires_grad_(),), (-torch.arange(1.0, 5.0).requires_grad_(),)]
"""
_NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 1)
        self.layers = nn.ModuleList([{layer} for _ in range(2)])

    def forward(self, x):
        h = self.gate(x)
        if h.sum() > 0:
            for layer in self.layers:
                x = layer(x)
        return (x * h).sin()


def graphmend_entry():
    torch.manual_seed(1)
    calls = [(torch.ones(4, 8).requires_grad_(),), (-torch.ones(4, 8).requires_grad_(),), (torch.randn(4, 8).requires_grad_(),)]
    return Net(){after}, calls
"""
_FROZEN = ".requires_grad_(False)"
_STRIDES = """\
import torch


def fn(x):
    if x.min() > 0:
        y = torch.sqrt(x)
    else:
        y = (x * 2).t()
    return (y + 1).sin()


def graphmend_entry():
    return fn, [(torch.ones(3, 3) + torch.eye(3),), (-torch.ones(3, 3) + torch.eye(3),)]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session() -> AsyncIterator[Session]:
    one = Session(WorkerConfig(seconds=120))
    yield one
    await one.close()


async def _proven(
    session: Session, folder: Path, text: str, rules: tuple[str, ...] = ("cond",)
) -> tuple[CheckRequest, Report]:
    (folder / "program.py").write_text(text)
    request = CheckRequest(paths=(str(folder / "program.py"),), modes=("eval", "train"), rules=rules)
    report = await session.prove(request, await session.check(request))
    assert report.failures == ()
    return request, report


def _offered(report: Report) -> list[tuple[str, str]]:
    (finding,) = [one for one in report.findings if one.site.evidence == "dynamo"]
    return [(one.mend.rule, one.safety) for one in finding.candidates]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_root_of_the_side_not_taken_is_safe_and_second(session: Session, tmp_path: Path) -> None:
    _, report = await _proven(session, tmp_path, _ROOT, ("where", "cond"))
    assert _offered(report) == [("where", "safe"), ("cond", "safe")]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("layer", "after"),
    [
        ("nn.Linear(8, 8)", _FROZEN),
        ("nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))", _FROZEN),  # in training the branch stays
        ("nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))", _FROZEN),
        ("nn.Linear(8, 8)", ""),  # gradients of zeros instead of none
    ],
)
async def test_a_loop_over_layers(session: Session, tmp_path: Path, layer: str, after: str) -> None:
    """One graph, but for hooks: torch.cond raises where a module that it traces has one that notes something."""
    request, report = await _proven(session, tmp_path, _NET.format(layer=layer, after=after))
    assert _offered(report) == [("cond", "unsafe")]
    plan = await session.mend(replace(request, modes=("eval",), unsafe=True))
    assert plan.verdict is not None and plan.verdict.safety == "unsafe"
    assert "inside-effects" in [one.kind for one in plan.verdict.assumes]
    assert (plan.verdict.after.graphs, plan.verdict.after.breaks) == (1, 0)
    assert "torch.cond(h.sum() > 0, positive, lambda x: x.clone(), (x,))" in "".join(plan.texts.values())


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("text", [_STRIDES, _NET.format(layer="nn.Identity()", after=_FROZEN)])
async def test_what_torch_cond_does_not_hold_is_not_offered(session: Session, tmp_path: Path, text: str) -> None:
    """Sides of different strides, and a side that gives what went in."""
    _, report = await _proven(session, tmp_path, text)
    assert "cond" not in [rule for rule, _ in _offered(report)]
    assert any(one.rule == "cond" for finding in report.findings for one in finding.declined)
