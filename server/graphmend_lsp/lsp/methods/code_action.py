"""textDocument/codeAction and codeAction/resolve: answered from what is known, at once.

What is offered is computed from our own findings that the range touches, never from the diagnostics that the client
sends (clients send them in other units, or not at all). Those only tell a client apart that applies every answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.edits import workspace_edit
from graphmend_lsp.lsp.found import Known
from graphmend_lsp.lsp.methods.on_save import is_save, ready_edit
from graphmend_lsp.lsp.methods.overlay import overlay_edit, title, why_not_overlay
from graphmend_lsp.lsp.offer import APPLY, FIX_ALL, MEND_ALL, QUICK_FIX
from graphmend_lsp.lsp.params import at, need_string
from graphmend_lsp.lsp.render import action_title, diagnostic, package_reached, refusal
from graphmend_lsp.lsp.rpc import CONTENT_MODIFIED, REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.units import from_range, to_range
from graphmend_lsp.lsp.workspace import OpenFile, Workspace
from graphmend_lsp.model import Candidate, Position, Span, TextEdit
from graphmend_lsp.notebook import UnsplitEditError
from graphmend_lsp.text import Text

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

FIX_ALL_TITLE = "Mend all graph breaks in file"
IGNORE_TITLE = "Ignore this break"
STUB_TITLE = "Write a graphmend_entry to run this file's model"


def code_action(ls: GraphMendServer, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
    """The actions for a range."""
    state, client = ls.state, ls.state.client
    file = state.files.get(params.text_document.uri)
    if file is None or not state.settings_at(file.document.path).enable or file.document.is_large:
        return []
    wanted = params.context.only
    only = None if wanted is None else tuple(str(getattr(kind, "value", kind)) for kind in wanted)
    span = from_range(file.document.text, params.range, client.encoding)
    if _asks_for_one(client, file.document.text, span, params.context):
        return [*_verified(state, file, params.context.diagnostics[0].range)]
    actions: list[types.CodeAction] = []
    silencing: list[types.CodeAction] = []
    if _is_wanted(QUICK_FIX, only):
        touched = [known for known in state.known(file) if _touches(known.site.span, span)]
        for known in touched:
            package = _for_package(ls, file, known)
            possible = any(action.disabled is None for action in package)
            own = _for_break(state, file, known)
            actions += package + [action for action in own if not (possible and action.disabled)]
        if touched:
            actions += _for_file(ls, file)
        silencing = [action for known in touched for action in _silencing(state, file, known)]
    offered = any(action.title == FIX_ALL_TITLE for action in actions)
    if only is not None and _is_wanted(FIX_ALL, only) and is_save(params.context):
        return _on_save(ls, file)
    if _is_wanted(FIX_ALL, only) and not (only is None and offered):
        actions += _fix_all(ls, file, FIX_ALL)
    actions += silencing  # last: who looks for a mend must not take it for one
    if not client.action_literals:
        return [_as_command(action) for action in actions if action.disabled is None]
    if not client.action_resolve:
        for action in actions:
            action.data = None
    return [action for action in actions if action.disabled is None or client.action_disabled]


def _asks_for_one(client: Client, text: Text, span: Span, context: types.CodeActionContext) -> bool:
    """Whether the client will apply all that is answered.

    Kate 22.12 does for *Quick Fix*: it asks about the whole document, with the diagnostic at the cursor.
    """
    end = Position(text.line_count, len(text.line(text.line_count)) + 1)
    whole = span.start == Position(1, 1) and span.end >= end
    picks = client.action_preferred or client.action_resolve or not client.action_literals
    return whole and not picks and context.only is None and len(context.diagnostics) == 1


def _verified(state: Workspace, file: OpenFile, place: types.Range) -> list[types.CodeAction]:
    """The verified mend of the break that is shown at a place, alone; empty without one."""
    for known in state.known(file):
        if known.best is None or to_range(file.document.text, known.site.span, state.client.encoding) != place:
            continue
        actions = _for_break(state, file, replace(known, candidates=(known.best,)))
        for action in actions:
            action.data = None
        return [action for action in actions if action.disabled is None]
    return []


def _on_save(ls: GraphMendServer, file: OpenFile) -> list[types.CodeAction | types.Command]:
    """What was proven of the text that is being saved; the rest is offered when it has been proven."""
    ls.runs.of(file).on_save.add(file.document.uri)
    edit = ready_edit(ls, file)
    return [] if edit is None else [types.CodeAction(FIX_ALL_TITLE, FIX_ALL, edit=edit)]


async def resolve(ls: GraphMendServer, params: types.CodeAction) -> types.CodeAction:
    """The action with its edit, computed for the document as it is now; refused when what it was about has changed."""
    if params.data is None:
        return params
    params.edit = await edit_for(ls, params.data) or params.edit
    return params


async def edit_for(ls: GraphMendServer, data: Any) -> types.WorkspaceEdit | None:
    """The edit that an action's data stands for; None when there is nothing to change."""
    state = ls.state
    uri, kind = need_string(data, "uri"), need_string(data, "kind")
    file = state.files.get(uri)
    if file is None:
        raise RpcError(CONTENT_MODIFIED, "the document is not open any more")
    if kind == "all":
        from graphmend_lsp.lsp.methods.command import mend_all_edit

        return await mend_all_edit(ls, file, None)
    if kind == "stub":
        return _edit(state, state.stub(file).edits)
    known = next((known for known in state.known(file) if known.id == at(data, "id")), None)
    if known is None:
        raise RpcError(CONTENT_MODIFIED, "the code of this graph break has changed; ask for quick fixes again")
    if kind == "ignore":
        return _edit(state, _ignore(state, file, known))
    if kind == "overlay":
        return await overlay_edit(ls, file, known.site)
    for candidate in known.offered:
        if (candidate.mend.rule, candidate.mend.title) == (at(data, "rule"), at(data, "title")):
            if candidate.safety == "safe" or at(data, "safety") == candidate.safety:
                return _edit(state, candidate.mend.edits)
            break
    raise RpcError(CONTENT_MODIFIED, "the verdict on this mend has changed; ask for quick fixes again")


