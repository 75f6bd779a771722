"""What fake runs add: sites of their own with their conditions in words, modes, and real runs that are too large."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from graphmend_lsp.engine.breaks import Scope
from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.explored import fake_breaks, graphs_only, note_of, shown_runs, too_large, with_modes
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.runs import Run
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Counts, Entry, Failure, Report, Span

FILE = "/home/me/model.py"
TEXT = "def forward(x):\n    if x.any():\n        print(x)\n    return x\n"
ENTRY = Entry(FILE, "graphmend_entry")
FAILURE = Failure("call", "exception", "ValueError: no", "Correct it.")


def event(line: int, column: int, end_line: int, end: int, gb_id: str, answers: Any = ()) -> Any:
    cause = {"gb_id": gb_id, "gb_type": gb_id, "context": "", "explanation": "", "hints": []}
    place = {"file": FILE, "line": line, "column": column, "end_line": end_line, "end_column": end}
    frames = [{**place, "function": "forward", "kind": "code"}]
    return {
        "cause": cause, "root": cause, "outcome": "resumed", "frames": frames, "compiled": "forward", "call": 0,
        "answers": list(answers),
    }  # fmt: skip


WHOLE_IF = {"file": FILE, "line": 2, "column": 4, "end_line": 3, "end_column": 16, "value": True}
BRANCH, PRINT = event(2, 4, 3, 16, "GB0170"), event(3, 8, 3, 16, "GB0059", [WHOLE_IF])
REAL = Run(events=(BRANCH,))
FAKE = Run(events=(BRANCH, PRINT), kind="fake")


def found(fake: Run, met: dict[Any, Run], real: Any = ()) -> Any:
    return fake_breaks({(ENTRY, "eval"): fake}, real, met, Scope((FILE,)), Sources({FILE: TEXT}))


def test_a_site_of_the_other_side_says_on_which() -> None:
    (branch, site) = found(FAKE, {})
    assert (branch.evidence, branch.answers) == ("fake", ())
    assert "Only when" not in branch.reason
    assert site.answers == ((FILE, Span.of(2, 8, 2, 15), True),)
    assert site.reason.endswith("Only when `x.any()` (line 2) is true.")


def test_what_the_real_run_met_is_its_own() -> None:
    (branch, _) = found(FAKE, {})
    assert [site.code for site in found(FAKE, {(ENTRY, "eval"): REAL}, (branch,))] == ["GB0059"]


@pytest.mark.parametrize(("met", "said"), [(REAL, True), (replace(REAL, failure=FAILURE), False), (None, False)])
def test_a_site_without_conditions_says_that_the_inputs_do_not_lead_there(met: Run | None, said: bool) -> None:
    runs: dict[Any, Run] = {} if met is None else {(ENTRY, "eval"): met}
    (site,) = found(Run(events=(event(3, 8, 3, 16, "GB0059"),), kind="fake"), runs)
    assert ("inputs do not reach this" in site.reason) is said


def test_a_break_in_one_mode_says_so_where_both_ran() -> None:
    (branch, _) = found(FAKE, {})
    assert with_modes([branch], [(ENTRY, "eval")])[0].reason == branch.reason
    (told,) = with_modes([branch], [(ENTRY, "eval"), (ENTRY, "train")])
    assert told.reason.endswith("(eval only)")
    both = replace(branch, modes=("eval", "train"))
    assert with_modes([both], [(ENTRY, "eval"), (ENTRY, "train")]) == (both,)


@pytest.mark.parametrize(
    ("tensors", "free", "large"), [(None, 1, False), (1, None, False), (2**30, 2**31, False), (2**30, 2**30, True)]
)
def test_a_run_that_does_not_fit_is_not_made(tensors: int | None, free: int | None, large: bool) -> None:
    why = too_large(Run(tensor_bytes=tensors, available_bytes=free))
    assert (why is not None) is large
    assert why is None or "1.0 GiB" in why


def test_the_real_run_stands_for_its_entry() -> None:
    key, other = (ENTRY, "eval"), (ENTRY, "train")
    shown = shown_runs({key: REAL}, {key: replace(FAKE, unexplored=2, explored=8), other: FAKE})  # type: ignore[dict-item]
    assert {run.kind for run in shown.values()} == {"real", "fake"}
    assert shown[key].note.startswith("2 sides of conditions did not run")  # type: ignore[index]


def test_a_verdict_without_data_is_on_graphs_only() -> None:
    before = Counts(2, 2, 0)
    verdict = graphs_only(before, Run(events=(BRANCH,), kind="fake"))
    assert (verdict.safety, verdict.outputs, verdict.after) == ("unverified", "not compared", Counts(0, 1, 0))
    assert verdict.reasons[0].startswith("graphs only: 2 → 1 breaks")
    assert "ValueError: no" in graphs_only(before, Run(failure=FAILURE, kind="fake")).reasons[0]


def test_a_failed_exploration_is_a_note() -> None:
    assert "ValueError: no" in note_of(replace(FAKE, failure=FAILURE))
    assert note_of(FAKE) == ""


MODEL = """\
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        h = self.layer(x)
        if self.training:
            print("training")
        if h.isinf().any():
            k = h.sum().item()
        return {"loss": h.sum()}
def graphmend_entry(): return M(), (torch.ones(2, 4),)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session() -> AsyncIterator[Session]:
    one = Session(WorkerConfig(python=sys.executable))
    yield one
    await one.close()


async def check(session: Session, path: Path, **options: Any) -> Report:
    path.write_text(MODEL)
    return await session.check(CheckRequest(paths=(str(path),), **options))


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_check_shows_both_sides_and_modes(session: Session, tmp_path: Path) -> None:
    report = await check(session, tmp_path / "model.py", analysis="both", modes=("eval", "train"))
    assert not report.failures
    assert [(one.site.code, one.site.evidence, one.site.modes) for one in report.findings] == [
        ("GB0059", "dynamo", ("train",)),
        ("GB0170", "dynamo", ("eval", "train")),
        ("GB0124", "fake", ("eval", "train")),
    ]
    assert report.findings[0].site.reason.endswith("(train only)")
    assert report.findings[2].site.reason.endswith("Only when `h.isinf().any()` (line 11) is true.")
    assert [result.run for result in report.entries] == ["real", "real"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
async def test_check_without_data(session: Session, tmp_path: Path) -> None:
    report = await check(session, tmp_path / "model.py", analysis="fake")
    assert not report.failures
    assert [(one.site.code, one.site.evidence) for one in report.findings if one.site.evidence != "static"] == [
        ("GB0170", "fake"), ("GB0124", "fake"),
    ]  # fmt: skip
    assert [result.run for result in report.entries] == ["fake"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_that_does_not_fit_runs_without_data_only(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL.replace("nn.Linear(4, 4)", "nn.Linear(4, 400_000_000)"))
    monkeypatch.setattr(session, "_config", replace(session._config, memory_mb=2000))
    report = await session.check(CheckRequest(paths=(str(path),), analysis="both"))
    assert not report.failures
    (result,) = report.entries
    assert (result.run, result.error) == ("fake", None)
    assert "so it ran without data only" in result.note
