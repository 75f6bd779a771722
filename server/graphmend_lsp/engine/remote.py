"""A worker elsewhere: its own files are sent over the pipe, paths are mapped, and the program's source goes along.

The command ends in a Python (``ssh box python3``). To it are added only words that mean the same to a program and to any
number of shells between (``-u -q -i``); the first line on its stdin makes it read the worker's files from there.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.imports import ProgramFiles, missing_module, program_files
from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.worker.wire import PROTOCOL

WORKER = Path(__file__).resolve().parent.parent / "worker"
BOOTSTRAP = "bootstrap.py"
READY = b"graphmend-worker: send the files"  # what bootstrap.py says
READY_SECONDS = 600.0  # that a queue of a scheduler, a container or a slow line may take
ATTEMPTS = 12  # runs of one request, each with a file more that was not found there


def bootstrap_line() -> bytes:
    """The one line that an interactive Python is given first."""
    text = (WORKER / BOOTSTRAP).read_text("utf-8")
    return f"exec(compile({json.dumps(text)}, {json.dumps(BOOTSTRAP)}, 'exec'))\n".encode("ascii")


def parcel(cwd: str | None) -> bytes:
    """The worker's files, behind their length, as the answer to `READY`; `cwd` is where it starts there, if there is such."""
    files = {
        path.relative_to(WORKER).as_posix(): path.read_text("utf-8")
        for path in sorted(WORKER.rglob("*.py"))
        if path.name != BOOTSTRAP
    }
    data = json.dumps({"protocol": PROTOCOL, "cwd": cwd, "files": files}).encode()
    packed = base64.b64encode(zlib.compress(data))  # text, as stdin is that on some systems
    return b"%d\n%b" % (len(packed), packed)


@dataclass
class Elsewhere:
    """What is between this side and a worker that is elsewhere. `folders` are searched for modules it misses.

    `missing` are modules, by entry file, that a run asked for by an import which no source showed.
    """

    paths: PathMap
    folders: tuple[str, ...] = ()
    missing: dict[str, set[str]] = field(default_factory=dict)

    def outgoing(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as the worker needs them: with the source of the program's files, and its own paths. Reads files."""
        entry = params.get("entry")
        if not isinstance(entry, Mapping):
            return self.paths.params_there(params)
        found = self._files(params)
        texts = params.get("texts", {})
        sources = {path: text for path, text in found.texts.items() if path not in texts}
        roots = list(dict.fromkeys([*params.get("roots", ()), *found.roots]))
        return self.paths.params_there({**params, "sources": sources, "roots": roots})

    def incoming(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """A result with the paths of this side."""
        return self.paths.result_here(result)

    def learns(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
        """Whether the run failed for a module that this side has and had not sent; it is sent from now on."""
        failure, entry = result.get("failure"), params.get("entry")
        if not isinstance(failure, Mapping) or not isinstance(entry, Mapping):
            return False
        module = missing_module(str(failure.get("message", "")))
        known = self.missing.setdefault(entry["file"], set())
        if module is None or module in known:
            return False
        before = self._files(params)
        known.add(module)
        return self._files(params) != before

    def _files(self, params: Mapping[str, Any]) -> ProgramFiles:
        file = params["entry"]["file"]
        also = tuple(sorted(self.missing.get(file, ())))
        return program_files(file, params.get("roots", ()), params.get("texts", {}), also, self.folders)
