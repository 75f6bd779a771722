"""Entries as users write them, and pyproject.toml."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from graphmend_lsp.engine.entries import BadEntryError, parse_entry, python_files, read_config, tomllib
from graphmend_lsp.engine.known_keys import PROJECT
from graphmend_lsp.model import ASSUMPTIONS, Entry


def test_parse_entry(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("")
    assert parse_entry("m.py:fn", str(tmp_path)) == Entry(str(tmp_path / "m.py"), "fn")
    assert parse_entry(f"{tmp_path}/m.py:fn", "/").name == "m.py:fn"


@pytest.mark.parametrize("written", ["", "m.py", "m.py:", ":fn", "m.py:not a name", "gone.py:fn", "m.py:fn()"])
def test_bad_entries_are_told(tmp_path: Path, written: str) -> None:
    (tmp_path / "m.py").write_text("")
    with pytest.raises(BadEntryError):
        parse_entry(written, str(tmp_path))


def test_config_is_found_upwards(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.graphmend]\nentries = ["m.py:fn"]\nmode = "train"\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    config = read_config(str(tmp_path / "a" / "b"))
    assert (config.folder, config.entries, config.mode, config.device) == (str(tmp_path), ("m.py:fn",), "train", None)


UNKNOWN = {
    'entrys = ["m.py:fn"]': "entrys is unknown and ignored; did you mean entries?",
    'interpreter = "python3"': "interpreter is unknown and ignored; did you mean python?",
    'Mode = "train"': "Mode is unknown and ignored; did you mean mode?",
    "colour = 3": "colour is unknown and ignored.",
}


@pytest.mark.parametrize("line", UNKNOWN)
def test_an_unknown_key_is_named_with_the_nearest(tmp_path: Path, line: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphmend]\n{line}\n")
    [complaint] = read_config(str(tmp_path)).complaints
    assert complaint.endswith(f"pyproject.toml: [tool.graphmend] {UNKNOWN[line]}")


SCHEMA = json.loads((files("graphmend_lsp.engine") / "project.schema.json").read_text("utf-8"))
WHOLE = """
entries = ["m.py:fn"]
device = "cpu"
mode = "both"
explore = false
guess = false
timeout = 2.5
memory = 900
python = "py"
assume = ["warning-filters"]
support = "inline"
comments = false
"""
WRONG = (
    "entries = 3", "mode = 3", "mode = \"eval \"", "device = \"gpu\"", "explore = 1", "guess = \"no\"", "timeout = 0", "memory = -1",
    "timeout = true", "support = \"none\"", "comments = 1", "assume = [\"warnings\"]",
)  # fmt: skip


def test_everything_that_a_project_can_say_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphmend]{WHOLE}")
    config = read_config(str(tmp_path))
    read = {key: getattr(config, key) for key in PROJECT}
    assert read == {
        "entries": ("m.py:fn",), "device": "cpu", "mode": "both", "explore": False, "guess": False, "timeout": 2.5, "memory": 900,
        "python": "py", "assume": ("warning-filters",), "support": "inline",
        "comments": False,
    }  # fmt: skip
    assert config.complaints == ()


def test_the_schema_and_the_reader_agree(tmp_path: Path) -> None:
    assert set(SCHEMA["properties"]) == set(PROJECT)
    assert set(SCHEMA["properties"]["assume"]["items"]["enum"]) == set(ASSUMPTIONS)
    jsonschema.Draft202012Validator(SCHEMA).validate(tomllib.loads(WHOLE))
    for line in WRONG:
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(tomllib.loads(line)), line
        (tmp_path / "pyproject.toml").write_text(f"[tool.graphmend]\n{line}\n")
        with pytest.raises(BadEntryError, match=rf"\[tool.graphmend\] {line.split(' ')[0]} "):
            read_config(str(tmp_path))


@pytest.mark.parametrize("text", ["[tool.graphmend]\nentries = 3\n", "[tool.graphmend]\nmode = 3\n", "not toml ["])
def test_a_bad_config_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(BadEntryError, match=r"pyproject\.toml"):
        read_config(str(tmp_path))


def test_python_files_leave_environments_out(tmp_path: Path) -> None:
    for name in ("a.py", "pkg/b.py", "venv/c.py", ".hidden/d.py", "own/pyvenv.cfg", "own/e.py", "pkg/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = [str(Path(path).relative_to(tmp_path)) for path in python_files([str(tmp_path)])]
    assert found == ["a.py", "pkg/b.py"]
    assert list(python_files([str(tmp_path / "venv" / "c.py")])) == [str(tmp_path / "venv" / "c.py")]
