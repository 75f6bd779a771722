"""Programs thought out against the proof, each with what must become of it; all judged by one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .by_hand import CASES, Case

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.attack.by_hand"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1500, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


def test_names_are_there_once_and_programs_parse() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        compile(case.program().text, case.name, "exec")


@pytest.mark.slow
@pytest.mark.xdist_group("by_hand")
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_must_become_of_it(outcomes: dict[str, Any], case: Case) -> None:
    outcome = outcomes[case.name]
    safe = [rule for rule, safety in outcome["verdicts"] if safety == "safe"]
    assert outcome["runs"]
    if case.must == "limit":
        assert safe and outcome["differences"], "this is no limit any more: say so in docs/attack.md"
        return
    assert outcome["differences"] == []
    if case.must == "declined":
        assert outcome["verdicts"] == []
    elif case.must == "not safe":
        assert case.rule not in safe
    elif case.must == "safe":
        assert safe
