"""Where the real editors are, and the running of programs so that nothing of them stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FIXTURES = HERE / "fixtures"
MARK = "GRAPHMEND_E2E"


@dataclass(frozen=True)
class Tools:
    """What the tests drive. `node` is Node 24, which code-server needs."""

    node: Path
    code_server: Path
    chromium: Path
    nvim: Path
    emacs: Path


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
