"""When the runs of an only mended program end early: it raises where the original does not, or gains nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.worker.enough import FLAG, Enough
from graphmend_lsp.worker.observe import Observation, Raised
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.settled import cuts_no_less
from graphmend_lsp.worker.wire import CountsData

from .worker_pipes import Worker, analyse_params

OWN = Recipe(0, own=True)
MADE = Recipe(0, floats="negated")
FINE = Observation("call 1", {}, (), None)
RAISES = replace(FINE, raised=Raised("call", "ValueError", "no"))


def _counts(breaks: int) -> CountsData:
    return CountsData(graphs=breaks + 1, breaks=breaks, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)


@pytest.mark.parametrize(
    ("raised", "done", "seen", "after", "enough"),
    [
        ((False,), [OWN], [FINE], 0, False),
        ((False,), [OWN], [RAISES], 0, True),
        ((True,), [OWN], [RAISES], 0, False),  # so does the original
        ((False,), [OWN, MADE], [FINE, RAISES], 0, False),  # the verdict judges calls that were made up
        ((False,), [OWN], [FINE], 1, True),  # as many breaks as before
        ((False, False), [OWN], [FINE], 1, False),  # the next call may be cut less
        ((), [OWN], [RAISES], 0, False),  # the original's own process
    ],
)
def test_what_ends_the_runs(
    tmp_path: Path, raised: tuple[bool, ...], done: list[Recipe], seen: list[Observation], after: int, enough: bool
) -> None:
    asked = Enough(str(tmp_path), raised, lambda counts: cuts_no_less(_counts(1), counts))
    assert asked(done, seen, lambda: (_counts(after), (), ())) is enough
    assert (tmp_path / FLAG).exists() is enough
    assert Enough(str(tmp_path))([OWN], [FINE]) is enough  # what the other processes learn


REFUSED = """
import torch


def f(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x + 1
    return y


def graphmend_entry():
    return f, (torch.ones(3),)
"""


def _verdict(worker: Worker, path: Path, new: str) -> Any:
    """The verdict of an only candidate; the original's counts are known."""
    file = str(path)
    params = analyse_params(file, text=REFUSED, roots=(str(path.parent),), device="cpu", seconds=60.0)
    candidate = {"id": "m", "texts": {file: new}, "changed": {file: [[1, new.count("\n")]]}, "conditions": []}
    asked = {**params, "candidates": [candidate], "before": _counts(1)}
    return worker.result(worker.send("verify", asked), 200)["candidates"][0]


@pytest.mark.slow
def test_a_mend_that_cannot_be_compiled_is_not_called_with_made_up_values(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    body = "    if x.sum() > 0:\n        y = x * 2\n    else:\n        y = x + 1\n"
    refused = REFUSED.replace(
        body,
        "    y = torch.where(x.sum() > 0, x * 2, x + 1)\n    if torch.compiler.is_compiling():\n        x.view(7)\n",
    )
    fine = REFUSED.replace(body, "    y = torch.where(x.sum() > 0, x * 2, x + 1)\n")
    assert refused != REFUSED != fine
    wrong, right = (_verdict(worker, path, one) for one in (refused, fine))
    assert any(one["what"] == "exception" and "compiled" in one["call"] for one in wrong["differences"])
    assert wrong["calls"] < right["calls"] / 3
