"""`graphmend-lsp record` on real programs: what it records, and that the program does not notice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.recordings import LOCAL, load

PROGRAMS = Path(__file__).parent / "programs"
TRAIN, RANKS, MODULE = PROGRAMS / "train.py", PROGRAMS / "ranks.py", PROGRAMS / "package" / "__main__.py"


def record(
    state: Path, *command: str, out: Path | None = None, here: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-m",
        "graphmend_lsp",
        "record",
        *(["--out", str(out)] if out else []),
        *(["--here"] if here else []),
        "--",
        *command,
    ]
    environ = {**os.environ, "GRAPHMEND_STATE_DIR": str(state), "OMP_NUM_THREADS": "1", **env}
    return subprocess.run(words, capture_output=True, text=True, env=environ, timeout=280, cwd=state, check=False)


def line_with(path: Path, words: str) -> int:
    return 1 + next(number for number, line in enumerate(path.read_text().splitlines()) if words in line)


def sites(report: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    return {(Path(one["path"]).name, one["line"]): one for one in report["breaks"]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], dict[str, Any], Path]:
    state = tmp_path_factory.mktemp("state")
    own = state / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import os\nos.environ['CUSTOMIZED'] = 'yes'\n")
    done = record(state, sys.executable, str(TRAIN), out=state / "report.json", PYTHONPATH=str(own))
    return done, json.loads((state / "report.json").read_text()), state


EXPECTED = [
    (TRAIN, "# torch.compile(module)", "GB0170", "resumed"),
    (TRAIN, "# module.compile()", "GB0059", "resumed"),
    (TRAIN, "# a decorator", "GB0124", "resumed"),
    (TRAIN, "# fullgraph=True", "GB0059", "raised"),
    (TRAIN, "# reached in a child only", "GB0109", "resumed"),
    (MODULE, "# a module run with -m", "GB0007", "resumed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "mark", "code", "outcome"), EXPECTED, ids=[one[1] for one in EXPECTED])
@pytest.mark.xdist_group("recorded")
def test_every_way_to_compile_is_recorded(trained: Any, path: Path, mark: str, code: str, outcome: str) -> None:
    found = sites(trained[1])[path.name, line_with(path, mark)]
    assert (found["gb_id"], found["outcome"], found["evidence"]) == (code, outcome, "recorded")
    assert found["column"] > 1
    assert found["end_column"] <= len(path.read_text().splitlines()[found["line"] - 1]) + 1


@pytest.mark.slow
@pytest.mark.xdist_group("recorded")
def test_nothing_else_is_recorded_and_children_are_told_of_with_their_program(trained: Any) -> None:
    report = trained[1]
    assert set(sites(report)) == {(path.name, line_with(path, mark)) for path, mark, _, _ in EXPECTED}
    assert {entry["name"] for entry in report["entries"]} == {"train.py:run", "package:run"}
    assert all(entry["run"] == "recorded" and entry["mode"] is None for entry in report["entries"])


@pytest.mark.slow
@pytest.mark.xdist_group("recorded")
def test_the_program_does_not_notice(trained: Any) -> None:
    done, _, state = trained
    assert done.returncode == 7
    assert "caught Unsupported" in done.stdout
    assert f"path True customized yes in {state}" in done.stdout
    assert "GB0" not in done.stdout  # the summary goes to stderr
    assert "to stderr" in done.stderr
    assert "6 graph breaks" in done.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("recorded")
def test_breaks_of_a_recording_are_proposed_mends_that_nobody_has_verified(trained: Any) -> None:
    found = sites(trained[1])[TRAIN.name, line_with(TRAIN, "# torch.compile(module)")]
    assert [mend["safety"] for mend in found["mends"]] == ["unverified"] * len(found["mends"])
    assert found["mends"]


@pytest.mark.slow
@pytest.mark.xdist_group("recorded")
def test_a_forked_child_and_a_loader_worker_count_in_their_program_s_site(trained: Any) -> None:
    found = sites(trained[1])[TRAIN.name, line_with(TRAIN, "# reached in a child only")]
    assert found["events"] >= 4  # the caller's and its own, in two processes


@pytest.mark.slow
def test_pytest_is_recorded(tmp_path: Path) -> None:
    test = PROGRAMS / "test_model.py"
    report = tmp_path / "report.json"
    done = record(
        tmp_path,
        *(sys.executable, "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", str(test)),
        out=report,
        here=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    (found,) = json.loads(report.read_text())["breaks"]
    assert (found["line"], found["gb_id"], found["entries"]) == (
        line_with(test, "# in a test"),
        "GB0170",
        ["pytest:run"],
    )
    assert [Path(frame["path"]).name for frame in found["chain"]] == ["test_model.py"]
    (kept,) = (tmp_path / LOCAL).iterdir()
    recording = load(kept)
    assert recording is not None
    assert list(recording.files) == [str(test)]
    assert (tmp_path / ".graphmend" / ".gitignore").read_text() == "*\n"


@pytest.mark.slow
def test_ranks_are_merged_and_named(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(RANKS)]
    done = record(tmp_path, *torchrun, out=report)
    assert done.returncode == 0, done.stdout + done.stderr
    found = sites(json.loads(report.read_text()))
    both, one = (
        found[RANKS.name, line_with(RANKS, "# on every rank")],
        found[RANKS.name, line_with(RANKS, "one rank only")],
    )
    assert sorted(both["entries"]) == ["ranks.py:rank 0", "ranks.py:rank 1"]
    assert one["entries"] == ["ranks.py:rank 1"]
