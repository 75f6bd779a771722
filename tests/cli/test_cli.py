"""The command line as a user calls it, with the real worker and real torch."""

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from graphmend_lsp.engine.writing import ChangedError, write_plan
from graphmend_lsp.mending import rules_by_name
from graphmend_lsp.model import Plan, Report

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = json.loads((files("graphmend_lsp.report") / "schema.json").read_text("utf-8"))

CLEAN = """import torch

def graphmend_entry():
    return torch.nn.Linear(2, 2), (torch.ones(1, 2),)
"""


def graphmend(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command, and see that it leaves no temporary file."""
    temporary = cwd.with_name(f"{cwd.name}-temporary")
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "graphmend_lsp", *words],
        capture_output=True, text=True, cwd=cwd, timeout=200, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert list(temporary.iterdir()) == []
    return done


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "gated_mlp.py", tmp_path))


@pytest.mark.slow
def test_check_names_every_break_at_its_place(model: Path) -> None:
    done = graphmend("check", model.name, "--json", cwd=model.parent)
    assert done.returncode == 1, done.stderr
    record = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    (branch,) = [one for one in record["breaks"] if one["evidence"] == "dynamo"]
    line = model.read_text().splitlines()[branch["line"] - 1]
    assert line[branch["column"] - 1 : branch["end_column"] - 1] == "h.abs().max() > 2.5"
    assert branch["gb_id"] == "GB0170"
    assert [one["rule"] for one in branch["mends"]] == ["where", "opaque"]
    assert {one["gb_id"] for one in record["breaks"] if one["evidence"] == "static"} == {"GB0007", "GB0059"}
    assert "ran gated_mlp.py:graphmend_entry" in done.stderr


@pytest.mark.slow
def test_mend_writes_a_proven_program_and_mends_to_the_end(model: Path) -> None:
    before = model.read_text()
    shown = graphmend("mend", model.name, "--quiet", cwd=model.parent)
    assert "+            torch.where(" in shown.stdout or "torch.where" in shown.stdout
    assert model.read_text() == before
    done = graphmend("mend", model.name, "--write", "--json", "--quiet", cwd=model.parent)
    record = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert record["before"]["graphs"] > 1
    assert record["after"]["graphs"] == 1
    assert record["after"]["skipped_frames"] == 0
    assert record["verified"]["safety"] == "safe"
    assert record["verified"]["outputs"] == record["verified"]["gradients"] == "bit-equal"
    after = model.read_text()
    assert "torch.where" in after
    assert "# hard limit" in after
    assert "# Keep rare spikes from spreading" in after
    again = json.loads(graphmend("mend", model.name, "--json", "--quiet", cwd=model.parent).stdout)
    assert again["edits"] == []


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("edited since\n")
    nothing = Report(None, None, None, (), ())
    plan = Plan(nothing, nothing, (), {str(file): "mended\n"}, None, {str(file): "as it was\n"})
    with pytest.raises(ChangedError, match="changed during mending"):
        write_plan(plan)
    assert file.read_text() == "edited since\n"


@pytest.mark.slow
def test_a_clean_program_exits_0(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text(CLEAN)
    done = graphmend("check", "clean.py", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 graph breaks" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def graphmend_entry(:\n", "syntax"),
        ("import nothing_of_that_name\ndef graphmend_entry(): ...\n", "import"),
        ("def graphmend_entry():\n    return 1 / 0\n", "exception"),
        ("def graphmend_entry():\n    return 7\n", "bad-entry"),
        ("import sys\ndef graphmend_entry():\n    sys.exit(3)\n", "exit"),
    ],
    ids=["syntax", "import", "exception", "bad entry", "exit"],
)
def test_a_program_that_fails_is_an_error_with_a_remedy(tmp_path: Path, source: str, kind: str) -> None:
    (tmp_path / "m.py").write_text(source)
    done = graphmend("check", "--entry", "m.py:graphmend_entry", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    (error,) = json.loads(done.stdout)["errors"]
    assert error["kind"] == kind
    assert error["message"]
    assert error["remedy"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["check"], "There is nothing to run"),
        (["check", "gone.py"], "no such file"),
        (["check", ".", "--entry", "x"], "not an entry"),
        (["mend", ".", "--rule", "magic"], "no rule 'magic'"),
        (["check", "."], "no Python file"),
        (["rules", "magic"], "no rule and no page 'magic'"),
        ([], "COMMAND"),
    ],
)
def test_bad_usage_exits_2_in_words(tmp_path: Path, words: list[str], told: str) -> None:
    done = graphmend(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_rules_prints_each_rule_s_own_words(tmp_path: Path) -> None:
    names = [line.split(":")[0] for line in graphmend("rules", cwd=tmp_path).stdout.splitlines()]
    assert names == list(rules_by_name())
    page = graphmend("rules", "where", cwd=tmp_path).stdout
    assert "## Examples" in page
    assert "torch.where" in page


@pytest.mark.slow
def test_doctor_says_what_would_run(tmp_path: Path) -> None:
    done = graphmend("doctor", "--python", sys.executable, cwd=tmp_path)
    assert done.returncode == 0
    assert "torch 2." in done.stdout


IN_A_LOOP = """import torch

def step(x):
    for i in range(3):
        x = x * 2
        print("turn", i)
        if x.sum() > 0:
            x = x + 1
        else:
            x = x - 1
    return x

def graphmend_entry():
    return step, [(torch.ones(4),), (-torch.ones(4),)]
"""


@pytest.mark.slow
def test_breaks_that_stand_one_behind_the_other_in_a_loop_are_mended_together(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(IN_A_LOOP)
    seen = json.loads(graphmend("check", "m.py", "--prove", "--json", "--quiet", cwd=tmp_path).stdout)
    (first,) = [one for one in seen["breaks"] if one["evidence"] == "dynamo"]
    assert [one["rule"] for one in first["mends"]] == ["isolate"]  # the second choice
    assert any("another graph break follows this one" in one["reason"] for one in first["declined"])
    done = graphmend("mend", "m.py", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert [one["rule"] for one in record["applied"]] == ["message", "where"]
    assert (record["before"]["skipped_frames"], record["after"]["skipped_frames"]) == (1, 0)
    assert record["verified"]["safety"] == "safe"


SIZED_BY_DATA = """\
import torch
from torch import nn


def lengths(grid: torch.Tensor) -> torch.Tensor:
    parts = []
    for t, h, w in grid.tolist():
        parts.extend([h * w] * t)
    return torch.tensor(parts, dtype=torch.int64)


def positions(grid: torch.Tensor) -> torch.Tensor:
    found = []
    for t, h, w in grid.tolist():
        rows = torch.arange(h).unsqueeze(1).expand(-1, w).flatten()
        found.append(rows.repeat(t))
    return torch.cat(found)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, grid):
        x = self.a(x)
        n = lengths(grid)
        x = x * positions(grid)[:, None]
        return x, n.cumsum(0)


