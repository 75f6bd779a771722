"""initialized, shutdown, $/setTrace, window/workDoneProgress/cancel (`initialize` is `lsp.offer`, `exit` is `lsp.server`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.lsp.methods.configuration import fetch_soon
from graphmend_lsp.lsp.recordings import watch
from graphmend_lsp.lsp.settings import SECTION

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


def initialized(ls: GraphMendServer, _params: types.InitializedParams) -> None:
    """Ask for the settings and to be told when they change; say what state we are in."""
    client = ls.state.client
    ls.runs.tell_stopped()
    if client.registers_configuration:
        options = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        wanted = types.Registration("graphmend-configuration", types.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
        ls.spawn(ls.client_register_capability_async(types.RegistrationParams([wanted])), "registration")
    ls.spawn(watch(ls), "recordings")
    if client.configuration:
        fetch_soon(ls)


async def shutdown(ls: GraphMendServer, _params: None) -> None:
    """End the worker; the process ends with `exit`."""
    await ls.runs.stop()


def set_trace(ls: GraphMendServer, params: types.SetTraceParams) -> None:
    """Kept for who asks pygls for it; we trace nothing."""
    ls.protocol.trace = params.value


def cancel_progress(ls: GraphMendServer, params: types.WorkDoneProgressCancelParams) -> None:
    """The user pressed cancel."""
    ls.state.progress.cancel(params.token)
