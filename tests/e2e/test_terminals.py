"""Neovim and Emacs (eglot and lsp-mode), without a screen, set up as docs/editors.md says, with the real server and torch.

The break, the mend, the file with its line ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from editors import HERE, Programs, Tools, as_written, documented

pytestmark = [pytest.mark.editor, pytest.mark.timeout(150)]

PLAN = {"text": "y.sum() > 0", "action": "Mend graph break"}


@dataclass(frozen=True)
class Editor:
    """How a program is started with a script, and where docs/editors.md has its set-up: a section, and words before the block."""

    program: str
    words: tuple[str, ...]
    script: str
    section: str
    before: str


_NVIM = ("--headless", "-u", "NONE", "-n", "-c", "luafile {}")
_EMACS = ("-q", "--batch", "-l", "{}")
EDITORS = {
    "neovim 0.7": Editor("nvim", _NVIM, "neovim/quick_fix.lua", "Neovim", "0.7 to 0.10"),
    "neovim 0.10": Editor("nvim_10", _NVIM, "neovim/quick_fix.lua", "Neovim", "0.7 to 0.10"),
    "neovim 0.12": Editor("nvim_12", _NVIM, "neovim/quick_fix.lua", "Neovim", "0.11 and newer"),
    "emacs, eglot": Editor("emacs", _EMACS, "emacs/quick_fix.el", "Emacs", "eglot (built in"),
    "emacs, lsp-mode": Editor("emacs", _EMACS, "emacs/lsp_mode.el", "Emacs", "lsp-mode:"),
}


@pytest.mark.parametrize("editor", EDITORS)
def test_a_break_is_seen_mended_and_written(
    tools: Tools, programs: Programs, workspace: Path, tmp_path: Path, editor: str
) -> None:
    model = workspace / "gate.py"
    model.write_bytes(as_written("gate.py"))
    started = EDITORS[editor]
    environment = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GRAPHMEND_PLAN": json.dumps({**PLAN, "setup": documented(started.section, started.before)}),
    }
    programs = replace(programs, environment=environment)
    words = [word.format(HERE / started.script) for word in started.words]
    command = [str(getattr(tools, started.program)), *words, str(model)]
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
