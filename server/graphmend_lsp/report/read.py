"""Records of checks (`record.check_record`) read back, as far as reports show them: spans and words, no edits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    Mend,
    Report,
    ShardMark,
    Span,
    Stop,
    Verdict,
)  # fmt: skip
from graphmend_lsp.report.record import OUTSIDE, SCHEMA

_NOTHING = Counts(0, 0, 0)


class BadRecordError(ValueError):
    """A file is no record of a check; the message says which, and what is expected."""


@dataclass(frozen=True, slots=True)
class Read:
    """A record's report and the folder in which the check was run; the whole record, where it is that of a mend."""

    path: str
    report: Report
    root: str
    mend: Mapping[str, Any] | None = None


def read_report(path: str) -> Read:
    """The report in a file that ``graphmend-lsp check --json`` wrote.

    Raises:
        BadRecordError: it is something else, or incomplete.
    """
    expected = "is not a record of a check or a mend; graphmend-lsp check --json and mend --json make them"
    try:
        record = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadRecordError(f"{path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise BadRecordError(f"{path} {expected} ({error}).") from error
    try:
        if record["schema"] != SCHEMA:
            raise BadRecordError(f"{path} has schema {record['schema']}; this is graphmend-lsp for schema {SCHEMA}.")
        return Read(path, _report(record), record["root"], record if "edits" in record else None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, BadRecordError):
            raise
        raise BadRecordError(f"{path} {expected} ({error!r}).") from error


def _report(record: Mapping[str, Any]) -> Report:
    shard = record.get("shard")
    return Report(
        torch=record["torch"],
        python=record["python"],
        device=record["device"],
        entries=tuple(map(_entry, record["entries"])),
        findings=tuple(map(_finding, record["breaks"])),
        failures=tuple(map(_failure, record["errors"])),
        shard=shard and ShardMark(shard["number"], shard["count"], shard["plan"], tuple(shard["runs"])),
    )


def _entry(data: Mapping[str, Any]) -> EntryResult:
    return EntryResult(
        entry=Entry(data["file"], data["function"], data["kind"]),
        mode=data["mode"] or "eval",
        graphs=data["graphs"],
        skipped_frames=data["skipped_frames"],
        ops=tuple(data["ops"]),
        error=None if data["error"] is None else _failure(data["error"]),
        seconds=data["seconds"],
        run=data.get("run", "real"),
        note=data.get("note", ""),
        cached=data.get("cached", False),
        strip=tuple(map(_piece, data.get("strip", ()))),
    )


def _piece(data: Mapping[str, Any]) -> Graph | Stop:
    if "ops" in data:
        return Graph(data["ops"], data["function"], data["path"], data["line"], data.get("share"))
    outside = data["outside"] and tuple(data["outside"][name] for name in OUTSIDE)
    span = Span.of(data["line"], data["column"], data["end_line"], data["end_column"])
    return Stop(
        data["path"], span, data["gb_id"], data["gb_type"], data["outcome"], data["text"], data["intended"], outside
    )


def _finding(data: Mapping[str, Any]) -> Finding:
    span = Span.of(data["line"], data["column"], data["end_line"], data["end_column"])
    site = Break(
        path=data["path"],
        span=span,
        gb_id=data["gb_id"],
        gb_type=data["gb_type"],
        reason=data["reason"],
        evidence=data["evidence"],
        outcome=data.get("outcome", "unknown"),
        events=data["events"],
        graphs=data.get("graphs", 0),
        entries=tuple(data["entries"]),
        modes=tuple(data.get("modes", ())),
        chain=tuple(Frame(one["path"], one["function"], _at(one)) for one in data.get("chain", ())),
        answers=tuple((one["path"], _at(one), one["value"]) for one in data.get("answers", ())),
    )
    declined = tuple(Declined(one["rule"], one["reason"]) for one in data["declined"])
    return Finding(site, tuple(_candidate(one, site) for one in data["mends"]), declined)


def _candidate(data: Mapping[str, Any], site: Break) -> Candidate:
    changes = tuple(data.get("changes", ()))
    mend = Mend(data["rule"], data["title"], site.path, site.span, edits=(), changes=changes)
    if data["safety"] == "unverified" and not data.get("reasons"):
        return Candidate(mend)
    return Candidate(
        mend, Verdict(data["safety"], tuple(data.get("reasons", ())), _counts(data, "before"), _counts(data, "after"))
    )


def _counts(data: Mapping[str, Any], name: str) -> Counts:
    told = data.get(name)
    return (
        _NOTHING
        if told is None
        else Counts(told["graphs"], told["breaks"], told["skipped_frames"], refused=told.get("refused", 0))
    )


def _failure(data: Mapping[str, Any]) -> Failure:
    return Failure(data["stage"], data["kind"], data["message"], data["remedy"], data["path"], data["line"])


def _at(place: Mapping[str, Any]) -> Span:
    column = place.get("column", 1)
    return Span.of(place["line"], column, place["line"], column)
