"""workspace/didChangeConfiguration, workspace/configuration, workspace/didChangeWorkspaceFolders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphmend_lsp.lsp.params import at, need_object
from graphmend_lsp.lsp.rpc import RpcError
from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.settings import SECTION, read_settings
from graphmend_lsp.lsp.units import path_of
from graphmend_lsp.lsp.workspace import Workspace


async def did_change(workspace: Workspace, runs: Runs, params: Any) -> None:
    """The settings changed: they are in the notification, or have to be asked for."""
    settings = at(params, "settings")
    if isinstance(settings, dict) and settings:
        take(workspace, runs, settings)
    elif workspace.client.configuration:
        await fetch(workspace, runs)


async def fetch(workspace: Workspace, runs: Runs) -> None:
    """Ask the client for the settings."""
    try:
        answer = await workspace.connection.request("workspace/configuration", {"items": [{"section": SECTION}]})
    except RpcError as error:
        workspace.log("warning", f"the client did not tell its settings: {error.message}")
        return
    if isinstance(answer, list) and answer:
        take(workspace, runs, answer[0])


def take(workspace: Workspace, runs: Runs, value: Any) -> None:
    """New settings; everything that depends on them is done again."""
    before = workspace.settings
    workspace.settings, complaints = read_settings(value, before)
    for complaint in complaints:
        workspace.log("warning", complaint)
    if workspace.settings == before:
        return
    runs.settings_changed(before)
    for file in workspace.files.values():
        workspace.analyse(file)
    workspace.refresh()


def did_change_folders(workspace: Workspace, params: Any) -> None:
    """Folders came or went."""
    event = need_object(params, "event")

    def paths(key: str) -> list[str]:
        folders = event.get(key)
        uris = [at(folder, "uri") for folder in folders] if isinstance(folders, list) else []
        return [path for uri in uris if isinstance(uri, str) and (path := path_of(uri)) is not None]

    gone = set(paths("removed"))
    roots = (*(root for root in workspace.client.roots if root not in gone), *paths("added"))
    workspace.client = replace(workspace.client, roots=tuple(dict.fromkeys(roots)))
