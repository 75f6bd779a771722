"""A client that speaks bytes: for what a well-behaved client library would not send."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.lsp.forked import Forked

FAKE = [sys.executable, "-m", "tests.lsp.fake_server"]
REAL = [sys.executable, "-m", "graphmend_lsp", "--stdio"]
ROOT = Path(__file__).parents[2]
PATIENCE = 10.0

VSCODE: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "applyEdit": True,
        "configuration": False,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeAction": {
            "dataSupport": True,
            "disabledSupport": True,
            "isPreferredSupport": True,
            "resolveSupport": {"properties": ["edit"]},
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "source"]}},
        },
    },
}
NEOVIM: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]}},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix"]}}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
    },
}


class Client:
    """A server process, started or given, and what it said."""

    def __init__(self, command: list[str], env: dict[str, str] | None = None, process: Forked | None = None) -> None:
        self.process = process or subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            cwd=ROOT,
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.stderr = b""
        self.seen: list[dict[str, Any]] = []
        self.stray = b""
        self._id = 0
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._errors.start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            header = stream.readline()
            if not header:
                break
            if not header.startswith(b"Content-Length: "):
                self.stray += header
                continue
            assert stream.readline() == b"\r\n"
            self._messages.put(json.loads(stream.read(int(header.split(b":")[1]))))
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in iter(self.process.stderr.readline, b""):
            self.stderr += line

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, params: Any = None) -> int:
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """The whole answer."""
        number = self.begin(method, params)
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def result(self, method: str, params: Any = None) -> Any:
        answer = self.ask(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def next(self, seconds: float = PATIENCE) -> dict[str, Any] | None:
        """The next message, None at the end; requests of the server are answered on the way."""
        message = self._messages.get(timeout=seconds)
        if message is not None:
            self.seen.append(message)
            if "method" in message and "id" in message:
                answer = self.answers.get(message["method"], lambda _params: None)(message.get("params"))
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": answer})
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            try:
                message = self.next(max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"nothing of that kind came; log: {self.stderr.decode()[-3000:]}") from None
            assert message is not None, f"the server ended; log: {self.stderr.decode()[-3000:]}"
            if wanted(message):
                return message

    def until_note(self, method: str, wanted: Callable[[Any], bool] = lambda _params: True) -> Any:
        return self.until(lambda message: message.get("method") == method and wanted(message["params"]))["params"]

    def published(self, uri: str, wanted: Callable[[list[Any]], bool] = bool) -> list[Any]:
        """The diagnostics of the next publication that is as wanted."""
        return self.until_note(
            "textDocument/publishDiagnostics",
            lambda params: params["uri"] == uri and wanted(params["diagnostics"]),
        )["diagnostics"]

    def initialize(self, capabilities: Any = None, **more: Any) -> Any:
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities or {}, **more}
        result = self.result("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1) -> None:
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, changes: Iterable[Any]) -> None:
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def actions(self, uri: str, start: tuple[int, int], end: tuple[int, int] | None = None, **context: Any) -> Any:
        return self.result("textDocument/codeAction", action_params(uri, start, end, **context))

    def code(self, seconds: float = 8.0) -> int:
        """The exit code, of a process that has to end by itself."""
        return self.process.wait(seconds)

    def log(self) -> str:
        """All of stderr; ends the server."""
        self.notify("exit")
        self.code()
        self._errors.join(PATIENCE)
        return self.stderr.decode()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        for thread, stream in ((self._reader, self.process.stdout), (self._errors, self.process.stderr)):
            thread.join(PATIENCE)
            if stream is not None and not thread.is_alive():  # else a child of its has it, and it is being read
                stream.close()


def action_params(uri: str, start: tuple[int, int], end: tuple[int, int] | None = None, **context: Any) -> Any:
    end = end or start
    return {
        "textDocument": {"uri": uri},
        "range": {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        },
        "context": {"diagnostics": [], **context},
    }
