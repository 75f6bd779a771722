"""Kate on a display without a screen, set up as docs/editors.md says, with the real server and torch.

Keys are pressed and pixels are read. What server and editor say to each other is recorded, to know what to wait for.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from display import Colour, Display, display
from editors import Programs, Tools, as_written, documented, until

pytestmark = [pytest.mark.editor, pytest.mark.timeout(150)]

SERVER = Path(sys.executable).parent / "graphmend-lsp"
BREAK, OTHER = "y.sum() > 0", 'print("gate", tuple(y.shape))'
LINE = 16


@dataclass(frozen=True)
class Kate:
    """A running Kate with `gate.py` open, and the folder of the recorded messages."""

    shown: Display
    record: Path

    def said(self, side: str) -> list[dict[str, Any]]:
        """The messages of one side so far, "kate" or "server"."""
        return list(_messages((self.record / side).read_bytes()))

    def diagnostics(self) -> dict[str, dict[str, Any]]:
        """The diagnostics that the server published last, by the first word of the message in backticks."""
        published = [
            one["params"] for one in self.said("server") if one.get("method") == "textDocument/publishDiagnostics"
        ]
        found = [one for params in published[-1:] for one in params["diagnostics"]]
        return {one["message"].split("`")[1]: one for one in found}

    def titles(self) -> list[str]:
        """The titles of the code actions of the last answer, in the order of the menu."""
        asked = [one["id"] for one in self.said("kate") if one.get("method") == "textDocument/codeAction"]
        answers = {one["id"]: one["result"] for one in self.said("server") if "result" in one and "id" in one}
        return [action["title"] for action in answers.get(asked[-1], ())] if asked else []

    def state(self) -> str:
        """What there is, for a failure's message."""
        return f"windows {self.shown.titles()}, diagnostics {json.dumps(self.diagnostics())}, offered {self.titles()}"


@pytest.fixture
def kate(tools: Tools, programs: Programs, workspace: Path, tmp_path: Path) -> Iterator[Kate]:
    """Kate with the documented settings, the model open, and the server allowed to start."""
    (workspace / "gate.py").write_bytes(as_written("gate.py"))
    home, record, path = tmp_path / "home", tmp_path / "record", tmp_path / "bin"
    for folder in (home / ".config/kate/lspclient", record, path, tmp_path / "run"):
        folder.mkdir(parents=True)
    (tmp_path / "run").chmod(0o700)
    (home / ".config/kate/lspclient/settings.json").write_text(documented("Kate"))
    relay = path / "graphmend-lsp"
    sides = [shlex.quote(str(record / side)) for side in ("kate", "server")]
    relay.write_text(f'#!/bin/sh\ntee {sides[0]} | {shlex.quote(str(SERVER))} "$@" | tee {sides[1]}\n')
    relay.chmod(0o755)
    with display(programs, tmp_path / "display") as shown:
        environment = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_RUNTIME_DIR": str(tmp_path / "run"),
            "PATH": f"{path}:/usr/bin:/bin",
            "DISPLAY": shown.name,
            "QT_QPA_PLATFORM": "xcb",
            "LC_ALL": "C.UTF-8",
        }
        programs.start([str(tools.dbus), "--", str(tools.kate), "gate.py"], cwd=workspace, environment=environment)
        running = Kate(shown, record)
        try:
            question = "LSP server start requested"
            until(lambda: any(question in title for title in shown.titles()), question, 30, shown.titles)
            shown.activate(question)
            shown.press("Return")
            until(lambda: (record / "server").exists(), "the server", 20, shown.titles)
            yield running
        finally:
            shown.picture(tmp_path / "last.png")
            print(f"what was shown at the end: {tmp_path / 'last.png'}")


def test_a_break_is_seen_mended_and_written(kate: Kate, programs: Programs, workspace: Path) -> None:
    _see_the_break(kate)

    def offered() -> int:
        kate.shown.press("alt+Return")  # LSP Client > Code Action
        time.sleep(1)
        for index, title in enumerate(kate.titles()):
            if title.startswith("Mend graph break") and "not verified yet" not in title:
                return index + 1
        kate.shown.press("Escape")
        return 0

    index = until(offered, "the mend", 30, kate.state)
    kate.shown.press(*["Down"] * index, "Return")
    _write_and_quit(kate, programs, workspace)


def test_the_quick_fix_makes_the_verified_mend_alone(kate: Kate, programs: Programs, workspace: Path) -> None:
    _see_the_break(kate)
    until(lambda: "verified safe" in kate.diagnostics()[BREAK]["message"], "the verdict", 45, kate.state)
    kate.shown.press("ctrl+period")  # LSP Client > Quick Fix
    _write_and_quit(kate, programs, workspace)
    assert [title.startswith("Mend graph break") for title in kate.titles()] == [True]


def _see_the_break(kate: Kate) -> None:
    """The mark of what is read, of what torch confirms after a save, and the cursor on it."""
    shown = kate.shown
    until(lambda: {BREAK, OTHER} <= kate.diagnostics().keys(), "the breaks as read", 15, kate.state)
    _marked(shown, _is_amber)
    shown.press("ctrl+s")
    until(lambda: kate.diagnostics()[BREAK]["severity"] == 2, "torch's word", 45, kate.state)
    _marked(shown, _is_red)
    shown.press("ctrl+g")
    time.sleep(0.3)
    shown.type(str(LINE))
    shown.press("Return", "End", *["Left"] * len(b" else y - 1  # strong"), "Left", "Left")
    place = {"start": {"line": LINE - 1, "character": 34}, "end": {"line": LINE - 1, "character": 34 + len(BREAK)}}
    assert kate.diagnostics()[BREAK]["range"] == place


def _marked(shown: Display, is_colour: Callable[[Colour], bool]) -> None:
    """Under the two expressions, and as long as they are, is a line of this colour."""
    part = len(BREAK) / len(OTHER)

    def found() -> bool:
        strokes = shown.strokes(is_colour)
        return len(strokes) == 2 and abs(strokes[0] / strokes[1] - part) < 0.03

    until(found, "the marks", 10, lambda: shown.strokes(is_colour))


def _write_and_quit(kate: Kate, programs: Programs, workspace: Path) -> None:
    """The file on the disk, the diagnostic that is gone, and the processes that are."""
    until(lambda: any("gate.py *" in title for title in kate.shown.titles()), "the change", 10, kate.state)
    kate.shown.press("ctrl+s")
    model = workspace / "gate.py"
    mended = as_written("gate_branch_mended.py")
    until(lambda: model.read_bytes() == mended, "the mended file", 10, model.read_bytes)
    until(lambda: BREAK not in kate.diagnostics(), "the diagnostic to go", 45, kate.state)
    kate.shown.press("ctrl+q")
    until(lambda: not _of_kate(programs), "the end of the server and its worker", 15, programs.alive)


def _of_kate(programs: Programs) -> list[str]:
    return [command for command in programs.alive().values() if "graphmend" in command or "kate" in command]


def _is_amber(colour: Colour) -> bool:
    red, green, blue = colour
    return red > 190 and red > green > 150 and blue < 130


def _is_red(colour: Colour) -> bool:
    red, green, blue = colour
    return red > 190 and green < 120 and blue < 110


def _messages(stream: bytes) -> Iterator[dict[str, Any]]:
    """The complete messages of a recorded side."""
    while (end := stream.find(b"\r\n\r\n")) >= 0:
        length = int(stream[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
        body, stream = stream[end + 4 : end + 4 + length], stream[end + 4 + length :]
        if len(body) == length:
            yield json.loads(body)
