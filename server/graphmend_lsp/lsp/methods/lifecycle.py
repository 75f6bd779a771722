"""initialize, initialized, shutdown: what the server can do, and what the client can."""

from __future__ import annotations

from typing import Any

from graphmend_lsp import __version__
from graphmend_lsp.lsp.client import Client, read_client
from graphmend_lsp.lsp.methods import code_action, command
from graphmend_lsp.lsp.methods.configuration import fetch
from graphmend_lsp.lsp.params import at
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.settings import Settings, read_settings
from graphmend_lsp.lsp.workspace import Workspace


def initialize(workspace: Workspace, params: Any) -> dict[str, Any]:
    """The server's capabilities for this client."""
    client = read_client(params)
    settings, complaints = read_settings(at(params, "initializationOptions", "settings"), Settings())
    workspace.become(client, settings)
    for complaint in complaints:
        workspace.log("warning", complaint)
    return {
        "capabilities": capabilities(client),
        "serverInfo": {"name": "graphmend-lsp", "version": __version__},
    }


def capabilities(client: Client) -> dict[str, Any]:
    """What the server offers."""
    offered: dict[str, Any] = {
        "positionEncoding": client.encoding,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "hoverProvider": True,
        "codeActionProvider": {
            "codeActionKinds": [code_action.QUICK_FIX, code_action.FIX_ALL],
            "resolveProvider": client.action_resolve,
        },
        "codeLensProvider": {"resolveProvider": False},
        "executeCommandProvider": {"commands": list(command.COMMANDS), "workDoneProgress": True},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
    if client.pulls_diagnostics:
        offered["diagnosticProvider"] = {
            "identifier": "graphmend",
            "interFileDependencies": True,
            "workspaceDiagnostics": False,
        }
    return offered


def initialized(workspace: Workspace, runs: Runs) -> None:
    """Ask for the settings and to be told when they change; say what state we are in."""
    client = workspace.client
    if not client.trusted:
        runs.tell_status("stopped", message=runs.why_not())
    else:
        runs.tell_status("stopped")
    if client.registers_configuration:
        registration = {"id": "graphmend-configuration", "method": "workspace/didChangeConfiguration"}
        registration |= {"registerOptions": {"section": "graphmend"}}  # type: ignore[dict-item]
        asked = workspace.connection.request("client/registerCapability", {"registrations": [registration]})
        workspace.connection.spawn(asked, "registration")
    if client.configuration:
        workspace.connection.spawn(fetch(workspace, runs), "configuration")
