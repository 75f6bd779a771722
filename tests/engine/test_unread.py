"""A file that cannot be read as Python is an error of the check, never a file without breaks."""

from dataclasses import replace
from pathlib import Path

import pytest

from graphmend_lsp.cli import run
from graphmend_lsp.engine.unread import unread, with_unread
from graphmend_lsp.model import Failure, Report

NOTHING = Report(None, None, None, (), ())
UNREADABLE = {
    "open bracket": (b"import torch\ndef f(x:\n    return x\n", "SyntaxError in Python 3.", 2),
    "indentation": (b"def f(x):\nreturn x\n", "expected an indented block", 2),
    "null byte": (b"x = 1\n\x00\n", "null byte", None),
    "not text": (b"x = '\xff\xfe'\n", "cannot be read as Python source", None),
    "unknown encoding": (b"# coding: klingon\n", "unknown encoding", None),
    "too deep": (b"(" * 5000 + b")" * 5000, "", None),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_parsed_is_told_with_its_place(tmp_path: Path, name: str) -> None:
    data, words, line = UNREADABLE[name]
    (tmp_path / "bad.py").write_bytes(data)
    (tmp_path / "good.py").write_text("x = '\\d'\n")  # a warning of Python's is no error
    (failure,) = with_unread(NOTHING, unread([str(tmp_path)])).failures
    assert (failure.kind, failure.path) == ("syntax", str(tmp_path / "bad.py"))
    assert words in failure.message
    assert line is None or failure.line == line
    assert "Correct it" in failure.remedy


def test_what_a_run_has_told_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def f(:\n")
    told = replace(NOTHING, failures=(Failure("load", "syntax", "SyntaxError", "", str(path), 1),))
    assert with_unread(told, unread([str(path)])) == told


def test_the_command_ends_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def f(:\n")
    assert run(["check", str(path), "--quiet"]) == 2
    assert "bad.py:1: error SyntaxError" in capsys.readouterr().out
    path.write_text("x = 1\n")
    assert run(["check", str(path), "--quiet"]) == 0
