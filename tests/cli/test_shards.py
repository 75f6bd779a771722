"""A tree in parts: the parts together are the whole, in the same order, whoever runs them; and several workers are as one."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from graphmend_lsp import cli
from graphmend_lsp.engine.merge import UnlikeShardsError, merge_reports, relocated
from graphmend_lsp.engine.shard import BadShardError, Shard, key_name, known_seconds, parse_shard
from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    Declined,
    Entry,
    EntryResult,
    Finding,
    Mend,
    Report,
    ShardMark,
    Span,
    Verdict,
)
from graphmend_lsp.report.read import BadRecordError, read_report
from graphmend_lsp.report.record import check_record

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((files("graphmend_lsp.report") / "schema.json").read_text("utf-8"))

BRANCH = """import torch
from shared import gate


class M(torch.nn.Module):
    def forward(self, x):
        {body}
        return gate(x) + {number}


def graphmend_entry():
    return M(), (torch.ones(2),)
"""
SHARED = """def gate(x):
    if x.sum() > 0:
        return x * 2
    return x


def unreached(x):
    print(x)
    return x
"""
BODIES = ["print(x.shape)", "x = x + 1", "x = x.abs()", "print('late')", "x = x * 2"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five entries that share a break, two with one of their own, one that fails."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "src").mkdir()
    (folder / "src" / "shared.py").write_text(SHARED)
    for number, body in enumerate(BODIES):
        (folder / "src" / f"m{number}.py").write_text(BRANCH.format(body=body, number=number))
    (folder / "src" / "broken.py").write_text("def graphmend_entry():\n    return 1 / 0\n")
    return folder


def graphmend(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmend_lsp", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=280)


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what differs from run to run."""
    record = {key: value for key, value in record.items() if key not in ("shard",)}
    record["entries"] = [{key: value for key, value in one.items() if key != "seconds"} for one in record["entries"]]
    return record


KEYS = [(Entry(f"/t/src/m{number}.py", "graphmend_entry"), mode) for number in range(7) for mode in ("eval", "train")]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 14, 20])
@pytest.mark.parametrize(
    "known", [None, {}, {"src/m3.py:graphmend_entry (eval)": 50.0, "src/m1.py:graphmend_entry (train)": 2.0}]
)
def test_the_parts_are_the_whole_and_none_is_empty_without_need(count: int, known: dict[str, float] | None) -> None:
    parts = [Shard(number, count, known).share(KEYS, "/t") for number in range(1, count + 1)]
    assert sorted((key for part in parts for key in part), key=KEYS.index) == KEYS
    assert all(part == sorted(part, key=KEYS.index) for part in parts)
    assert sum(map(bool, parts)) == min(count, len(KEYS)) or known


def test_the_cut_does_not_depend_on_the_folder_or_the_order() -> None:
    moved = [(Entry(entry.file.replace("/t/", "/other/"), entry.function), mode) for entry, mode in reversed(KEYS)]
    for number in (1, 2, 3):
        here = {key_name(*key, "/t") for key in Shard(number, 3).share(KEYS, "/t")}
        assert here == {key_name(*key, "/other") for key in Shard(number, 3).share(moved, "/other")}
    assert Shard(1, 3).mark(KEYS, "/t").plan == Shard(2, 3).mark(moved, "/other").plan
    assert Shard(1, 3).mark(KEYS, "/t").plan != Shard(1, 3).mark(KEYS[1:], "/t").plan
    assert Shard(1, 3).mark(KEYS, "/t").plan != Shard(1, 3, {"x": 1.0}).mark(KEYS, "/t").plan


def test_known_times_balance_the_parts() -> None:
    known = {key_name(*key, "/t"): 1.0 for key in KEYS} | {key_name(*KEYS[5], "/t"): 13.0}
    parts = [Shard(number, 2, known).share(KEYS, "/t") for number in (1, 2)]
    assert sorted(map(len, parts)) == [1, 13]


