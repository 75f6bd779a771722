"""Mending all on save (``editor.codeActionsOnSave``): from proofs that are there, at once; a save never waits for one.

A client that asks for ``source.fixAll`` by itself is about to save. It gets the edit when the text as it stands was proven;
else nothing, and when the run that the save starts has proven something, a notification offers that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.lsp.edits import workspace_edit
from graphmend_lsp.lsp.methods.plan_edit import edit_of
from graphmend_lsp.lsp.rpc import RpcError
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Plan
from graphmend_lsp.report.words import mended

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

MEND = "Mend"


def is_save(context: types.CodeActionContext) -> bool:
    """Whether the client asks by itself, for what it applies without asking the user: before a save."""
    return context.trigger_kind == types.CodeActionTriggerKind.Automatic and context.only is not None


def ready_edit(ls: GraphMendServer, file: OpenFile) -> types.WorkspaceEdit | None:
    """All mends of the document that were proven, together, for the text as it stands; None when there are none."""
    state = ls.state
    ready = ls.runs.of(file).ready
    planned = ready.get(file.document.uri)
    if planned is not None:
        try:
            return edit_of(state, *planned)
        except RpcError:
            del ready[file.document.uri]
    met = [known for known in state.known(file) if known.site.is_met]
    best = met[0].best if len(met) == 1 else None
    if best is None or met[0].stale:
        return None  # where there are several breaks, the best mend of one depends on those of the others
    edits = best.mend.edits
    if any(edit.path != file.document.name for edit in edits):
        return None
    return workspace_edit(edits, {edit.path: state.target(edit.path) for edit in edits}, state.client)


async def offer_ready(ls: GraphMendServer, file: OpenFile, plan: Plan) -> None:
    """Tell what is ready since the save, and make it when the user says so."""
    from graphmend_lsp.lsp.methods.command import apply_edit

    name = file.document.name.replace("\\", "/").rsplit("/", 1)[-1]
    asked = types.ShowMessageRequestParams(
        types.MessageType.Info, f"GraphMend: verified mends for {name}. {mended(plan)}", [types.MessageActionItem(MEND)]
    )
    try:
        answer = await ls.window_show_message_request_async(asked)
    except JsonRpcException:
        return  # this client does not ask its user
    if answer is None or answer.title != MEND:
        return
    edit = ready_edit(ls, file)
    if edit is None:
        ls.state.show("info", "GraphMend: the text has changed. Save it to verify its mends again.")
        return
    await apply_edit(ls, "Mend all graph breaks", edit)
