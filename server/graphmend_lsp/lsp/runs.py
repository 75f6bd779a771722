"""Runs of the user's program: asked for by a save or a command, coalesced, one at a time, the newest wins.

A run is a task: check, then prove. Its results are installed with the texts it ran on; `found` carries them to the
texts now. A run that a newer one replaces leaves its files to the newer one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmend_lsp.lsp.found import Run
from graphmend_lsp.lsp.render import failure_words
from graphmend_lsp.lsp.results import Result, by_name
from graphmend_lsp.lsp.rpc import CONTENT_MODIFIED, RpcError, log_exception
from graphmend_lsp.lsp.services import Project, SessionLike
from graphmend_lsp.lsp.settings import Settings, in_project, told_entries
from graphmend_lsp.lsp.uris import folder_of_virtual, uri_of
from graphmend_lsp.lsp.workspace import OpenFile, Workspace, read_text
from graphmend_lsp.model import Entry, Failure, Finding, Measurement, Plan, Report
from graphmend_lsp.notebook import is_notebook
from graphmend_lsp.report.words import found, mended
from graphmend_lsp.text import Text

if TYPE_CHECKING:
    from graphmend_lsp.engine.config import CheckRequest, WorkerConfig, WorkerStatus

_COALESCE = 0.002  # seconds: saves of several files come closer to each other than that; a later one begins anew
_CLOSE_PATIENCE = 2.0
_WORKER = ("command", "path_mapping", "timeout", "memory")  # settings that another worker is started for


class Runs:
    """The one session and the one run that may be under way in one workspace folder (`folder`; "" for what is in none).

    Its entries are those of files in the folder, and those that its runs had; `numbers` numbers the runs of all folders.
    """

    def __init__(self, workspace: Workspace, folder: str, numbers: Iterator[int]) -> None:
        self._workspace = workspace
        self.folder = folder
        self._numbers = numbers
        self._project = Project()
        self._session: SessionLike | None = None
        self._task: asyncio.Task[None] | None = None
        self._pending: set[str] = set()
        self._under_way: CheckRequest | None = None
        self._saved_again = ""  # a document that was saved as it is, while its run was under way
        self._number = 0
        self._told: set[str] = set()
        self.last = ""  # what the last run that came to its end found, as a sentence
        self.on_save: set[str] = set()  # documents that the client has mended on save
        self.ready: dict[str, tuple[Plan, Run]] = {}  # what was proven of them since, by URI
        self._offered: dict[str, dict[str, str]] = {}
        self.edited: set[str] = set()

    @property
    def settings(self) -> Settings:
        """The settings of the folder."""
        return self._workspace.of_folders.get(self.folder, self._workspace.settings)

    @property
    def _roots(self) -> tuple[str, ...]:
        return (self.folder,) if self.folder else ()

    def owns(self, file: OpenFile) -> bool:
        """Whether a document belongs to the folder."""
        return self._workspace.folder_at(file.document.path) == self.folder

    # Asking

    def why_not(self) -> str:
        """Why nothing may be run, in words for the user; empty when it may."""
        if not self._workspace.client.trusted:
            return "GraphMend runs nothing in an untrusted workspace"
        if not self.settings.enable or self.settings.run == "off":
            return "running is off (setting graphmend.run)"
        return ""

    def entries(self, file: OpenFile) -> tuple[Entry, ...]:
        """The entries that a run for this document uses: told ones (settings, then ``pyproject.toml``) and its own, else
        those of other open files, else what can be run with inputs that are made up.

        A document of another folder has those of this one that came through it, where it has none itself."""
        document, is_here = file.document, self.owns(file)
        fresh = file.static_text is not None and file.static_text.value == document.text.value
        own = file.entries if fresh else self._workspace.services.find_entries(document.text.value, document.name)
        reaching = self._workspace.results.entries_reaching(document.path) if document.path is not None else {}
        if not own and reaching:
            own = tuple(entry for entry, folder in reaching.items() if folder == self.folder)
        elif not is_here:
            return ()
        elif not own:
            own = tuple(entry for one in self._workspace.files.values() if self.owns(one) for entry in one.entries)
        if not is_here:
            return own
        told = (*told_entries(self.settings, self._roots), *file.project.entries)
        return tuple(dict.fromkeys((*told, *own))) or (() if reaching else self._workspace.guesses(file))

    async def expect(self, file: OpenFile) -> None:
        """A document that would be run at a save is being edited: have the worker, which takes seconds to load torch, started.

        Only one on this machine: elsewhere (a job of a cluster) a process may cost something.
        """
        self.edited.add(file.document.uri)
        await self._workspace.configured()
        settings = self.settings
        if self.why_not() or settings.run not in ("onSave", "onEverySave") or settings.worker_command:
            return
        await file.analysed.wait()
        if file.document.path is not None and file.document.is_read and self.entries(file):
            await self.session().start()

    def ask(self, uri: str, *, anew: bool = True) -> asyncio.Task[None] | None:
        """Run what reaches the document, soon, in place of a run under way. None when there is nothing to run.

        Not `anew`: a run under way of the very same texts is left to its end, and what it proves is not lost; then it is run
        again, which what is kept answers where no other file has changed.
        """
        workspace = self._workspace
        file = workspace.files.get(uri)
        if file is None or file.document.path is None or not file.document.is_read or self.why_not():
            return None
        if not self.entries(file):
            self.tell_status(state="stopped", message="no entry; write a graphmend_entry function to run the model")
            return None
        busy = self._task is not None and not self._task.done()
        if not anew and busy and self._under_way is not None and self._under_way == self._request([file]):
            self._saved_again = uri
            return self._task
        self._saved_again, self._under_way = "", None
        self._pending.add(uri)
        self._number = next(self._numbers)
        previous = self._task
        self._task = workspace.server.spawn(self._run(self._number, previous), "run")
        return self._task

    async def recall(self, file: OpenFile) -> None:
        """Show what a run of the document would find, where that is kept and nothing has changed since. Runs nothing."""
        document, busy = file.document, self._task is not None and not self._task.done()
        if busy or self._is_shown(document.path) or document.path is None or not document.is_read or self.why_not():
            return
        if not self.entries(file):
            return
        number, run = self._number, self._workspace.begin_run(self._number, self.folder)
        try:
            report = await self.session().recall(self._request([file]))
        except Exception as error:  # what is kept is no more than a help
            log_exception("in a kept result", error)
            return
        if report is not None and self.is_known(number) and self._workspace.files.get(document.uri) is file:
            await self._install(run, report, [file])

    async def settled(self) -> None:
        """Wait for the run under way, or the newer one that takes its place."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def time(self, file: OpenFile) -> None:
        """Have the graphs that a document's map shows timed, behind any run under way, and the map shown anew.

        What cannot be timed, because a program fails now or is another, stays as it is.
        """
        await self.settled()
        cuts = [] if self.why_not() else self._workspace.maps.untimed(file.document.name, self.folder)
        if not cuts:
            return
        keys = {(cut.result.entry, cut.result.mode): cut for cut in cuts}
        for result in await self.session().timed(self._request([file]), keys):
            self._workspace.maps.timed(keys[result.entry, result.mode], result)
        self._workspace.maps_changed()

    def is_known(self, number: int) -> bool:
        """Whether a run is the newest."""
        return number == self._number

    # Running

    async def _run(self, number: int, previous: asyncio.Task[None] | None) -> None:
        if previous is not None and not previous.done():
            previous.cancel()
            await asyncio.wait([previous], timeout=_CLOSE_PATIENCE)
        await asyncio.sleep(_COALESCE)
        workspace = self._workspace
        wanted = [file for uri in self._pending if (file := workspace.files.get(uri)) is not None]
        if not wanted:
            self._pending.clear()
            return
        request, run = self._request(wanted), workspace.begin_run(number, self.folder)
        self._under_way = request
        try:
            await self._check_and_prove(number, request, run, wanted)
            if self.is_known(number) and self._saved_again:
                self.ask(self._saved_again)
        except asyncio.CancelledError:
            if self.is_known(number):
                self._pending.clear()  # cancelled by the user, not replaced by a newer run
                self.last = "The run was cancelled."
            raise
        except Exception as error:
            log_exception("in a run", error)
            self._pending.clear()
            self.last = "The run failed inside GraphMend. See its log, and restart the server to try again."
            self.tell_status("failed", message=self.last)

    async def _check_and_prove(self, number: int, request: CheckRequest, run: Run, wanted: list[OpenFile]) -> None:
        workspace = self._workspace
        async with workspace.progress.bar("Finding graph breaks") as bar:

            async def on_real(report: Report, ended: bool) -> None:
                if self.is_known(number):
                    await (self._install if ended else self._announce)(run, report, wanted)

            report = await self.session().check(request, bar.report, on_real)
            if not self.is_known(number):
                return
            await self._install(run, report, wanted)
            self._pending.clear()
            proven = await self.session().prove(request, report, lambda finding: self._settle(run, finding), bar.report)
            if self.is_known(number):
                await self._install(run, proven, wanted)
                bar.closing = self.last = found(proven)
                workspace.log("info", f"{', '.join(sorted(Path(path).name for path in request.paths))}: {self.last}")

        if len(wanted) == 1 and wanted[0].document.uri in self.on_save and self.is_known(number):
            await self._make_ready(number, request, run, wanted[0], proven)

    async def _make_ready(self, number: int, request: CheckRequest, run: Run, file: OpenFile, proven: Report) -> None:
        """Have all mends of a document proven together, so that its next save can make them; offer them once."""
        from graphmend_lsp.lsp.methods.on_save import offer_ready

        uri = file.document.uri
        self.ready.pop(uri, None)
        if not any(one.safety == "safe" for finding in proven.findings for one in finding.candidates):
            return
        async with self._workspace.progress.bar("Verifying mends together") as bar:
            plan = await self.session().mend(replace(request, within=file.document.path), bar.report, proven)
        if not self.is_known(number) or not plan.texts or plan.verdict is None or plan.verdict.safety != "safe":
            return
        self.ready[uri] = plan, run
        self._workspace.maps.mended(plan)
        if self._offered.get(uri) != plan.texts:
            self._offered[uri] = plan.texts
            self._workspace.server.spawn(offer_ready(self._workspace.server, file, plan), "offer of mends")

    def _request(self, files: Iterable[OpenFile]) -> CheckRequest:
        from graphmend_lsp.engine.config import CheckRequest

        workspace = self._workspace
        paths = tuple(sorted({file.document.path for file in files if file.document.path is not None}))
        entries = tuple(dict.fromkeys(entry for file in files for entry in self.entries(file)))
        texts = {
            document.path: document.text.value
            for document in workspace.store.all()
            if document.path is not None and document.is_read
        }
        for file in {entry.file for entry in entries if is_notebook(entry.file)} - texts.keys():
            if (closed := workspace.text_at(file)) is not None:
                texts[file] = closed.value  # the worker knows no notebooks, only what their cells make
        roots = self._roots or tuple(dict.fromkeys(str(Path(path).parent) for path in paths))
        roots = tuple(dict.fromkeys((*(folder for path in paths if (folder := folder_of_virtual(path))), *roots)))
        shown = (*roots, *workspace.client.roots)  # what is found in another folder's file is shown there, too
        self._project = next((file.project for file in files if self.owns(file)), self._project)
        settings = in_project(self.settings, self._project)
        return CheckRequest(
            paths, texts, entries, roots, settings.device, settings.modes,
            analysis="both" if settings.explore else "real", made_up=settings.guess,
            shown=tuple(dict.fromkeys((*shown, *(str(Path(path).parent) for path in (*paths, *(e.file for e in entries)))))),
            support=None if workspace.client.creates_files else "inline", comments=settings.comments,
        )  # fmt: skip

    def _is_shown(self, path: str | None) -> bool:
        return path is not None and any(
            entry.file == path for one in self._workspace.results for entry in one.entries.values()
        )

    async def _install(self, run: Run, report: Report, wanted: list[OpenFile]) -> None:
        """Show a report's findings in the files that they are in, in the place of all that its entries showed before."""
        workspace = self._workspace
        findings = await self._shown(run, report)
        failures = {path: told for path, file in _by_path(workspace) if (told := self._failures(report, file, wanted))}
        entries = by_name(result.entry for result in report.entries)
        files = [file.document.path for file in wanted if file.document.path is not None]
        workspace.results.install(Result(run, findings, dict(entries), failures), files)
        workspace.maps.install(run, report)
        for file in wanted:
            file.ran = True
        for path, file in _by_path(workspace):
            unmade = tuple(
                (result.entry, result.error)
                for result in report.entries
                if result.entry.file == path and result.error is not None and result.error.kind == "no-inputs"
            )
            if (file in wanted and self.owns(file)) or unmade:
                file.unmade = unmade
            if unmade:
                file.stub = None  # it can tell more now
                workspace.stub(file)
        for failure in _failures_of(report):
            self._tell(failure)
        self._publish()

    async def _announce(self, run: Run, report: Report, wanted: list[OpenFile]) -> None:
        """Show what a run that is under way has met so far, beside what earlier ones found."""
        findings = await self._shown(run, report)
        workspace = self._workspace
        failures = {path: told for path, file in _by_path(workspace) if (told := self._failures(report, file, wanted))}
        workspace.results.announce(Result(run, findings, failures=failures, is_news=True))
        self._publish()

    async def _shown(self, run: Run, report: Report) -> tuple[Finding, ...]:
        """The findings of runs in a report; the texts of files that they are about are read."""
        findings = tuple(finding for finding in report.findings if finding.site.evidence in ("dynamo", "fake"))
        missing = {path for f in findings for path in (f.site.path, *(frame.path for frame in f.site.chain))}
        missing |= {edit.path for f in findings for c in f.candidates for edit in c.mend.edits}
        missing -= run.trackers.keys() | run.foreign.keys()
        texts = await asyncio.to_thread(lambda: {path: read_text(path) for path in missing})
        run.foreign.update({path: Text(text) for path, text in texts.items() if text is not None})
        return findings

    def _failures(self, report: Report, file: OpenFile, wanted: list[OpenFile]) -> tuple[Failure, ...]:
        """What of a report's failures is shown in a document."""
        return tuple(
            placed
            for failure in _failures_of(report)
            if failure.kind not in ("cancelled", "no-inputs")
            and (placed := self._placed(failure, report, file, wanted)) is not None
        )

    def _placed(self, failure: Failure, report: Report, file: OpenFile, wanted: list[OpenFile]) -> Failure | None:
        """The failure as this document shows it, None when another place shows it."""
        path = file.document.path
        if failure.path is not None and self._workspace.file_at(failure.path) is not None:
            return failure if failure.path == path else None
        for result in report.entries:
            if result.error == failure and result.entry.file == path:
                return replace(failure, path=path, line=definition_line(file.document.text, result.entry.function))
        at_home = any(
            result.error == failure and self._workspace.file_at(result.entry.file) for result in report.entries
        )
        return replace(failure, path=path, line=1) if not at_home and file in wanted else None

    def _settle(self, run: Run, finding: Finding) -> None:
        """One finding has its verdicts: show them without waiting for the others."""
        if not self.is_known(run.number):
            return
        for path in self._workspace.results.settle(run, finding):
            self._workspace.touch()
            if (file := self._workspace.file_at(path)) is not None:
                self._workspace.publish(file)

    def _publish(self) -> None:
        self._workspace.touch()
        for file in self._workspace.files.values():
            self._workspace.publish(file)
        self._workspace.refresh()

    async def mend(
        self, file: OpenFile, token: int | str | None = None, *, within: str | None = None
    ) -> tuple[Plan, Run]:
        """Mend all of a document, or (`within`) of an installed package that it reaches; the plan and the texts it starts
        from."""
        await self._give_way()
        request = replace(self._request([file]), within=within, packages=within is not None, shown=None)
        run = self._workspace.begin_run(self._number, self.folder)
        async with self._workspace.progress.bar("Mending graph breaks", token) as bar:
            plan = await self._unless_edited(run, self.session().mend(request, bar.report))
            bar.closing = mended(plan)
        self._workspace.maps.mended(plan)
        self._workspace.log("info", f"{Path(file.document.name).name}: {mended(plan)}")
        return plan, run

    async def _unless_edited(self, run: Run, mending: Coroutine[Any, Any, Plan]) -> Plan:
        """The plan; an edit of a text that it is about ends the work, whose outcome could not be used.

        Raises:
            RpcError: there was one.
        """
        task = asyncio.ensure_future(mending)
        edited = asyncio.ensure_future(self._workspace.edited(run))
        try:
            await asyncio.wait([task, edited], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise RpcError(CONTENT_MODIFIED, "the text changed while GraphMend verified the mends; ask again")
        finally:
            edited.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=_CLOSE_PATIENCE)

    async def measure(
        self, file: OpenFile, backend: str | None, token: int | str | None = None
    ) -> tuple[Measurement, ...]:
        """How fast a document's entries are with all of its mends made, which stay where they are: nowhere."""
        from graphmend_lsp.engine.plan import reached

        await self._give_way()
        request = replace(self._request([file]), shown=None)
        async with self._workspace.progress.bar("Measuring the speed-up of mends", token) as bar:
            plan = await self.session().mend(request, bar.report)
            if not plan.texts:
                return ()
            return await self.session().measure(request, plan.texts, reached(plan), backend, bar.report)

    async def _give_way(self) -> None:
        """End the run under way: what was asked for now goes first."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSE_PATIENCE)
        self._number = next(self._numbers)

    # The session

    def session(self) -> SessionLike:
        """The session, made when it is first needed."""
        if self._session is None:
            self._session = self._workspace.services.make_session(self._config(), self._on_status)
        return self._session

    def _config(self) -> WorkerConfig:
        from graphmend_lsp.engine.config import WorkerConfig
        from graphmend_lsp.engine.path_map import parse_pair

        here = (file.project for file in self._workspace.files.values() if self.owns(file))
        settings = in_project(self.settings, next((one for one in here if one != Project()), self._project))
        cwd = self.folder if self.folder and Path(self.folder).is_dir() else None
        return WorkerConfig(
            settings.interpreter, settings.worker_command, settings.worker_timeout, settings.worker_memory, cwd,
            path_map=tuple(map(parse_pair, settings.worker_path_mapping)), yields=True,
        )  # fmt: skip

    def settings_changed(self, before: Settings) -> None:
        """Begin anew with another worker when the settings that it was started with are others."""
        now = self.settings
        names = ("interpreter", "enable", "run", *(f"worker_{name}" for name in _WORKER))
        if any(getattr(before, name) != getattr(now, name) for name in names):
            self._workspace.server.spawn(self.stop(), "worker stop")

    async def stop(self) -> None:
        """Cancel the run and end the worker; the next run makes a new session."""
        self._number = next(self._numbers)
        if self._task is not None and not self._task.done():
            self._task.cancel()
        session, self._session = self._session, None
        self.edited.clear()
        if session is not None:
            try:
                await asyncio.wait_for(session.close(), _CLOSE_PATIENCE)
            except asyncio.TimeoutError:
                self._workspace.log("error", "the worker did not end in time")

    async def restart(self) -> None:
        """End the worker, forget what was told, and run anew what the user looks at."""
        await self.stop()
        self._told.clear()
        self.tell_status(state="stopped", message="")

    # Telling

    def _on_status(self, status: WorkerStatus) -> None:
        if status.state == "starting" and status.message:
            self._workspace.log("warning", status.message)
            self._workspace.show("warning", f"GraphMend: {status.message}")
        self.tell_status(status.state, status.torch, status.python, status.device, status.message)

    def tell_status(
        self,
        state: str,
        torch: str | None = None,
        python: str | None = None,
        device: str | None = None,
        message: str = "",
    ) -> None:
        """`graphmend/status`, for a status line; `folder` is the URI of the workspace folder that it is about."""
        folder = uri_of(self.folder) if self.folder else None
        status = {
            "state": state, "torch": torch, "python": python, "device": device, "message": message, "folder": folder,
        }  # fmt: skip
        self._workspace.server.protocol.notify("graphmend/status", status)

    def _tell(self, failure: Failure) -> None:
        """A failure that is not about the user's code is also told in a message, once."""
        words = failure_words(failure)
        if failure.kind == "cancelled" or words in self._told:
            return
        self._told.add(words)
        level = "info" if failure.kind == "no-inputs" else "error"
        self._workspace.log(level, words + (f"\n{failure.detail}" if failure.detail else ""))
        is_of_python = failure.kind in ("no-worker", "no-torch", "old-torch") and not self.settings.worker_command
        if is_of_python and self._workspace.client.helps_with_python:
            problem = {"message": words, "folder": uri_of(self.folder) if self.folder else None}
            self._workspace.server.protocol.notify("graphmend/pythonProblem", problem)
        elif failure.kind in ("no-worker", "no-torch", "old-torch", "device", "protocol"):
            self._workspace.show("warning", f"GraphMend: {words}")


def _by_path(workspace: Workspace) -> list[tuple[str, OpenFile]]:
    return [(file.document.path, file) for file in workspace.files.values() if file.document.path is not None]


def _failures_of(report: Report) -> tuple[Failure, ...]:
    return tuple(dict.fromkeys((*report.failures, *(e.error for e in report.entries if e.error is not None))))


def definition_line(text: Text, function: str) -> int:
    """The line that defines a function or class, 1 when none does."""
    for number in range(1, text.line_count + 1):
        words = text.line(number).replace("(", " ").replace(":", " ").split()
        if function in words[1:3] and words[0] in ("def", "async", "class"):
            return number
    return 1
