"""textDocument/codeAction and codeAction/resolve: answered from what is known, at once.

What is offered is computed from our own findings that the range touches, never from the diagnostics that the client
sends (clients send them in other units, or not at all).
"""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.edits import workspace_edit
from graphmend_lsp.lsp.found import Known
from graphmend_lsp.lsp.params import at, need_object, need_range, need_string, need_uri, strings
from graphmend_lsp.lsp.render import action_title, diagnostic, refusal
from graphmend_lsp.lsp.rpc import CONTENT_MODIFIED, RpcError
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.units import from_range
from graphmend_lsp.lsp.workspace import OpenFile, Workspace
from graphmend_lsp.model import Candidate, Span, TextEdit

QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.graphmend"
APPLY = "graphmend.apply"
MEND_ALL = "graphmend.mendAll"
FIX_ALL_TITLE = "Mend all graph breaks in file"
IGNORE_TITLE = "Ignore this break"
STUB_TITLE = "Write a graphmend_entry, so that this file's model can be run"


def code_action(workspace: Workspace, runs: Runs, params: Any) -> list[dict[str, Any]]:
    """The actions for a range."""
    file = workspace.files.get(need_uri(params))
    ends = need_range(params, "range")
    context = need_object(params, "context")
    if file is None or not workspace.settings.enable:
        return []
    wanted = strings(at(context, "only")) if isinstance(at(context, "only"), list) else None
    span = from_range(file.document.text, ends, workspace.client.encoding)
    actions: list[dict[str, Any]] = []
    if _is_wanted(QUICK_FIX, wanted):
        for known in workspace.known(file):
            if _touches(known.site.span, span):
                actions += _for_break(workspace, file, known)
        if actions:
            actions += _for_file(workspace, runs, file)
    offered = any(action["title"] == FIX_ALL_TITLE for action in actions)
    if _is_wanted(FIX_ALL, wanted) and not (wanted is None and offered):
        actions += _fix_all(workspace, runs, file, FIX_ALL)
    if not workspace.client.action_literals:
        return [_as_command(action) for action in actions if "disabled" not in action]
    if not workspace.client.action_resolve:
        actions = [{key: value for key, value in action.items() if key != "data"} for action in actions]
    return [action for action in actions if "disabled" not in action or workspace.client.action_disabled]


async def resolve(workspace: Workspace, runs: Runs, params: Any) -> dict[str, Any]:
    """The action with its edit, computed for the document as it is now; refused when what it was about has changed."""
    action = dict(need_object(params))
    if "data" not in action:
        return action
    edit = await edit_for(workspace, runs, need_object(params, "data"))
    if edit is not None:
        action["edit"] = edit
    return action


async def edit_for(workspace: Workspace, runs: Runs, data: Any) -> dict[str, Any] | None:
    """The edit that an action's data stands for; None when there is nothing to change."""
    uri, kind = need_string(data, "uri"), need_string(data, "kind")
    file = workspace.files.get(uri)
    if file is None:
        raise RpcError(CONTENT_MODIFIED, "the document is no longer open")
    if kind == "all":
        from graphmend_lsp.lsp.methods.command import mend_all_edit

        return await mend_all_edit(workspace, runs, file, None)
    if kind == "stub":
        return _edit(workspace, workspace.stub(file).edits)
    known = next((known for known in workspace.known(file) if known.id == at(data, "id")), None)
    if known is None:
        raise RpcError(CONTENT_MODIFIED, "the code of this graph break has changed since the action was offered")
    if kind == "ignore":
        return _edit(workspace, _ignore(workspace, file, known))
    for candidate in known.offered:
        if (candidate.mend.rule, candidate.mend.title) == (at(data, "rule"), at(data, "title")):
            if candidate.safety == "safe" or at(data, "safety") == candidate.safety:
                return _edit(workspace, candidate.mend.edits)
            break
    raise RpcError(CONTENT_MODIFIED, "what is known of this mend has changed since the action was offered")


def _for_break(workspace: Workspace, file: OpenFile, known: Known) -> list[dict[str, Any]]:
    text, client = file.document.text, workspace.client
    shown = [diagnostic(known, text, {}, workspace.uri_at, client)]
    base = {"uri": file.document.uri, "version": file.document.version, "id": known.id}
    actions: list[dict[str, Any]] = []
    best = known.best
    for candidate in sorted(known.offered, key=_rank):
        mend = candidate.mend
        action: dict[str, Any] = {"title": action_title(candidate), "kind": QUICK_FIX, "diagnostics": shown}
        if client.action_preferred and candidate is best:
            action["isPreferred"] = True
        data = base | {"kind": "mend", "rule": mend.rule, "title": mend.title, "safety": candidate.safety}
        filled = _filled(workspace, action, data, mend.edits)
        if filled is not None:
            actions.append(filled)
    if not actions:
        reason = refusal(known) or "Mends for this break are being looked for; ask again in a moment."
        actions.append(
            {"title": "Mend graph break", "kind": QUICK_FIX, "diagnostics": shown, "disabled": {"reason": reason}}
        )
    silence = _ignore(workspace, file, known)
    if silence:
        action = {"title": f"{IGNORE_TITLE} ({known.site.code})", "kind": QUICK_FIX, "diagnostics": shown}
        filled = _filled(workspace, action, base | {"kind": "ignore"}, silence)
        actions += [filled] if filled is not None else []
    return actions


