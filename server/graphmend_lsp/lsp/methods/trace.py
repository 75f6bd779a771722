"""The command ``graphmend.readTrace``: a ``TORCH_TRACE`` folder becomes a recording, which the editor shows like any other.

Its argument is the folder's URI (or path), or an object ``{"folder": ..., "map": [[here, there], ...]}`` with the folders
of a trace from another machine; those of the setting ``graphmend.worker.pathMapping`` hold, too. Files are read and
nothing is run, so it may be done in an untrusted workspace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from graphmend_lsp.engine.path_map import parse_pair
from graphmend_lsp.lsp.params import InvalidParamsError, at
from graphmend_lsp.lsp.recordings import look
from graphmend_lsp.lsp.rpc import REQUEST_FAILED, RpcError
from graphmend_lsp.lsp.uris import path_of

if TYPE_CHECKING:
    from graphmend_lsp.engine.traces import TraceRead
    from graphmend_lsp.lsp.language_server import GraphMendServer

_WANTED = "an array with the folder's URI, or with an object with folder and map"


class TraceResult(TypedDict):
    """What was read: how many breaks, and files of them that are not here, so that a mapping may help."""

    breaks: int
    missing: list[str]


async def read_trace(ls: GraphMendServer, arguments: Sequence[Any]) -> TraceResult:
    """Read, keep, show; refused with the reason when there is no trace."""
    named = arguments[0] if arguments else None
    told = named if isinstance(named, str) else at(named, "folder")
    folder = path_of(told) or told if isinstance(told, str) else None
    if not folder or not os.path.isabs(folder):
        raise InvalidParamsError(("arguments",), _WANTED)
    pairs = (*_pairs(at(named, "map")), *map(parse_pair, ls.state.settings_at(folder).worker_path_mapping))
    read, missing = await asyncio.to_thread(_read_and_keep, folder, pairs)
    for failure in read.failures:
        ls.state.log("warning", failure.words)
    if read.recording is None:
        raise RpcError(REQUEST_FAILED, read.failures[-1].words)
    for note in read.recording.notes:
        ls.state.log("info", note)
    await look(ls)
    count = len(read.recording.sites)
    words = f"the trace has {count} graph break{'s' * (count != 1)}"
    if missing:
        words += f"; {len(missing)} of its files {'is' if len(missing) == 1 else 'are'} missing here, the first is {missing[0]}"
    ls.state.show("warning" if read.failures else "info", f"GraphMend: {words}.")
    return TraceResult(breaks=count, missing=missing)


def _read_and_keep(folder: str, pairs: tuple[tuple[str, str], ...]) -> tuple[TraceRead, list[str]]:
    from graphmend_lsp.engine.path_map import PathMap
    from graphmend_lsp.engine.recordings import save, store
    from graphmend_lsp.engine.traces import read_trace

    read = read_trace(Path(folder), PathMap(pairs))
    if read.recording is None:
        return read, []
    try:
        save(read.recording, store())
    except OSError as error:
        raise RpcError(REQUEST_FAILED, f"GraphMend could not keep the recording: {error}") from error
    paths = dict.fromkeys(one.site.path for one in read.recording.sites)
    return read, [path for path in paths if not path.startswith("<") and not os.path.exists(path)]


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    pairs = [tuple(pair) if isinstance(pair, list) else () for pair in value] if isinstance(value, list) else [()]
    if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
        raise InvalidParamsError(("arguments", "0", "map"), "an array of pairs of folders, [here, there]")
    return tuple((pair[0], pair[1]) for pair in pairs)
