"""The report for people in a terminal: one line a break, its cost, what mends it or why nothing does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text as Line

from graphmend_lsp.mending.rule import OVERLAY, SUPPORT
from graphmend_lsp.model import EntryResult, Failure, Finding, Measurement, Plan, Report, Verdict
from graphmend_lsp.report.mend_parts import verdict_of
from graphmend_lsp.report.record import counts, diff
from graphmend_lsp.report.words import (
    compared,
    cost,
    difference,
    for_terminal,
    inside,
    listed,
    plain,
    plain_title,
    speed,
)

_SAFETY = {"safe": "safe", "unsafe": "unsafe", "unverified": "not verified", "wrong": "wrong"}
_COLOURS = {"safe": "green", "unsafe": "yellow", "unverified": "cyan", "wrong": "red"}

_NAMED = 3  # entries that a line names; reasons under a boundary
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def print_report(console: Console, report: Report, *, unreached: bool = False) -> None:
    """Write a check's result. `unreached`: list also the breaks of the source that no run reached."""
    for finding in report.findings if unreached else listed(report):
        console.print(_finding(finding), soft_wrap=True)
    for failure in report.failures:
        console.print(_failure(failure), soft_wrap=True)
    for result in report.entries:
        console.print(_entry(result), soft_wrap=True)
    console.print(_summary(report, unreached=unreached), soft_wrap=True)


def print_plan(console: Console, plan: Plan, *, diffs: bool, written: bool) -> None:
    """Write a mend's result: the diff, what was applied, what remains, and what was compared."""
    if diffs:
        _print_diffs(console, plan)
    for one in plan.applied:
        place = f"{_short(one.mend.path)}:{one.mend.span.start.line}"
        console.print(
            Line.assemble((f"{place}: ", "bold"), (_SAFETY[one.safety], _COLOURS[one.safety]), f": {plain_title(one)}"),
            soft_wrap=True,
        )
        _print_inside(console, [(each.rule, each.reason) for each in one.inside])
    for finding in plan.after.findings:
        if finding.site.evidence == "dynamo":
            console.print(_finding(finding), soft_wrap=True)
    for failure in plan.after.failures:
        console.print(_failure(failure), soft_wrap=True)
    if not plan.applied and all(one.error is not None for one in plan.before.entries):
        console.print(_nothing_ran(plan.before), soft_wrap=True)
        return
    console.print(Line(_cut(counts(plan.before), counts(plan.after)), style="bold"))
    _print_end(console, plan.verdict, plan.stopped_after, is_mended=bool(plan.applied))
    if plan.texts and not written:
        console.print("No file was changed; --write changes them.")


def _print_inside(console: Console, objections: Sequence[tuple[str, str]]) -> None:
    """Write why no other rule mends what a boundary holds: pairs of a rule and its reason."""
    for rule, reason in objections[:_NAMED]:
        console.print(Line(f"    inside, not mended ({rule}): {reason}", style="dim"), soft_wrap=True)


def _nothing_ran(report: Report) -> Line:
    """Why nothing was mended where no entry ran to its end, and what to do."""
    if names := list(dict.fromkeys(one.entry.name for one in report.entries)):
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return Line(f"GraphMend could not run {', '.join(names[:_NAMED])}{more}, so it mended nothing.", style="bold")
    words = (
        "GraphMend found no entry to run, so it mended nothing. "
        "Name an entry with --entry FILE.py:FN, or add a function graphmend_entry."
    )
    if found := len(report.findings):
        some = f"{found} graph break{'s' * (found != 1)}"
        words += f" Static analysis found {some}; graphmend-lsp check lists {'them' if found != 1 else 'it'}."
    return Line(words, style="bold")


def print_parts(console: Console, report: Report, parts: Mapping[str, Any]) -> None:
    """Write what the shards of a mend found: the diffs as a patch needs them, what was applied, what remains."""
    for edit in parts["edits"]:
        console.file.write(edit["diff"].replace(edit["path"].replace("\\", "/").lstrip("/"), _short(edit["path"]), 2))
    for one in parts["applied"]:
        place = f"{_short(one['path'])}:{one['line']}"
        safety = _SAFETY[one["safety"]]
        console.print(
            Line.assemble((f"{place}: ", "bold"), (safety, _COLOURS[one["safety"]]), f": {plain(one['title'])}"),
            soft_wrap=True,
        )
        _print_inside(console, [(each["rule"], each["reason"]) for each in one.get("inside", ())])
    for finding in report.findings:
        if finding.site.evidence == "dynamo":
            console.print(_finding(finding), soft_wrap=True)
    for failure in report.failures:
        console.print(_failure(failure), soft_wrap=True)
    console.print(Line(_cut(parts["before"], parts["after"]), style="bold"))
    _print_end(console, verdict_of(parts["verified"]), parts.get("stopped_after"), is_mended=bool(parts["applied"]))


def _print_end(console: Console, verdict: Verdict | None, stopped: float | None, *, is_mended: bool) -> None:
    """Write what was compared, and that the time was over."""
    if verdict is not None:
        console.print(compared(verdict), soft_wrap=True)
        for reason in verdict.reasons:
            console.print(f"  {reason}", soft_wrap=True)
    if stopped is not None:
        words = f"Stopped after {stopped:.3g} seconds with what was verified; more --seconds may mend more."
        if not is_mended:
            words = f"GraphMend verified no mend in {stopped:.3g} seconds and stopped; more --seconds may mend more."
        console.print(words, soft_wrap=True)


