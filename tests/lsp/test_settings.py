"""Settings that nobody knows are named, those of other programs are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.known_keys import EXTENSION, SERVER
from graphmend_lsp.lsp.services import Project
from graphmend_lsp.lsp.settings import Settings, in_project, read_settings

GIVEN: list[tuple[Any, tuple[str, ...]]] = [
    ({"graphmend": {"device": "cpu", "path": [], "trace": {"server": "off"}}}, ()),
    ({"deviec": "cpu"}, ("graphmend.deviec is unknown and ignored; did you mean device?",)),
    ({"graphmend.workertimeout": 3}, ("graphmend.workertimeout is unknown and ignored; did you mean worker.timeout?",)),
    ({"graphmend": {"python": "x"}}, ("graphmend.python is unknown and ignored; did you mean interpreter?",)),
    ({"graphmend": {"colour": 3}}, ("graphmend.colour is unknown and ignored.",)),
    ({"pylsp": {"plugins": {}}, "editor": {"tabSize": 4}}, ()),
]


@pytest.mark.parametrize(("given", "told"), GIVEN)
def test_unknown_settings_are_named(given: Any, told: tuple[str, ...]) -> None:
    assert read_settings(given, Settings())[1] == told


def test_the_known_ones_are_those_of_the_extension() -> None:
    written = json.loads((Path(__file__).parents[2] / "vscode-extension" / "package.json").read_text("utf-8"))
    properties = written["contributes"]["configuration"]["properties"]
    assert {f"graphmend.{key}" for key in (*SERVER, *EXTENSION)} == set(properties)


def test_what_a_project_says_stands_where_the_editors_own_setting_is_as_usual() -> None:
    project = Project((), (), "cpu", "both", False, False, "/env/python", 3.0, 900)
    usual = in_project(Settings(), project)
    assert (usual.device, usual.modes, usual.explore, usual.guess) == ("cpu", ("eval", "train"), False, False)
    assert (usual.interpreter, usual.worker_timeout, usual.worker_memory) == ("/env/python", 3.0, 900)
    told_by_extension, complaints = read_settings({"interpreter": ["/found"], "interpreterFound": True}, Settings())
    assert complaints == ()
    found = in_project(told_by_extension, project)
    assert found.interpreter == "/env/python"
    assert in_project(Settings(interpreter="/found", interpreter_found=True), Project()).interpreter == "/found"
    own = Settings(device="cuda", mode="train", interpreter="/mine", worker_timeout=9.0, worker_memory=4)
    told = in_project(own, project)
    assert (told.device, told.modes, told.interpreter, told.worker_timeout, told.worker_memory) == (
        "cuda", ("train",), "/mine", 9.0, 4,
    )  # fmt: skip
    assert in_project(own, Project()) == own
