"""The language server's process: protocol on stdin and stdout, and a way out that always works.

`serve_stdio` is what ``graphmend-lsp --stdio`` calls. Whatever asks the server to end (`exit`, the end of stdin, the
death of the editor) ends it within seconds, with the worker, even while the event loop is held.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO

from graphmend_lsp.lsp import parent
from graphmend_lsp.lsp.methods import (
    code_action,
    code_lens,
    command,
    configuration,
    diagnostic,
    hover,
    lifecycle,
    sync,
)
from graphmend_lsp.lsp.params import at
from graphmend_lsp.lsp.rpc import INVALID_REQUEST, NOT_INITIALIZED, Connection, Handler, RpcError, log_exception
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.services import Services, real_services
from graphmend_lsp.lsp.workspace import Workspace

_LAST_SECONDS = 4.0  # from the client's last word to the end of the process, whatever else happens


def serve_stdio(services: Services | None = None) -> int:
    """Serve the client at stdin and stdout until it is gone; the exit code (0 after `shutdown`, else 1)."""
    source, sink = take_over_stdio()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    server: list[Server] = []

    async def serve() -> int:
        server.append(Server(source, sink, services or real_services()))
        return await server[0].run()

    try:
        return loop.run_until_complete(serve())
    except KeyboardInterrupt:
        return 1
    finally:
        # Threads that still work must not keep the process: the interpreter would wait for an executor's.
        force_end_later(0.5, lambda: server[0].exit_code if server else 1)


class Server:
    """One client's life: not initialized, running, shut down, gone."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, services: Services) -> None:
        self._state = "new"
        self._dying = threading.Event()
        self.connection = Connection(source, sink, self._handlers(), self._gate, self._last_words)
        self.workspace = Workspace(self.connection, services)
        self.runs = Runs(self.workspace)

    @property
    def exit_code(self) -> int:
        """What LSP wants: 0 when `shutdown` came before the end."""
        return 0 if self._state == "down" else 1

    async def run(self) -> int:
        """Serve until the client is gone."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and threading.current_thread() is threading.main_thread():
                try:
                    loop.add_signal_handler(getattr(signal, name), self.connection.end)
                except (NotImplementedError, RuntimeError):
                    break  # Windows: the process just ends
        await self.connection.run()
        self._last_words()
        try:
            await self.runs.stop()
        except Exception as error:
            log_exception("while stopping the worker", error)
        await self.connection.close()
        return self.exit_code

    def _handlers(self) -> dict[str, Handler]:
        return {
            "initialize": self._initialize,
            "initialized": lambda _params: lifecycle.initialized(self.workspace, self.runs),
            "shutdown": self._shutdown,
            "exit": lambda _params: self.connection.end(),
            "textDocument/didOpen": lambda params: sync.did_open(self.workspace, params),
            "textDocument/didChange": lambda params: sync.did_change(self.workspace, params),
            "textDocument/didSave": lambda params: sync.did_save(self.workspace, self.runs, params),
            "textDocument/didClose": lambda params: sync.did_close(self.workspace, params),
            "textDocument/diagnostic": lambda params: diagnostic.diagnostic(self.workspace, params),
            "textDocument/codeAction": lambda params: code_action.code_action(self.workspace, self.runs, params),
            "codeAction/resolve": lambda params: code_action.resolve(self.workspace, self.runs, params),
            "textDocument/codeLens": lambda params: code_lens.code_lens(self.workspace, params),
            "textDocument/hover": lambda params: hover.hover(self.workspace, params),
            "workspace/executeCommand": lambda params: command.execute(self.workspace, self.runs, params),
            "workspace/didChangeConfiguration": lambda params: configuration.did_change(
                self.workspace, self.runs, params
            ),
            "workspace/didChangeWorkspaceFolders": lambda params: configuration.did_change_folders(
                self.workspace, params
            ),
            "window/workDoneProgress/cancel": self._cancel_progress,
            "$/setTrace": lambda _params: None,
        }

    def _gate(self, method: str) -> RpcError | None:
        """The life cycle: what may not be asked now. A notification at the wrong time is left out."""
        if method == "exit":
            return None
        if self._state == "new" and method != "initialize":
            return RpcError(NOT_INITIALIZED, "the server is not initialized")
        if self._state == "running" and method == "initialize":
            return RpcError(INVALID_REQUEST, "the server is initialized already")
        if self._state == "down":
            return RpcError(INVALID_REQUEST, "the server is shut down")
        return None

    def _initialize(self, params: Any) -> dict[str, Any]:
        result = lifecycle.initialize(self.workspace, params)
        self._state = "running"
        process_id = self.workspace.client.process_id
        if process_id is not None:
            parent.watch(process_id, self._editor_died)
        return result

    def _shutdown(self, _params: Any) -> Coroutine[Any, Any, None]:
        self._state = "down"
        return self.runs.stop()

    def _cancel_progress(self, params: Any) -> None:
        token = at(params, "token")
        if isinstance(token, (int, str)) and not isinstance(token, bool):
            self.workspace.progress.cancel(token)

    def _editor_died(self) -> None:
        self._last_words()
        try:
            self.connection.loop.call_soon_threadsafe(self.connection.end)
        except RuntimeError:
            return

    def _last_words(self) -> None:
        """The client is gone or said `exit`: from now on the end is certain (called from any thread)."""
        if not self._dying.is_set():
            self._dying.set()
            force_end_later(_LAST_SECONDS, lambda: self.exit_code)


def take_over_stdio() -> tuple[BinaryIO, BinaryIO]:
    """stdin and stdout for the protocol alone: what else is printed goes to stderr, and no child reads our input."""
    sys.stdout.flush()
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def force_end_later(seconds: float, code: Callable[[], int]) -> None:
    """End the process after a while, whatever it is doing then."""

    def end() -> None:
        os._exit(code())

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
