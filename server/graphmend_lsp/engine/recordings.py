"""Where recordings are kept, one JSON file for each command and folder, and how they are read back.

A file may come from anywhere (a workspace that nobody trusts has a folder of its own for them): what does not read as a
recording is left out, and what it says is shown as words, never run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args

from graphmend_lsp.engine.recorded import Anchor, RecordedSite, Recording
from graphmend_lsp.model import Break, Entry, EntryResult, Frame, Outcome, Span

SCHEMA = 1
LOCAL = os.path.join(".graphmend", "recordings")
_VARIABLE = "GRAPHMEND_STATE_DIR"
_MOST_FILES = 100
_MOST_BYTES = 32 * 2**20
_OUTCOMES = frozenset(get_args(Outcome))
_KINDS = ("code", "stdlib", "torch", "logger")


def store() -> Path:
    """The user's own folder of recordings, whether it is there or not."""
    if told := os.environ.get(_VARIABLE):
        return Path(told) / "recordings"
    import platformdirs

    return Path(platformdirs.user_state_dir("graphmend", appauthor=False)) / "recordings"


def save(recording: Recording, folder: Path) -> Path:
    """Keep a recording, in place of the last one of the same command; the oldest of many go.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256("\0".join((recording.folder, *recording.command)).encode("utf-8", "surrogateescape"))
    target = folder / f"{key.hexdigest()[:24]}.json"
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(as_record(recording), file, separators=(",", ":"))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    for old in sorted(folder.glob("*.json"), key=_age)[_MOST_FILES:]:
        old.unlink(missing_ok=True)
    return target


def folders_for(path: str) -> tuple[Path, ...]:
    """Where recordings of a file can be: the user's own folder, and `LOCAL` in the folders above the file."""
    above = (parent / LOCAL for parent in Path(path).parents)
    return (store(), *(folder for folder in above if folder.is_dir()))


def stamps(folders: Iterable[Path]) -> dict[Path, int]:
    """The recordings in these folders with when each was written: another answer means that there is something new."""
    found: dict[Path, int] = {}
    for folder in folders:
        for path in folder.glob("*.json"):
            with contextlib.suppress(OSError):
                found[path] = path.stat().st_mtime_ns
    return found


def load(path: Path) -> Recording | None:
    """A recording, or None when the file holds none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return from_record(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def as_record(recording: Recording) -> dict[str, Any]:
    """A recording as plain data; lines and columns are 1-based, columns in code points."""
    return {
        "schema": SCHEMA,
        "command": list(recording.command),
        "folder": recording.folder,
        "ended": recording.ended,
        "torch": recording.torch,
        "python": recording.python,
        "processes": recording.processes,
        "files": dict(recording.files),
        "results": [asdict(result) for result in recording.results],
        "sites": [
            {"site": asdict(one.site), "anchor": asdict(one.anchor) if one.anchor else None} for one in recording.sites
        ],
        "notes": list(recording.notes),
    }


def from_record(record: Mapping[str, Any]) -> Recording:
    """The recording that plain data describes.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it describes none.
    """
    if record["schema"] != SCHEMA:
        raise ValueError(f"schema {record['schema']!r}")
    return Recording(
        command=_strings(record["command"]),
        folder=_string(record["folder"]),
        ended=float(record["ended"]),
        torch=_optional(record["torch"]),
        python=_optional(record["python"]),
        results=tuple(_result(one) for one in record["results"]),
        sites=tuple(RecordedSite(_break(one["site"]), _anchor(one["anchor"])) for one in record["sites"]),
        files={_string(path): _string(sha256) for path, sha256 in record["files"].items()},
        processes=int(record["processes"]),
        notes=_strings(record["notes"]),
    )


def _result(data: Mapping[str, Any]) -> EntryResult:
    entry = Entry(_string(data["entry"]["file"]), _string(data["entry"]["function"]))
    graphs, skipped, ops = int(data["graphs"]), int(data["skipped_frames"]), tuple(map(int, data["ops"]))
    return EntryResult(entry, "eval", graphs, skipped, ops, run="recorded")


def _break(data: Mapping[str, Any]) -> Break:
    outcome = data["outcome"] if data["outcome"] in _OUTCOMES else "unknown"
    return Break(
        path=_string(data["path"]),
        span=_span(data["span"]),
        gb_id=_optional(data["gb_id"]),
        gb_type=_string(data["gb_type"]),
        reason=_string(data["reason"]),
        evidence="recorded",
        explanation=_string(data["explanation"]),
        hints=_strings(data["hints"]),
        outcome=cast(Outcome, outcome),
        root_gb_id=_optional(data["root_gb_id"]),
        root_gb_type=_optional(data["root_gb_type"]),
        events=int(data["events"]),
        graphs=int(data["graphs"]),
        entries=_strings(data["entries"]),
        chain=tuple(_frames(data["chain"])),
    )


def _frames(data: Iterable[Mapping[str, Any]]) -> Iterator[Frame]:
    for one in data:
        if one["kind"] in _KINDS:
            yield Frame(_string(one["path"]), _string(one["function"]), _span(one["span"]), one["kind"])


def _anchor(data: Mapping[str, Any] | None) -> Anchor | None:
    if data is None:
        return None
    return Anchor(_string(data["function"]), int(data["ordinal"]), int(data["line"]), _string(data["sha256"]))


def _span(data: Mapping[str, Any]) -> Span:
    start, end = data["start"], data["end"]
    return Span.of(int(start["line"]), int(start["column"]), int(end["line"]), int(end["column"]))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be a string")
    return value


def _optional(value: object) -> str | None:
    return None if value is None else _string(value)


def _strings(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(_string, values))


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0