def _for_break(state: Workspace, file: OpenFile, known: Known) -> list[types.CodeAction]:
    text, client = file.document.text, state.client
    shown = [diagnostic(known, text, lambda _path: None, state.uri_at, client)]
    base = {"uri": file.document.uri, "version": file.document.version, "id": known.id}
    actions: list[types.CodeAction] = []
    best, several = known.best, len(known.offered) > 1
    for candidate in sorted(known.offered, key=_rank):
        mend = candidate.mend
        preferred = True if client.action_preferred and candidate is best else None
        action = types.CodeAction(
            action_title(candidate, one_of_several=several), QUICK_FIX, shown, is_preferred=preferred
        )
        data = base | {"kind": "mend", "rule": mend.rule, "title": mend.title, "safety": candidate.safety}
        filled = _filled(state, action, data, mend.edits)
        if filled is not None:
            actions.append(filled)
    if not actions:
        reason = refusal(known) or "GraphMend is still looking for a mend. Ask again in a moment."
        disabled = types.CodeActionDisabled(reason)
        actions.append(types.CodeAction("Mend graph break", QUICK_FIX, shown, disabled=disabled))
    return actions


def _silencing(state: Workspace, file: OpenFile, known: Known) -> list[types.CodeAction]:
    silence = _ignore(state, file, known)
    if not silence:
        return []
    shown = [diagnostic(known, file.document.text, lambda _path: None, state.uri_at, state.client)]
    data = {"uri": file.document.uri, "version": file.document.version, "id": known.id, "kind": "ignore"}
    action = types.CodeAction(f"{IGNORE_TITLE} ({known.site.code})", QUICK_FIX, shown)
    filled = _filled(state, action, data, silence)
    return [filled] if filled is not None else []


def _for_package(ls: GraphMendServer, file: OpenFile, known: Known) -> list[types.CodeAction]:
    """The overlay, of a break that is inside an installed package; computed when it is chosen, as it takes a run."""
    found, client = package_reached(known.site), ls.state.client
    if found is None:
        return []
    action = types.CodeAction(title(found[0]), QUICK_FIX)
    data = {"uri": file.document.uri, "version": file.document.version, "id": known.id, "kind": "overlay"}
    if reason := why_not_overlay(ls, file):
        action.disabled = types.CodeActionDisabled(reason)
    elif client.action_resolve or not client.action_literals:
        action.data = data
    elif client.applies_edits:
        action.command = types.Command(action.title, APPLY, arguments=[data])
    else:
        return []
    return [action]


