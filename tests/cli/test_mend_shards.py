"""mend in parts: the shards together mend what one mend does, edit no file twice, and are written whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from graphmend_lsp.engine.support_text import names_of, support_text
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.report.mend_parts import mend_parts, verdict_of
from graphmend_lsp.report.read import BadRecordError

SCHEMA = json.loads((files("graphmend_lsp.report") / "schema.json").read_text("utf-8"))

MODEL = """import torch
{head}

class M(torch.nn.Module):
    def forward(self, x):
        {body}
        return x * 2


def graphmend_entry():
    return M(), (torch.ones(2),)
"""
SAID = "print(x.shape)"
GATE = "def gate(x):\n    if x.sum() > 0:\n        return x * 2\n    return x\n"
TREE = {
    "gates.py": GATE,
    "m0.py": MODEL.format(head="from gates import gate\n", body="x = gate(x)"),
    "m1.py": MODEL.format(head="from gates import gate\n", body="x = gate(x) + 1"),
    "alone.py": MODEL.format(head="", body=SAID),
    "unused.py": "def f(x):\n    print(x)\n",
    "broken.py": "def graphmend_entry():\n    return 1 / 0\n",
}
WORDS = ("--no-cache", "--quiet")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "graphmend_lsp", *words]


def graphmend(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=280)


def write(folder: Path, tree: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in tree.items():
        (folder / name).write_text(text)
    return folder


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.py")}


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what differs from run to run, and between one mend and its parts: these write the whole support module."""
    record = {key: value for key, value in record.items() if key not in ("shard", "verified")}
    runs = [{key: value for key, value in one.items() if key != "seconds"} for one in record["entries"]]
    record["entries"] = sorted(runs, key=lambda one: str(one["name"]))
    edits = [(one["path"], one["diff"]) for one in record["edits"]]
    record["edits"] = sorted((path, "" if path.endswith(f"{SUPPORT}.py") else diff) for path, diff in edits)
    record["applied"] = sorted((one["path"], one["line"], one["rule"], one["safety"]) for one in record["applied"])
    return record


@pytest.mark.slow
def test_shards_of_a_mend_merged_are_the_whole_mend(tmp_path: Path) -> None:
    write(tmp_path / "src", TREE)
    whole = graphmend("mend", "src", "--jobs", "1", "--json", *WORDS, cwd=tmp_path)
    assert whole.returncode == 2, whole.stderr  # broken.py, which costs the others nothing
    record = json.loads(whole.stdout)
    names = {Path(one["path"]).name for one in record["edits"]}
    assert names == {"gates.py", "alone.py", "graphmend_support.py"}
    assert record["after"]["breaks"] == 0
    jobs = graphmend("mend", "src", "--jobs", "2", "--json", *WORDS, cwd=tmp_path)
    assert comparable(json.loads(jobs.stdout)) == comparable(record)
    records = []
    for number in (1, 2):
        done = graphmend("mend", "src", "--shard", f"{number}/2", "--jobs", "1", "--json", *WORDS, cwd=tmp_path)
        part = json.loads(done.stdout)
        jsonschema.Draft202012Validator(SCHEMA).validate(part)
        assert done.returncode == (2 if part["errors"] else 0), done.stderr
        records.append(tmp_path / f"{number}.json")
        records[-1].write_text(done.stdout)
    merged = graphmend("merge", *map(str, reversed(records)), "--json", cwd=tmp_path)
    assert merged.returncode == 2, merged.stderr
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(merged.stdout))
    assert comparable(json.loads(merged.stdout)) == comparable(record)
    assert json.loads(merged.stdout)["verified"]["safety"] == record["verified"]["safety"] == "safe"
    patch = graphmend("merge", *map(str, records), cwd=tmp_path)
    patched = tmp_path / "patched"
    shutil.copytree(tmp_path / "src", patched / "src")
    subprocess.run(["git", "apply", "-"], input=patch.stdout, text=True, cwd=patched, check=True)
    after = texts(patched / "src")
    assert {name for name, text in after.items() if text != TREE.get(name)} == names
    assert "torch.where" in after["gates.py"] and after["graphmend_support.py"] == support_text()


@pytest.mark.slow
def test_shards_that_write_at_once_or_one_after_the_other_write_what_one_mend_writes(tmp_path: Path) -> None:
    tree = {"alone.py": TREE["alone.py"], "other.py": TREE["alone.py"].replace("shape", "dtype")}
    for name in ("whole", "once", "turns"):
        write(tmp_path / name / "src", tree)
    words = ["mend", "src", "--write", "--jobs", "1", *WORDS]
    assert graphmend(*words, cwd=tmp_path / "whole").returncode == 0
    for number in ("1/2", "2/2"):
        done = graphmend(*words, "--shard", number, cwd=tmp_path / "turns")
        assert done.returncode == 0, done.stdout + done.stderr
    both = [subprocess.Popen(command(*words, "--shard", part), cwd=tmp_path / "once") for part in ("1/2", "2/2")]
    assert [one.wait(280) for one in both] == [0, 0]
    written, turns, once = (texts(tmp_path / name / "src") for name in ("whole", "turns", "once"))
    part = written.pop("graphmend_support.py")
    assert turns.pop("graphmend_support.py") == once.pop("graphmend_support.py") == support_text()
    assert turns == once == written and written["alone.py"] != tree["alone.py"]
    assert part == support_text(names_of(part)) != support_text()


