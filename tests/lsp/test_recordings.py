"""Recorded runs in the editor, through the real server: shown, moved with their function, gone with it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.recorded import Recording
from graphmend_lsp.engine.recordings import LOCAL, as_record, from_record, load, save
from graphmend_lsp.engine.traces import read_trace
from graphmend_lsp.lsp.found import Known, merged
from tests.lsp.conftest import Start
from tests.lsp.wire import NEOVIM, REAL, Client

TRACES = Path(__file__).parents[1] / "engine" / "traces"
TEXT = (TRACES / "train.py").read_text()
WARNING = 2


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TEXT)
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "recordings"


def recording_of(project: Path) -> Recording:
    read = read_trace(TRACES / "torch-2.13.log", PathMap(((str(project), "/elsewhere"),)))
    assert read.recording is not None
    return replace(read.recording, command=("/usr/bin/python", "train.py"), folder=str(project))


def begin(start: Start, state: Path, **more: Any) -> Client:
    client = start(REAL, GRAPHMEND_STATE_DIR=str(state.parent))
    client.initialize(NEOVIM, **more)
    return client


def line_of(words: str, text: str = TEXT) -> int:
    return next(number for number, line in enumerate(text.split("\n")) if words in line)


def recorded(diagnostics: list[Any]) -> set[int]:
    return {one["range"]["start"]["line"] for one in diagnostics if "Recorded " in one["message"]}


ALL = {"# the whole line", "# a condition", "# in a loop", "# over lines", "# fullgraph", "# an expression"}


def lines(*marks: str, text: str = TEXT) -> set[int]:
    return {line_of(mark, text) for mark in marks}


AGAIN = 'backend="eager", dynamic=False'


def test_recorded_breaks_are_warnings_that_say_which_run_met_them(start: Start, state: Path, project: Path) -> None:
    save(replace(recording_of(project), ended=recording_of(project).ended), state)
    client = begin(start, state)
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    shown = client.published(uri)
    assert recorded(shown) == lines(*ALL, AGAIN)
    found = next(one for one in shown if one["range"]["start"]["line"] == line_of("# a condition"))
    assert (found["severity"], found["code"]) == (WARNING, "GB0170")
    assert "ago by `python train.py`." in found["message"] or "just now by" in found["message"]


@pytest.mark.slow
def test_their_mends_are_offered_and_never_preferred(start: Start, state: Path, project: Path) -> None:
    save(recording_of(project), state)
    client = begin(start, state)
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    client.published(uri, lambda shown: any("not verified yet" in one["message"] for one in shown))
    line = line_of("# a condition")
    mends = [action for action in client.actions(uri, (line, 11)) if action["title"].startswith("Mend graph break:")]
    assert mends
    assert all("(not verified yet)" in action["title"] and not action.get("isPreferred") for action in mends)


@pytest.mark.slow
def test_a_break_moves_with_its_function_and_goes_with_a_change_of_it(start: Start, state: Path, project: Path) -> None:
    save(recording_of(project), state)
    client = begin(start, state)
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    client.published(uri)
    moved = TEXT.replace("def helper", "# a remark\n\n\ndef helper")
    client.change(uri, 2, [{"text": moved}])
    shown = client.published(uri, lambda shown: recorded(shown) == lines(*ALL, AGAIN, text=moved))
    assert recorded(shown) != lines(*ALL, AGAIN)
    changed = moved.replace("y = y + 1", "y = y + 2")
    client.change(uri, 3, [{"text": changed}])
    left = lines("# the whole line", "# fullgraph", "# an expression", AGAIN, text=changed)
    client.published(uri, lambda shown: recorded(shown) == left)
    client.change(uri, 4, [{"text": TEXT}])
    client.published(uri, lambda shown: recorded(shown) == lines(*ALL, AGAIN))


@pytest.mark.slow
def test_a_recording_appears_while_the_file_is_open(start: Start, state: Path, project: Path) -> None:
    client = begin(start, state)
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    assert recorded(client.published(uri)) == set()
    save(recording_of(project), state)
    client.published(uri, lambda shown: recorded(shown) == lines(*ALL, AGAIN))
    save(replace(recording_of(project), sites=()), state)  # the same command, run again, and all is well
    client.published(uri, lambda shown: recorded(shown) == set())


def test_one_that_was_kept_in_the_project_is_found_in_an_untrusted_workspace_too(
    start: Start, state: Path, project: Path
) -> None:
    save(recording_of(project), project / LOCAL)
    client = begin(start, state, initializationOptions={"trusted": False})
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    client.published(uri, lambda shown: recorded(shown) == lines(*ALL, AGAIN))


@pytest.mark.slow
def test_the_command_reads_a_trace(start: Start, state: Path, project: Path, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    shutil.copy(TRACES / "torch-2.15.log", traces)
    client = begin(start, state)
    uri = (project / "train.py").as_uri()
    client.open(uri, TEXT)
    client.published(uri)
    command = {"command": "graphmend.readTrace", "arguments": [{"folder": traces.as_uri()}]}
    assert client.result("workspace/executeCommand", command) == {"breaks": 7, "missing": ["/elsewhere/train.py"]}
    command["arguments"] = [{"folder": traces.as_uri(), "map": [[str(project), "/elsewhere"]]}]
    assert client.result("workspace/executeCommand", command) == {"breaks": 7, "missing": []}
    shown = client.published(uri, lambda shown: any("Read from the trace" in one["message"] for one in shown))
    found = [one for one in shown if "Read from the trace" in one["message"]]
    assert {one["range"]["start"]["line"] for one in found} == lines(*ALL, AGAIN)


@pytest.mark.parametrize("argument", [None, 5, {"folder": 3}, "relative/folder", {"folder": "/x", "map": [["a"]]}])
@pytest.mark.slow
def test_a_command_without_a_folder_is_refused(start: Start, state: Path, argument: Any) -> None:
    client = begin(start, state)
    answer = client.ask("workspace/executeCommand", {"command": "graphmend.readTrace", "arguments": [argument]})
    assert answer["error"]["code"] == -32602


def test_a_folder_without_a_trace_is_said(start: Start, state: Path, project: Path) -> None:
    client = begin(start, state)
    answer = client.ask("workspace/executeCommand", {"command": "graphmend.readTrace", "arguments": [project.as_uri()]})
    assert "no trace of torch" in answer["error"]["message"]
    assert "TORCH_TRACE" in answer["error"]["message"]


def test_a_recording_is_read_back_as_it_was_kept(project: Path, state: Path) -> None:
    made = recording_of(project)
    assert load(save(made, state)) == made
    assert from_record(json.loads(json.dumps(as_record(made)))) == made


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "command": 5}', "\x00", "[" * 100_000]
)
def test_what_is_no_recording_is_left_out(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(damage)
    assert load(path) is None


def test_every_field_is_checked(project: Path, tmp_path: Path) -> None:
    record = as_record(recording_of(project))
    for key in record:
        for value in (None, 5, "x", [5], {"a": 5}, [{"a": 5}]):
            path = tmp_path / "x.json"
            path.write_text(json.dumps({**record, key: value}))
            load(path)  # never raises


def test_only_so_many_are_kept(project: Path, state: Path) -> None:
    made = recording_of(project)
    for number in range(105):
        path = save(replace(made, command=("python", f"{number}.py"), sites=(), results=()), state)
        os.utime(path, (number, number))
    assert len(list(state.glob("*.json"))) == 100


def test_a_run_of_ours_supersedes_what_was_recorded_at_the_same_place(project: Path) -> None:
    made = recording_of(project)
    recorded_one = made.sites[0].site
    ours = replace(recorded_one, evidence="dynamo")
    other = made.sites[1].site
    found = merged((Known("a", ours),), (Known("b", recorded_one, origin="Recorded."), Known("c", other)))
    assert [known.site for known in found] == sorted([ours, other], key=lambda site: site.span)