def _for_file(ls: GraphMendServer, file: OpenFile) -> list[types.CodeAction]:
    """What is offered in the light bulb although it is about the whole file."""
    state = ls.state
    found = state.known(file)
    mendable = sum(_may_be_mended(known) for known in found)
    actions = _fix_all(ls, file, QUICK_FIX) if mendable > 1 or any(known.leads for known in found) else []
    # Only once it has been made (in a pause): to parse the text here would make this list late.
    if needs_entry(state, file) and file.stub is not None and file.stub[0] is file.document.text:
        data = {"uri": file.document.uri, "version": file.document.version, "kind": "stub"}
        action = types.CodeAction(STUB_TITLE, QUICK_FIX)
        filled = _filled(state, action, data, file.stub[1].edits) if file.stub[1].edits else None
        actions += [filled] if filled is not None else []
    return actions


def _fix_all(ls: GraphMendServer, file: OpenFile, kind: str) -> list[types.CodeAction]:
    if not ls.state.known(file):
        return []
    if reason := why_not_all(ls, file):
        return [types.CodeAction(FIX_ALL_TITLE, kind, disabled=types.CodeActionDisabled(reason))]
    if ls.state.client.action_resolve:
        data = {"uri": file.document.uri, "version": file.document.version, "kind": "all"}
        return [types.CodeAction(FIX_ALL_TITLE, kind, data=data)]
    if not ls.state.client.applies_edits:
        return []
    command = types.Command(FIX_ALL_TITLE, MEND_ALL, arguments=[file.document.uri])
    return [types.CodeAction(FIX_ALL_TITLE, kind, command=command)]


def why_not_all(ls: GraphMendServer, file: OpenFile) -> str:
    """Why all breaks of a document cannot be mended in one go, in words; empty when that can be tried."""
    if reason := ls.runs.of(file).why_not():
        return f"Mend all applies verified mends only, and {reason}."
    if file.document.path is None:
        return "Save the document as a file first."
    if needs_entry(ls.state, file) and not ls.runs.of(file).entries(file):
        return "Mend all applies verified mends only. Write a graphmend_entry, so that GraphMend can run the model."
    found = ls.state.known(file)
    settled = bool(found) and all(known.site.evidence != "static" and not known.stale for known in found)
    if settled and not any(map(_may_be_mended, found)):
        return "No mend of this file is verified safe."
    return ""


def _may_be_mended(known: Known) -> bool:
    """Whether a mend of it is safe, or may be: one that was not verified yet, or that no rule was asked for yet."""
    return (
        not known.proposed
        or known.leads
        or any(candidate.safety in ("safe", "unverified") for candidate in known.candidates)
    )


def needs_entry(state: Workspace, file: OpenFile) -> bool:
    """Whether the document has breaks that nothing can run, or that nothing could be run for without one."""
    if file.entries or file.project.entries or state.settings_at(file.document.path).entries:
        return False
    if file.ran and file.guessed is not None and file.guessed[1] and not file.unmade:
        return False  # it ran on inputs that were made up
    return bool(file.unmade) or bool(state.known(file))


def _filled(
    state: Workspace, action: types.CodeAction, data: dict[str, Any], edits: tuple[TextEdit, ...]
) -> types.CodeAction | None:
    """The action with its edit in it, or with data for clients that resolve it; None when this client cannot do it."""
    action.data = data
    if not state.client.action_resolve:
        try:
            action.edit = _edit(state, edits)
        except RpcError:
            return None
        if action.edit is None:
            return None
    return action


def _edit(state: Workspace, edits: tuple[TextEdit, ...]) -> types.WorkspaceEdit | None:
    targets = {edit.path: state.target(edit.path) for edit in edits}
    try:
        return workspace_edit(edits, targets, state.client) if edits else None
    except UnsplitEditError as error:
        raise RpcError(REQUEST_FAILED, str(error)) from error


def _ignore(state: Workspace, file: OpenFile, known: Known) -> tuple[TextEdit, ...]:
    edit = state.ignore(file, known.site)
    return () if edit is None else (edit,)


def _as_command(action: types.CodeAction) -> types.Command:
    """For clients of old: a command that has us apply the edit."""
    return action.command or types.Command(action.title, APPLY, arguments=[action.data])


def _touches(site: Span, asked: Span) -> bool:
    """Whether a range means a finding: it overlaps it, or is a bare cursor on the finding's first line."""
    if site.overlaps(asked):
        return True
    return asked.start == asked.end and asked.start.line == site.start.line


def _rank(candidate: Candidate) -> int:
    return ("safe", "unverified", "unsafe", "wrong").index(candidate.safety)


def _is_wanted(kind: str, only: tuple[str, ...] | None) -> bool:
    return only is None or any(kind == asked or kind.startswith(asked + ".") or asked == "" for asked in only)
