"""workspace/didChangeConfiguration, workspace/configuration, workspace/didChangeWorkspaceFolders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.lsp.settings import SECTION, read_settings
from graphmend_lsp.lsp.uris import path_of, uri_of

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def did_change(ls: GraphMendServer, params: types.DidChangeConfigurationParams) -> None:
    """The settings changed: they are in the notification, or have to be asked for; those of several folders always."""
    is_told = isinstance(params.settings, dict) and bool(params.settings)
    if is_told:
        take(ls, params.settings)
    if ls.state.client.configuration and (not is_told or len(ls.state.client.roots) > 1):
        fetch_soon(ls)


def fetch_soon(ls: GraphMendServer) -> None:
    """Ask the client for the settings, beside what else is done; a run waits for those of several folders."""
    task = ls.spawn(fetch(ls), "configuration")
    if len(ls.state.client.roots) > 1:
        ls.state.configuring = task


async def fetch(ls: GraphMendServer) -> None:
    """Ask the client for the settings: of the whole, and of each of several folders."""
    roots = ls.state.client.roots if len(ls.state.client.roots) > 1 else ()
    items = [types.ConfigurationItem(section=SECTION)]
    items += [types.ConfigurationItem(scope_uri=uri_of(root), section=SECTION) for root in roots]
    try:
        answer = await ls.workspace_configuration_async(types.ConfigurationParams(items))
    except JsonRpcException as error:
        ls.state.log("warning", f"the client did not send its settings: {error.message}")
        return
    if answer:
        take(ls, answer[0], dict(zip(roots, answer[1:], strict=False)))


def take(ls: GraphMendServer, value: Any, of_folders: Mapping[str, Any] | None = None) -> None:
    """New settings, and what each folder has for its own; everything that depends on them is done again."""
    state = ls.state
    before = {"": state.settings, **state.of_folders}
    state.settings, complaints = read_settings(value, state.settings)
    if of_folders is not None:
        state.of_folders = {}
        for root, own in of_folders.items():
            state.of_folders[root], more = read_settings(own, state.settings)
            complaints += more
    for complaint in dict.fromkeys(complaints):
        state.log("warning", complaint)
    if before == {"": state.settings, **state.of_folders}:
        return
    ls.runs.settings_changed(before)
    for file in state.files.values():
        state.analyse(file)
    state.refresh()


def did_change_folders(ls: GraphMendServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came or went, and with them their settings, their workers and what those found."""

    def paths(folders: Sequence[types.WorkspaceFolder]) -> list[str]:
        return [path for folder in folders if (path := path_of(folder.uri)) is not None]

    state = ls.state
    gone = set(paths(params.event.removed))
    roots = (*(root for root in state.client.roots if root not in gone), *paths(params.event.added))
    state.client = replace(state.client, roots=tuple(dict.fromkeys(roots)))
    state.of_folders = {root: own for root, own in state.of_folders.items() if root in state.client.roots}
    ls.runs.folders_changed()
    if state.client.configuration:
        fetch_soon(ls)
    state.touch()
    for file in state.files.values():
        state.publish(file)
    state.refresh()