def _for_file(workspace: Workspace, runs: Runs, file: OpenFile) -> list[dict[str, Any]]:
    """What is offered in the light bulb although it is about the whole file."""
    mendable = sum(any(c.safety in ("safe", "unverified") for c in known.candidates) for known in workspace.known(file))
    actions = _fix_all(workspace, runs, file, QUICK_FIX) if mendable > 1 else []
    # Only once it has been made (in a pause): to parse the text here would make this list late.
    if needs_entry(workspace, file) and file.stub is not None and file.stub[0] is file.document.text:
        action = {"title": STUB_TITLE, "kind": QUICK_FIX}
        data = {"uri": file.document.uri, "version": file.document.version, "kind": "stub"}
        filled = _filled(workspace, action, data, file.stub[1].edits) if file.stub[1].edits else None
        actions += [filled] if filled is not None else []
    return actions


def _fix_all(workspace: Workspace, runs: Runs, file: OpenFile, kind: str) -> list[dict[str, Any]]:
    found = workspace.known(file)
    if not found:
        return []
    action: dict[str, Any] = {"title": FIX_ALL_TITLE, "kind": kind}
    reason = why_not_all(workspace, runs, file)
    if reason:
        return [action | {"disabled": {"reason": reason}}]
    data = {"uri": file.document.uri, "version": file.document.version, "kind": "all"}
    if workspace.client.action_resolve:
        return [action | {"data": data}]
    command = {"title": FIX_ALL_TITLE, "command": MEND_ALL, "arguments": [file.document.uri]}
    return [action | {"command": command}] if workspace.client.applies_edits else []


def why_not_all(workspace: Workspace, runs: Runs, file: OpenFile) -> str:
    """Why all breaks of a document cannot be mended in one go, in words; empty when that can be tried."""
    if reason := runs.why_not():
        return f"Only mends that were proven are made in one go, and {reason}."
    if file.document.path is None:
        return "Save the document to a file first."
    if needs_entry(workspace, file) and not runs.entries(file):
        return "Only mends that were proven are made in one go: write a graphmend_entry, so that the model can be run."
    found = workspace.known(file)
    settled = bool(found) and all(known.site.evidence == "dynamo" and not known.stale for known in found)
    if settled and not any(c.safety in ("safe", "unverified") for known in found for c in known.candidates):
        return "No mend of this file is proven safe."
    return ""


def needs_entry(workspace: Workspace, file: OpenFile) -> bool:
    """Whether the document has breaks that nothing can run."""
    return not file.entries and not workspace.settings.entries and bool(workspace.known(file))


def _filled(
    workspace: Workspace, action: dict[str, Any], data: dict[str, Any], edits: tuple[TextEdit, ...]
) -> dict[str, Any] | None:
    """The action with its edit in it, or with data for clients that resolve it; None when this client cannot do it."""
    if workspace.client.action_resolve:
        return action | {"data": data}
    edit = _edit(workspace, edits)
    return None if edit is None else action | {"edit": edit, "data": data}


def _edit(workspace: Workspace, edits: tuple[TextEdit, ...]) -> dict[str, Any] | None:
    targets = {edit.path: workspace.target(edit.path) for edit in edits}
    return workspace_edit(edits, targets, workspace.client) if edits else None


def _ignore(workspace: Workspace, file: OpenFile, known: Known) -> tuple[TextEdit, ...]:
    edit = workspace.services.ignore_edit(file.document.text.value, known.site)
    return () if edit is None else (edit,)


def _as_command(action: dict[str, Any]) -> dict[str, Any]:
    """For clients of old: a command that has us apply the edit."""
    if "command" in action:
        command: dict[str, Any] = action["command"]
        return command
    return {"title": action["title"], "command": APPLY, "arguments": [action["data"]]}


def _touches(site: Span, asked: Span) -> bool:
    """Whether a range means a finding: it overlaps it, or is a bare cursor on the finding's first line."""
    if site.overlaps(asked):
        return True
    return asked.start == asked.end and asked.start.line == site.start.line


def _rank(candidate: Candidate) -> int:
    return ("safe", "unverified", "unsafe", "wrong").index(candidate.safety)


def _is_wanted(kind: str, only: tuple[str, ...] | None) -> bool:
    return only is None or any(kind == asked or kind.startswith(asked + ".") or asked == "" for asked in only)
