"""The language server's process: its life cycle, and a way out that always works.

`serve_stdio` is what ``graphmend-lsp --stdio`` calls. Whatever asks the server to end (`exit`, the end of stdin, the
death of the editor) ends it within seconds, with the worker, even while the event loop is held.

`initialize` is answered at once; the pygls server, whose import takes longer than that, comes on a thread meanwhile, and
what the client sends until it is there waits in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from graphmend_lsp.lsp import parent
from graphmend_lsp.lsp.offer import Introduction, introduction, offer
from graphmend_lsp.lsp.rpc import (
    INVALID_REQUEST,
    NOT_INITIALIZED,
    Connection,
    Message,
    log_exception,
    usable_id,
)
from graphmend_lsp.lsp.services import Services, real_services

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_LAST_SECONDS = 4.0  # from the client's last word to the end of the process, whatever else happens


def serve_stdio(services: Services | None = None) -> int:
    """Serve the client at stdin and stdout until it is gone; the exit code (0 after `shutdown`, else 1)."""
    source, sink = take_over_stdio()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    server: list[Process] = []

    async def serve() -> int:
        server.append(Process(source, sink, services or real_services()))
        return await server[0].run()

    try:
        return loop.run_until_complete(serve())
    except KeyboardInterrupt:
        return 1
    finally:
        # Threads that still work must not keep the process: the interpreter would wait for an executor's.
        force_end_later(0.5, lambda: server[0].exit_code if server else 1)


class Process:
    """One client's life: not initialized, running, shut down, gone."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, services: Services) -> None:
        self._state = "new"
        self._dying = threading.Event()
        self._services = services
        self._waiting: list[Message] = []
        self._server: GraphMendServer | None = None
        self.connection = Connection(source, sink, self._receive, self._last_words)

    @property
    def exit_code(self) -> int:
        """What LSP wants: 0 when `shutdown` came before the end."""
        asked = any(message.get("method") == "shutdown" and "id" in message for message in self._waiting)
        return 0 if self._state == "down" or asked else 1

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
        if self._server is not None:
            await self._server.stop()
        self.connection.close()
        return self.exit_code

    def _receive(self, message: Message) -> None:
        """The life cycle: what may not be asked now. A notification at the wrong time is left out."""
        method = message.get("method")
        if self._state != "new" and self._server is None:
            self._waiting.append(message)
        elif method == "exit":
            self.connection.end()
        elif self._state == "new" and method == "initialize" and "id" in message:
            self._initialize(message)
        elif self._state == "new":
            self._refuse(message, NOT_INITIALIZED, "the server is not initialized")
        elif self._state == "running" and method == "initialize":
            self._refuse(message, INVALID_REQUEST, "the server is initialized already")
        elif self._state == "down" and method is not None:
            self._refuse(message, INVALID_REQUEST, "the server is shut down")
        elif self._server is not None:
            if method == "shutdown" and "id" in message:
                self._state = "down"
            self._server.protocol.receive(message)

    def _refuse(self, message: Message, code: int, why: str) -> None:
        if "id" in message and "method" in message:
            self.connection.fail(usable_id(message["id"]), code, why)

    def _initialize(self, message: Message) -> None:
        told = introduction(message.get("params"))
        self._state = "running"
        self.connection.reply(usable_id(message["id"]), offer(told.client))
        threading.Thread(target=self._load, args=(told,), name="pygls-import", daemon=True).start()
        if told.client.process_id is not None:
            parent.watch(told.client.process_id, self._editor_died)

    def _load(self, told: Introduction) -> None:
        """Import pygls and make the server (on a thread of its own)."""
        try:
            from graphmend_lsp.lsp.language_server import GraphMendServer

            server = GraphMendServer(self.connection, self._services, told)
        except Exception as error:
            log_exception("to start; reinstall graphmend-lsp with its dependencies", error)
            self._on_loop(self.connection.end)
            return
        self._on_loop(lambda: self._begin(server, told))

    def _begin(self, server: GraphMendServer, told: Introduction) -> None:
        self._server = server
        for complaint in told.complaints:
            server.state.log("warning", complaint)
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self.connection.take(message)

    def _editor_died(self) -> None:
        self._last_words()
        self._on_loop(self.connection.end)

    def _on_loop(self, call: Callable[[], Any]) -> None:
        try:
            self.connection.loop.call_soon_threadsafe(call)
        except RuntimeError:
            return  # the loop is closed: the server is ending

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