@pytest.mark.slow
def test_a_shard_that_loads_a_file_of_another_writes_nothing(tmp_path: Path) -> None:
    hidden = "import builtins\nother = getattr(builtins, '__imp' + 'ort__')('other')\n"
    tree = {
        "other.py": MODEL.format(head="", body="x = x + 1"),
        "alone.py": TREE["alone.py"].replace("import torch\n", f"import torch\n{hidden}"),
    }
    write(tmp_path / "src", tree)
    ends = {
        done.returncode: done.stderr
        for done in (graphmend("mend", "src", "--write", "--shard", f"{n}/2", *WORDS, cwd=tmp_path) for n in (1, 2))
    }
    assert sorted(ends) == [0, 2]
    assert "alone.py:graphmend_entry loads" in ends[2] and "Run mend without --shard" in ends[2]
    assert texts(tmp_path / "src")["alone.py"] == tree["alone.py"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shard", "3/2"], "'3/2' is not a shard. Write it as I/N, from 1/N to N/N."),
        (["--shard", "1/2", "--times", "m.py"], "m.py is not a record of graphmend-lsp check --json"),
        (["--shard", "1/2", "--overlay"], "--overlay and --shard exclude each other"),
        (["--jobs", "0"], "--jobs must be 1 or more"),
    ],
)
def test_bad_usage_exits_2_in_words(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "m.py").write_text("")
    done = graphmend("mend", "m.py", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def record(path: str, diff: str, **more: Any) -> dict[str, Any]:
    return {
        "before": {"graphs": 2, "breaks": 1}, "after": {"graphs": 1, "breaks": 0}, "verified": None, "applied": [],
        "edits": [{"path": path, "diff": diff}], **more,
    }  # fmt: skip


def verified(safety: str, outputs: str, reason: str) -> dict[str, Any]:
    likeness = {"outputs": outputs, "gradients": "bit-equal", "state": "bit-equal", "effects": "equal"}
    return {"safety": safety, **likeness, "calls": 3, "reasons": [reason]}


def same(path: str) -> str:
    return path


def test_parts_are_summed_and_the_worst_verdict_counts() -> None:
    one = record("/t/a.py", "a", verified=verified("safe", "bit-equal", "p"), stopped_after=3.0)
    two = record("/t/b.py", "b", verified={**verified("unsafe", "close", "q"), "rounded": ["gradients"]})
    joined = mend_parts([("1", one, same), ("2", two, same), ("3", record("/t/b.py", "b"), same)])
    assert joined["before"] == {"graphs": 6, "breaks": 3}
    assert joined["edits"] == [{"path": "/t/a.py", "diff": "a"}, {"path": "/t/b.py", "diff": "b"}]
    verdict = joined["verified"]
    assert (verdict["safety"], verdict["outputs"], verdict["calls"], verdict["reasons"]) == (
        "unsafe",
        "close",
        6,
        ["p", "q"],
    )
    assert (verdict["rounded"], verdict_of(verdict).rounded) == (["gradients"], ("gradients",))  # type: ignore[union-attr]
    assert joined["stopped_after"] == 3.0


def test_edits_of_another_machine_are_moved_here() -> None:
    change = "--- a/mnt/t/a.py\n+++ b/mnt/t/a.py\n@@ -1 +1 @@\n---- a/mnt/t/a.py\n+x\n"
    (edit,) = mend_parts([("1", record("/mnt/t/a.py", change), lambda path: path.replace("/mnt/t", "/home/t"))])[
        "edits"
    ]
    assert edit["path"] == "/home/t/a.py"
    assert edit["diff"] == "--- a/home/t/a.py\n+++ b/home/t/a.py\n@@ -1 +1 @@\n---- a/mnt/t/a.py\n+x\n"


@pytest.mark.parametrize(
    ("other", "told"), [(record("/t/a.py", "b"), "2 and another record edit /t/a.py differently"), ({}, "incomplete")]
)
def test_parts_that_do_not_fit_are_refused(other: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRecordError, match=told):
        mend_parts([("1", record("/t/a.py", "a"), same), ("2", {"edits": [], **other}, same)])


def test_records_of_a_check_and_of_a_mend_do_not_merge(tmp_path: Path) -> None:
    plain = {"schema": 1, "torch": None, "python": None, "device": None, "entries": [], "breaks": [], "errors": []}
    (tmp_path / "check.json").write_text(json.dumps({**plain, "root": os.sep}))
    (tmp_path / "mend.json").write_text(json.dumps({**plain, "root": os.sep, **record("/t/a.py", "a")}))
    done = graphmend("merge", "check.json", "mend.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Merge those of one command" in done.stderr
