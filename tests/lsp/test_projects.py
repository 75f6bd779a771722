"""Entries that a project's ``pyproject.toml`` names, in the server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.lsp.methods.code_action import needs_entry
from graphmend_lsp.model import Entry
from tests.lsp.conftest import Start
from tests.lsp.test_server import made
from tests.lsp.wire import NEOVIM, VSCODE

CONFIG = '[tool.graphmend]\nentries = ["runs.py:model", "gone.py:model"]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "runs.py").write_text("def model(): ...\n")
    (tmp_path / "deep").mkdir()
    return tmp_path


def test_a_save_runs_them_and_what_is_none_is_told(start: Start, project: Path) -> None:
    client = start()
    client.initialize(NEOVIM)
    uri = (project / "deep" / "model.py").as_uri()
    client.open(uri, "foo\n")
    told = client.until_note("window/logMessage", lambda params: "gone.py" in params["message"])
    assert "[tool.graphmend] entries" in told["message"]
    client.save(uri)
    shown = client.published(uri, lambda found: bool(found) and "No run has reached it" not in found[0]["message"])
    assert [each["severity"] for each in shown] == [2]


def test_one_that_is_added_later_is_found_by_the_next_save(start: Start, project: Path) -> None:
    client = start()
    client.initialize(NEOVIM)
    (project / "pyproject.toml").write_text("")
    uri = (project / "model.py").as_uri()
    client.open(uri, "foo\n")
    client.save(uri)
    client.until_note("graphmend/status", lambda told: "no entry" in told["message"])
    (project / "pyproject.toml").write_text(CONFIG)
    client.save(uri)
    client.until_note("graphmend/status", lambda told: told["state"] == "busy")


@pytest.mark.parametrize("trusted", [True, False])
async def test_files_are_read_in_a_trusted_workspace_only(project: Path, trusted: bool) -> None:
    params: dict[str, Any] = {"capabilities": VSCODE, "initializationOptions": {"trusted": trusted}}
    server, _ = made(params)
    state = server.state
    state.opened(state.store.open((project / "model.py").as_uri(), "python", 1, "foo\n"))
    [file] = state.files.values()
    await state.read_project(file)
    await file.analysed.wait()
    assert file.project.entries == ((Entry(str(project / "runs.py"), "model"),) if trusted else ())
    assert needs_entry(state, file) is not trusted
    assert server.runs.of(file).entries(file) == file.project.entries


@pytest.mark.parametrize("trusted", [True, False])
async def test_what_a_project_says_counts_in_the_editor(project: Path, trusted: bool) -> None:
    said = 'mode = "both"\nexplore = false\nguess = false\npython = "/env/python"\ntimeout = 3\n'
    (project / "pyproject.toml").write_text(f"[tool.graphmend]\n{said}")
    server, _ = made({"capabilities": VSCODE, "initializationOptions": {"trusted": trusted}})
    state = server.state
    state.services = replace(state.services, guess_entries=lambda _text, path: (Entry(path, "Net", "module"),))
    state.opened(state.store.open((project / "model.py").as_uri(), "python", 1, "foo\n"))
    [file] = state.files.values()
    await state.read_project(file)
    await file.analysed.wait()
    runs = server.runs.of(file)
    request, config = runs._request([file]), runs._config()
    told = (
        request.modes,
        request.analysis,
        request.made_up,
        config.python,
        config.seconds,
        len(server.runs.of(file).entries(file)),
    )
    if trusted:
        assert told == (("eval", "train"), "real", False, "/env/python", 3, 0)
    else:
        assert told == (("eval",), "both", True, None, 120, 1)


async def test_made_up_inputs_can_be_turned_off(project: Path) -> None:
    server, _ = made({"initializationOptions": {"settings": {"guess": False}}})
    state = server.state
    state.services = replace(state.services, guess_entries=lambda _text, path: (Entry(path, "Net", "module"),))
    state.opened(state.store.open((project / "model.py").as_uri(), "python", 1, "foo\n"))
    [file] = state.files.values()
    assert server.runs.of(file).entries(file) == ()


async def test_a_broken_configuration_is_told_once(project: Path) -> None:
    server, written = made({"capabilities": VSCODE})
    (project / "pyproject.toml").write_text("[tool.graphmend]\nentries = 3\n")
    state = server.state
    state.opened(state.store.open((project / "model.py").as_uri(), "python", 1, "foo\n"))
    [file] = state.files.values()
    for _ in range(3):
        await state.read_project(file)
    told = [message for message in written if "must be a list" in str(message)]
    assert len(told) == 1
