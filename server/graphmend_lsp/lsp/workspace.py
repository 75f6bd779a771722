"""The state of a running server: the client, the settings, and for each open document what is known of it.

Handlers (`methods`) read and change it on the event loop; nothing here waits for the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from graphmend_lsp.lsp.background import Background
from graphmend_lsp.lsp.client import Client
from graphmend_lsp.lsp.documents import Change, Document, DocumentStore, Tracker, difference
from graphmend_lsp.lsp.edits import Target
from graphmend_lsp.lsp.entry_stub import Stub, make_stub
from graphmend_lsp.lsp.found import Known, Run, known_dynamo, known_static, merged, newest, same_site
from graphmend_lsp.lsp.maps import Maps
from graphmend_lsp.lsp.notebooks import Notebook, Notebooks
from graphmend_lsp.lsp.progress import ProgressBars
from graphmend_lsp.lsp.recordings import Recordings
from graphmend_lsp.lsp.render import diagnostic, failure_diagnostic, large_diagnostic, note_diagnostic
from graphmend_lsp.lsp.results import DiskTexts, Results
from graphmend_lsp.lsp.rpc import log_exception
from graphmend_lsp.lsp.services import Project, Services
from graphmend_lsp.lsp.settings import Settings, in_project
from graphmend_lsp.lsp.uris import is_below, uri_of
from graphmend_lsp.model import Break, Candidate, Declined, Entry, Failure, Mend, TextEdit
from graphmend_lsp.notebook import is_notebook
from graphmend_lsp.text import Text

if TYPE_CHECKING:
    from graphmend_lsp.lsp.language_server import GraphMendServer

_QUICK, _PATIENT = 0.05, 0.5  # seconds between two static runs, by how long the last one took
_PATIENT_FOR_SETTINGS = 3.0  # seconds that a run waits for the settings of several folders
_IDLE = 0.3  # seconds without a change after which mends of static findings are looked for
_LEVELS = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
    "debug": types.MessageType.Log,
}
Proposed = tuple[tuple[Mend, ...], tuple[Declined, ...]]


@dataclass(slots=True, eq=False)
class OpenFile:
    """What is known of one open document but for what runs found (`Results`). `static` belongs to `static_text`, the last
    text that was analysed; `ran` says whether a run of the document has ended.
    """

    document: Document
    static: tuple[Break, ...] = ()
    static_text: Text | None = None
    static_seconds: float = 0.0
    entries: tuple[Entry, ...] = ()
    proposals: dict[Break, Proposed] = field(default_factory=dict)
    ran: bool = False
    unmade: tuple[tuple[Entry, Failure], ...] = ()
    analysing: asyncio.Task[Any] | None = None
    proposing: asyncio.Task[Any] | None = None
    analysed: asyncio.Event = field(default_factory=asyncio.Event)
    trackers: list[Tracker] = field(default_factory=list)
    hushed: frozenset[Break] = frozenset()
    origins: dict[Break, str] = field(default_factory=dict)
    project: Project = field(default_factory=Project)
    stub: tuple[Text, Stub] | None = None
    guessed: tuple[Text, tuple[Entry, ...]] | None = None
    ignores: tuple[Text, dict[Break, TextEdit | None]] | None = None
    known: tuple[int, tuple[Known, ...]] | None = None


class Workspace:
    """All that the handlers share."""

    def __init__(self, server: GraphMendServer, services: Services, client: Client, settings: Settings) -> None:
        self.server = server
        self.services = services
        self.client = client
        self.settings = settings
        self.of_folders: dict[str, Settings] = {}
        self.configuring: asyncio.Task[None] | None = None
        self.store = DocumentStore()
        self.notebooks = Notebooks()
        self.files: dict[str, OpenFile] = {}
        self.save_reasons: dict[str, types.TextDocumentSaveReason] = {}  # of documents about to be saved, by URI
        self.progress = ProgressBars(server, client.progress)
        self.last_uri: str | None = None
        self._static = Background("static-analysis")
        self.results = Results()
        self.maps = Maps()
        self._disk = DiskTexts(read_text)
        self._pushed: dict[str, list[types.Diagnostic]] = {}
        self._moved, self._edits = asyncio.Event(), asyncio.Event()
        self._recordings = Recordings()
        self._slow = Background("mending")
        self._last_static = 0.0
        self._revision = 0

    # Folders

    def folder_at(self, path: str | None) -> str:
        """The workspace folder that a file belongs to: the only one, or the innermost of several; "" for none of them."""
        roots = self.client.roots
        if len(roots) < 2:
            return roots[0] if roots else ""
        return max((root for root in roots if path is not None and is_below(path, root)), key=len, default="")

    def settings_at(self, path: str | None) -> Settings:
        """The settings as they are for a file: those of its workspace folder."""
        return self.of_folders.get(self.folder_at(path), self.settings)

    async def configured(self) -> None:
        """Wait for the settings of the folders, where the client has been asked for them: a run takes its interpreter from
        them."""
        if self.configuring is not None and not self.configuring.done():
            await asyncio.wait([self.configuring], timeout=_PATIENT_FOR_SETTINGS)

    def log(self, level: str, message: str) -> None:
        """A line for the log: stderr, and the client's own when its level asks for it."""
        if _LEVELS[level] <= _LEVELS[self.settings.log_level]:
            print(f"graphmend: {message}", file=sys.stderr, flush=True)
            self.server.window_log_message(types.LogMessageParams(_LEVELS[level], message))

    def show(self, level: str, message: str) -> None:
        """A message that the user sees."""
        self.server.window_show_message(types.ShowMessageParams(_LEVELS[level], message))

    # Documents

    def opened(self, document: Document) -> None:
        """A document was opened."""
        self.closed(document.uri)
        file = self.files[document.uri] = OpenFile(document)
        self._follow(file)
        self.push_closed(but=document.path)
        self.touch()
        self.last_uri = document.uri
        self.analyse(self.files[document.uri])
        self.server.spawn(self.read_project(self.files[document.uri]), "project entries")

    def changed(self, document: Document, changes: tuple[Change, ...]) -> None:
        """A document's text is another."""
        file = self.files[document.uri]
        file.document = document
        self.last_uri = document.uri
        if document.is_large:  # its changes are not followed
            file.trackers = []
        for tracker in file.trackers:
            tracker.follow(changes, document.text)
        self.touch()
        self._edits.set()
        self._edits = asyncio.Event()
        self.analyse(file)

    async def edited(self, run: Run) -> None:
        """Wait until a document of a run reads otherwise than the run saw it."""
        while not any(
            (file := self.file_at(path)) is not None and file.document.text.value != tracker.text.value
            for path, tracker in run.trackers.items()
        ):
            await self._edits.wait()

    def _follow(self, file: OpenFile) -> None:
        """Have the runs that know a file follow its document's changes from now on."""
        path, text = file.document.path, file.document.text
        if path is None or not file.document.is_read:
            return
        for run in self.results.runs:
            seen = run.text(path)
            if seen is None:
                continue
            tracker = run.trackers[path] = Tracker(seen)
            run.foreign.pop(path, None)
            if seen.value != text.value:
                tracker.follow((difference(seen, text),), text)
            file.trackers.append(tracker)

    def closed(self, uri: str) -> None:
        """A document was closed: what is unsaved of it is gone; what runs found in its file stays."""
        self.save_reasons.pop(uri, None)
        file = self.files.pop(uri, None)
        if file is None:
            return
        for task in (file.analysing, file.proposing):
            if task is not None:
                task.cancel()
        file.analysed.set()
        self.touch()
        if self.last_uri == uri:
            self.last_uri = next(reversed(self.files), None)
        saved = self.text_at(file.document.name)
        if saved is None:
            for run in self.results.runs:
                run.trackers.pop(file.document.name, None)
        else:
            for tracker in file.trackers:
                tracker.changes.clear()
                if saved.value != tracker.text.value:
                    tracker.follow((difference(tracker.text, saved),), saved)
        if not self.client.pulls_diagnostics:
            for shown in (cell.uri for cell in file.document.notebook.cells) if file.document.notebook else (uri,):
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(shown, []))
        self.push_leading(file.document.name)
        self.push_closed()

    def forget_cells(self, before: Notebook, now: Notebook) -> None:
        """Cells of a notebook are gone: with them what is shown there."""
        if not self.client.pulls_diagnostics:
            for uri in {cell.uri for cell in before.cells} - {cell.uri for cell in now.cells}:
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def file_at(self, path: str) -> OpenFile | None:
        """The open document of a file (or, by its URI, one that is no file)."""
        return next((file for file in self.files.values() if file.document.name == path), None)

    def text_at(self, path: str) -> Text | None:
        """A file's text now: the editor's when it is open, else what is on disk."""
        file = self.file_at(path)
        return file.document.text if file is not None else self._disk.get(path)

    def target(self, path: str) -> Target:
        """A file as the target of an edit; one that neither is open nor exists is created."""
        file = self.file_at(path)
        if file is not None:
            return Target(file.document.text, file.document.uri, file.document.version, file.document.notebook)
        content = read_text(path)
        return Target(None if content is None else Text(content))

    def begin_run(self, number: int, folder: str = "") -> Run:
        """A snapshot of all open documents that follows their changes, for a run in a workspace folder's worker."""
        trackers: dict[str, Tracker] = {}
        for file in self.files.values():
            document = file.document
            if document.path is None or not document.is_read:
                continue
            live = {id(tracker) for run in self.results.runs for tracker in run.trackers.values()}
            file.trackers = [tracker for tracker in file.trackers if id(tracker) in live]
            tracker = Tracker(document.text)
            file.trackers.append(tracker)
            trackers[document.path] = tracker
        return Run(number, trackers, folder=folder)

    # Findings

    def known(self, file: OpenFile) -> tuple[Known, ...]:
        """The findings of a document now, without those that its text silences."""
        if file.known is not None and file.known[0] == self._revision:
            return file.known[1]
        document = file.document
        if document.is_large:
            return ()
        static: tuple[Known, ...] = ()
        if file.static_text is not None:
            static = known_static(file.static, file.static_text, file.proposals, file.origins)
            if file.static_text is not document.text and file.static_text.value != document.text.value:
                static = ()  # the text has moved on; its analysis is on the way
        dynamo = self._dynamo(file)
        found = tuple(known for known in merged(dynamo, static) if known.site not in file.hushed)
        if document.notebook is not None:
            found = tuple(_in_cells(known, document.notebook, document.name) for known in found)
        file.known = (self._revision, found)
        return found

    def _dynamo(self, file: OpenFile) -> tuple[Known, ...]:
        return self._of_runs(file.document.path, file.document.text)

    def _of_runs(self, path: str | None, text: Text) -> tuple[Known, ...]:
        """What the runs found in a file that now reads `text`; of the same place what the newest says."""
        found: tuple[Known, ...] = ()
        for one in self.results if path is not None else ():
            here = known_dynamo(one.run, one.findings, path, text, self.text_at) if path is not None else ()
            found = newest(found, here) if found else here
        return found

    async def read_recordings(self, paths: list[str]) -> bool:
        """Read what has been recorded since the last time of these files; whether anything has."""
        return await self._static.run(self._recordings.look, paths)

    async def read_project(self, file: OpenFile) -> None:
        """Learn what the ``pyproject.toml`` of the document's project says; nothing in an untrusted one."""
        await self.configured()
        path = file.document.path
        if path is None or not self.client.trusted:
            return
        project = await asyncio.to_thread(self.services.read_project, os.path.dirname(path))
        if project.complaints != file.project.complaints:
            for complaint in project.complaints:
                self.log("warning", complaint)
        if project != file.project:
            file.project = project
            self.refresh_lenses()

    def stub(self, file: OpenFile) -> Stub:
        """The entry that could be written for the document; made once for each text."""
        if file.stub is None or file.stub[0] is not file.document.text:
            entry, failure = file.unmade[0] if file.unmade else (None, None)
            made = make_stub(file.document, entry.function if entry else "", failure.detail if failure else "")
            file.stub = file.document.text, made
        return file.stub[1]

    def guesses(self, file: OpenFile) -> tuple[Entry, ...]:
        """What of the document can be run with inputs that are made up, where the settings allow that; looked for once for each
        text."""
        if not in_project(self.settings_at(file.document.path), file.project).guess:
            return ()
        if file.guessed is None or file.guessed[0] is not file.document.text:
            found = self.services.guess_entries(file.document.text.value, file.document.name)
            file.guessed = file.document.text, found
        return file.guessed[1]

    def ignore(self, file: OpenFile, site: Break) -> TextEdit | None:
        """The edit that silences a finding; made once for each text (to read its tokens takes milliseconds)."""
        made = self._ignores(file)
        if site not in made:
            made[site] = self.services.ignore_edit(file.document.text.value, site)
        return made[site]

    def _ignores(self, file: OpenFile) -> dict[Break, TextEdit | None]:
        if file.ignores is None or file.ignores[0] is not file.document.text:
            file.ignores = file.document.text, {}
        return file.ignores[1]

    def touch(self) -> None:
        """What is known is not what it was (an edit in one document may void a proof about another)."""
        self._revision += 1

    def shown(self, file: OpenFile) -> dict[str, list[types.Diagnostic]]:
        """The document's diagnostics by the URI under which they are shown: its own, or those of a notebook's cells."""
        found, notebook = self.diagnostics(file), file.document.notebook
        shown = self.notebooks.shown(found, notebook, self.client.encoding)
        return shown if notebook is not None else {file.document.uri: shown.get("", [])}

    def diagnostics(self, file: OpenFile) -> list[types.Diagnostic]:
        """The document's diagnostics, at their places in its text."""
        if not self.settings_at(file.document.path).enable:
            return []
        if file.document.is_python and file.document.is_large:
            return [large_diagnostic(len(file.document.text.value))]
        return self._diagnostics(file.document.path, file.document.text, self.known(file))

    def _diagnostics(self, path: str | None, text: Text, found: tuple[Known, ...]) -> list[types.Diagnostic]:
        shown = [diagnostic(known, text, self.text_at, self.uri_at, self.client) for known in found]
        if path is None:
            return shown
        for run, note in self.results.notes(path):
            span = run.moved(path, note.frame.span, text)
            if span is None or any(known.site.span == span for known in found):
                continue
            note_shown = note_diagnostic(note, span, text, run, self.text_at, self.uri_at, self.client)
            shown += [note_shown] if note_shown is not None else []
        failures = [failure for one in self.results for failure in one.failures.get(path, ())]
        return shown + [failure_diagnostic(failure, text, self.client) for failure in dict.fromkeys(failures)]

    def closed_diagnostics(self) -> dict[str, list[types.Diagnostic]]:
        """What is shown in files that are not open, by URI; a file with nothing to show is left out."""
        shown: dict[str, list[types.Diagnostic]] = {}
        for path in sorted(self.results.paths):
            if not os.path.isabs(path) or is_notebook(path) or not self.settings_at(path).enable:
                continue  # only the cells of an open notebook have URIs
            if self.file_at(path) is not None or (text := self.text_at(path)) is None:
                continue
            if found := self._diagnostics(path, text, self._of_runs(path, text)):
                shown[uri_of(path)] = self.notebooks.shown(found, None, self.client.encoding)[""]
        return shown

    def push_closed(self, but: str | None = None) -> None:
        """Show what runs found in files that are not open, where the client does not ask for that; one that is opened
        (`but`) has no more of it."""
        if self.client.pulls_diagnostics:
            return
        now = self.closed_diagnostics()
        for uri in self._pushed.keys() | now.keys():
            if self._pushed.get(uri, []) != now.get(uri, []) and (but is None or uri != uri_of(but)):
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, now.get(uri, [])))
        self._pushed = now

    def push_leading(self, path: str) -> None:
        """A file's text is another: show again the calls in other files that lead to breaks in it."""
        led = {note for one in self.results for note in one.leading_to(path)}
        others = [file for file in self.files.values() if file.document.path in led]
        if self.client.pulls_diagnostics and led:
            self.refresh()
            return
        for file in others:
            self.publish(file)
        if len(others) < len(led):
            self.push_closed()

    def uri_at(self, path: str) -> str | None:
        """The URI under which a file is open."""
        file = self.file_at(path)
        return file.document.uri if file else None

    def publish(self, file: OpenFile) -> None:
        """Show the document's findings, or have the client ask for them."""
        if self.files.get(file.document.uri) is not file:
            return
        if self.client.pulls_diagnostics:
            return  # the client asks when it has changed the text; what comes later is told by `refresh`
        document = file.document
        cells = {cell.uri: cell.version for cell in document.notebook.cells} if document.notebook else {}
        for uri, found in self.shown(file).items():
            version = cells.get(uri, document.version) if self.client.diagnostic_versions else None
            self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def refresh(self) -> None:
        """Findings changed without a change of text: have pulling clients pull, and lenses be asked for again."""
        if self.client.pulls_diagnostics:
            self.server.spawn(self.server.workspace_diagnostic_refresh_async(None), "diagnostic refresh")
        self.push_closed()
        self._moved.set()
        self._moved = asyncio.Event()
        self.refresh_lenses()

    async def moves(self, seconds: float) -> None:
        """Wait until findings have changed, at most that long."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._moved.wait(), seconds)

    def refresh_lenses(self) -> None:
        """Have lenses be asked for again."""
        if self.client.refreshes_lenses:
            self.server.spawn(self.server.workspace_code_lens_refresh_async(None), "lens refresh")
        if self.client.refreshes_hints and any(one.inlay_hints for one in (self.settings, *self.of_folders.values())):
            self.server.spawn(self.server.workspace_inlay_hint_refresh_async(None), "inlay hint refresh")
        self.maps_changed()

    def maps_changed(self) -> None:
        """Have graph maps that are open be asked for again."""
        if self.client.shows_maps:
            self.server.protocol.notify("graphmend/mapChanged", {})

    # Static analysis

    def analyse(self, file: OpenFile) -> None:
        """Have the document analysed soon; while an analysis is under way, the newest text is analysed after it."""
        file.analysed.clear()
        if not file.document.is_read or not self.settings_at(file.document.path).enable:
            file.static, file.static_text = (), file.document.text
            file.analysed.set()
            self.publish(file)
            return
        if file.proposing is not None:
            file.proposing.cancel()
        if file.analysing is None or file.analysing.done():
            file.analysing = self.server.spawn(self._analyse(file), "static analysis")

    async def _analyse(self, file: OpenFile) -> None:
        while self.files.get(file.document.uri) is file:
            pause = min(max(2 * file.static_seconds, _QUICK), _PATIENT) - (time.monotonic() - self._last_static)
            if pause > 0:
                await asyncio.sleep(pause)
            document = file.document
            started = time.monotonic()
            confirmed = tuple(known.site for known in self._dynamo(file))
            sites, entries, hushed, origins = await self._static.run(
                _static_work, self.services, self._recordings, document, confirmed
            )
            self._last_static = time.monotonic()
            file.static_seconds = self._last_static - started
            if file.document.text.value != document.text.value:
                continue
            lens_before = bool(file.entries), bool(file.static)
            file.static, file.static_text, file.entries = sites, document.text, entries
            file.hushed, file.origins = hushed, origins
            file.proposals = {site: file.proposals[site] for site in sites if site in file.proposals}
            self.touch()
            file.analysed.set()
            self.publish(file)
            self.push_leading(file.document.name)
            if lens_before != (bool(entries), bool(sites)):
                self.refresh_lenses()
            file.proposing = self.server.spawn(self._propose(file), "mends of static findings")
            return

    async def _propose(self, file: OpenFile) -> None:
        """Look for mends of the static findings while the user pauses."""
        await asyncio.sleep(_IDLE)
        document = file.document
        if file.static and not file.entries:
            self.stub(file)
            self.guesses(file)
        ignores = self._ignores(file)
        for known in self.known(file):
            if known.site not in ignores:
                ignores[known.site] = await self._slow.run(self.services.ignore_edit, document.text.value, known.site)
        file.proposals = {}
        for known in self.known(file):
            if known.site.evidence in ("static", "recorded"):
                sources = {document.name: document.text.value}
                may = self.client.creates_files, self.settings_at(document.path).comments
                file.proposals[known.site] = await self._slow.run(self.services.propose, known.site, sources, *may)
        if file.proposals and file.document is document:
            self.touch()
            self.publish(file)
            self.refresh()


def _in_cells(known: Known, notebook: Notebook, path: str) -> Known:
    """A finding in a notebook without the mends that are no edits of single cells; these are declined. What is said of lines
    is said of the cell's."""
    cells, number = notebook.program, notebook.program.cell_at(known.site.span.start.line)
    kept: list[Candidate] = []
    declined = [replace(one, reason=cells.told(one.reason, number)) for one in known.declined]
    for candidate in known.candidates:
        mend = candidate.mend
        if why := cells.why_not(edit for edit in mend.edits if edit.path == path):
            declined.append(Declined(mend.rule, why))
            continue
        kept.append(replace(candidate, mend=cells.told_mend(mend, number)))
    return replace(known, candidates=tuple(kept), declined=tuple(declined))


