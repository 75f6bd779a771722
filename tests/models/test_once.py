"""The rule once through the whole engine: what is set up in the first call is safe where nothing before it in a call depends on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session

_PROGRAM = """\
import threading

import torch

lock = threading.Lock()


def raised(module, inputs, output):
    return output + 1


def watch(net):
    if getattr(net, "is_watched", False):
        return

    with lock:
        net.layer.register_forward_hook(raised)
        net.is_watched = True


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = {before}
        watch(self)
        return self.layer(x) * 2

{more}
def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.randn(3, 4),), (torch.randn(3, 4),)]
"""
_OTHER = """\
    def other(self, x):
        x = self.layer(x)
        watch(self)
        return x

"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session() -> AsyncIterator[Session]:
    one = Session(WorkerConfig(seconds=300))
    yield one
    await one.close()


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("before", "more", "safety"),
    [
        ("x.sin()", "", "safe"),
        ("self.layer(x).sin()", "", "wrong"),  # in the first call it runs before there is a hook
        ("x.sin()", _OTHER, "unsafe"),  # no entry calls that method, in which it does
    ],
)
async def test_what_runs_before_it_in_a_call(
    session: Session, tmp_path: Path, before: str, more: str, safety: str
) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM.format(before=before, more=more))
    request = CheckRequest(paths=(str(tmp_path / "program.py"),), modes=("eval",), rules=("once",))
    report = await session.prove(request, await session.check(request))
    assert report.failures == ()
    told = {(one.mend.rule, one.safety) for finding in report.findings for one in finding.candidates}
    refused = [one.reason for finding in report.findings for one in finding.declined if one.rule == "once"]
    if safety == "wrong":
        assert not told and any("output" in reason and "in call 1" in reason for reason in refused)
        return
    assert told == {("once", safety)}
    plan = await session.mend(request)
    assert bool(plan.applied) == (safety == "safe")
    if safety == "safe":
        assert plan.verdict is not None and (plan.verdict.after.graphs, plan.verdict.after.breaks) == (1, 0)
