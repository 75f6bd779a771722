"""Reports of the parts of one check as the report that one machine would have made. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graphmend_lsp.engine.breaks import merge_all
from graphmend_lsp.engine.path_map import PathMap
from graphmend_lsp.engine.shard import key_name
from graphmend_lsp.model import Break, Candidate, EntryResult, Failure, Finding, Graph, Report, ShardMark, Span, Stop

_SAFETY_ORDER = ("safe", "unverified", "unsafe", "wrong")


class UnlikeShardsError(ValueError):
    """The reports are parts of different checks; the message is for the user."""


def merge_reports(reports: Sequence[Report], root: str, command: str = "check") -> Report:
    """One report of them all; `root` is the folder from which entries are named. A site that several met is told once.

    `command` is what made the reports.

    Shards that are missing are failures of the report.

    Raises:
        UnlikeShardsError: shards of different checks, or cut in different ways.
    """
    marks = [report.shard for report in reports if report.shard is not None]
    if len({(mark.count, mark.plan) for mark in marks}) > 1 or 0 < len(marks) < len(reports):
        raise UnlikeShardsError(
            f"These records are not the shards of one {command}. Give every shard the same PATHs, options, "
            "number of parts and --times file."
        )
    ordered = sorted(reports, key=lambda report: report.shard.number if report.shard else 0)
    entries = _entries(ordered, marks[0].runs if marks else (), root)
    return Report(
        torch=_joined(report.torch for report in ordered),
        python=_joined(report.python for report in ordered),
        device=_joined(report.device for report in ordered),
        entries=entries,
        findings=_findings(ordered, tuple(dict.fromkeys(result.entry.name for result in entries))),
        failures=tuple(
            dict.fromkeys((*_missing(marks, command), *(one for report in ordered for one in report.failures)))
        ),
    )


def relocated(report: Report, root: str, to: str) -> Report:
    """The report of a machine that had the tree at `root`, as if it had been at `to`."""
    if root == to:
        return report
    paths = PathMap(((to, root),))

    def failure(one: Failure) -> Failure:
        words = {"message": paths.words_here(one.message), "remedy": paths.words_here(one.remedy)}
        return replace(one, path=None if one.path is None else paths.here(one.path), **words)  # type: ignore[arg-type]

    def finding(one: Finding) -> Finding:
        chain = tuple(replace(frame, path=paths.here(frame.path)) for frame in one.site.chain)
        answers = tuple((paths.here(path), span, value) for path, span, value in one.site.answers)
        site = replace(one.site, path=paths.here(one.site.path), chain=chain, answers=answers)
        moved = [replace(item, mend=replace(item.mend, path=site.path)) for item in one.candidates]
        return replace(one, site=site, candidates=tuple(moved))

    def entry(one: EntryResult) -> EntryResult:
        moved = replace(one.entry, file=paths.here(one.entry.file))
        strip = tuple(map(piece, one.strip))
        return replace(one, entry=moved, error=None if one.error is None else failure(one.error), strip=strip)

    def piece(one: Graph | Stop) -> Graph | Stop:
        if isinstance(one, Stop) and one.outside is not None:
            function, path, line, end_line = one.outside
            one = replace(one, outside=(function, paths.here(path), line, end_line))
        return replace(one, path=paths.here(one.path) if one.path else "")

    return replace(
        report,
        entries=tuple(map(entry, report.entries)),
        findings=tuple(map(finding, report.findings)),
        failures=tuple(map(failure, report.failures)),
    )


def mover(root: str, to: str) -> Callable[[str], str]:
    """What gives a path of a machine that had the tree at `root` as if it had been at `to`."""
    return PathMap(((to, root),) if root != to else ()).here


def _joined(words: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(word for word in words if word)) or None


def _missing(marks: Sequence[ShardMark], command: str) -> list[Failure]:
    if not marks:
        return []
    count = marks[0].count
    gone = [str(number) for number in range(1, count + 1) if number not in {mark.number for mark in marks}]
    if not gone:
        return []
    words = f"shard {gone[0]} of {count} is" if len(gone) == 1 else f"shards {', '.join(gone)} of {count} are"
    remedy = f"Run the {command} again with --shard {gone[0]}/{count}{' and so on' * (len(gone) > 1)}, then merge all records."
    return [Failure("worker", "exit", f"The record of {words} missing.", remedy)]


def _entries(reports: Sequence[Report], order: Sequence[str], root: str) -> tuple[EntryResult, ...]:
    places = {name: number for number, name in enumerate(order)}
    found: dict[tuple[object, ...], EntryResult] = {}
    for result in (result for report in reports for result in report.entries):
        key = (result.entry, result.mode, result.run)
        if key not in found or (found[key].error is not None and result.error is None):
            found[key] = result
    return tuple(
        sorted(found.values(), key=lambda one: places.get(key_name(one.entry, one.mode, root), len(places)))
    )  # fmt: skip


def _findings(reports: Sequence[Report], names: Sequence[str]) -> tuple[Finding, ...]:
    """As one check orders them: what runs met, by place, then what only the source shows and no run met.

    `names` are the entries in order: of equal words about a site those of the first entry stay.
    """
    places = {name: number for number, name in enumerate(names)}

    def first(finding: Finding) -> int:
        return min((places.get(name, len(places)) for name in finding.site.entries), default=len(places))

    met = sorted((one for report in reports for one in report.findings if one.site.evidence != "static"), key=first)
    sites = merge_all([[one.site] for one in met])
    by_place: dict[tuple[str, Span], list[Finding]] = {}
    for one in met:
        by_place.setdefault((one.site.path, one.site.span), []).append(one)
    found = []
    for site in sites:
        entries = sorted(site.entries, key=lambda name: places.get(name, len(places)))
        found.append(_joined_finding(replace(site, entries=tuple(entries)), by_place[site.path, site.span]))
    ran = sorted(reports, key=lambda report: not any(one.error is None for one in report.entries))
    shown = _in_order([[one for one in report.findings if one.site.evidence == "static"] for report in ran])
    return (*found, *(one for one in shown if not any(_hides(site, one.site) for site in sites)))


def _hides(site: Break, static: Break) -> bool:
    if site.path != static.path:
        return False
    return site.span.start.line == static.span.start.line or site.span.overlaps(static.span)


def _joined_finding(site: Break, parts: Sequence[Finding]) -> Finding:
    """What the rules said of the chain that the site kept comes first; of one mend's verdicts the worst counts."""
    first = max(parts, key=lambda part: len(part.site.chain))
    candidates: dict[tuple[str, str], Candidate] = {}
    for candidate in (candidate for part in (first, *parts) for candidate in part.candidates):
        key = (candidate.mend.rule, candidate.mend.title)
        known = candidates.get(key)
        if known is None or _SAFETY_ORDER.index(candidate.safety) > _SAFETY_ORDER.index(known.safety):
            candidates[key] = candidate
    declined = dict.fromkeys(one for part in (first, *parts) for one in part.declined)
    return Finding(site, tuple(candidates.values()), tuple(declined))


def _in_order(groups: Iterable[Sequence[Finding]]) -> list[Finding]:
    """Each place once, the first group's word, in the order in which a tree's files are walked: before its folders."""
    found: dict[tuple[str, Span], Finding] = {}
    for one in (one for group in groups for one in group):
        found.setdefault((one.site.path, one.site.span), one)

    def walked(one: Finding) -> tuple[list[tuple[bool, str]], Span]:
        *folders, name = one.site.path.replace("\\", "/").split("/")
        return [*((True, folder) for folder in folders), (False, name)], one.site.span

    return sorted(found.values(), key=walked)
