"""The rules that rewrite, through the whole engine, real Dynamo runs and verdicts: what must be mended is, what is wrong is never offered."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest
import pytest_asyncio

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.text import apply_edits

from .pairs import CALLS, PAIRS, Pair

_REWRITES = tuple(one for one in rules_by_name() if one not in ("capture", "computed", "opaque"))
"""What is said of those that keep the number and let TorchDynamo capture it stands in `test_capture.py` and their examples."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session() -> AsyncIterator[Session]:
    one = Session(WorkerConfig(seconds=60))
    yield one
    await one.close()


def program(pair: Pair) -> str:
    body = indent(pair.body, "    ")
    return f"import torch\n{pair.setup}\n\n\ndef fn(x):\n{body}\n\n\ndef graphmend_entry():\n    return fn, {CALLS[pair.calls]}\n"


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
async def test_pair(pair: Pair, session: Session, tmp_path: Path) -> None:
    path = tmp_path / f"{pair.name}.py"
    path.write_text(program(pair))
    request = CheckRequest(paths=(str(path),), rules=_REWRITES)
    report = await session.prove(request, await session.check(request))
    assert report.failures == ()
    real = [finding for finding in report.findings if finding.site.evidence == "dynamo"]
    assert real, "the program must break"
    best = min(
        (one for finding in real for one in finding.candidates),
        key=lambda one: ("safe", "unsafe").index(one.safety),
        default=None,
    )
    if pair.best == "declined":
        assert best is None, (best.mend.title, best.verdict) if best else None
        assert all(finding.declined for finding in real)
        return
    assert best is not None, [one for finding in real for one in finding.declined]
    assert best.safety == pair.best, best.verdict
    for finding in real:
        for one in finding.candidates:
            text = apply_edits(path.read_text(), [edit for edit in one.mend.edits if edit.path == str(path)])
            assert not (pair.never and pair.never in text and one.safety == "safe")
    if pair.best == "unsafe":
        assert (await session.mend(request, report=report)).texts == {}, "only what is verified safe is made unasked"
    plan = await session.mend(replace(request, unsafe=pair.best == "unsafe"), report=report)
    assert plan.verdict is not None
    assert plan.verdict.safety == pair.best
    assert plan.after.entries[0].graphs == pair.graphs
