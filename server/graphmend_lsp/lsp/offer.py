"""What the server offers: the answer to `initialize`, as plain data.

It is given before pygls is there and without lsprotocol; a test compares it with what pygls makes of the registered
features (`language_server.register`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphmend_lsp import __version__
from graphmend_lsp.lsp.client import Client, read_client
from graphmend_lsp.lsp.params import at
from graphmend_lsp.lsp.settings import Settings, read_settings

NAME = "graphmend-lsp"
NOTEBOOK = "jupyter-notebook"
QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.graphmend"
RESTART = "graphmend.restart"
RUN_NOW = "graphmend.runNow"
MEND_ALL = "graphmend.mendAll"
WRITE_ENTRY = "graphmend.writeEntry"
APPLY = "graphmend.apply"
READ_TRACE = "graphmend.readTrace"
MEASURE = "graphmend.measure"
GRAPH_MAP = "graphmend.graphMap"
MAP_DATA = "graphmend.mapData"
COMMANDS = (RESTART, RUN_NOW, MEND_ALL, WRITE_ENTRY, APPLY, READ_TRACE, MEASURE, GRAPH_MAP, MAP_DATA)


@dataclass(frozen=True, slots=True)
class Introduction:
    """What `initialize` told of the client, and complaints about settings that were not understood."""

    client: Client
    settings: Settings
    complaints: tuple[str, ...] = ()


def introduction(params: Any) -> Introduction:
    """Read `initialize`'s parameters, with tolerance."""
    settings, complaints = read_settings(at(params, "initializationOptions", "settings"), Settings())
    return Introduction(read_client(params), settings, complaints)


def offer(client: Client) -> dict[str, Any]:
    """The answer for this client."""
    offered: dict[str, Any] = {
        "positionEncoding": client.encoding,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "hoverProvider": True,
        "codeActionProvider": {"codeActionKinds": [QUICK_FIX, FIX_ALL], "resolveProvider": client.action_resolve},
        "codeLensProvider": {"resolveProvider": False},
        "inlayHintProvider": {"resolveProvider": False},
        "executeCommandProvider": {"commands": list(COMMANDS), "workDoneProgress": True},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
    if client.announces_saves:
        offered["textDocumentSync"]["willSave"] = True
    if client.opens_notebooks:
        offered["notebookDocumentSync"] = {
            "notebookSelector": [{"notebook": {"notebookType": NOTEBOOK}, "cells": [{"language": "python"}]}],
            "save": True,
        }
    if client.pulls_diagnostics:
        offered["diagnosticProvider"] = {
            "identifier": "graphmend",
            "interFileDependencies": True,
            "workspaceDiagnostics": True,
        }
    return {"capabilities": offered, "serverInfo": {"name": NAME, "version": __version__}}
