"""What a run is said to stand on, for programs that touch files, folders, modules and the world in known ways."""

from __future__ import annotations

import hashlib
import os
import py_compile
import time
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.worker import loaded
from tests.worker.worker_pipes import Worker, analyse_params

PROGRAM = """\
import glob, json, os, subprocess, socket, sys
import torch
HERE = os.path.dirname(os.path.abspath(__file__))
{head}
def f(x):
    {call}
    return x + 1
def graphmend_entry():
    {entry}
    return f, (torch.ones(2),)
"""


def needs(
    worker: Worker, folder: Path, head: str = "", entry: str = "", call: str = "", **options: Any
) -> dict[str, Any]:
    file = folder / "program.py"
    if "texts" not in options:
        file.write_text(PROGRAM.format(head=head, entry=entry or "pass", call=call or "pass"))
    result = worker.analyse(file, **options)
    assert result["failure"] is None, result["failure"]
    found: dict[str, Any] = result["needs"]
    return {**found, "loaded": result["loaded"]}


@pytest.mark.parametrize(
    ("where", "what", "part", "expected"),
    [
        ("head", "import helper", "modules", ["helper.py", "program.py"]),
        ("head", "import pack.inner", "modules", ["pack/__init__.py", "pack/inner.py", "program.py"]),
        ("entry", "import helper", "modules", ["helper.py", "program.py"]),
        ("call", "import helper", "modules", ["helper.py", "program.py"]),
        ("head", "json.load(open(HERE + '/data.json'))", "read", ["data.json"]),
        ("entry", "json.load(open(HERE + '/data.json'))", "read", ["data.json"]),
        ("call", "print(open(HERE + '/data.json').read())", "read", ["data.json"]),
        ("head", "os.close(os.open(HERE + '/data.json', os.O_RDONLY))", "read", ["data.json"]),
        ("head", "os.chdir(HERE); open('data.json').close()", "read", ["data.json"]),
        ("head", "open(HERE + '/out.txt', 'w').close()", "read", []),
        ("head", "open(HERE + '/out.txt', 'a').close()", "read", []),
        ("head", "open(HERE + '/out.txt', 'w').close(); open(HERE + '/out.txt').close()", "read", []),
        ("head", "open(HERE + '/data.json', 'a').close(); open(HERE + '/data.json').close()", "read", ["data.json"]),
        ("head", "open(HERE + '/data.json', 'r+').close()", "read", ["data.json"]),
        ("head", "try: open(HERE + '/absent.json')\nexcept OSError: pass", "read", ["absent.json"]),
        ("head", "os.listdir(HERE)", "listed", ["."]),
        ("head", "glob.glob(HERE + '/*.json')", "listed", ["."]),
        ("head", "list(os.scandir(HERE + '/pack'))", "listed", ["pack"]),
        ("head", "try: import not_there\nexcept ImportError: pass", "names", ["not_there", "program!", "program/__init__"]),
        ("head", "import bare.inner", "names", ["bare.", "bare/__init__", "bare/inner!", "bare/inner/__init__", "program!", "program/__init__"]),
        ("head", "subprocess.run(['true'])", "doubts", ["the program started another process"]),
        ("head", "os.system('true')", "doubts", ["the program started another process"]),
        ("call", "subprocess.run(['true'])", "doubts", ["the program started another process"]),
        ("head", "if os.fork() == 0: os._exit(0)", "doubts", ["the program forked"]),
        (
            "head", "s = socket.socket(); s.settimeout(0.1)\ntry: s.connect(('127.0.0.1', 9))\nexcept OSError: pass",
            "doubts", ["the program connected to a network"],
        ),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_touched_is_told(
    worker: Worker, tmp_path: Path, where: str, what: str, part: str, expected: list[str]
) -> None:
    for name, text in {
        "helper.py": "A = 1\n",
        "pack/__init__.py": "",
        "pack/inner.py": "",
        "bare/inner.py": "",
        "data.json": "{}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = needs(worker, tmp_path, **{where: what})
    here = str(tmp_path)
    own = (
        sorted(os.path.relpath(one, here) for one in found[part] if one.startswith(here))
        if part != "doubts"
        else found[part]
    )
    assert own == expected
    if part != "doubts":
        assert found["doubts"] == []


def test_unsaved_text_is_hashed_in_place_of_the_file(worker: Worker, tmp_path: Path) -> None:
    file, helper = tmp_path / "program.py", tmp_path / "helper.py"
    helper.write_text("A = 1\n")
    text = PROGRAM.format(head="import helper", entry="assert helper.A == 2", call="pass")
    found = needs(worker, tmp_path, texts={str(file): text, str(helper): "A = 2\n"})
    told = {one["file"]: one["sha256"] for one in found["loaded"] if one["file"].startswith(str(tmp_path))}
    assert told == {
        str(file): hashlib.sha256(text.encode()).hexdigest(),
        str(helper): hashlib.sha256(b"A = 2\n").hexdigest(),
    }


def test_bytecode_of_another_text_of_the_same_second_is_not_run(worker: Worker, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("A = 1\n")
    py_compile.compile(str(helper), doraise=True)
    before = helper.stat()
    helper.write_text("A = 2\n")  # as long, and, for Python, as old
    os.utime(helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    needs(worker, tmp_path, head="import helper", entry="assert helper.A == 2")


def test_what_stands_before_the_program_is_told_when_asked(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(head="", entry="pass", call="pass"))
    standing = worker.result(worker.send("analyse", {**analyse_params(file), "standing": True}))["needs"]["standing"]
    files = [Path(one) for one in standing["files"]]
    assert all(one.exists() for one in files)
    assert any(one.parts[-2:] == ("torch", "version.py") for one in files)
    assert any(one.parts[-3:-1] == ("torch", "_dynamo") for one in files)
    assert not any(tmp_path in one.parents for one in files)
    assert str(tmp_path) not in standing["folders"]
    assert worker.analyse(file)["needs"]["standing"] is None


@pytest.mark.slow
def test_the_processes_of_a_proof_tell_what_they_touch(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("A = 1\n")
    (tmp_path / "data.json").write_text("{}")
    file = tmp_path / "program.py"
    text = (
        "import torch\ndef f(x):\n    if x.sum() > 0:\n        import late\n        y = x + late.A\n    else:\n        y = x - 1\n"
        "    return y\ndef graphmend_entry():\n    open(__file__.replace('program.py', 'data.json')).close()\n    return f, (-torch.ones(2),)\n"
    )
    file.write_text(text)
    mended = text.replace("if x.sum() > 0", "if bool(x.sum() > 0)")
    params = {
        **analyse_params(file),
        "candidates": [{"id": "0", "texts": {str(file): mended}, "conditions": [], "changed": {}}],
    }
    result = worker.result(worker.send("verify", params))
    assert result["failure"] is None
    touched = {
        Path(one).name
        for one in (*result["needs"]["modules"], *result["needs"]["read"])
        if one.startswith(str(tmp_path))
    }
    assert {"data.json", "program.py"} <= touched
    assert result["needs"]["doubts"] == []


@pytest.mark.parametrize(
    ("folder", "behind", "old"),
    [
        ("site-packages", 0.1, False),  # as installers do it: written, then compiled
        ("dist-packages", 0.1, False),
        ("site-packages", -0.1, True),
        ("project", 0.1, True),  # a save, a run, a save within a second
        ("project", 60.0, False),
    ],
)
def test_whose_bytecode_is_believed(tmp_path: Path, folder: str, behind: float, old: bool) -> None:
    source = tmp_path / folder / "part.py"
    source.parent.mkdir()
    source.write_text("A = 1\n")
    bytecode = Path(py_compile.compile(str(source), doraise=True))
    written = time.time() - 3600
    os.utime(source, (written, written))
    os.utime(bytecode, (written + behind, written + behind))
    assert loaded._bytecode_is_old(str(source)) is old
