"""The graph map's data: how each entry's program is cut, as plain JSON of the shape in ``graph_map.schema.json``. Pure.

What is drawn from it is the same in the editor's view and in the page of ``--format html``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    EntryResult,
    Finding,
    Frame,
    Graph,
    Plan,
    Report,
    Span,
    Stop,
    Verdict,
)
from graphmend_lsp.report.formats import page_of
from graphmend_lsp.report.words import compared, cost, for_terminal, inside, package_of, plain_title

SCHEMA = 1
_Place = tuple[str, Span]


def graph_map(report: Report) -> dict[str, Any]:
    """The map of a check. Lines and columns are 1-based, columns in code points."""
    places = _Places()
    return _whole(report, [_of_report(report, "now", places, linked=True)], places, None)


def plan_map(plan: Plan, *, written: bool = False) -> dict[str, Any]:
    """The map of a mend: each entry before beside after. Places of the program that is no file (yet) have no link."""
    places = _Places()
    applied = {one.mend: one for one in plan.applied}
    findings = tuple(
        replace(finding, candidates=tuple(applied[one.mend] for one in finding.candidates if one.mend in applied))
        for finding in plan.before.findings
    )
    before = _of_report(replace(plan.before, findings=findings), "before", places, linked=not written)
    after = _of_report(plan.after, "after", places, linked=written or not plan.texts)
    words = compared(plan.verdict) if plan.verdict is not None else "Nothing is mended."
    safety = plan.verdict.safety if plan.verdict is not None else None
    return _whole(plan.after, [before, after], places, {"safety": safety, "words": words})


class _Places:
    """The places of breaks, each told once and named by its number."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self._numbers: dict[tuple[str, _Place], int] = {}

    def number(self, state: str, place: _Place, tell: Any) -> int:
        key = (state, place)
        if key not in self._numbers:
            self._numbers[key] = len(self.told)
            self.told.append(tell())
        return self._numbers[key]


def _whole(
    report: Report, states: Sequence[Mapping[tuple[str, str], list[dict[str, Any]]]], places: _Places, mended: Any
) -> dict[str, Any]:
    names = dict.fromkeys(key for strips in states for key in strips)
    return {
        "schema": SCHEMA,
        "torch": report.torch,
        "python": report.python,
        "device": report.device,
        "programs": [
            {"name": name, "path": path, "strips": _side_by_side([strips.get((name, path), []) for strips in states])}
            for name, path in names
        ],
        "places": places.told,
        "errors": [for_terminal(failure.words) for failure in report.failures],
        "mended": mended,
    }


