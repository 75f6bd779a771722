"""What of a worker's answer becomes a run."""

from typing import Any, cast

import pytest

from graphmend_lsp.engine.runs import run_of
from graphmend_lsp.worker.wire import AnalyseResult

FAILURE = {
    "stage": "call",
    "kind": "exception",
    "message": "RuntimeError: bad shape",
    "remedy": "",
    "path": None,
    "line": None,
}


def event(gb_type: str, outcome: str) -> dict[str, Any]:
    cause = {"gb_id": None, "gb_type": gb_type, "explanation": "", "hints": []}
    return {"cause": cause, "root": cause, "outcome": outcome, "frames": [], "compiled": "f"}


@pytest.mark.parametrize(
    ("gb_type", "outcome", "failure", "kept"),
    [
        ("TorchRuntimeError", "raised", FAILURE, False),  # the program's own error: its failure says it
        ("TorchRuntimeError", "raised", None, True),
        ("TorchRuntimeError", "resumed", FAILURE, True),
        ("Data-dependent branching", "raised", FAILURE, True),
    ],
)
def test_an_error_of_the_program_is_no_break(gb_type: str, outcome: str, failure: object, kept: bool) -> None:
    result = {
        "events": [event(gb_type, outcome)], "graphs": [], "skipped": [], "calls": 1, "device": "cpu", "seconds": 0.1,
        "failure": failure and {**FAILURE, "detail": ""},
    }  # fmt: skip
    assert bool(run_of(cast(AnalyseResult, result)).events) is kept