def graphmend_entry():
    return M(), (torch.randn(16, 4), torch.tensor([[1, 2, 4], [2, 2, 2]]))
"""


@pytest.mark.slow
def test_operators_whose_sizes_data_decides_are_safe_together(tmp_path: Path) -> None:
    """The verdict on the whole calls them with other sizes, too: what the operators assume of sizes is tried there."""
    (tmp_path / "m.py").write_text(SIZED_BY_DATA)
    done = graphmend("mend", "m.py", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [one["rule"] for one in record["applied"]] == ["opaque", "opaque"]
    assert (record["before"]["breaks"], record["after"]["breaks"], record["after"]["graphs"]) == (2, 0, 1)
    assert record["verified"]["safety"] == "safe"
    assert "result-shapes" in [one["kind"] for one in record["verified"]["discharged"]]


TWO_ENTRIES = """\
import torch


def fn(x, flag):
    if flag:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def graphmend_entry():
    return fn, [(torch.ones(3), torch.tensor(True)), (torch.ones(3), torch.tensor(False))]


def graphmend_entry_plain():
    return fn, [(torch.ones(3), {})]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("flag", "status"), [("True", 1), ("torch.tensor(True)", 0)])
def test_what_another_entry_gives_the_mended_function_counts(tmp_path: Path, flag: str, status: int) -> None:
    """A flag is a tensor for one entry, which breaks there, and may be a Python value for another, which does not."""
    (tmp_path / "m.py").write_text(TWO_ENTRIES.format(flag))
    done = graphmend("mend", "m.py", "--rule", "where", "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == status, done.stdout
    assert bool(json.loads(done.stdout)["edits"]) == (status == 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_a_mend_that_is_stopped_writes_nothing(model: Path) -> None:
    before = model.read_text()
    endless = before + "\n\ndef graphmend_entry_endless():\n    while True:\n        pass\n"
    model.write_text(endless)
    running = subprocess.Popen(
        [sys.executable, "-m", "graphmend_lsp", "mend", model.name, "--write"], stderr=subprocess.PIPE, text=True,
        cwd=model.parent, start_new_session=True,
    )  # fmt: skip
    assert running.stderr is not None
    assert "running" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert running.stderr.read().splitlines()[-1] == "graphmend-lsp: stopped"
    assert model.read_text() == endless


ONE_BRANCH = """import torch

def step(x):
    if x.sum() > 0:
        x = x + 1
    return x * 2

def graphmend_entry():
    return step, (torch.ones(4),)
"""


@pytest.mark.slow
def test_a_mend_is_measured_under_the_backend_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(ONE_BRANCH)
    done = graphmend("mend", "m.py", "--measure", "--backend", "eager", "--json", "--quiet", cwd=tmp_path)
    record = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    (one,) = record["measured"]
    assert (one["entry"], one["backend"], one["error"]) == ("m.py:graphmend_entry", "eager", None)
    assert one["low"] <= one["ratio"] <= one["high"]
    assert one["warm_seconds"]["original"] > 0 < one["warm_seconds"]["mended"]


def test_a_backend_without_a_measurement_is_refused(model: Path) -> None:
    done = graphmend("mend", model.name, "--backend", "inductor", cwd=model.parent)
    assert done.returncode == 2
    assert "needs --measure" in done.stderr


@pytest.mark.slow
def test_a_notebook_is_checked_and_mended_in_its_cells(tmp_path: Path) -> None:
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.lin = nn.Linear(4, 4)\n\n"
    net += "    def forward(self, x):\n        y = self.lin(x)\n        if y.isnan().any():\n            raise ValueError('nan')\n        return y + 1"
    cells = [
        "%matplotlib inline\nimport torch\nfrom torch import nn",
        net,
        "model = torch.compile(Net())\nmodel(torch.ones(2, 4))",
    ]
    told = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)} for cell in cells
    ]
    book = tmp_path / "nb.ipynb"
    book.write_text(json.dumps({"cells": told, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1))
    found = graphmend("check", "nb.ipynb", "--quiet", cwd=tmp_path)
    assert "nb.ipynb:cell 2:8:12: GB0170" in found.stdout
    record = json.loads(graphmend("check", "nb.ipynb", "--quiet", "--json", cwd=tmp_path).stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    line = book.read_text().splitlines()[record["breaks"][0]["line"] - 1]
    assert line[record["breaks"][0]["column"] - 1 :].startswith("y.isnan().any()")
    done = graphmend("mend", "nb.ipynb", "--write", "--quiet", cwd=tmp_path)
    assert "nb.ipynb:cell 2:8: safe" in done.stdout and "1 → 0 breaks, 2 → 1 graphs" in done.stdout
    after = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    assert after[0].startswith(cells[0]) and "from graphmend_support import" in after[0]
    assert "raise ValueError" not in after[1]
    assert after[2] == cells[2]
    assert (tmp_path / "graphmend_support.py").exists()
