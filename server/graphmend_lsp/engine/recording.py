"""`graphmend-lsp record`: run a command with the recorder in every Python process of it, and keep what it met.

The program is run by the user, in the user's folder and environment; all that differs is PYTHONPATH and one variable,
which its child processes inherit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphmend_lsp.engine.breaks import Scope, breaks_of, is_installed, merge, merge_all, place_of
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.gathering import Gathered, Part, gather
from graphmend_lsp.engine.recorded import Recording, anchored, hash_of
from graphmend_lsp.engine.running import run_command
from graphmend_lsp.engine.trace_places import meant_on
from graphmend_lsp.model import Break, Entry, EntryResult
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import BreakData, FrameData

FOLDER = "GRAPHMEND_RECORD"
SITE = Path(__file__).resolve().parent.parent / "worker" / "record_site"
_UNLIMITED = 10**9


@dataclass(frozen=True, slots=True)
class Recorded:
    """How the command ended (its exit status, or minus the number of a signal) and what was recorded of it."""

    status: int
    recording: Recording


def record(command: Sequence[str]) -> Recorded:
    """Run the command to its end. Writes nothing but a folder that is gone afterwards.

    Raises:
        NotStartedError: the command cannot be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="graphmend-record-"))
    try:
        status = run_command(command, environment(os.environ, folder))
        return Recorded(status, recording_of(gather(folder), command, os.getcwd()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(own: os._Environ[str] | dict[str, str], folder: Path) -> dict[str, str]:
    """The environment in which Python processes record into `folder`."""
    path = os.pathsep.join(filter(None, (str(SITE), own.get("PYTHONPATH", ""))))
    return {**own, "PYTHONPATH": path, FOLDER: str(folder)}


def recording_of(gathered: Gathered, command: Sequence[str], folder: str) -> Recording:
    """What the processes told, as sites of the files as they are now."""
    texts, changed = _texts(gathered)
    return recording_from(gathered, command, folder, texts, changed, time.time())


def recording_from(
    gathered: Gathered, command: Sequence[str], folder: str, texts: dict[str, str], changed: set[str], ended: float
) -> Recording:
    """What was gathered as a recording; `texts` are the files as they ran, empty for those that have changed since."""
    sources = Sources(texts)
    groups = [_sites(part, sources) for part in gathered.parts]
    sites = merge_all(groups)
    return Recording(
        command=tuple(command),
        folder=folder,
        ended=ended,
        torch=gathered.torch,
        python=gathered.python,
        results=tuple(_result(part) for part in gathered.parts if part.events or part.graphs),
        sites=tuple(anchored(site, texts.get(site.path) or None) for site in sites),
        files={path: hash_of(text) for path, text in texts.items() if text and path not in changed},
        processes=gathered.processes,
        notes=tuple(_notes(gathered, {site.path for site in sites} & changed)),
    )


def entry_of(part: Part) -> Entry:
    """What a part of the run is called: its program and rank."""
    return Entry(part.main, part.name)


def _texts(gathered: Gathered) -> tuple[dict[str, str], set[str]]:
    """The texts of the files that ran, and which of them read otherwise now: their text is none."""
    texts: dict[str, str] = {}
    changed: set[str] = set()
    disk = Sources({})
    for path, sha256 in gathered.files.items():
        text = disk.get(path)
        if path.startswith("<") or text is None:
            continue
        if sha256 is None or hashlib.sha256(Path(path).read_bytes()).hexdigest() != sha256:
            changed.add(path)
            texts[path] = ""  # places keep their line; nothing is read out of a text that is not the one that ran
        else:
            texts[path] = text
    return texts, changed


def _sites(part: Part, sources: Sources) -> tuple[Break, ...]:
    """The sites of one part. Every distinct event is placed once and counts as often as it came."""
    name, scope = entry_of(part).name, Scope(())
    texts: dict[str, Text] = {}
    sites: dict[object, Break] = {}
    for event, count in part.events.values():
        placed = _placed(event, sources, texts)
        for found in breaks_of([placed], _UNLIMITED, name, "eval", scope, sources):
            site = replace(
                found, evidence="recorded", modes=(), events=found.events * count, graphs=found.graphs * count
            )
            key = (site.path, site.span)
            sites[key] = merge(sites[key], site) if key in sites else site
    most = max(len(part.graphs) - 1, 0)
    return tuple(replace(site, graphs=min(site.graphs, most)) for site in sites.values())


def _placed(event: BreakData, sources: Sources, texts: dict[str, Text]) -> BreakData:
    """The event with columns where it is shown: Python 3.10 tells the line only."""
    frames = event["frames"]
    at = next((at for at in range(len(frames) - 1, -1, -1) if _is_users(frames[at])), None)
    if at is None or frames[at]["column"] is not None:
        return event
    file = frames[at]["file"]
    if file not in texts:
        texts[file] = Text(sources.get(file) or "")
    span = meant_on(texts[file], frames[at]["line"], event["root"]["gb_id"])
    if span is None:
        return event
    frame: FrameData = {**frames[at], **place_of(file, span, texts[file])}
    return {**event, "frames": [*frames[:at], frame, *frames[at + 1 :]]}


def _is_users(frame: FrameData) -> bool:
    return frame["kind"] == "code" and not is_installed(frame["file"])


def _result(part: Part) -> EntryResult:
    skipped = {(skip["file"], skip["line"]) for skip in part.skips}
    ops = tuple(graph["ops"] for graph in part.graphs)
    return EntryResult(entry_of(part), "eval", len(part.graphs), len(skipped), ops, run="recorded")


def _notes(gathered: Gathered, changed: set[str]) -> Iterator[str]:
    """What the user should know, in sentences."""
    if gathered.old_python is not None:
        yield f"GraphMend cannot record Python {gathered.old_python}; use 3.10 or newer."
    elif not gathered.watched:
        yield (
            "GraphMend recorded nothing: no Python process of the command loaded the recorder. "
            "Run it without the flags -I, -E and -S, and keep PYTHONPATH."
        )
    elif not gathered.processes:
        yield "No process used torch.compile."
    for version, missing in gathered.missing.items():
        yield f"GraphMend cannot record torch {version}: it lacks {', '.join(missing)}. Use 2.9 or newer."
    for defect in gathered.defects:
        yield f"GraphMend could not record one process: {defect}."
    for path in sorted(changed):
        yield f"{path} has changed since it ran, so the editor does not show its breaks."
