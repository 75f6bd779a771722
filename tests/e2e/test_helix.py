"""Helix in a terminal that nobody sees, set up as docs/editors.md says, with the real server and torch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from editors import Programs, Tools, as_written, documented, until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(150)]


@dataclass(frozen=True)
class Terminal:
    """A terminal with a program in it: its screen, and its keyboard."""

    tmux: Path
    environment: dict[str, str]

    def screen(self) -> str:
        """What it shows."""
        return self.tell("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Presses keys, by tmux's names."""
        for key in keys:
            self.tell("send-keys", key)
            time.sleep(0.1)  # Escape and another key at once are Alt and that key

    def tell(self, *words: str) -> str:
        """What tmux answers to a command."""
        command = [str(self.tmux), "-L", "graphmend", *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=20).stdout

    def wait_for(self, words: str, what: str, seconds: float) -> None:
        """Waits until it shows some words."""
        until(lambda: words in self.screen(), what, seconds, self.screen)


@pytest.fixture
def helix(tools: Tools, programs: Programs, workspace: Path, tmp_path: Path) -> Iterator[Terminal]:
    """Helix with the documented configuration and the model open."""
    (workspace / "gate.py").write_bytes(as_written("gate.py"))
    config = tmp_path / ".config" / "helix"
    config.mkdir(parents=True)
    (config / "languages.toml").write_text(documented("Helix"))
    own = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(config.parent),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMUX_TMPDIR": str(tmp_path),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    programs = replace(programs, environment=own)
    started = [str(tools.tmux), "-L", "graphmend", "-u", "new-session", "-d", "-x", "150", "-y", "40"]
    programs.run([*started, str(tools.helix), "gate.py"], cwd=workspace)
    yield Terminal(tools.tmux, {**os.environ, **own})


def test_a_break_is_seen_mended_and_written(helix: Terminal, programs: Programs, workspace: Path) -> None:
    model = workspace / "gate.py"
    helix.wait_for("class Gate", "the model", 15)

    helix.wait_for("depends on the values of `y.sum() > 0`", "the break as read", 20)
    helix.press(":", "w", "Enter")

    def confirmed() -> bool:
        helix.press("Escape", "g", "g", "]", "d", "Space", "k")  # the hover at the first diagnostic
        time.sleep(0.5)
        return "1 more graph" in helix.screen()

    until(confirmed, "torch's word", 45, helix.screen)
    helix.press("Escape")

    def offered() -> bool:
        helix.press("Space", "a")
        helix.wait_for("Ignore this break", "the menu", 10)
        screen = helix.screen()
        if "Mend graph break: choose both sides" in screen and "(not verified" not in screen:
            return True
        helix.press("Escape")
        return False

    until(offered, "the mend", 30, helix.screen)
    helix.press("Enter")
    helix.wait_for("torch.where(y.sum() > 0, y * 2, y - 1)", "the change", 10)
    helix.press("Escape", ":", "w", "Enter")
    mended = as_written("gate_branch_mended.py")
    until(lambda: model.read_bytes() == mended, "the mended file", 10, model.read_bytes)
    until(lambda: "depends on the values" not in helix.screen(), "the diagnostic to go", 45, helix.screen)
    helix.press("Escape", ":", "q", "Enter")
    until(lambda: not programs.alive(), "the end of the server and its worker", 15, programs.alive)
