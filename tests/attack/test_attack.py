"""A fixed part of the attack: mutants of the rules' examples and random programs, judged and compared by other means."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import differ
from .mutants import mutant, seedlings
from .programs import program

ROOT = Path(__file__).resolve().parents[2]
FIRST = 700_000  # a block of seeds that no long run took
MUTANTS, RANDOM = 120, 8


def _attack(tmp_path: Path, programs: str, number: int) -> list[dict[str, Any]]:
    log = tmp_path / "log"
    words = [sys.executable, str(ROOT / "bench" / "attack.py"), "--programs", programs, "--from", str(FIRST)]
    words += ["--count", str(number), "--whole", "40", "--uses", "--log", str(log)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1700)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("programs", "number", "least"), [("mutants", MUTANTS, 15), ("random", RANDOM, 2)])
def test_no_safe_mend_changes_what_a_program_does(tmp_path: Path, programs: str, number: int, least: int) -> None:
    results = _attack(tmp_path, programs, number)
    assert [one["seed"] for one in results] == list(range(FIRST, FIRST + number))
    safe = sum(verdict in ("safe", "whole safe") for one in results for _, verdict in one.get("verdicts", ()))
    assert safe >= least, "too few offers are safe for this to say anything"


def test_programs_are_the_same_each_time_and_parse() -> None:
    for seed in range(50):
        compile(program(seed), f"program{seed}.py", "exec")
        assert program(seed) == program(seed)


def test_mutants_are_the_same_each_time_and_of_every_rule() -> None:
    made = [mutant(seed) for seed in range(150)]
    assert made == [mutant(seed) for seed in range(150)]
    found = [one for one in made if one is not None]
    assert len(found) > 120
    assert {one.rule for one in found} == {one.rule for one in seedlings()}
    for one in found:
        compile(one.text, "mutant.py", "exec")
        lines = one.text.splitlines()
        assert lines[one.span.start.line - 1][one.span.start.column - 1 :].strip()


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ("return x * 1.0000001", "outputs"), ("x.add_(1); return x", "inputs"), ("NOTES.append(1); return x", "state"),
        ("print('one'); return x", "text"), ("return x + 0 * torch.rand(())", "random"), ("return x.detach()", "outputs"),
        ("raise ValueError('two')", "error"), ("return x + x.detach() - x.detach()", "outputs"),
    ],
)  # fmt: skip
def test_a_wrong_mend_is_seen(tmp_path: Path, wrong: str, part: str) -> None:
    text = (
        "import torch\nNOTES = []\ndef fn(x):\n    {}\n"
        "def graphmend_entry():\n    return fn, [(torch.ones(4, requires_grad=True),)]\n"
    )
    file = tmp_path / "program.py"
    original, mended = text.format("return x"), text.format(wrong)
    file.write_text(original)
    found = differ.differences(str(file), str(file), [], 0, (original, mended))
    assert any(f" {part}: " in one for one in found), found
    assert differ.differences(str(file), str(file), [], 0, (original, original)) == []


HALF = """\
import torch
def fn(x, loud):
    loss = x.square().mean()
    {}
def graphmend_entry():
    x = torch.full((3,), 6e4)
    return fn, [(x.half(), torch.ones(2)), (x, torch.ones(2))]
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("mended", "differs"),
    [
        # inf * 0 where the mean is rounded to float16, which inductor does at the end of a graph
        ("return loss * torch.where(~loud.any(), 2.0, 0.0).to(loss.dtype)", False),
        ("return loss * torch.where(~loud.any(), 2.0, 0.01).to(loss.dtype)", True),
    ],
)
def test_what_inductor_does_not_round_is_no_difference(tmp_path: Path, mended: str, differs: bool) -> None:
    file = tmp_path / "program.py"
    original = HALF.format("return loss * (2.0 if not loud.any() else 0.0)")
    file.write_text(original)
    found = differ.differences(str(file), str(file), ["inductor"], 0, (original, HALF.format(mended)))
    assert bool(found) == differs, found
