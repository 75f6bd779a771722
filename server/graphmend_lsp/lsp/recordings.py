"""Recorded runs as the editor shows them: which breaks of a document they met, as its text is now.

Reads files only; used on the thread of the static analysis, but for `watch`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphmend_lsp.model import Break, Frame, Span

if TYPE_CHECKING:
    from graphmend_lsp.engine.recorded import RecordedSite, Recording
    from graphmend_lsp.lsp.language_server import GraphMendServer

_PAUSE = 2.0  # seconds between two looks at the folders
Told = tuple[Break, str]  # a break, and which run met it when, as a sentence


async def watch(ls: GraphMendServer) -> None:
    """Show what is recorded while the server runs; a recording that is not new costs a few calls of `stat`."""
    while True:
        await asyncio.sleep(_PAUSE)
        await look(ls)


async def look(ls: GraphMendServer) -> None:
    """Show what has been recorded since the last look."""
    state = ls.state
    open_now = [file for file in state.files.values() if file.document.path is not None and file.document.is_read]
    paths = [file.document.path for file in open_now if file.document.path is not None]
    if not paths or not await state.read_recordings(paths):
        return
    for file in open_now:
        state.analyse(file)
    state.refresh()


class Recordings:
    """The recordings that concern files of this editor, as they were when last looked at."""

    def __init__(self) -> None:
        self._folders: dict[Path, int] = {}
        self._known: dict[Path, tuple[int, Recording | None]] = {}
        self._asked: set[str] = set()
        self._real: dict[str, str] = {}

    def look(self, paths: Iterable[str]) -> bool:
        """Read what is new in the folders that can concern these files; whether anything is."""
        from graphmend_lsp.engine.recordings import folders_for, load, stamps

        folders = {folder: _stamp(folder) for path in paths for folder in folders_for(path)}
        if all(self._folders.get(folder) == stamp for folder, stamp in folders.items()):
            return False
        self._folders |= folders
        found = stamps(self._folders)
        before = self._known
        self._known = {
            path: before[path] if path in before and before[path][0] == stamp else (stamp, load(path))
            for path, stamp in found.items()
        }
        return self._known != before

    def sites(self, path: str, text: str) -> tuple[Told, ...]:
        """The recorded breaks of the file that still stand in `text`, the newest run's first, each place once."""
        from graphmend_lsp.engine.recorded import standing

        if path not in self._asked:
            self._asked.add(path)
            self.look([path])
        found: dict[Span, Told] = {}
        recordings = [recording for _, recording in self._known.values() if recording is not None]
        for recording in sorted(recordings, key=lambda one: -one.ended):
            for named, sites in self._of_file(recording, path):
                for site in standing(sites, recording.files[named], text):
                    here = replace(site, path=path, chain=_chain(site, named, path))
                    found.setdefault(here.span, (here, recording.told(time.time())))
        return tuple(found.values())

    def _of_file(self, recording: Recording, path: str) -> Iterable[tuple[str, list[RecordedSite]]]:
        """The sites of a file, by the name that the recording has for it."""
        for named in recording.files:
            if named == path or self._same(named, path):
                yield named, [one for one in recording.sites if one.site.path == named]

    def _same(self, one: str, other: str) -> bool:
        if os.path.basename(one) != os.path.basename(other):
            return False
        for path in (one, other):
            if path not in self._real:
                self._real[path] = os.path.realpath(path)
        return self._real[one] == self._real[other]


def _chain(site: Break, named: str, path: str) -> tuple[Frame, ...]:
    """The call chain if all of it is in this file, which reads as it ran; what another file holds now is not known."""
    if any(frame.path != named for frame in site.chain):
        return ()
    return tuple(replace(frame, path=path) for frame in site.chain)


def _stamp(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0
