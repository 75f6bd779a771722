"""Real models of transformers 4.52.4, small random weights: named at exact places, mended on a scratch copy to no break, safely."""

import difflib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ENTRIES = Path(__file__).parents[2] / "examples" / "transformers_models.py"

# model -> (files that may be edited, places of its breaks: file, line, source there; graphs before)
MODELS: dict[str, tuple[list[str], list[tuple[str, int, str]], int]] = {
    "t5": (["models/t5/modeling_t5.py"], [("modeling_t5.py", 1019, "logger.warning_once(")], 4),
    "phi3": (
        ["modeling_rope_utils.py"],
        [("modeling_rope_utils.py", 50, "seq_len > original_max_position_embeddings")],
        6,
    ),
    "bart_fp16": (
        ["models/bart/modeling_bart.py"],
        [
            ("modeling_bart.py", 567, "hidden_states.dtype == torch.float16 and ("),
            ("modeling_bart.py", 1246, "logger.warning_once("),
        ],
        8,
    ),
}


# What a project must accept: the mended Phi-3 makes both sets of frequencies in the first call, and gives a
# tensor of its own.
ACCEPTED = {"phi3": ["identity", "inside-effects"]}


def graphmend(command: str, model: str, package: Path, *more: str) -> tuple[int, dict[str, Any]]:
    files = [str(package / "transformers" / file) for file in MODELS[model][0]]
    words = [command, *files, "--entry", f"{package / ENTRIES.name}:{model}", "--json", "--quiet", *more]
    done = subprocess.run([sys.executable, "-m", "graphmend_lsp", *words], capture_output=True, text=True, timeout=280)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_breaks_are_named_and_mended_to_none(model: str, package: Path) -> None:
    files, places, graphs = MODELS[model]
    code, record = graphmend("check", model, package)
    assert code == 1
    assert record["errors"] == []
    assert record["entries"][0]["graphs"] == graphs
    found = {(Path(one["path"]).name, one["line"]) for one in record["breaks"] if one["evidence"] == "dynamo"}
    assert found == {(file, line) for file, line, _ in places}
    for one in record["breaks"]:
        if one["evidence"] == "dynamo":
            line = Path(one["path"]).read_text("utf-8").splitlines()[one["line"] - 1][one["column"] - 1 :]
            assert any(line.startswith(source) for _, number, source in places if number == one["line"])

    old = {file: (package / "transformers" / file).read_text("utf-8") for file in files}
    project = package / "pyproject.toml"
    if model in ACCEPTED:
        project.write_text(f"[tool.graphmend]\nassume = {json.dumps(ACCEPTED[model])}\n", "utf-8")
    code, record = graphmend("mend", model, package, "--write")
    project.unlink(missing_ok=True)
    assert (code, record["after"]["breaks"], record["after"]["graphs"]) == (0, 0, 1), json.dumps(record, indent=1)
    verified = record["verified"]
    assert verified["safety"] == "safe", verified
    assert {one["kind"] for one in verified.get("accepted", [])} == set(ACCEPTED.get(model, ()))
    assert (verified["outputs"], verified["gradients"], verified["state"]) == ("bit-equal",) * 3
    for file in files:
        new = (package / "transformers" / file).read_text("utf-8")
        lost = [
            line[2:].strip()
            for line in difflib.ndiff(old[file].splitlines(), new.splitlines())
            if line.startswith("- ") and line[2:].strip().startswith("#")
        ]
        assert all(comment in new for comment in lost), "a comment was lost"
