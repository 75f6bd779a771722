"""The quick fix "Mend graph break in PACKAGE (project overlay)": for a break inside an installed package, at the user's call.

The package stays as it is; mended copies and the hook that loads them are written into the project by the editor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from graphmend_lsp.engine.breaks import is_within
from graphmend_lsp.engine.overlay import OverlayError, as_overlay
from graphmend_lsp.lsp.methods.plan_edit import edit_of
from graphmend_lsp.lsp.render import package_reached
from graphmend_lsp.lsp.rpc import REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.model import Break, Finding

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_NO_FILES = "This editor lets no server create files. Run `graphmend-lsp mend FILE --overlay --write` in a terminal."


def title(package: str) -> str:
    """What the quick fix is called."""
    return f"Mend graph break in {package} (project overlay)"


def why_not_overlay(ls: GraphMendServer, file: OpenFile) -> str:
    """Why no overlay can be made, in words; empty when that can be tried."""
    if reason := ls.runs.of(file).why_not():
        return f"An overlay holds verified mends only, and {reason}."
    return "" if ls.state.client.creates_files else _NO_FILES


async def overlay_edit(ls: GraphMendServer, file: OpenFile, site: Break) -> types.WorkspaceEdit:
    """The edit that writes mended copies of the package's modules and has the program load them.

    Raises:
        RpcError: nothing of it is verified safe, the package or a document changed meanwhile, or it cannot be written.
    """
    if reason := why_not_overlay(ls, file):
        raise RpcError(REQUEST_FAILED, reason)
    found = package_reached(site)
    if found is None:
        raise RpcError(REQUEST_FAILED, "this graph break is not in an installed package")
    package, folder = found
    plan, run = await ls.runs.of(file).mend(file, None, within=folder)
    if not plan.texts:
        raise RpcError(REQUEST_FAILED, f"no mend of {package} is verified safe: {_why(plan.after.findings, folder)}")
    from graphmend_lsp.engine.plan import reached

    texts = {path: tracker.text.value for path, tracker in run.trackers.items()}
    try:
        overlay = as_overlay(plan, [entry.file for entry, _ in reached(plan)], texts)
    except OverlayError as error:
        raise RpcError(REQUEST_FAILED, str(error)) from error
    edit = edit_of(ls.state, overlay, run)
    if edit is None:
        raise RpcError(REQUEST_FAILED, _NO_FILES)
    return edit


def _why(findings: tuple[Finding, ...], folder: str) -> str:
    """The reasons of the rules at the first break of the package."""
    here = [finding for finding in findings if is_within(finding.site.path, folder)]
    reasons = [one.reason.rstrip(".") for finding in here[:1] for one in finding.declined]
    return "; ".join(dict.fromkeys(reasons)) or "the program no longer reaches it"
