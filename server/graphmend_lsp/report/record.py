"""The machine-readable record of a check or a mend: the contract of ``--json`` (``schema.json`` beside this file)."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from typing import Any

from graphmend_lsp.model import (
    Candidate,
    Counts,
    EntryResult,
    Failure,
    Finding,
    Graph,
    Measurement,
    Plan,
    Report,
    ShardMark,
    Stop,
    Verdict,
)
from graphmend_lsp.report.words import speed

SCHEMA = 1
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # other characters end no line of a patch
OUTSIDE = ("function", "path", "line", "end_line")


def check_record(report: Report) -> dict[str, Any]:
    """A report as plain data. Lines and columns are 1-based, columns in code points."""
    return {
        "schema": SCHEMA,
        "torch": report.torch,
        "python": report.python,
        "device": report.device,
        "entries": [_entry(result) for result in report.entries],
        "breaks": [_break(finding) for finding in report.findings],
        "errors": [_failure(failure) for failure in report.failures],
        "root": os.getcwd(),
        **({} if report.shard is None else {"shard": _shard(report.shard)}),
    }


def mend_record(plan: Plan, measured: Sequence[Measurement] = ()) -> dict[str, Any]:
    """A plan as plain data: the record of what remains, with what it was before, the edits, and what was measured."""
    verdict = plan.verdict
    return {
        **check_record(plan.after),
        "before": counts(plan.before),
        "after": counts(plan.after),
        "verified": None
        if verdict is None
        else {
            "safety": verdict.safety,
            "outputs": verdict.outputs,
            "gradients": verdict.gradients,
            "state": verdict.state,
            "effects": verdict.effects,
            **({"rounded": list(verdict.rounded)} if verdict.rounded else {}),
            "calls": verdict.calls,
            "reasons": list(verdict.reasons),
            **_assumed(verdict),
        },
        "applied": [
            {"rule": one.mend.rule, "title": one.mend.title, "safety": one.safety, "path": one.mend.path,
             "line": one.mend.span.start.line,
             **({"inside": [{"rule": each.rule, "reason": each.reason} for each in one.inside]} if one.inside else {})}
            for one in plan.applied
        ],
        "edits": [{"path": path, "diff": diff(path, plan.old.get(path, ""), text)} for path, text in plan.texts.items()],
        **({"stopped_after": plan.stopped_after} if plan.stopped_after is not None else {}),
        **({"measured": [speed_record(one) for one in measured]} if measured else {}),
    }  # fmt: skip


def speed_record(one: Measurement) -> dict[str, Any]:
    """What was measured as plain data; ratios say how many times as fast the mended program is, times are seconds."""
    return {
        "entry": one.entry.name,
        "mode": one.mode,
        "backend": one.backend,
        "device": one.device,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "noisy": one.is_noisy,
        "turns": one.samples,
        "first_ratio": one.first_ratio,
        "warm_seconds": _pair(one.warm),
        "first_seconds": _pair(one.first),
        "kernels": _pair(one.kernels),
        "cuda_graphs": _pair(one.cuda_graphs),
        "words": speed(one),
        "error": None if one.error is None else _failure(one.error),
    }


def _pair(pair: tuple[float, float] | None) -> dict[str, float] | None:
    return None if pair is None else {"original": pair[0], "mended": pair[1]}


def counts(report: Report) -> dict[str, int]:
    """Graphs of all entries together; sites that a run confirmed; skipped frames; sites that torch.compile fails at."""
    return {
        "graphs": sum(result.graphs for result in report.entries),
        "breaks": sum(finding.site.evidence == "dynamo" for finding in report.findings),
        "skipped_frames": sum(result.skipped_frames for result in report.entries),
        "refused": sum(finding.site.outcome == "refused" for finding in report.findings),
    }


def diff(path: str, old: str, new: str) -> str:
    """The change as a unified diff, as `git apply` and `patch -p1` take it; of a file that there was not where `old` is empty."""
    before, after = _LINE.findall(old), _LINE.findall(new)
    name = path.replace("\\", "/").lstrip("/")
    lines = difflib.unified_diff(before, after, f"a/{name}" if old else "/dev/null", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _entry(result: EntryResult) -> dict[str, Any]:
    return {
        "name": result.entry.name,
        "file": result.entry.file,
        "function": result.entry.function,
        "kind": result.entry.kind,
        "mode": None if result.run == "recorded" else result.mode,
        "run": result.run,
        "note": result.note,
        "cached": result.cached,
        "graphs": result.graphs,
        "skipped_frames": result.skipped_frames,
        "ops": list(result.ops),
        "seconds": round(result.seconds, 3),
        "error": None if result.error is None else _failure(result.error),
        **({"strip": list(map(_piece, result.strip))} if result.strip else {}),
    }


def _piece(piece: Graph | Stop) -> dict[str, Any]:
    """A graph of a strip, or what ends one; how the program came there its break says."""
    if isinstance(piece, Graph):
        share = {} if piece.share is None else {"share": piece.share}
        return {"ops": piece.ops, "function": piece.function, "path": piece.path, "line": piece.line, **share}
    start, end = piece.span.start, piece.span.end
    return {
        "path": piece.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "gb_id": piece.code,
        "gb_type": piece.gb_type,
        "outcome": piece.outcome,
        "text": piece.text,
        "intended": piece.intended,
        "outside": piece.outside and dict(zip(OUTSIDE, piece.outside, strict=True)),
    }


def _break(finding: Finding) -> dict[str, Any]:
    site = finding.site
    return {
        "path": site.path,
        "line": site.span.start.line,
        "column": site.span.start.column,
        "end_line": site.span.end.line,
        "end_column": site.span.end.column,
        "gb_id": site.root_gb_id or site.gb_id,
        "gb_type": site.root_gb_type or site.gb_type,
        "reason": site.reason,
        "evidence": site.evidence,
        "answers": [
            {"path": path, "line": span.start.line, "column": span.start.column, "value": value}
            for path, span, value in site.answers
        ],
        "outcome": site.outcome,
        "entries": list(site.entries),
        "modes": list(site.modes),
        "events": site.events,
        "graphs": site.graphs,
        "chain": [
            {"path": frame.path, "function": frame.function, "line": frame.span.start.line} for frame in site.chain
        ],
        "mends": [_mend(one) for one in finding.candidates],
        "declined": [{"rule": one.rule, "reason": one.reason} for one in finding.declined],
    }  # fmt: skip


def _mend(candidate: Candidate) -> dict[str, Any]:
    verdict = candidate.verdict
    known: dict[str, Any] = {}
    if verdict is not None:
        known = {"before": _counts(verdict.before), "after": _counts(verdict.after), **_assumed(verdict)}
    return {
        "rule": candidate.mend.rule,
        "safety": candidate.safety,
        "title": candidate.mend.title,
        "changes": [*candidate.mend.changes, *candidate.mend.cautions],
        "reasons": list(verdict.reasons) if verdict else [],
        **known,
    }


def _assumed(verdict: Verdict) -> dict[str, list[dict[str, Any]]]:
    """What a mend takes for granted, by what became of it; nothing where there is nothing."""
    groups = {"assumes": verdict.assumes, "discharged": verdict.discharged, "accepted": verdict.accepted}
    return {
        name: [
            {
                "kind": one.kind,
                "text": one.words,
                "places": [{"path": path, "line": span.start.line} for path, span in one.places],
            }
            for one in those
        ]
        for name, those in groups.items()
        if those
    }


def _counts(cut: Counts) -> dict[str, int]:
    return {
        "graphs": cut.graphs, "breaks": cut.breaks, "skipped_frames": cut.skipped_frames, "refused": cut.refused
    }  # fmt: skip


def _shard(mark: ShardMark) -> dict[str, Any]:
    return {"number": mark.number, "count": mark.count, "plan": mark.plan, "runs": list(mark.runs)}


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "stage": failure.stage,
        "kind": failure.kind,
        "message": failure.message,
        "remedy": failure.remedy,
        "path": failure.path,
        "line": failure.line,
    }