def _static_work(
    services: Services, recordings: Recordings, document: Document, confirmed: tuple[Break, ...]
) -> tuple[tuple[Break, ...], tuple[Entry, ...], frozenset[Break], dict[Break, str]]:
    """The static and recorded findings and the entries of a text, and which findings (of a run, too) the text silences;
    of the recorded ones, which run met them."""
    source = document.text.value
    sites: tuple[Break, ...] = ()
    entries: tuple[Entry, ...] = ()
    hushed = frozenset[Break]()
    origins: dict[Break, str] = {}
    try:
        entries = services.find_entries(source, document.name)
        sites = services.find_breaks(source, document.name)
        if document.path is not None:
            origins = dict(recordings.sites(document.path, source))
            sites = (*origins, *(site for site in sites if not any(same_site(site, other) for other in origins)))
        # Looking for the comments takes as long as the analysis: only where there can be one.
        if "graphmend" in source and "ignore" in source:
            hushed = frozenset(site for site in (*sites, *confirmed) if services.is_suppressed(site, source))
    except Exception as error:  # a defect there must not take what a run finds away
        log_exception("in static analysis", error)
    return sites, entries, hushed, origins


def read_text(path: str) -> str | None:
    """A file's text as it is on disk, line ends kept, without byte order mark; None when it cannot be read."""
    from graphmend_lsp.engine.files import UnreadableSourceError, read_source

    try:
        return read_source(path).text
    except UnreadableSourceError:
        return None
