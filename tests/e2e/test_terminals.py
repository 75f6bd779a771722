"""Neovim and Emacs (eglot and lsp-mode), without a screen, with the real server and torch: the break, the mend, the file with its line ends."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from editors import FIXTURES, HERE, Programs, Tools

pytestmark = [pytest.mark.editor, pytest.mark.timeout(150)]

PLAN = {
    "command": [str(Path(sys.executable).parent / "graphmend-lsp"), "--stdio"],
    "text": "y.sum() > 0",
    "action": "Mend graph break",
}


EDITORS = {
    "neovim": ("nvim", ["--headless", "-u", "NONE", "-n", "-c", "luafile {}"], "neovim/quick_fix.lua"),
    "emacs": ("emacs", ["-q", "--batch", "-l", "{}"], "emacs/quick_fix.el"),
    "emacs, lsp-mode": ("emacs", ["-q", "--batch", "-l", "{}"], "emacs/lsp_mode.el"),
}


def as_written(name: str) -> bytes:
    """A fixture with the line ends of Windows, behind a character outside the basic plane."""
    text = (FIXTURES / name).read_text("utf-8")
    return text.replace('"""A gate', '"""𝒜 gate', 1).replace("\n", "\r\n").encode()


@pytest.mark.parametrize("editor", EDITORS)
def test_a_break_is_seen_mended_and_written(
    tools: Tools, programs: Programs, workspace: Path, tmp_path: Path, editor: str
) -> None:
    model = workspace / "gate.py"
    model.write_bytes(as_written("gate.py"))
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    programs = replace(programs, environment={**home, "GRAPHMEND_PLAN": json.dumps(PLAN)})
    tool, words, script = EDITORS[editor]
    command = [str(getattr(tools, tool)), *(word.format(HERE / script) for word in words), str(model)]
    try:
        output = programs.run(command, cwd=workspace, seconds=120)
    finally:
        for log in tmp_path.rglob("lsp.log"):
            print(f"--- {log}\n{log.read_text(errors='replace')[-8000:]}")
    assert any(line.endswith("PASS") for line in output.splitlines())
    assert model.read_bytes() == as_written("gate_branch_mended.py")

    until = time.monotonic() + 10
    while programs.alive() and time.monotonic() < until:
        time.sleep(0.05)
    assert programs.alive() == {}, "the server and its worker end with the editor"
