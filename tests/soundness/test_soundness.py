"""A safe mend changes nothing in a use that the entry does not show: a sample of `bench/soundness.py`, which runs them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "soundness.py"
PROGRAMS = Path(__file__).parent / "programs"
SAMPLE = ("w09_halfparam", "i01_uint8", "d26_global", "t27_fallback", "t57_search")
"""One each of: a dtype, integers, what is read late, an exception that is caught, work that grows."""


def test_every_program_has_its_use() -> None:
    names = {path.stem for path in PROGRAMS.glob("*.py")}
    assert names == {path.stem for path in PROGRAMS.glob("*.nasty")}
    assert len(names) >= 140 and set(SAMPLE) <= names
    for name in names:
        text = (PROGRAMS / f"{name}.py").read_text("utf-8")
        assert "def graphmend_entry():" in text, name
        compile(text, name, "exec")
        use = (PROGRAMS / f"{name}.nasty").read_text("utf-8")
        compile(use, name, "exec")
        assert "m." in use or "load(" in use, f"{name}: its use does not use the program"


def test_a_program_that_was_not_proven_is_told() -> None:
    """A limit that strikes is `FAILED`, not `unchanged`."""
    words = [sys.executable, str(BENCH), "--seconds", "0.1", SAMPLE[0]]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == [
        f"{SAMPLE[0]} FAILED no end within 0.1 s",
        "0 of 1 differ; 0 mended as safe; 0 have a mend, safe or with what it assumes; 1 failed",
    ]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_safe_mend_changes_no_use() -> None:
    words = [sys.executable, str(BENCH), "--inside", *SAMPLE]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=1700, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2000:]
    told = dict(line.split(" ", 1) for line in ran.stdout.splitlines()[:-1])
    assert set(told) == set(SAMPLE)
    assert told["t27_fallback"] == "same guard (caught) made: guard"
    assert "cost" in told["t57_search"]
    assert sum(one.startswith("same") for one in told.values()) >= 1
