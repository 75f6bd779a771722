"""workspace/executeCommand: restart, run now, mend all, measure, write an entry, apply an action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.lsp.methods.code_action import edit_for, why_not_all
from graphmend_lsp.lsp.methods.graph_map import map_data, show_map
from graphmend_lsp.lsp.methods.measure import Measured, measure
from graphmend_lsp.lsp.methods.plan_edit import edit_of
from graphmend_lsp.lsp.methods.trace import TraceResult, read_trace
from graphmend_lsp.lsp.offer import (
    APPLY,
    GRAPH_MAP,
    MAP_DATA,
    MEASURE,
    MEND_ALL,
    READ_TRACE,
    RESTART,
    RUN_NOW,
    WRITE_ENTRY,
)
from graphmend_lsp.lsp.params import InvalidParamsError, at
from graphmend_lsp.lsp.rpc import INVALID_PARAMS, REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.report.words import mended

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


async def execute(
    ls: GraphMendServer, params: types.ExecuteCommandParams
) -> TraceResult | Measured | dict[str, Any] | None:
    """Carry out a command; its result is null, but for those of `READ_TRACE`, `MEASURE` and `MAP_DATA`."""
    name, arguments = params.command, params.arguments or []
    if name == RESTART:
        await ls.runs.restart()
    elif name == RUN_NOW:
        await _run_now(ls, _file(ls, arguments))
    elif name == MEND_ALL:
        await _mend_all(ls, _file(ls, arguments), params.work_done_token)
    elif name == WRITE_ENTRY:
        file = _file(ls, arguments)
        await apply_edit(ls, "Write a graphmend_entry", await edit_for(ls, {"uri": file.document.uri, "kind": "stub"}))
    elif name == APPLY:
        if not arguments or not isinstance(arguments[0], dict):
            raise InvalidParamsError(("arguments",), "an array with the action's data")
        await apply_edit(ls, "Mend graph break", await edit_for(ls, arguments[0]))
    elif name == READ_TRACE:
        return await read_trace(ls, arguments)
    elif name == MEASURE:
        backend = at(arguments[0], "backend") if arguments else None
        return await measure(ls, _file(ls, arguments), backend, params.work_done_token)
    elif name == MAP_DATA:
        file = _file(ls, arguments)
        if ls.state.client.shows_maps:  # the data can be asked for again, with the times
            ls.spawn(ls.runs.of(file).time(file), "times of the graph map")
        return map_data(ls, file)
    elif name == GRAPH_MAP:
        await show_map(ls, _file(ls, arguments))
    else:
        raise RpcError(INVALID_PARAMS, f"there is no command {name[:100]}")
    return None


async def mend_all_edit(ls: GraphMendServer, file: OpenFile, token: int | str | None) -> types.WorkspaceEdit | None:
    """The edit that mends all of a document to the fixpoint; None when nothing is verified safe.

    Refused when a document that it changes was changed while the mends were being proven.
    """
    state = ls.state
    await state.read_project(file)
    if reason := why_not_all(ls, file):
        raise RpcError(REQUEST_FAILED, reason)
    plan, run = await ls.runs.of(file).mend(file, token)
    return edit_of(state, plan, run)


async def _mended(
    ls: GraphMendServer, file: OpenFile, token: int | str | None
) -> tuple[types.WorkspaceEdit | None, str]:
    plan, run = await ls.runs.of(file).mend(file, token)
    return edit_of(ls.state, plan, run), mended(plan)


async def _mend_all(ls: GraphMendServer, file: OpenFile, token: int | str | None) -> None:
    await ls.state.read_project(file)
    if reason := why_not_all(ls, file):
        ls.state.show("info", f"GraphMend: {reason}")
        return
    edit, told = await _mended(ls, file, token)
    if edit is not None:
        await apply_edit(ls, "Mend all graph breaks", edit)
        ls.state.refresh_lenses()  # and a graph map, which now shows before beside after
    ls.state.show("info", f"GraphMend: {told}")


async def _run_now(ls: GraphMendServer, file: OpenFile) -> None:
    """Run, and say what was found or why nothing was run: whoever asks gets an answer."""
    await ls.state.read_project(file)
    asked = ls.runs.ask(file.document.uri)
    if not asked:
        ls.state.show("info", f"GraphMend: {_why_not_now(ls, file)}")
        return
    for runs in asked:
        runs.last = ""
    for runs in asked:
        await runs.settled()
    told = dict.fromkeys(runs.last or "The run was stopped." for runs in asked)
    ls.state.show("info", f"GraphMend: {' '.join(told)}")


def _why_not_now(ls: GraphMendServer, file: OpenFile) -> str:
    document = file.document
    if reason := ls.runs.of(file).why_not():
        return f"Nothing runs: {reason}."
    if document.path is None:
        return "Save the document as a file first. GraphMend runs files only."
    if not document.is_python:
        return "This is not a Python file."
    if document.is_large:
        return "This file is too large to check."
    return "Write a graphmend_entry function in this file, so that GraphMend can run the model."


async def apply_edit(ls: GraphMendServer, label: str, edit: types.WorkspaceEdit | None) -> None:
    """Have the client make an edit, and say so when it does not."""
    if edit is None:
        ls.state.show("info", "GraphMend: nothing to change.")
        return
    if not ls.state.client.applies_edits:
        raise RpcError(REQUEST_FAILED, "this editor lets no server change its documents (workspace/applyEdit)")
    try:
        answer = await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label))
        applied, why = answer.applied, answer.failure_reason
    except JsonRpcException as error:
        applied, why = False, error.message
    if not applied:
        ls.state.show("warning", f"GraphMend: the editor did not apply the edit{f': {why}' if why else '. Try again'}.")


def _file(ls: GraphMendServer, arguments: Sequence[Any]) -> OpenFile:
    """The document that a command is about: the one named, or the one last touched."""
    named = arguments[0] if arguments else None
    uri = (
        named
        if isinstance(named, str)
        else at(named, "textDocument", "uri") or at(named, "uri") or at(named, "external")
    )
    if named is None:
        uri = ls.state.last_uri
    file = ls.state.files.get(ls.state.notebooks.owner(uri)) if isinstance(uri, str) else None
    if file is None:
        raise RpcError(INVALID_PARAMS, "give the URI of an open document as the argument")
    return file
