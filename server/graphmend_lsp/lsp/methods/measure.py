"""The command ``graphmend.measure``: how many times as fast a document's program is with all of its mends.

Its argument is the document's URI, or an object ``{"uri": ..., "backend": ...}``. Nothing is changed. The result has the
ratios as data (``measured``, as in the record of ``mend --measure --json``); the user sees them in a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from graphmend_lsp.lsp.methods.code_action import why_not_all
from graphmend_lsp.lsp.params import InvalidParamsError
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.report.record import speed_record
from graphmend_lsp.report.words import speed

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer


class Measured(TypedDict):
    """One record for each entry; none when nothing was mended."""

    measured: list[dict[str, Any]]


async def measure(ls: GraphMendServer, file: OpenFile, backend: Any, token: int | str | None) -> Measured:
    """Mend all in a copy, time both, say the ratio."""
    if backend is not None and not isinstance(backend, str):
        raise InvalidParamsError(("arguments", "0", "backend"), "the name of a backend of torch.compile")
    await ls.state.read_project(file)
    if reason := why_not_all(ls, file):
        ls.state.show("info", f"GraphMend: {reason}")
        return Measured(measured=[])
    measured = await ls.runs.of(file).measure(file, backend, token)
    for one in measured:
        failed = one.error is not None or one.is_noisy
        ls.state.log("warning" if failed else "info", speed(one))
        ls.state.show("warning" if failed else "info", f"GraphMend: {speed(one)}")
    if not measured:
        ls.state.show("info", "GraphMend: this file has no verified mend to measure.")
    return Measured(measured=[speed_record(one) for one in measured])
