"""Sides that no call takes, through the whole engine: what an operator of `opaque` does there decides whether its mend is safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session

_PROGRAM = """\
import torch


def settled(x, y):
    z = y * 2.0
    while z.abs().sum() > 4:
        z = z * 0.5
        if (z > 1000).any():
            z = {side}
    return z + x


def fn(x, y):
    return settled(x.sin(), y.cos()).cos()


def graphmend_entry():
    torch.manual_seed(0)
    return fn, [(torch.randn(4, requires_grad=True), torch.randn(4) * 9) for _ in range(2)]
"""
_SIDES = {  # what the side does, and whether the mend is safe
    "the same shape": ("z.clamp(-1.0, 1.0)", True),
    "another shape, which the operator does not expect": ("z[:2] * 0.1", False),
    "no end": ("z - 1.0", False),
}


@pytest.mark.slow
@pytest.mark.parametrize(("side", "is_safe"), _SIDES.values(), ids=_SIDES)
async def test_an_operator_is_safe_where_the_side_that_no_call_takes_is_the_same(
    tmp_path: Path, side: str, is_safe: bool
) -> None:
    """Neither other candidates nor the user's assumptions take part."""
    (tmp_path / "program.py").write_text(_PROGRAM.format(side=side))
    session = Session(WorkerConfig(seconds=300))
    try:
        request = CheckRequest(paths=(str(tmp_path / "program.py"),), modes=("eval",), rules=("opaque",))
        plan = await session.mend(request)
    finally:
        await session.close()
    assert plan.before.failures == ()
    assert [one.mend.rule for one in plan.applied] == ["opaque"] * is_safe
    if not is_safe:
        offered = [one for finding in plan.after.findings for one in finding.candidates if one.mend.rule == "opaque"]
        assert {one.safety for one in offered} == {"unsafe"}
        said = "no call made `(z > 1000).any()` True, so that side did not run"
        assert any(said in one.verdict.reasons for one in offered if one.verdict is not None)
        return
    assert plan.verdict is not None
    assert plan.verdict.after.breaks == 0
    said = "no call made `(z > 1000).any()` True; GraphMend made it so in both programs, and they do the same"
    assert said in plan.verdict.reasons
