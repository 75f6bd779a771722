"""Where the real editors are, and the running of programs so that nothing of them stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FIXTURES = HERE / "fixtures"
MARK = "GRAPHMEND_E2E"


@dataclass(frozen=True)
class Tools:
    """What the tests drive. `node` is Node 24, which code-server needs; `nvim` is the one of this Debian, 0.7."""

    node: Path
    code_server: Path
    chromium: Path
    nvim: Path
    nvim_10: Path
    nvim_12: Path
    emacs: Path
    helix: Path
    tmux: Path
    kate: Path
    jupyter: Path
    xvfb: Path
    xdotool: Path
    openbox: Path
    dbus: Path


@dataclass(frozen=True)
class Programs:
    """Runs programs and knows every process that came of them, by a mark in their environment."""

    mark: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: list[str], *, cwd: Path, seconds: float = 60) -> str:
        """The output of a program that must end well within `seconds`; else the test fails with what it said."""
        env = {**os.environ, **self.environment, MARK: self.mark}
        with subprocess.Popen(
            command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ) as process:
            try:
                output = process.communicate(timeout=seconds)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                self.end()
                output = process.communicate()[0].decode(errors="replace")
                pytest.fail(f"{command[0]} did not end within {seconds} s:\n{output}")
        print(output)
        assert process.returncode == 0, f"{command[0]} ended with {process.returncode}:\n{output}"
        return output

    def start(
        self,
        command: list[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        """Starts a program that runs until the test ends, or until it ends by itself; what it says is among the test's output."""
        env = {**os.environ, **self.environment, **(environment or {}), MARK: self.mark}
        subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, pass_fds=pass_fds)

    def alive(self) -> dict[int, str]:
        """The command lines of the processes that came of this test, by process id."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(folder.name)] = command.decode(errors="replace")
        return found

    def end(self) -> None:
        """Ends them all."""
        for _ in range(50):
            alive = self.alive()
            if not alive:
                return
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        pytest.fail(f"still alive: {self.alive()}")


def until(read: Callable[[], T], what: str, seconds: float, now: Callable[[], object] = lambda: "") -> T:
    """Waits until `read` gives something; `now` tells what there was instead."""
    end = time.monotonic() + seconds
    while not (value := read()):
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s for {what}; there was: {now()}")
        time.sleep(0.1)
    return value


def documented(editor: str, words: str = "") -> str:
    """The set-up of an editor as docs/editors.md gives it: the first block of its section, after `words`."""
    page = (ROOT / "docs" / "editors.md").read_text("utf-8")
    section = page.split(f"\n## {editor}\n", 1)[1].split("\n## ", 1)[0]
    return block(section, words)


def block(text: str, words: str) -> str:
    """The first block of code after these words of a page, without its indent."""
    return textwrap.dedent(text[text.index(words) :].split("```", 2)[1].split("\n", 1)[1])


def as_written(name: str) -> bytes:
    """A fixture with the line ends of Windows, and its break behind a character outside the basic plane, on the same line."""
    text = (FIXTURES / name).read_text("utf-8").replace('"""A gate', '"""𝒜 gate', 1)
    for block, line in ((_BRANCH, _BRANCH_LINE), (_CHOICE, _CHOICE_LINE)):
        text = text.replace(block, line)
    assert 'mark = "𝒜"' in text
    return text.replace("\n", "\r\n").encode()


_BRANCH = "        if y.sum() > 0:  # strong\n            y = y * 2\n        else:\n            y = y - 1\n"
_BRANCH_LINE = '        mark = "𝒜"; y = y * 2 if y.sum() > 0 else y - 1  # strong\n'
_CHOICE = "        # strong\n        y = torch.where(y.sum() > 0, y * 2, y - 1)\n"
_CHOICE_LINE = '        mark = "𝒜"; y = torch.where(y.sum() > 0, y * 2, y - 1)  # strong\n'