def _side_by_side(groups: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Before beside after of one mode, then of the other."""
    modes = dict.fromkeys(strip["mode"] for group in groups for strip in group)
    return [strip for mode in modes for group in groups for strip in group if strip["mode"] == mode]


def _of_report(
    report: Report, state: str, places: _Places, *, linked: bool
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found = {(finding.site.path, finding.site.span): finding for finding in report.findings}
    strips: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in report.entries:
        strip = _strip(result, state, found, places, linked)
        strips.setdefault((result.entry.name, result.entry.file), []).append(strip)
    for finding in report.findings:  # those that no strip shows
        _number(finding.site, state, found, places, linked)
    return strips


def _strip(
    result: EntryResult, state: str, found: Mapping[_Place, Finding], places: _Places, linked: bool
) -> dict[str, Any]:
    pieces: list[dict[str, Any]] = []
    if result.strip:
        for piece in result.strip:
            pieces += _pieces(piece, state, found, places, linked)
    else:
        pieces = [
            {"kind": "graph", "ops": ops, "function": "", "path": "", "line": 0, "share": None} for ops in result.ops
        ]
    met = [
        _number(finding.site, state, found, places, linked)
        for finding in found.values()
        if result.entry.name in finding.site.entries
        and (result.mode in finding.site.modes or result.run == "recorded")
        and (finding.site.evidence != "fake" or result.run == "fake")
    ]
    return {
        "mode": None if result.run == "recorded" else result.mode,
        "state": state,
        "run": result.run,
        "graphs": result.graphs,
        "ops": sum(result.ops),
        "breaks": len(met),
        "skipped_frames": result.skipped_frames,
        "in_order": bool(result.strip) or not met,
        "note": result.note,
        "error": None if result.error is None else for_terminal(result.error.words),
        "pieces": pieces,
        "places": met,
    }


def _pieces(
    piece: Graph | Stop, state: str, found: Mapping[_Place, Finding], places: _Places, linked: bool
) -> Iterable[dict[str, Any]]:
    if isinstance(piece, Graph):
        yield {
            "kind": "graph", "ops": piece.ops, "function": piece.function, "path": piece.path, "line": piece.line,
            "share": piece.share,
        }  # fmt: skip
        return
    number = _number(piece, state, found, places, linked)
    yield {"kind": "break", "place": number}
    if piece.outside is not None:
        function, path, line, end_line = piece.outside
        yield {
            "kind": "outside", "place": number, "function": function, "path": path, "line": line, "end_line": end_line
        }  # fmt: skip


def _number(one: Break | Stop, state: str, found: Mapping[_Place, Finding], places: _Places, linked: bool) -> int:
    key = (one.path, one.span)
    finding = found.get(key)
    number = places.number(state, key, lambda: _place(one, finding, state, linked))
    if isinstance(one, Stop):  # a finding that was told before any strip came to it has no source yet
        places.told[number]["text"] = places.told[number]["text"] or one.text
    return number


def _place(one: Break | Stop, finding: Finding | None, state: str, linked: bool) -> dict[str, Any]:
    site = finding.site if finding is not None else None
    chain = one.chain or (site.chain if site is not None else ())
    if isinstance(one, Stop) and finding is None:
        why = "The program asks for this graph break." if one.intended else "A comment silences this graph break."
        reason, code, gb_type, evidence = why, one.code, one.gb_type, "dynamo"
    else:
        assert site is not None
        there = inside(site)
        reason = f"Graph break {there}. {site.reason}" if there else site.reason
        code, gb_type, evidence = site.code, site.root_gb_type or site.gb_type, site.evidence
    start = one.span.start
    return {
        "path": one.path,
        "line": start.line,
        "column": start.column,
        "linked": linked and bool(one.path),
        "state": state,
        "code": code,
        "gb_type": gb_type,
        "help": page_of(code) if code.startswith("GB") else None,
        "reason": reason,
        "text": one.text if isinstance(one, Stop) else "",
        "evidence": evidence,
        "outcome": one.outcome,
        "cost": cost(site) if site is not None else "",
        "asked_for": finding is None,
        "chain": _chain(chain),
        "mends": [_mend(candidate) for candidate in finding.candidates] if finding is not None else [],
        "declined": [one.reason for one in finding.declined] if finding is not None else [],
    }


def _chain(chain: Sequence[Frame]) -> list[dict[str, Any]]:
    """The calls that lead to a break, those through one package (or Python, or torch) together; outermost first."""
    groups: list[dict[str, Any]] = []
    for frame in chain:
        if frame.kind in ("stdlib", "logger"):
            package = "Python"
        else:
            package = "torch" if frame.kind == "torch" else package_of(frame.path)
        if not groups or groups[-1]["package"] != package:
            groups.append({"package": package, "frames": []})
        groups[-1]["frames"].append(
            {"path": frame.path, "function": frame.function, "line": frame.span.start.line}
        )  # fmt: skip
    return groups


def _mend(candidate: Candidate) -> dict[str, Any]:
    verdict = candidate.verdict
    known = verdict is not None and verdict.before != verdict.after
    return {
        "title": plain_title(candidate),
        "safety": candidate.safety,
        "before": _counts(verdict.before) if verdict is not None and known else None,
        "after": _counts(verdict.after) if verdict is not None and known else None,
        "why": _why(candidate, verdict),
    }


def _why(candidate: Candidate, verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    told = candidate.mend.changes if verdict.safety == "safe" else (verdict.assuming or "", *verdict.reasons)
    return next((one.strip().rstrip(".") for one in told if one), "")


def _counts(cut: Counts) -> dict[str, int]:
    return {"graphs": cut.graphs, "breaks": cut.breaks, "skipped_frames": cut.skipped_frames}
