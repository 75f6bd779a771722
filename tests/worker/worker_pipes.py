"""The real worker process over its pipes, as the engine has it: one JSON object a line each way."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("GRAPHMEND_TEST_PYTHON", sys.executable)  # the user's interpreter (see tests/versions)
SCRIPT = Path(__file__).parents[2] / "server" / "graphmend_lsp" / "worker" / "__main__.py"


class Worker:
    """A started worker; `hello` is what it said first."""

    def __init__(self, env: Mapping[str, str] | None = None, cwd: Path | None = None, python: str = PYTHON) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            [python, "-u", str(SCRIPT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env={**os.environ, **(env or {})}, cwd=cwd, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._rest = b""
        self._lines: list[bytes] = []
        self._next = 0
        self.progress: list[str] = []
        self.hello: dict[str, Any] = self.read(60)["hello"]

    def read(self, seconds: float) -> dict[str, Any]:
        """The next message, whatever it is."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not self._lines:
                left = end - time.monotonic()
                assert left > 0, "the worker did not answer in time"
                if selector.select(left):
                    data = os.read(self.process.stdout.fileno(), 1 << 16)
                    assert data, "the worker ended: " + self._said()
                    *lines, self._rest = (self._rest + data).split(b"\n")
                    self._lines += lines
        message: dict[str, Any] = json.loads(self._lines.pop(0))
        return message

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        self._next += 1
        self.say(json.dumps({"id": self._next, "method": method, "params": params}).encode())
        return self._next

    def result(self, number: int, seconds: float = 60) -> dict[str, Any]:
        """The result of that request; other requests' results that come before are lost."""
        while True:
            message = self.read(seconds)
            if message["id"] == number and "result" in message:
                result: dict[str, Any] = message["result"]
                return result
            if "progress" in message:
                self.progress.append(message["progress"]["message"])

    def analyse(self, file: Path | str, function: str = "graphmend_entry", **options: Any) -> dict[str, Any]:
        return self.result(self.send("analyse", analyse_params(file, function, **options)))

    def children(self) -> list[int]:
        """The pids of its child processes, but for the one that waits for the next request."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [pid for pid in map(int, task.read_text().split()) if name_of(pid) != "graphmend-spare"]

    def close(self) -> int:
        """End its input and wait for its end; the exit status."""
        if self.process.poll() is None:
            assert self.process.stdin is not None
            try:
                self.process.stdin.close()
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()
        return status

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")


def analyse_params(
    file: Path | str,
    function: str = "graphmend_entry",
    *,
    text: str | None = None,
    texts: Mapping[str, str] | None = None,
    kind: str = "function",
    roots: tuple[str, ...] = (),
    device: str = "auto",
    mode: str = "eval",
    seconds: float = 60,
    memory_mb: int | None = None,
    timed: bool = False,
) -> dict[str, Any]:
    return {
        "timed": timed,
        "entry": {"file": str(file), "function": function, "kind": kind},
        "texts": {**(texts or {}), **({str(file): text} if text is not None else {})},
        "roots": list(roots),
        "device": device,
        "mode": mode,
        "limits": {"seconds": seconds, "memory_mb": memory_mb},
    }


def name_of(pid: int) -> str:
    """The name of a process; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
