"""Settings that nobody knows are named, those of other programs are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.known_keys import EXTENSION, SERVER
from graphmend_lsp.lsp.settings import Settings, read_settings

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