def _cut(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    words = f"{before['breaks']} → {after['breaks']} breaks, {before['graphs']} → {after['graphs']} graphs"
    if before["skipped_frames"] or after["skipped_frames"]:
        words += f", {before['skipped_frames']} → {after['skipped_frames']} skipped frames"
    if before["refused"]:
        now = "still fails" if after["refused"] else "now runs"
        words = f"torch.compile failed on this program and {now}: {words}"
    return words


def _print_diffs(console: Console, plan: Plan) -> None:
    """Write what changes, the user's own files first.

    A terminal gets one line for the support module and for the overlay's own file, a pipe all that a patch needs, unchanged.
    """
    for path, text in sorted(plan.texts.items(), key=lambda item: bool(_is_for(item[0]))):
        change = diff(_short(path), plan.old.get(path, ""), text)
        if not console.is_terminal:
            console.file.write(change)
        elif use := _is_for(path):
            how = "updates" if plan.old.get(path) else "creates"
            words = f"{_short(path)}: --write {how} this file, {use} (lines: {len(text.splitlines())})"
            console.print(Line(words, style="bold"), soft_wrap=True)
        else:
            for line in change.splitlines():
                console.print(Line(line, style=_DIFF.get(line[:1], "")), soft_wrap=True)


def _is_for(path: str) -> str:
    """What a file that GraphMend writes besides the user's own is for; empty for others."""
    if PurePath(path).stem == SUPPORT:
        return "from which mended files import"
    return "which imports the mended copies" if PurePath(path).parts[-2:] == (OVERLAY, "__init__.py") else ""


def print_speed(console: Console, measured: Sequence[Measurement]) -> None:
    """Write how fast the mended program is beside the original."""
    if not measured:
        console.print("There is no mend to measure.")
    for one in measured:
        noisy = one.error is not None or one.is_noisy
        console.print(Line(speed(one), style="yellow" if noisy else "bold"), soft_wrap=True)


def _finding(finding: Finding) -> RenderableType:
    site = finding.site
    start = site.span.start
    head = Line.assemble(
        (f"{_short(site.path)}:{start.line}:{start.column}: ", "bold"),
        (site.code, "blue" if site.evidence == "static" else "yellow"),
        f" {f'Graph break {there}. ' if (there := inside(site)) else ''}{site.reason}",
    )
    lines: list[RenderableType] = [head]
    lines.append(Line(f"    {_cost(finding)}"))
    for one in finding.candidates:
        why = f" ({told})" if (told := difference(one)) else ""
        lines.append(Line.assemble("    ", (_SAFETY[one.safety], _COLOURS[one.safety]), f": {plain_title(one)}{why}"))
    lines += [Line(f"    not mended ({one.rule}): {one.reason}", style="dim") for one in finding.declined]
    return Group(*lines)


def _cost(finding: Finding) -> str:
    site = finding.site
    if site.evidence == "static":
        return "found in the source; no run reached it"
    modes = f" ({' and '.join(site.modes)})" if site.modes else ""
    where = f" in {', '.join(site.entries)}{modes}" if site.entries else ""
    how = ", only in a run without data" if site.evidence == "fake" else ""
    return f"{cost(site) or 'met'}{where}{how}"


def _failure(failure: Failure) -> Line:
    place = f"{_short(failure.path)}:{failure.line}: " if failure.path and failure.line else ""
    word = ("note ", "yellow") if failure.kind == "no-inputs" else ("error ", "red")
    return Line.assemble((place, "bold"), word, for_terminal(failure.words))


def _entry(result: EntryResult) -> Line:
    if result.error is not None and result.error.kind == "no-inputs":
        return Line(f"{result.entry.name} ({result.mode}): not run", style="yellow")
    if result.error is not None:
        return Line(f"{result.entry.name} ({result.mode}): failed", style="red")
    skipped = f", {result.skipped_frames} skipped frames" if result.skipped_frames else ""
    if result.run == "recorded":
        return Line(f"{result.entry.name}: {result.graphs} graphs ({sum(result.ops)} operators){skipped}", style="dim")
    ops = " + ".join(map(str, result.ops)) or "0"
    how = f"{result.mode}, without data" if result.run == "fake" else result.mode
    note = f"; {result.note}" if result.note else ""
    cached = " (cached)" if result.cached else ""
    words = f"{result.entry.name} ({how}): {result.graphs} graphs ({ops} operators){skipped}{note}{cached}"
    return Line(words, style="dim")


def _summary(report: Report, *, unreached: bool) -> Line:
    real = sum(finding.site.is_met for finding in report.findings)
    fake = sum(finding.site.evidence == "fake" for finding in report.findings)
    static = len(report.findings) - real - fake
    if report.entries and all(result.error is not None for result in report.entries):
        return Line("No entry ran to its end, so its graph breaks are not known.", style="bold")
    device = f" on {report.device}" if report.device else "" if _is_recorded(report) else " on cpu"
    ran = f"torch {report.torch}{device}" if report.torch else "static analysis only: no entry to run"
    only_fake = bool(report.entries) and all(result.run == "fake" for result in report.entries)
    real, fake = (real + fake, 0) if only_fake else (real, fake)
    if _is_recorded(report) and not report.torch:
        ran, real = "torch of an unknown version", len(report.findings)
        return Line(f"{real} graph break{'s' * (real != 1)} ({ran})", style="bold")
    also = f", {fake} more only in runs without data" if fake else ""
    more = "" if unreached else " (--all lists them)"
    also += f", {static} more in the source that no run reached{more}" if static and report.torch else ""
    number = real if report.torch else static
    return Line(f"{number} graph break{'s' * (number != 1)}{also} ({ran})", style="bold")


def _is_recorded(report: Report) -> bool:
    return any(result.run == "recorded" for result in report.entries)


def _short(path: str | None) -> str:
    if path is None:
        return ""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
