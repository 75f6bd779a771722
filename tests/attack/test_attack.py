"""A fixed part of the attack: random programs, mended as far as that is proven safe, compared by other means over other calls."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig
from graphmend_lsp.engine.session import Session
from graphmend_lsp.model import Plan

from . import differ
from .programs import program

SEEDS = range(12)
FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.py"))


async def _mended(files: list[Path]) -> list[Plan]:
    session = Session(WorkerConfig(cwd=str(files[0].parent)))
    try:
        return [await session.mend(CheckRequest((str(file),), device="cpu")) for file in files]
    finally:
        await session.close()


def _differences(original: Path, mended: Path, seed: int) -> list[str]:
    words = [sys.executable, differ.__file__, str(original), str(mended), "eager,aot_eager", str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_safe_mend_changes_what_a_program_does(tmp_path: Path) -> None:
    files = []
    for seed in SEEDS:
        files.append(tmp_path / f"program{seed}.py")
        files[-1].write_text(program(seed))
    for fixture in FIXTURES:
        files.append(tmp_path / fixture.name)
        files[-1].write_text(fixture.read_text())
    mended = 0
    for number, (file, plan) in enumerate(zip(files, asyncio.run(_mended(files)), strict=True)):
        assert not plan.before.failures
        if not plan.texts:
            continue
        mended += 1
        new = tmp_path / f"mended_{file.name}"
        new.write_text(plan.texts[str(file)])
        assert _differences(file, new, number) == [], f"{file.read_text()}\n{new.read_text()}"
    assert mended >= 4, "too few programs are mended for this to say anything"


def test_programs_are_the_same_each_time_and_parse() -> None:
    for seed in range(50):
        compile(program(seed), f"program{seed}.py", "exec")
        assert program(seed) == program(seed)


@pytest.mark.slow
def test_a_wrong_mend_is_seen(tmp_path: Path) -> None:
    source = program(2)
    original, wrong = tmp_path / "original.py", tmp_path / "wrong.py"
    original.write_text(source)
    wrong.write_text(source.replace("y = x * self.weight\n", "y = x * self.weight * 1.5\n", 1))
    assert _differences(original, wrong, 0)
