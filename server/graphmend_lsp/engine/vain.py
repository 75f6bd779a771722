"""Mends that change nothing: another graph break follows at once where theirs was, and nothing is offered for that one.

Such a mend would be safe beside others that gain, and a line of the diff that nobody needs. It is seen in a run of the mended
program, which takes a moment, before a proof, which with inductor takes long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from graphmend_lsp.engine.config import CheckRequest, OnProgress
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.engine.verdicts import cut, gains
from graphmend_lsp.mending import LAST_RESORT
from graphmend_lsp.model import Break, Candidate, Declined, Finding, Mend, Report
from graphmend_lsp.text import Text, line_before

Vain = frozenset[
    tuple[str, str, str, str]
]  # a file, a line of it, a rule of no use to the breaks of that line, and why
_FOLLOWED = "Another graph break follows in the same statement, and no rule mends that one."


class Runner(Protocol):
    """What is needed of the session; see there."""

    async def run(self, request: CheckRequest, on_progress: OnProgress | None = None) -> dict[Key, Run]:
        """Run the entries."""
        ...

    async def report(self, request: CheckRequest, runs: Mapping[Key, Run]) -> Report:
        """Make the report."""
        ...


async def of_use(runner: Runner, request: CheckRequest, report: Report, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen mends of a report without those that change nothing, as runs of the mended programs show; all where in doubt."""
    if len(programs_of(one.mend for one in chosen)) < 2:
        return list(chosen)
    sources = Sources(request.texts)
    texts = combine([one.mend for one in chosen], sources)[1]
    with_all = await _mended(runner, request, texts)
    kept = useful(chosen, report, with_all, {path: sources.get(path) or "" for path in texts}, texts)
    if not kept or len(kept) == len(chosen):
        return list(chosen)
    without_some = await _mended(runner, request, combine([one.mend for one in kept], sources)[1])
    return list(chosen) if gains(cut(without_some), cut(with_all)) else kept


def useful(
    chosen: Sequence[Candidate], before: Report, after: Report, old: Mapping[str, str], new: Mapping[str, str]
) -> list[Candidate]:
    """The chosen mends without those after which a break stands where theirs was that nothing is offered for.

    `after` is the report of the program with all of them, `old` and `new` are the texts that they change. What several breaks
    share is kept if it is of use to one of them.
    """
    left = [
        (finding.site.path, *_lines(finding.site, old, new))
        for finding in after.findings
        if finding.site.is_met and not finding.candidates
    ]

    def is_left(site: Break) -> bool:
        start, end = site.span.start.line, site.span.end.line
        return any(path == site.path and start <= last and first <= end for path, first, last in left)

    in_vain: set[Mend] = set()
    for program in programs_of(one.mend for one in chosen):
        sites = [each.site for each in before.findings if any(one.mend in program for one in each.candidates)]
        if sites and all(map(is_left, sites)):
            in_vain.update(mend for mend in program if mend.rule not in LAST_RESORT)
    return [one for one in chosen if one.mend not in in_vain]


def in_vain(
    report: Report, chosen: Sequence[Candidate], kept: Sequence[Candidate], sources: Sources, why: str = _FOLLOWED
) -> Vain:
    """What is known of the chosen mends that are not kept: which rules are of no use to the breaks of which lines, and `why`."""
    dropped = {one.mend for one in chosen} - {one.mend for one in kept}
    return frozenset(
        (*_key(finding.site, one.mend.rule, sources), why)
        for finding in report.findings
        for one in finding.candidates
        if one.mend in dropped
    )


def without(finding: Finding, vain: Vain, sources: Sources) -> Finding:
    """The finding without what is known to be of no use to it, which is declined."""
    if not vain:
        return finding
    whys = {(path, line, rule): why for path, line, rule, why in vain}
    useless = {
        one.mend: why
        for one in finding.candidates
        if (why := whys.get(_key(finding.site, one.mend.rule, sources))) is not None
    }
    if not useless:
        return finding
    declined = dict.fromkeys((*finding.declined, *(Declined(mend.rule, why) for mend, why in useless.items())))
    kept = tuple(one for one in finding.candidates if one.mend not in useless)
    return replace(finding, candidates=kept, declined=tuple(declined))


async def _mended(runner: Runner, request: CheckRequest, texts: Mapping[str, str]) -> Report:
    now = replace(request, texts={**request.texts, **texts})
    return await runner.report(now, await runner.run(now))


def _key(site: Break, rule: str, sources: Sources) -> tuple[str, str, str]:
    text = Text(sources.get(site.path) or "")
    line = site.span.start.line
    return site.path, text.line(line).strip() if line <= text.line_count else "", rule


def _lines(site: Break, old: Mapping[str, str], new: Mapping[str, str]) -> tuple[int, int]:
    """The lines of a break of the mended program, in the original text."""
    first, last = site.span.start.line, site.span.end.line
    if site.path not in new or site.path not in old:
        return first, last
    before, after = old[site.path], new[site.path]
    return line_before(before, after, first), line_before(before, after, last)
