"""The records of one file of a ``TORCH_TRACE`` folder, one after the other: files of any size take no memory to speak of.

A record is a line ``V1121 07:15:07.480000 2613 torch/_dynamo/x.py:5098] {json}`` and, behind it, its payload's lines,
each after a tab. ``has_payload`` in the JSON is the payload's MD5, by which a damaged one is known.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_HEADER = re.compile(rb"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ (?P<pid>\d+) .{1,1000}?:\d+\] (?P<json>\{.*)$")
_LONGEST_LINE = 2**24
_LONGEST_PAYLOAD = 2**22

Wants = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Record:
    """What one record says; `payload` is None when it has none, or none that is asked for."""

    pid: int
    said: dict[str, Any]
    payload: str | None


@dataclass(slots=True)
class Reading:
    """How a file reads: its records, those that are damaged, and whether it is a trace at all."""

    records: int = 0
    damaged: int = 0

    @property
    def is_trace(self) -> bool:
        """Whether there was a record in it."""
        return self.records > 0


def read_records(path: Path, wants: Wants, reading: Reading) -> Iterator[Record]:
    """The file's records; `wants` says of which the payload is read. `reading` is filled on the way.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        header: tuple[int, dict[str, Any]] | None = None
        payload: list[bytes] | None = None
        for line in _lines(file):
            if line.startswith(b"\t"):
                if payload is not None and len(payload) < _LONGEST_PAYLOAD // 16:
                    payload.append(line[1:])
                continue
            if header is not None:
                yield from _finished(header, payload, reading)
            header = _header(line, reading)
            payload = [] if header is not None and "has_payload" in header[1] and wants(header[1]) else None
        if header is not None:
            yield from _finished(header, payload, reading)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The file's lines; of one that is longer than any should be only the beginning."""
    while line := file.readline(_LONGEST_LINE):
        if not line.endswith(b"\n"):
            while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
        yield line


def _header(line: bytes, reading: Reading) -> tuple[int, dict[str, Any]] | None:
    match = _HEADER.match(line.rstrip(b"\r\n"))
    if match is None:
        reading.damaged += line[:1] in b"VIWEC" and not line.endswith(b"\n")
        return None
    try:
        said = json.loads(match["json"])
    except (ValueError, RecursionError):
        reading.damaged += 1
        return None
    if not isinstance(said, dict):
        return None
    reading.records += 1
    return int(match["pid"]), said


def _finished(header: tuple[int, dict[str, Any]], payload: list[bytes] | None, reading: Reading) -> Iterator[Record]:
    pid, said = header
    if payload is None:
        yield Record(pid, said, None)
        return
    text = b"".join(payload)
    wanted = said["has_payload"]
    # The last line's end belongs to the record, not to the payload, unless the payload itself ended with one.
    for candidate in (text.removesuffix(b"\n"), text, text.replace(b"\r\n", b"\n").removesuffix(b"\n")):
        if hashlib.md5(candidate, usedforsecurity=False).hexdigest() == wanted:
            yield Record(pid, said, candidate.decode("utf-8", "replace"))
            return
    reading.damaged += 1
