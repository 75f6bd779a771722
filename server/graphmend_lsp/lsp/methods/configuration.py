"""workspace/didChangeConfiguration, workspace/configuration, workspace/didChangeWorkspaceFolders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.lsp.settings import SECTION, read_settings
from graphmend_lsp.lsp.uris import path_of

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def did_change(ls: GraphMendServer, params: types.DidChangeConfigurationParams) -> None:
    """The settings changed: they are in the notification, or have to be asked for."""
    if isinstance(params.settings, dict) and params.settings:
        take(ls, params.settings)
    elif ls.state.client.configuration:
        ls.spawn(fetch(ls), "configuration")


async def fetch(ls: GraphMendServer) -> None:
    """Ask the client for the settings."""
    wanted = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    try:
        answer = await ls.workspace_configuration_async(wanted)
    except JsonRpcException as error:
        ls.state.log("warning", f"the client did not send its settings: {error.message}")
        return
    if answer:
        take(ls, answer[0])


def take(ls: GraphMendServer, value: Any) -> None:
    """New settings; everything that depends on them is done again."""
    state = ls.state
    before = state.settings
    state.settings, complaints = read_settings(value, before)
    for complaint in complaints:
        state.log("warning", complaint)
    if state.settings == before:
        return
    ls.runs.settings_changed(before)
    for file in state.files.values():
        state.analyse(file)
    state.refresh()


def did_change_folders(ls: GraphMendServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came or went."""

    def paths(folders: Sequence[types.WorkspaceFolder]) -> list[str]:
        return [path for folder in folders if (path := path_of(folder.uri)) is not None]

    gone = set(paths(params.event.removed))
    roots = (*(root for root in ls.state.client.roots if root not in gone), *paths(params.event.added))
    ls.state.client = replace(ls.state.client, roots=tuple(dict.fromkeys(roots)))
