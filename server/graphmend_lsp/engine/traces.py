"""A ``TORCH_TRACE`` folder, of this machine or another, as a recording: its breaks in the files as they are here.

Of each file the records are read one by one. A file that is damaged gives what could be read, and a note. A site in a
file that reads otherwise here is told by its line, and not kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.gathering import Gathered, Part, count
from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.recorded import TRACE, Recording
from graphmend_lsp.engine.recording import recording_from
from graphmend_lsp.engine.trace_messages import Link, Told, read_error, read_reason
from graphmend_lsp.engine.trace_places import chain_of, differs, frame_of, kind_of
from graphmend_lsp.engine.trace_records import Reading, Record, read_records
from graphmend_lsp.model import Failure
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import BreakData, Cause, GraphData, SkipData

_WANTED = frozenset({"dynamo_graph_break_reason", "dynamo_error", "recompile_reasons", "torch_version"})
_LIMIT = Cause(gb_id="GB0039", gb_type="Dynamo recompile limit exceeded", context="", explanation="", hints=[])
_REMEDY = "Run the program with TORCH_TRACE set to an empty folder, and name that folder."
_VERSION = re.compile(r'"pytorch_version": "([^"]+)"')
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.*)_at_\d+$")
_Id = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TraceRead:
    """What was read; without a recording `failures` say why, else what of it could not be read."""

    recording: Recording | None
    failures: tuple[Failure, ...] = ()


@dataclass(slots=True)
class _Compilation:
    """One compilation of a frame: how often it broke and how, and the stack it began with, outermost first."""

    stack: tuple[Link, ...] = ()
    told: list[Told] = field(default_factory=list)
    error: Told | None = None
    graphs: int = 0
    ops: int = 0
    reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class _Log:
    """One file: one process."""

    rank: int | None = None
    torch: str | None = None
    python: str | None = None
    strings: dict[int, str] = field(default_factory=dict)
    compilations: dict[_Id, _Compilation] = field(default_factory=dict)


def read_trace(folder: Path, mapping: PathMap) -> TraceRead:
    """Read a folder of traces, or one file of it. `mapping` says where the files of another machine are here."""
    if not folder.exists():
        return TraceRead(None, (_failure(f"There is no file or folder {folder}", _REMEDY),))
    paths = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else [folder]
    logs: list[_Log] = []
    failures: list[Failure] = []
    for path in paths:
        reading = Reading()
        log = _Log()
        try:
            for record in read_records(path, _is_wanted, reading):
                _take(log, record, mapping)
        except OSError as error:
            failures.append(_failure(f"{path} could not be read: {error.strerror or error}", "Check its permissions."))
        if reading.damaged:
            words = f"{path.name}: {reading.damaged} of {reading.records} records are damaged and left out"
            failures.append(_failure(words, "The file is cut off or changed. Trace the program again."))
        if reading.is_trace:
            logs.append(log)
    if not logs:
        return TraceRead(None, (*failures, _failure(f"{folder} holds no trace of torch", _REMEDY)))
    return TraceRead(_recording(logs, folder, max(path.stat().st_mtime for path in paths)), tuple(failures))


def _is_wanted(said: dict[str, Any]) -> bool:
    artifact = said.get("artifact")
    return isinstance(artifact, dict) and artifact.get("name") in _WANTED


def _take(log: _Log, record: Record, mapping: PathMap) -> None:
    """Take note of what one record says."""
    said = record.said
    if isinstance(said.get("rank"), int):
        log.rank = said["rank"]
    match said:
        case {"str": [str(words), int(number)]}:
            log.strings[number] = words
        case {"artifact": {"name": "torch_version"}}:
            found = _VERSION.search(record.payload or "")
            log.torch = found[1] if found else log.torch
        case {"frame_id": int(frame), "frame_compile_id": int(number)}:
            _take_versions(log, said.get("compilation_metrics"))
            _take_compilation(log, log.compilations.setdefault((frame, number), _Compilation()), record, mapping)


def _take_compilation(log: _Log, one: _Compilation, record: Record, mapping: PathMap) -> None:
    said, payload = record.said, record.payload or ""
    match said:
        case {"artifact": {"name": "dynamo_graph_break_reason"}}:
            if (told := read_reason(payload)) is not None:
                one.told.append(_here(told, mapping))
        case {"artifact": {"name": "dynamo_error"}}:
            one.error = _here(told, mapping) if (told := read_error(payload)) is not None else one.error
        case {"artifact": {"name": "recompile_reasons"}}:
            one.reasons = tuple(line.strip(' ",') for line in payload.split("\n") if ": " in line)
        case {"dynamo_output_graph": _}:
            one.graphs += 1
        case {"dynamo_start": {"stack": [*frames]}}:
            one.stack = tuple(_frames(frames, log, mapping))
        case {"compilation_metrics": {"graph_op_count": int(ops)}}:
            one.ops = ops


def _take_versions(log: _Log, metrics: object) -> None:
    """The versions of torch and Python: torch 2.11 tells them here only."""
    match metrics:
        case {"pytorch_version": str(version)}:
            log.torch = version
    match metrics:
        case {"python_version": str(version)}:
            log.python = version.split(" ")[0]


def _frames(frames: Sequence[Any], log: _Log, mapping: PathMap) -> Iterator[Link]:
    for frame in frames:
        match frame:
            case {"line": int(line), "name": str(name), "filename": (int() | str()) as file}:
                path = log.strings.get(file, "") if isinstance(file, int) else file
                while match := _RESUMED.match(name):
                    name = match[1]
                yield Link(mapping.here(path), line, name)


def _here(told: Told, mapping: PathMap) -> Told:
    return replace(told, links=tuple(replace(link, file=mapping.here(link.file)) for link in told.links))


def _recording(logs: Sequence[_Log], folder: Path, ended: float) -> Recording:
    sources = Sources({})
    texts, changed = _texts([link for log in logs for link in _quoted(log)], sources)
    parts: dict[tuple[str, int | None], Part] = {}
    for log in logs:
        main = next((one.stack[0].file for one in log.compilations.values() if one.stack), str(folder))
        part = parts.setdefault((main, log.rank), Part(main, log.rank))
        part.processes += 1
        for number, one in log.compilations.items():
            _add(part, number, one, log, texts)
    gathered = Gathered(
        parts=tuple(parts.values()),
        processes=len(logs),
        watched=True,
        torch=next((log.torch for log in logs if log.torch), None),
        python=next((log.python for log in logs if log.python), None),
    )
    absolute = str(folder.absolute())
    recording = recording_from(gathered, (TRACE, absolute), absolute, texts, changed, ended)
    return replace(recording, notes=(*recording.notes, *_recompiles(logs)))


def _quoted(log: _Log) -> Iterator[Link]:
    for one in log.compilations.values():
        for told in (*one.told, *([one.error] if one.error else [])):
            yield from (link for link in told.links if kind_of(link.file) == "code" and not link.file.startswith("<"))


def _texts(links: Sequence[Link], sources: Sources) -> tuple[dict[str, str], set[str]]:
    """The texts of the files that the trace quotes, and which of them are not what ran: their text is none."""
    texts: dict[str, str] = {}
    changed: set[str] = set()
    for path in dict.fromkeys(link.file for link in links):
        text = sources.get(path)
        if text is None:
            continue
        if differs(links, path, Text(text)):
            changed.add(path)
            texts[path] = ""
        else:
            texts[path] = text
    return texts, changed


def _add(part: Part, number: _Id, one: _Compilation, log: _Log, texts: dict[str, str]) -> None:
    """A compilation's breaks and graphs, as a recorder would have told them."""
    stack = _stack(log, number[0], one)
    here = stack[-1] if stack else Link("", 0, "")
    compiled = {(one.stack[-1].file, one.stack[-1].function) for one in log.compilations.values() if one.stack}
    told = one.told or ([one.error] if one.error else [])
    if not told and one.reasons and not one.graphs and not one.stack:
        told = [Told(_LIMIT, _LIMIT, "frame skipped", (here,))]  # asked for again, and never begun
    for each in told:
        event = _event(each, compiled, here.function, texts)
        count(part, repr(event), event)
        if each.outcome == "frame skipped":
            reason = each.root["gb_type"]
            part.skips.append(SkipData(function=here.function, file=here.file, line=here.line, reason=reason, call=0))
    for at in range(one.graphs):
        ops = one.ops if at == one.graphs - 1 else 0
        part.graphs.append(GraphData(ops=ops, function=here.function, file=here.file, line=here.line, call=0))


