"""The pygls server: which LSP methods there are, each registered with `feature`, and what the handlers share.

Imported on a thread while `initialize` is being answered (`server`); it and what it imports may use pygls freely.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from graphmend_lsp import __version__
from graphmend_lsp.lsp.folders import Folders
from graphmend_lsp.lsp.methods import (
    code_action,
    code_lens,
    command,
    configuration,
    diagnostic,
    hover,
    inlay_hint,
    lifecycle,
    notebook_sync,
    sync,
)
from graphmend_lsp.lsp.notebooks import in_cells
from graphmend_lsp.lsp.offer import COMMANDS, FIX_ALL, NAME, NOTEBOOK, QUICK_FIX, Introduction
from graphmend_lsp.lsp.protocol import Protocol, tolerant_converter
from graphmend_lsp.lsp.rpc import Connection, RpcError, log_exception
from graphmend_lsp.lsp.services import Services
from graphmend_lsp.lsp.workspace import Workspace

NOTEBOOK_SYNC = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithNotebook(
            types.NotebookDocumentFilterNotebookType(NOTEBOOK), [types.NotebookCellLanguage("python")]
        )
    ],
    save=True,
)


class GraphMendServer(LanguageServer):
    """One client's server. Texts are in `state`, not in pygls' workspace, which splits lines where no editor does."""

    protocol: Protocol

    def __init__(self, connection: Connection, services: Services, told: Introduction) -> None:
        super().__init__(
            NAME, __version__, notebook_document_sync=NOTEBOOK_SYNC, protocol_cls=Protocol, converter_factory=tolerant_converter
        )  # fmt: skip
        self.protocol.set_writer(connection, include_headers=False)
        self._loop = connection.loop
        self._background: set[asyncio.Task[Any]] = set()
        self.state = Workspace(self, services, told.client, told.settings)
        self.runs = Folders(self.state)
        register(self)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run `work` beside the handlers; an exception in it is logged and goes no further."""
        task = self._loop.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._settled)
        return task

    def _settled(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, (RpcError, JsonRpcException)):
            log_exception(f"in {task.get_name()}", error)

    async def stop(self) -> None:
        """End the worker and cancel what still runs."""
        try:
            await self.runs.stop()
        except Exception as error:
            log_exception("while stopping the worker", error)
        tasks = [*self.protocol.running(), *self._background]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.5)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """To the log; pygls would show every one of them to the user."""
        print(f"graphmend: {source.__name__}: {error}", file=sys.stderr, flush=True)


def register(server: GraphMendServer) -> None:
    """Every method that the server has. Beneath it, `server` has `initialize` and `exit`, pygls `$/cancelRequest`."""
    feature, client = server.feature, server.state.client
    feature(types.INITIALIZED)(lifecycle.initialized)
    feature(types.SHUTDOWN)(lifecycle.shutdown)
    feature(types.SET_TRACE)(lifecycle.set_trace)
    feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)(lifecycle.cancel_progress)
    feature(types.TEXT_DOCUMENT_DID_OPEN)(sync.did_open)
    feature(types.TEXT_DOCUMENT_DID_CHANGE)(sync.did_change)
    feature(types.TEXT_DOCUMENT_WILL_SAVE)(sync.will_save)
    feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))(sync.did_save)
    feature(types.TEXT_DOCUMENT_DID_CLOSE)(sync.did_close)
    feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)(notebook_sync.did_open)
    feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)(notebook_sync.did_change)
    feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)(notebook_sync.did_save)
    feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)(notebook_sync.did_close)
    pulled = types.DiagnosticOptions(identifier="graphmend", inter_file_dependencies=True, workspace_diagnostics=True)
    feature(types.TEXT_DOCUMENT_DIAGNOSTIC, pulled)(diagnostic.diagnostic)  # offered to clients that can refresh
    feature(types.WORKSPACE_DIAGNOSTIC)(diagnostic.workspace)
    kinds = types.CodeActionOptions(code_action_kinds=[QUICK_FIX, FIX_ALL], resolve_provider=client.action_resolve)
    feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(in_cells(code_action.code_action))
    feature(types.CODE_ACTION_RESOLVE)(code_action.resolve)
    feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))(in_cells(code_lens.code_lens))
    feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=False))(
        in_cells(inlay_hint.inlay_hint)
    )
    feature(types.TEXT_DOCUMENT_HOVER)(in_cells(hover.hover))
    commands = types.ExecuteCommandOptions(commands=list(COMMANDS), work_done_progress=True)
    feature(types.WORKSPACE_EXECUTE_COMMAND, commands)(command.execute)
    feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(configuration.did_change)
    feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(configuration.did_change_folders)
