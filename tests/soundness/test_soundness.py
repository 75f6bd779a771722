"""A safe mend changes nothing in a use that the entry does not show: a few of `bench/soundness.py`, which runs them all."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SAMPLE = ("w09_halfparam", "i01_uint8", "d26_global", "w84_temp")


def bench() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "soundness.py"
    spec = importlib.util.spec_from_file_location("soundness", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_program_has_its_use() -> None:
    folder = bench().PROGRAMS
    assert {path.stem for path in folder.glob("*.py")} == set(bench().names())
    assert len(bench().names()) >= 70
    assert set(SAMPLE) <= set(bench().names())


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_safe_mend_changes_no_use(name: str) -> None:
    assert bench().outcome(name) in ("same", "unchanged")