def _event(told: Told, compiled: set[tuple[str, str]], function: str, texts: dict[str, str]) -> BreakData:
    """The break as on the wire; its chain begins at the outermost function that was compiled."""
    chain = chain_of(told.links)
    first = next((at for at, link in enumerate(chain) if (link.file, link.function) in compiled), 0)
    chain = chain[first:]
    gb_id = told.root["gb_id"]
    frames = []
    for link in chain:
        text = Text(texts[link.file]) if texts.get(link.file) else None
        frames.append(frame_of(link, text, gb_id, innermost=link is chain[-1]))
    return BreakData(
        cause=told.cause, root=told.root, outcome=told.outcome, frames=frames, compiled=function, call=0
    )  # fmt: skip


def _stack(log: _Log, frame: int, one: _Compilation) -> tuple[Link, ...]:
    """The stack with which a compilation began; of one that was made anew, the first one's tells more."""
    first = log.compilations.get((frame, 0))
    return max(one.stack, first.stack if first else (), key=len)


def _recompiles(logs: Sequence[_Log]) -> Iterator[str]:
    """Functions that were compiled anew, with the commonest reason."""
    seen: dict[tuple[str, int, str], list[str]] = {}
    for log in logs:
        for (frame, _), one in log.compilations.items():
            if one.reasons:
                stack = _stack(log, frame, one)
                where = (stack[-1].file, stack[-1].line, stack[-1].function) if stack else ("", 0, "a function")
                seen.setdefault(where, []).append(re.sub(r"^\d+/\d+: ", "", one.reasons[0]))
    for (file, line, function), reasons in sorted(seen.items()):
        most = Counter(reasons).most_common(1)[0][0]
        times = f"{len(reasons)} time{'s' * (len(reasons) != 1)}"
        yield f"{function} ({file}:{line}) was recompiled {times}; first because: {most}"


def _failure(message: str, remedy: str) -> Failure:
    return Failure("load", "bad-entry", message, remedy)