@pytest.mark.parametrize("written", ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2"])
def test_what_is_no_shard_is_told(written: str) -> None:
    with pytest.raises(BadShardError, match="1/N to N/N"):
        parse_shard(written)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": [{}], "root": "/"}'])
def test_what_is_no_record_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises(BadShardError, match="not a record of"):
        known_seconds(str(file))
    with pytest.raises(BadRecordError, match=r"r\.json"):
        read_report(str(file))


def finding(path: str, line: int, evidence: Any = "dynamo", safety: Any = "safe", **more: Any) -> Finding:
    span = Span.of(line, 1, line, 5)
    mend = Mend("where", "Choose", path, span, ())
    verdict = Verdict(safety, (), Counts(2, 1, 0), Counts(1, 0, 0))
    return Finding(
        Break(path, span, "GB0170", "t", "why", evidence, **more),
        (Candidate(mend, verdict),),
        (Declined("defer", "no"),),
    )


def report(*findings: Finding, shard: ShardMark | None = None, entries: int = 1, **more: Any) -> Report:
    ran = tuple(EntryResult(Entry(f"/t/m{number}.py", "f"), "eval", 1, 0, (2,)) for number in range(entries))
    return Report("2.13.0", "3.11.7", "cpu", ran, findings, shard=shard, **more)


def test_a_site_of_several_parts_is_told_once_with_the_worst_verdict() -> None:
    one = report(finding("/t/a.py", 3, events=2, graphs=1, entries=("m0.py:f",)), finding("/t/b.py", 9, "static"))
    other = report(finding("/t/a.py", 3, safety="unsafe", events=5, entries=("m1.py:f",)), finding("/t/b.py", 9))
    merged = merge_reports([one, other], "/t")
    first, second = merged.findings
    assert (first.site.events, first.site.graphs, first.site.entries) == (5, 1, ("m0.py:f", "m1.py:f"))
    assert [candidate.safety for candidate in first.candidates] == ["unsafe"]
    assert first.declined == (Declined("defer", "no"),)
    assert (second.site.path, second.site.evidence) == (
        "/t/b.py",
        "dynamo",
    )  # what a run met hides what the source shows


def test_static_sites_keep_the_order_of_one_check() -> None:
    lines = [[1, 2, 5, 9], [1, 3, 5, 8, 9], [], [2, 3, 4, 5]]
    parts = [report(*(finding("/t/a.py", line, "static") for line in group)) for group in lines]
    assert [one.site.span.start.line for one in merge_reports(parts, "/t").findings] == [1, 2, 3, 4, 5, 8, 9]


def test_missing_shards_are_named_and_an_error() -> None:
    merged = merge_reports([report(shard=ShardMark(number, 5, "p")) for number in (1, 4)], "/t")
    (failure,) = merged.failures
    assert "2, 3, 5 of 5" in failure.message
    assert "--shard 2/5" in failure.remedy
    assert cli.exit_code(merged) == cli.ERROR


@pytest.mark.parametrize(
    ("shard", "entries", "status"),
    [(None, 0, cli.BREAKS), (ShardMark(2, 2, "p"), 0, cli.DONE), (ShardMark(2, 2, "p"), 1, cli.DONE)],
    ids=["nothing ran", "a shard without entries", "a shard"],
)
def test_what_only_the_source_shows_does_not_count_in_an_empty_shard(
    shard: ShardMark | None, entries: int, status: int
) -> None:
    assert cli.exit_code(report(finding("/t/a.py", 3, "static"), shard=shard, entries=entries)) == status


@pytest.mark.parametrize("other", [ShardMark(2, 2, "q"), ShardMark(2, 3, "p"), None])
def test_shards_of_different_checks_are_refused(other: ShardMark | None) -> None:
    with pytest.raises(UnlikeShardsError, match="not the shards of one check"):
        merge_reports([report(shard=ShardMark(1, 2, "p")), report(shard=other)], "/t")


def test_a_record_of_another_machine_is_moved_here() -> None:
    there = report(finding("/mnt/t/a.py", 3))
    moved = relocated(there, "/mnt/t", "/home/me/t")
    assert moved.findings[0].site.path == moved.findings[0].candidates[0].mend.path == "/home/me/t/a.py"
    assert relocated(there, "/t", "/t") == there


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    told = report(
        finding("/t/a.py", 3, outcome="resumed", entries=("m0.py:f",), modes=("eval",)),
        shard=ShardMark(1, 1, "p", ("x",)),
    )
    file = tmp_path / "r.json"
    file.write_text(json.dumps(check_record(told)))
    assert check_record(read_report(str(file)).report) == check_record(told)


@pytest.mark.slow
def test_shards_merged_are_the_whole_check(tree: Path, tmp_path: Path) -> None:
    words = ["check", "src", "--run", "real", "--json", "--quiet", "--no-cache"]
    whole = graphmend(*words, "--jobs", "1", cwd=tree)
    assert whole.returncode == 2, whole.stderr  # broken.py
    record = json.loads(whole.stdout)
    several = graphmend(*words, "--jobs", "2", cwd=tree)
    assert comparable(json.loads(several.stdout)) == comparable(record)
    files = []
    for number in (1, 2):
        done = graphmend(*words, "--shard", f"{number}/2", "--jobs", "1", cwd=tree)
        part = json.loads(done.stdout)
        jsonschema.Draft202012Validator(SCHEMA).validate(part)
        assert 0 < len(part["entries"]) < len(record["entries"])
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(done.stdout)
    merged = graphmend("merge", *map(str, reversed(files)), "--json", cwd=tree)
    assert merged.returncode == whole.returncode, merged.stderr
    assert comparable(json.loads(merged.stdout)) == comparable(record)
    half = graphmend("merge", str(files[0]), cwd=tree)
    assert half.returncode == 2
    assert "shard 2 of 2 is missing" in half.stdout
    for form in ("sarif", "github"):
        assert graphmend("merge", *map(str, files), "--format", form, cwd=tree).stdout


FAKE_SRUN = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
echo "$SLURM_ARRAY_TASK_ID $*" >> "$SRUN_LOG"
exec "$@"
"""


@pytest.mark.slow
def test_the_slurm_script_is_a_script_and_runs_a_shard_a_task(tree: Path, tmp_path: Path) -> None:
    script = ROOT / "examples" / "cluster" / "slurm_array.sh"
    subprocess.run(["bash", "-n", script], check=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "srun").write_text(FAKE_SRUN)
    (tools / "graphmend-lsp").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m graphmend_lsp "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    records = tmp_path / "records of it"
    told = {"SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "2"}
    told |= {
        "GRAPHMEND_RECORDS": str(records),
        "SRUN_LOG": str(tmp_path / "log"),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    (records).mkdir()
    (records / "3.json").write_text("from an earlier job")
    statuses = [
        subprocess.run(
            [script, "src/m0.py", "src/m1.py", "--run", "real", "--quiet", "--no-cache"],
            cwd=tree, env={**os.environ, **told, "SLURM_ARRAY_TASK_ID": task}, timeout=280,
        ).returncode
        for task in ("3", "4")
    ]  # fmt: skip
    assert statuses == [0, 0]  # breaks are no failure of a task
    assert [line.split("--shard ")[1].split()[0] for line in (tmp_path / "log").read_text().splitlines()] == [
        "1/2",
        "2/2",
    ]
    merged = graphmend("merge", *map(str, sorted(records.iterdir())), "--json", cwd=tree)
    assert merged.returncode == 1, merged.stderr
    assert len(json.loads(merged.stdout)["entries"]) == 2


@pytest.mark.slow
def test_ray_checks_a_tree(tree: Path) -> None:
    words = [
        sys.executable,
        str(ROOT / "examples" / "cluster" / "ray_check.py"),
        "--shards",
        "2",
        "--cpus",
        "1",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [*words, "src/m0.py", "src/m1.py", "--run", "real", "--no-cache"],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 1, done.stderr
    record = json.loads(done.stdout[done.stdout.index("{") :])
    assert [one["name"] for one in record["entries"]] == ["m0.py:graphmend_entry", "m1.py:graphmend_entry"]
    assert {Path(one["path"]).name for one in record["breaks"] if one["evidence"] == "dynamo"} == {"m0.py", "m1.py"}


def marked(mark: str) -> list[str]:
    """The processes whose environment holds the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check", "--run", "real"], ["mend", "--write"]], ids=["check", "mend"])
def test_a_stopped_command_leaves_none_of_its_workers(tmp_path: Path, command: list[str]) -> None:
    for number in range(5):
        hang = f"def graphmend_entry():\n    import time\n    open('up{number}', 'w').close()\n    time.sleep(600)\n"
        (tmp_path / f"m{number}.py").write_text(hang)
    mark = f"graphmend-mark-{os.getpid()}-{command[0]}"
    words = [sys.executable, "-m", "graphmend_lsp", *command, ".", "--jobs", "2", "--no-cache"]
    env = {**os.environ, "GRAPHMEND_MARK": mark}
    process = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("up*"))) < 3:  # more than one worker is given
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []
