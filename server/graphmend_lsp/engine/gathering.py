"""What the processes of a recorded program have written, read back: events, graphs and skipped frames by process group.

Reads the folder that ``worker/recording.py`` writes. A line that was cut off by the death of its process is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmend_lsp.worker.wire import BreakData, GraphData, SkipData


@dataclass(slots=True)
class Part:
    """The processes of one rank of one program. `events` are distinct, with how often each came; `main` is the program."""

    main: str
    rank: int | None
    processes: int = 0
    events: dict[str, tuple[BreakData, int]] = field(default_factory=dict)
    graphs: list[GraphData] = field(default_factory=list)
    skips: list[SkipData] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What this part is called in a report."""
        return "run" if self.rank is None else f"rank {self.rank}"


@dataclass(slots=True)
class Gathered:
    """All parts, in the order in which they were first seen.

    `files`: the SHA-256 of what ran, None where that is not certain. `watched`: whether any Python process was one that
    could record. `missing`: what a process' torch lacks, by version. `defects`: why recording could not begin.
    """

    parts: tuple[Part, ...] = ()
    files: dict[str, str | None] = field(default_factory=dict)
    processes: int = 0
    watched: bool = False
    torch: str | None = None
    python: str | None = None
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    old_python: str | None = None


def gather(folder: Path) -> Gathered:
    """Read everything in the folder."""
    result = Gathered(watched=(folder / "began").exists())
    parts: dict[tuple[str, int | None], Part] = {}
    for path in sorted(folder.glob("*.jsonl"), key=_by_time):
        _read_process(path, result, parts)
    result.parts = tuple(parts.values())
    result.defects = tuple(_words(folder / "defect"))
    result.old_python = next(_words(folder / "old-python"), None)
    return result


def _read_process(path: Path, result: Gathered, parts: dict[tuple[str, int | None], Part]) -> None:
    part = Part("", None)
    numbered: list[str] = []
    for record in records(path):
        if "process" in record:
            process = record["process"]
            main = _program(process)
            part = parts.setdefault((main, process["rank"]), Part(main, process["rank"]))
            part.processes += 1
            result.processes += 1
            result.torch, result.python = process["torch"], process["python"]
            if process["missing"]:
                result.missing[process["torch"]] = tuple(process["missing"])
        elif "file" in record:
            known = result.files.setdefault(record["file"], record["sha256"])
            if known != record["sha256"]:
                result.files[record["file"]] = None  # it changed between two processes
        elif "event" in record:
            key = json.dumps(record["event"], sort_keys=True)
            numbered.append(key)
            count(part, key, record["event"])
        elif "again" in record and 0 <= record["again"] < len(numbered):
            key = numbered[record["again"]]
            count(part, key, part.events[key][0])
        elif "graph" in record:
            part.graphs.append(record["graph"])
        elif "skip" in record:
            part.skips.append(record["skip"])


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line; lines that are none are left out."""
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def count(part: Part, key: str, event: BreakData) -> None:
    """Take note of an event that has come, perhaps once more."""
    seen = part.events.get(key)
    part.events[key] = (event, seen[1] + 1 if seen else 1)


def _program(process: dict[str, Any]) -> str:
    """The file or package that a process runs: where its main module lies, else the folder it began in."""
    main = process["main"]
    if not isinstance(main, str):
        return str(process["folder"])
    folder, name = os.path.split(main)
    return folder if name == "__main__.py" else main


def _by_time(path: Path) -> tuple[int, str]:
    number = path.stem.rpartition("-")[2]
    return (int(number) if number.isdigit() else 0, path.name)


def _words(path: Path) -> Iterator[str]:
    if path.is_file():
        yield path.read_text("utf-8", "replace")
