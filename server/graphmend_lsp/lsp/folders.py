"""The runs of all workspace folders: each folder has its own settings, its own project and its own worker.

A document is run in the worker of its folder, and by the entries of other folders that came through it in theirs.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping

from graphmend_lsp.lsp.runs import Runs
from graphmend_lsp.lsp.settings import Settings
from graphmend_lsp.lsp.workspace import OpenFile, Workspace


class Folders:
    """The `Runs` of each folder by its path, made when they are first needed; "" is for what is in no folder."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._all: dict[str, Runs] = {}
        self._numbers = itertools.count(1)

    def at(self, folder: str) -> Runs:
        """Those of a folder."""
        if folder not in self._all:
            self._all[folder] = Runs(self._workspace, folder, self._numbers)
        return self._all[folder]

    def of(self, file: OpenFile) -> Runs:
        """Those that answer for a document: of its folder, or of another one whose entries alone reach it."""
        home, others = self._home(file), self._others(file)
        return home if not others or home.entries(file) else others[0]

    def ask(self, uri: str, *, anew: bool = True) -> list[Runs]:
        """Run what reaches the document, in each folder that has such entries; those that run now. `anew`: see `Runs.ask`."""
        file = self._workspace.files.get(uri)
        if file is None:
            return []
        every = dict.fromkeys((self.of(file), *self._others(file)))
        return [runs for runs in every if runs.ask(uri, anew=anew) is not None]

    def _home(self, file: OpenFile) -> Runs:
        return self.at(self._workspace.folder_at(file.document.path))

    def _others(self, file: OpenFile) -> list[Runs]:
        """Those of other folders whose entries come through a document that has none itself."""
        home, path = self._home(file).folder, file.document.path
        reaching = self._workspace.results.entries_reaching(path) if len(self._all) > 1 and path is not None else {}
        asked = dict.fromkeys(folder for folder in reaching.values() if folder != home and folder in self._all)
        return [self._all[folder] for folder in asked if self._all[folder].entries(file)]

    def edited(self, file: OpenFile) -> bool:
        """Whether an edit of the document has had its worker started."""
        return file.document.uri in self._home(file).edited

    async def expect(self, file: OpenFile) -> None:
        """A document is being edited: have the worker of its folder started."""
        await self._home(file).expect(file)

    async def recall(self, file: OpenFile) -> None:
        """Show what runs of the document would find, where that is kept."""
        await self.of(file).recall(file)

    def tell_stopped(self) -> None:
        """Say in what state we are before anything is run."""
        runs = self.at(self._workspace.folder_at(None))
        runs.tell_status("stopped", message="" if self._workspace.client.trusted else runs.why_not())

    def settings_changed(self, before: Mapping[str, Settings]) -> None:
        """Begin anew where a worker was started with other settings than those now; `before` by folder."""
        for folder, runs in self._all.items():
            runs.settings_changed(before.get(folder, before[""]))

    def folders_changed(self) -> None:
        """Workspace folders came or went: what a folder that is no more had found goes, and its worker ends."""
        roots = self._workspace.client.roots
        kept = {*roots, *([""] if len(roots) != 1 else [])}
        for folder in [folder for folder in self._all if folder not in kept]:
            gone = self._all.pop(folder)
            self._workspace.results.forget(folder)
            self._workspace.maps.forget(folder)
            self._workspace.server.spawn(gone.stop(), "worker stop")

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(runs.stop() for runs in self._all.values()))

    async def restart(self) -> None:
        """End all workers, and forget what was told."""
        await asyncio.gather(*(runs.restart() for runs in self._all.values()))
        if not self._all:
            self.tell_stopped()
