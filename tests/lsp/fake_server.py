"""The real server over a stand-in engine: a break is ``foo``, its mend is ``bar``; the session misbehaves on demand.

What it does is written in the text it is asked about, as ``# fake: hang check``, ``# fake: crash check`` and so on.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig, WorkerStatus
from graphmend_lsp.lsp.server import serve_stdio
from graphmend_lsp.lsp.services import Services, explain_rule, read_project
from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    Declined,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Frame,
    Graph,
    Measurement,
    Mend,
    Mode,
    Plan,
    Position,
    Progress,
    Report,
    Span,
    Stop,
    TextEdit,
    Verdict,
)
from graphmend_lsp.text import Text, apply_edits

WORD = re.compile(r"\bfoo\b")


def orders(source: str) -> set[str]:
    return set(re.findall(r"# fake: ([a-z ]+)", source))


async def gate(folder: Path) -> None:
    """Wait until a file "open" is in the folder; how often that began and was cancelled stands in its file "log"."""
    with (folder / "log").open("a") as log:
        print("began", file=log, flush=True)
        try:
            while not (folder / "open").exists():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            print("cancelled", file=log, flush=True)
            raise


def sites(source: str, path: str, evidence: Any) -> tuple[Break, ...]:
    text = Text(source)
    found = []
    for match in WORD.finditer(source):
        span = Span(text.position(match.start()), text.position(match.end()))
        chain = (Frame(path, "forward", span), Frame(path, "inner", Span.of(1, 1, 1, 2)))
        graphs = 1 if evidence == "dynamo" else 0
        site = Break(path, span, "GB0170", "Data-dependent branching", "foo breaks the graph", evidence, graphs=graphs)
        found.append(site if evidence == "static" else with_chain(site, chain))
    return tuple(found)


def strip_of(entry: Entry, findings: Iterable[Finding]) -> tuple[Graph | Stop, ...]:
    """A graph before and after each break of the entry."""
    met = [finding.site for finding in findings if entry.name in finding.site.entries]
    pieces: list[Graph | Stop] = [Graph(3, "inner", entry.file, 1)]
    for site in met:
        stop = Stop(site.path, site.span, site.code, site.gb_type, "resumed", "foo", chain=site.chain)
        pieces += [stop, Graph(4, "inner", entry.file, site.span.start.line)]
    return tuple(pieces)


def with_chain(site: Break, chain: tuple[Frame, ...], file: str = "") -> Break:
    entries = (Entry(file or site.path, "graphmend_entry").name,)
    return replace(site, chain=chain, entries=entries, modes=("eval",))


def find_breaks(source: str, path: str) -> tuple[Break, ...]:
    if "slow static" in orders(source):
        time.sleep(0.4)
    if "raise static" in orders(source):
        raise ValueError("static analysis raised")
    print("printed by analysis, must not reach the protocol")
    return sites(source, path, "static")


def find_entries(source: str, path: str) -> tuple[Entry, ...]:
    return (Entry(path, "graphmend_entry"),) if "def graphmend_entry" in source else ()


def is_suppressed(site: Break, source: str) -> bool:
    return "graphmend: ignore" in Text(source).line(site.span.start.line)


def ignore_edit(source: str, site: Break) -> TextEdit | None:
    line = site.span.start.line
    end = Position(line, len(Text(source).line(line)) + 1)
    return TextEdit(site.path, Span(end, end), f"  # graphmend: ignore[{site.code}]")


def propose(
    site: Break, sources: Mapping[str, str], creates_files: bool = True, comments: bool = True
) -> tuple[tuple[Mend, ...], tuple[Declined, ...]]:
    if "decline" in orders(sources[site.path]):
        return (), (Declined("where", "the value is None"),)
    if "cross" in orders(sources[site.path]):
        beyond = TextEdit(site.path, Span(site.span.start, Position(site.span.end.line + 2, 2)), "bar")
        return (replace(mend_of(site), edits=(beyond,)),), ()
    return (mend_of(site),), ()


def kit_of(path: str) -> str:
    """An installed module, as the fake runs meet it."""
    return str(Path(path).parent / "site-packages" / "kit" / "model.py")


def called(request: CheckRequest) -> tuple[Break, ...]:
    """The breaks of other files that entries' files call, by ``NAME()  # fake call``; chained through the call."""
    found = []
    for file in dict.fromkeys(entry.file for entry in request.entries):
        text = Text(request.texts[file] if file in request.texts else Path(file).read_text())
        for match in re.finditer(r"([\w/.]+)\(\)  # fake call", text.value):
            path = os.path.normpath(Path(file).parent / f"{match[1]}.py")
            inner = request.texts[path] if path in request.texts else Path(path).read_text()
            call = Frame(file, "main", Span(text.position(match.start()), text.position(match.end(1) + 2)))
            if file in request.paths or request.shown is not None:
                found += [
                    with_chain(site, (call, Frame(path, "inner", site.span)), file)
                    for site in sites(inner, path, "dynamo")
                ]
    return tuple(found)


