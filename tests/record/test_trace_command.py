"""`graphmend-lsp check --trace`: every format, the exit status, and what is not a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import graphmend_lsp.report

TRACES = Path(__file__).parents[1] / "engine" / "traces"
SCHEMA = json.loads((Path(graphmend_lsp.report.__file__).parent / "schema.json").read_text())


def check(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmend_lsp", "check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=TRACES)


def trace(*words: str) -> subprocess.CompletedProcess[str]:
    return check("--trace", str(TRACES / "torch-2.13.log"), "--map", f"{TRACES}=/elsewhere", *words)


@pytest.mark.slow
def test_text() -> None:
    shown = trace()
    assert shown.returncode == 1
    assert "train.py:19:12: GB0170" in shown.stdout
    assert "7 graph breaks (torch 2.13.0+cpu)" in shown.stdout
    assert "was recompiled" in shown.stderr


@pytest.mark.slow
def test_json_is_as_the_schema_says() -> None:
    record = json.loads(trace("--json").stdout)
    jsonschema.validate(record, SCHEMA)
    assert {one["evidence"] for one in record["breaks"]} == {"recorded"}
    assert {(one["run"], one["mode"]) for one in record["entries"]} == {("recorded", None)}
    assert {mend["safety"] for one in record["breaks"] for mend in one["mends"]} == {"unverified"}


@pytest.mark.slow
def test_other_tools() -> None:
    sarif = json.loads(trace("--format", "sarif").stdout)
    assert {result["level"] for result in sarif["runs"][0]["results"]} == {"warning"}
    assert trace("--format", "github").stdout.count("::warning file=train.py") == 7


def test_paths_limit_what_is_told(tmp_path: Path) -> None:
    shown = trace(str(tmp_path), "--json")
    assert (shown.returncode, json.loads(shown.stdout)["breaks"]) == (0, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--trace", os.path.join(os.sep, "no", "such", "folder")), "There is no file or folder"),
        (("--trace", str(TRACES / "train.py")), "holds no trace of torch"),
        (("--trace", str(TRACES), "--map", "here=there"), "maps no folder"),
    ],
)
def test_what_cannot_be_read(words: tuple[str, ...], said: str) -> None:
    shown = check(*words)
    assert shown.returncode == 2
    assert said in shown.stderr


@pytest.mark.slow
def test_a_damaged_file_is_an_error_beside_what_could_be_read(tmp_path: Path) -> None:
    data = (TRACES / "torch-2.13.log").read_bytes()
    (tmp_path / "cut.log").write_bytes(data[: len(data) // 2])
    record = json.loads(check("--trace", str(tmp_path), "--map", f"{TRACES}=/elsewhere", "--json").stdout)
    assert record["breaks"]
    assert "damaged" in record["errors"][0]["message"]
