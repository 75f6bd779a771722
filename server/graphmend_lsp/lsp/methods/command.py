"""workspace/executeCommand: restart, run now, mend all, write an entry, apply an action."""

from __future__ import annotations

import asyncio
from typing import Any

from graphmend_lsp.lsp.edits import smallest_edits, whole, workspace_edit
from graphmend_lsp.lsp.methods.code_action import APPLY, MEND_ALL, edit_for, why_not_all
from graphmend_lsp.lsp.methods.code_lens import WRITE_ENTRY
from graphmend_lsp.lsp.params import InvalidParamsError, at, need_string
from graphmend_lsp.lsp.rpc import CONTENT_MODIFIED, INVALID_PARAMS, REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.workspace import OpenFile, Workspace
from graphmend_lsp.model import TextEdit

RESTART = "graphmend.restart"
RUN_NOW = "graphmend.runNow"
COMMANDS = (RESTART, RUN_NOW, MEND_ALL, WRITE_ENTRY, APPLY)


async def execute(workspace: Workspace, runs: Runs, params: Any) -> Any:
    """Carry out a command; its result is null unless said otherwise."""
    name = need_string(params, "command")
    arguments = at(params, "arguments")
    arguments = arguments if isinstance(arguments, list) else []
    token = at(params, "workDoneToken")
    token = token if isinstance(token, (int, str)) and not isinstance(token, bool) else None
    if name == RESTART:
        await runs.restart()
    elif name == RUN_NOW:
        await _run_now(workspace, runs, _file(workspace, arguments))
    elif name == MEND_ALL:
        await _mend_all(workspace, runs, _file(workspace, arguments), token)
    elif name == WRITE_ENTRY:
        file = _file(workspace, arguments)
        edit = await edit_for(workspace, runs, {"uri": file.document.uri, "kind": "stub"})
        await _apply(workspace, "Write a graphmend_entry", edit)
    elif name == APPLY:
        if not arguments or not isinstance(arguments[0], dict):
            raise InvalidParamsError(("arguments",), "an array with the action's data")
        await _apply(workspace, "Mend graph break", await edit_for(workspace, runs, arguments[0]))
    else:
        raise RpcError(INVALID_PARAMS, f"there is no command {name[:100]}")


async def mend_all_edit(
    workspace: Workspace, runs: Runs, file: OpenFile, token: int | str | None
) -> dict[str, Any] | None:
    """The edit that mends all of a document to the fixpoint; None when nothing is proven safe.

    Refused when a document that it changes was changed while the mends were being proven.
    """
    if reason := why_not_all(workspace, runs, file):
        raise RpcError(REQUEST_FAILED, reason)
    plan, run = await runs.mend(file, token)
    # The proof is about the whole program: a change of any open document voids it.
    for path, tracker in run.trackers.items():
        if (open_text := workspace.text_at(path)) is not None and open_text.value != tracker.text.value:
            raise RpcError(CONTENT_MODIFIED, "the text has changed while the mends were being proven; ask again")
    edits: list[TextEdit] = []
    targets = {path: workspace.target(path) for path in plan.texts}
    for path, new in plan.texts.items():
        now = targets[path].text
        edits += [whole(path, new)] if now is None else smallest_edits(path, now, new)
    return workspace_edit(edits, targets, workspace.client) if edits else None


async def _mend_all(workspace: Workspace, runs: Runs, file: OpenFile, token: int | str | None) -> None:
    if reason := why_not_all(workspace, runs, file):
        workspace.show("info", f"GraphMend: {reason}")
        return
    edit = await mend_all_edit(workspace, runs, file, token)
    if edit is None:
        workspace.show("info", "GraphMend: nothing in this file is mended; each graph break's quick fixes say why.")
        return
    await _apply(workspace, "Mend all graph breaks", edit)


async def _run_now(workspace: Workspace, runs: Runs, file: OpenFile) -> None:
    reason = runs.why_not()
    task = runs.ask(file.document.uri)
    if task is None:
        reason = reason or "write a graphmend_entry function in this file, so that the model can be run"
        workspace.show("info", f"GraphMend: {reason}.")
        return
    await asyncio.wait([task])


async def _apply(workspace: Workspace, label: str, edit: dict[str, Any] | None) -> None:
    if edit is None:
        workspace.show("info", "GraphMend: there is nothing to change.")
        return
    if not workspace.client.applies_edits:
        raise RpcError(REQUEST_FAILED, "this editor does not let a server change its documents (workspace/applyEdit)")
    answer = await workspace.connection.request("workspace/applyEdit", {"label": label, "edit": edit})
    if at(answer, "applied") is not True:
        why = at(answer, "failureReason")
        workspace.show(
            "warning", f"GraphMend: the editor did not apply the edit{f': {why}' if why else '; try again'}."
        )


def _file(workspace: Workspace, arguments: list[Any]) -> OpenFile:
    """The document that a command is about: the one named, or the one last touched."""
    named = arguments[0] if arguments else None
    uri = (
        named
        if isinstance(named, str)
        else at(named, "textDocument", "uri") or at(named, "uri") or at(named, "external")
    )
    if named is None:
        uri = workspace.last_uri
    file = workspace.files.get(uri) if isinstance(uri, str) else None
    if file is None:
        raise RpcError(INVALID_PARAMS, "name an open document: the command's argument is its URI")
    return file