def mend_of(site: Break) -> Mend:
    return Mend(
        "where", "write bar", site.path, site.span, (TextEdit(site.path, site.span, "bar"),), changes=("less foo",)
    )


def verdict(source: str) -> Verdict:
    safety: Any = next((word for word in ("unsafe", "wrong") if word in orders(source)), "safe")
    reasons = () if safety == "safe" else ("outputs differ by 1e-6",)
    return Verdict(safety, reasons, Counts(2, 1, 0), Counts(1, 0, 0), "bit-equal", "bit-equal", "bit-equal", "equal", 4)


class FakeSession:
    def __init__(self, config: WorkerConfig, on_status: Callable[[WorkerStatus], None]) -> None:
        self.config = config
        self.on_status = on_status
        self.worker: subprocess.Popen[bytes] | None = None

    async def check(
        self,
        request: CheckRequest,
        on_progress: Callable[[Progress], None] | None = None,
        on_real: Callable[[Report, bool], Awaitable[None]] | None = None,
    ) -> Report:
        told = {word for text in request.texts.values() for word in orders(text)}
        self.on_status(WorkerStatus("busy", "2.13.0", "3.11", "cpu"))
        if "died" in told:
            self.on_status(
                WorkerStatus("starting", message="The worker ended unexpectedly; GraphMend starts it again.")
            )
        if "which" in told:
            modes = "+".join(request.modes)
            words = f"{self.config.python} in {self.config.cwd}: {modes}, {self.config.seconds:g} s, {request.roots}"
            self.on_status(WorkerStatus("busy", message=words))
        if "worker" in told:
            self.worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            self.on_status(WorkerStatus("busy", message=f"pid {self.worker.pid}"))
        if on_progress:
            on_progress(Progress("running", 10))
        if "hang check" in told:
            await asyncio.sleep(3600)
        if "gate" in told:
            await gate(Path(request.paths[0]).parent)
        if "block loop" in told:
            time.sleep(3600)
        if "crash check" in told:
            raise RuntimeError("the session crashed at /secret/place.py")
        if "slow check" in told:
            await asyncio.sleep(0.7)
        if "flood" in told:
            for number in range(20_000):
                self.on_status(WorkerStatus("busy", message="x" * 200 + str(number)))
        if "no torch" in told:
            failure = Failure("worker", "no-torch", "/py has no torch.", "Install torch.")
            return Report(None, None, None, (), (), (failure,))
        if "failure" in told:
            path = request.paths[0]
            failure = Failure("call", "exception", "ValueError: boom", "Mend the entry.", path, 2)
            result = EntryResult(request.entries[0], "eval", 0, 0, (), failure)
            return Report("2.13.0", "3.11", "cpu", (result,), (), (failure,))
        findings = tuple(
            Finding(site, (Candidate(mend_of(site)),))
            for path in request.paths
            for site in sites(request.texts[path], path, "dynamo")
        )
        elsewhere = called(request)
        findings = tuple(one for one in findings if one.site.path not in {site.path for site in elsewhere})
        findings += tuple(Finding(site, (Candidate(mend_of(site)),)) for site in elsewhere)
        if "meets" in told and on_real is not None:  # the last break of each file, and then nothing for long
            last = {one.site.path: Finding(one.site, proposed=False) for one in findings}
            await on_real(Report("2.13.0", "3.11", "cpu", (), tuple(last.values())), False)
            await asyncio.sleep(3600)
        if "package" in told:
            kit = kit_of(request.paths[0])
            inside = Frame(kit, "forward", Span.of(1, 1, 1, 2))
            findings = tuple(Finding(with_chain(one.site, (*one.site.chain, inside))) for one in findings)
        if "lie" in told:
            beyond = Span.of(900_000, 7, 900_001, 9)
            elsewhere = Break("/no/such/file.py", beyond, None, "made up", "lie", "dynamo")
            here = Break(request.paths[0], beyond, "GB" + "9" * 50, "made up", "", "dynamo", graphs=-4)
            findings += (Finding(elsewhere), Finding(here, (Candidate(mend_of(elsewhere)),)))
        ran = tuple(
            EntryResult(entry, "eval", 2, 0, (3, 4), strip=strip_of(entry, findings)) for entry in request.entries
        )
        return Report("2.13.0", "3.11", "cpu", ran, findings)

    async def prove(
        self,
        request: CheckRequest,
        report: Report,
        on_finding: Callable[[Finding], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Report:
        told = {word for text in request.texts.values() for word in orders(text)}
        if on_progress:
            on_progress(Progress("proving"))
        if "hang prove" in told:
            await asyncio.sleep(3600)
        if "slow prove" in told:
            await asyncio.sleep(0.7)
        findings = []
        for finding in report.findings:
            text = request.texts.get(finding.site.path, "")
            settled = replace(
                finding, candidates=tuple(Candidate(one.mend, verdict(text)) for one in finding.candidates)
            )
            if "behind" in orders(text):
                why = Declined("where", "the program is cut as before; another break stands behind this one")
                settled = replace(settled, candidates=(), declined=(why,), behind=settled.candidates)
            if on_finding:
                on_finding(settled)
            findings.append(settled)
        self.on_status(WorkerStatus("ready", "2.13.0", "3.11", "cpu"))
        return replace(report, findings=tuple(findings))

    async def recall(self, request: CheckRequest) -> Report | None:
        told = {word for text in request.texts.values() for word in orders(text)}
        if "crash kept" in told:
            raise RuntimeError("what is kept is broken")
        return await self.prove(request, await self.check(request)) if "kept" in told else None

    async def timed(self, request: CheckRequest, keys: Iterable[tuple[Entry, Mode]]) -> tuple[EntryResult, ...]:
        told = {word for text in request.texts.values() for word in orders(text)}
        if "crash timed" in told:
            raise RuntimeError("the session crashed")
        report = await self.check(request)
        share = 0.25
        return tuple(
            replace(
                one,
                strip=tuple(replace(piece, share=share) if isinstance(piece, Graph) else piece for piece in one.strip),
            )
            for one in report.entries
            if (one.entry, one.mode) in set(keys)
        )

    async def mend(
        self,
        request: CheckRequest,
        on_progress: Callable[[Progress], None] | None = None,
        report: Report | None = None,
    ) -> Plan:
        told = {word for text in request.texts.values() for word in orders(text)}
        if on_progress:
            for number in (1, 2):
                on_progress(Progress(f"round {number}"))
        self.on_status(WorkerStatus("busy"))
        if "hang mend" in told:
            await asyncio.sleep(3600)
        if "crash mend" in told:
            raise RuntimeError("the session crashed at /secret/place.py")
        if "slow mend" in told:
            await asyncio.sleep(0.7)
        report = report or await self.check(request)
        if request.within is not None and request.packages:
            kit = kit_of(request.paths[0])
            assert kit.startswith(request.within) and request.packages
            declined = Finding(sites("foo", kit, "dynamo")[0], declined=(Declined("where", "it raises."),))
            report = replace(report, findings=(declined,))
            old = "as it was\n" if "changed" in told else Path(kit).read_text()
            texts = {} if "nothing" in told else {kit: old.replace("foo", "bar")}
            return Plan(report, report, (), texts, old=dict.fromkeys(texts, old))
        texts = {}
        for path in request.paths:
            text = request.texts[path]
            edits = [mend_of(site).edits[0] for site in sites(text, path, "dynamo")]
            if edits:
                texts[path] = apply_edits(text, edits)
        if "create file" in told:
            texts[str(Path(request.paths[0]).with_name("made_new.py"))] = "made = 1\n"
        after = replace(report, findings=(), entries=tuple(replace(one, graphs=1, strip=()) for one in report.entries))
        return Plan(report, after if texts else report, (), texts, verdict("\n".join(request.texts.values())))

    async def measure(
        self,
        request: CheckRequest,
        texts: Mapping[str, str],
        keys: Iterable[tuple[Entry, Mode]],
        backend: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> tuple[Measurement, ...]:
        told = {word for text in request.texts.values() for word in orders(text)}
        assert all(request.texts[path] != text for path, text in texts.items())
        if on_progress:
            on_progress(Progress("measuring"))
        self.on_status(WorkerStatus("busy"))
        if "hang measure" in told:
            await asyncio.sleep(3600)
        spread = 2.0 if "noise" in told else 1.51
        times: Any = {"first": (1.0, 2.0), "warm": (0.3, 0.2), "ratio": 1.5, "low": 1.49, "high": spread, "samples": 9}
        return tuple(Measurement(*key, backend or "inductor", "cpu", **times) for key in keys)

    async def start(self) -> None:
        self.on_status(WorkerStatus("ready", message="started"))

    async def restart(self) -> None:
        await self.close()

    async def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()


def services() -> Services:
    return Services(
        find_breaks, find_entries, is_suppressed, ignore_edit, propose, explain_rule, read_project, FakeSession
    )


if __name__ == "__main__":
    print("printed before serving", file=sys.stderr)
    sys.exit(serve_stdio(services()))
