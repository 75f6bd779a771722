"""A plan (mend all, an overlay) as the edit of the workspace that carries it out."""

from __future__ import annotations

from lsprotocol import types

from graphmend_lsp.lsp.edits import smallest_edits, whole, workspace_edit
from graphmend_lsp.lsp.found import Run
from graphmend_lsp.lsp.rpc import CONTENT_MODIFIED, REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.workspace import Workspace
from graphmend_lsp.model import Plan, TextEdit
from graphmend_lsp.notebook import UnsplitEditError


def edit_of(state: Workspace, plan: Plan, run: Run) -> types.WorkspaceEdit | None:
    """The edit; None when there is nothing to change, or this client cannot create the files that it needs.

    Raises:
        RpcError: a document of the run has changed since, or an edit of a notebook is no edit of one cell.
    """
    # The proof is about the whole program: a change of any open document voids it.
    for path, tracker in run.trackers.items():
        if (open_text := state.text_at(path)) is not None and open_text.value != tracker.text.value:
            raise RpcError(CONTENT_MODIFIED, "the text changed while GraphMend verified the mends; ask again")
    edits: list[TextEdit] = []
    targets = {path: state.target(path) for path in plan.texts}
    for path, new in plan.texts.items():
        now = targets[path].text
        edits += [whole(path, new)] if now is None else smallest_edits(path, now, new)
    try:
        return workspace_edit(edits, targets, state.client) if edits else None
    except UnsplitEditError as error:
        raise RpcError(REQUEST_FAILED, str(error)) from error
