"""The commands ``graphmend.mapData`` and ``graphmend.graphMap``: how the entries of a document are cut into graphs.

Their argument is the document's URI. The first gives the data (``report/graph_map.schema.json``), for a view of the editor's
own; the second has the editor open a page that holds it, which loads nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from graphmend_lsp.engine.cache import cache_folder
from graphmend_lsp.lsp.workspace import OpenFile
from graphmend_lsp.notebook import by_cell

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

PATIENCE = 15.0  # seconds that a page waits for the times of its graphs
NOTHING = "No entry of this file has run yet. Save the file, or run Find Graph Breaks Now."


def map_data(ls: GraphMendServer, file: OpenFile) -> dict[str, Any]:
    """The map of the document's entries; without programs when none of them has run."""
    open_now = (one.document for one in ls.state.files.values())
    notebooks = {one.name: one.notebook.program for one in open_now if one.notebook is not None}
    data: dict[str, Any] = by_cell(ls.state.maps.data(file.document.name, ls.state.text_at), notebooks)
    return data


async def show_map(ls: GraphMendServer, file: OpenFile) -> None:
    """Write the page into the cache folder and have the editor open it; say where it is if the editor cannot.

    A page cannot be drawn anew, so its graphs are timed before, where that is done in a moment.
    """
    timing = ls.spawn(ls.runs.of(file).time(file), "times of the graph map")
    await asyncio.wait([timing], timeout=PATIENCE)
    data = map_data(ls, file)
    if not data["programs"]:
        ls.state.show("info", f"GraphMend: {NOTHING}")
        return
    path = await asyncio.to_thread(_write, file.document.name, data)
    shown = False
    if ls.state.client.shows_documents:
        try:
            wanted = types.ShowDocumentParams(path.as_uri(), external=True)
            shown = (await ls.window_show_document_async(wanted)).success
        except JsonRpcException:
            shown = False
    if not shown:
        ls.state.show("info", f"GraphMend: the graph map is in {path}")


def _write(name: str, data: dict[str, Any]) -> Path:
    """One page for each document, in a folder of the user's own."""
    from graphmend_lsp.report.page import page

    kept = cache_folder(os.environ)
    folder = kept / "maps" if kept is not None else Path(tempfile.mkdtemp(prefix="graphmend-map-"))
    folder.parent.mkdir(0o700, parents=True, exist_ok=True)
    folder.mkdir(0o700, exist_ok=True)
    path = folder / f"{Path(name).stem}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.html"
    path.write_text(page(data, f"Graph map of {Path(name).name}"), "ascii")
    return path
