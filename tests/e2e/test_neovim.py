"""A real Neovim, headless, with the real server and torch: the break, the mend, the file."""

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


def test_a_break_is_seen_mended_and_written(tools: Tools, programs: Programs, workspace: Path, tmp_path: Path) -> None:
    model = workspace / "gate.py"
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    programs = replace(programs, environment={**home, "GRAPHMEND_PLAN": json.dumps(PLAN)})
    script = HERE / "neovim" / "quick_fix.lua"
    try:
        output = programs.run(
            [str(tools.nvim), "--headless", "-u", "NONE", "-n", "-c", f"luafile {script}", str(model)],
            cwd=workspace,
            seconds=120,
        )
    finally:
        for log in tmp_path.rglob("lsp.log"):
            print(f"--- {log}\n{log.read_text(errors='replace')[-8000:]}")
    assert output.rstrip().endswith("PASS")
    assert model.read_text() == (FIXTURES / "gate_branch_mended.py").read_text()

    until = time.monotonic() + 10
    while programs.alive() and time.monotonic() < until:
        time.sleep(0.05)
    assert programs.alive() == {}, "the server and its worker end with the editor"
