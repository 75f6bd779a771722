"""Which mend of a break is offered first, and which ones are not offered. Pure.

Safe comes before unverified before unsafe. Among equals: what removes the break, then first choices, then what saves most
frames and graphs, then what keeps most as it was, then the smallest edit, then the order in which the rules offer them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from graphmend_lsp.engine.verdicts import worst
from graphmend_lsp.mending import LAST_RESORT, RISKS, SECOND_CHOICE, WIDE
from graphmend_lsp.mending.rule import SUPPORT
from graphmend_lsp.model import AssumptionKind, Break, Candidate, Declined, Finding, Mend, Safety, Span, Verdict

_SAFETY = ("safe", "unverified", "unsafe", "wrong")
_LIKENESS = ("bit-equal", "close", "not compared", "different")
_EFFECTS = ("equal", "moved", "not compared", "different")


def settle(finding: Finding, verdicts: Mapping[Mend, Sequence[Verdict]]) -> Finding:
    """The finding with what was measured: candidates best first, the wrong ones as declines.

    A mend that only gains nothing, because another break stands behind this one, is also kept as `Finding.behind`.
    """
    kept: list[Candidate] = []
    behind: list[Candidate] = []
    declined = list(finding.declined)
    for candidate in finding.candidates:
        judged = verdicts.get(candidate.mend)
        verdict = worst(judged) if judged else None
        settled = Candidate(candidate.mend, verdict)
        if verdict is None or verdict.safety != "wrong":
            kept.append(settled)
            continue
        if verdict.results in ("safe", "unsafe") and verdict.after.breaks:
            behind.append(settled)
        declined.append(Declined(candidate.mend.rule, verdict.reasons[0] if verdict.reasons else "it was wrong"))
    kept.sort(key=lambda one: rank(one, verdicts.get(one.mend, ())))
    return replace(
        finding, candidates=tuple(kept), declined=tuple(dict.fromkeys(declined)), behind=tuple(behind)
    )  # fmt: skip


def taken(finding: Finding, wanted: Collection[Safety]) -> tuple[Candidate, ...]:
    """The candidate that mend-all takes, if any: the best of those wanted, and rather one after which the break is gone."""
    fit = [one for one in finding.candidates if one.safety in wanted]
    ending = [one for one in fit if one.mend.rule not in LAST_RESORT]
    return tuple((ending or fit)[:1])


def first_of(finding: Finding) -> Candidate:
    """The candidate to try first: the first that no verdict is known beforehand to call unsafe, if there is one."""
    return next((one for one in finding.candidates if _may_be_safe(one)), finding.candidates[0])


def narrow_of(finding: Finding, *, boundaries: bool = False) -> tuple[Candidate, ...]:
    """The candidates that may be safe and change nothing elsewhere, in order; with `boundaries` a last resort behind them."""
    narrow = [one for one in finding.candidates if _may_be_safe(one) and one.mend.rule not in WIDE]
    last = [one for one in finding.candidates if one.mend.rule in LAST_RESORT] if boundaries else []
    return (*narrow, *last)


def widest(findings: Sequence[Finding]) -> Candidate | None:
    """The candidate that takes most breaks out of the graph at once, two at least; one that may be safe."""
    found: tuple[int, Candidate] | None = None
    for candidate in (one for finding in findings for one in finding.candidates if _may_be_safe(one)):
        held = sum(_holds(candidate.mend.regions, one.site) for one in findings)
        if held > 1 and (found is None or held > found[0]):
            found = held, candidate
    return found and found[1]


def _holds(regions: Sequence[tuple[str, Span]], site: Break) -> bool:
    """Whether a break stands in one of these regions, or in what was called from one."""
    places = [(site.path, site.span), *((one.path, one.span) for one in site.chain)]
    return any(
        path == own and region.start <= span.start and span.end <= region.end
        for own, region in regions
        for path, span in places
    )


def exchanged(findings: Sequence[Finding], chosen: Sequence[Candidate], verdict: Verdict | None) -> list[Candidate]:
    """The choice with the next candidates in place of those that the verdict leaves open.

    Those bring an assumption which nothing discharges, or a condition of which one side never ran. Where the verdict is safe and
    breaks stay, the next stands in place of each that is not its break's first.
    `chosen` holds one candidate of each finding, or less. A break has none where every other candidate brings the same.
    Empty where nothing else can be chosen, or something else makes the mends unsafe.
    """
    if verdict is None or verdict.results not in ("safe", "unsafe"):
        return []
    kinds = {one.kind for one in verdict.assumes}
    unreached = {span for span, _ in verdict.unreached}
    if not (kinds or unreached or verdict.safety == "safe"):
        return []
    known = {one.mend for one in chosen}
    now: list[Candidate] = []
    for finding in findings:
        here = next((one for one in finding.candidates if one.mend in known), None)
        if here is None:
            continue
        if _brings(here.mend, kinds, unreached) if kinds or unreached else here != first_of(finding):
            later = finding.candidates[finding.candidates.index(here) + 1 :]
            fit = [one for one in later if _may_be_safe(one) and not _brings(one.mend, kinds, unreached)]
            now += fit[:1]
        else:
            now.append(here)
    return now if {one.mend for one in now} != known else []


def is_whole(findings: Sequence[Finding], made: Collection[Candidate], verdict: Verdict | None) -> bool:
    """Whether a verdict is safe, and no break is left of those that the mends are for."""
    mends = {one.mend for one in made}
    about = sum(any(one.mend in mends for one in finding.candidates) for finding in findings)
    return verdict is not None and verdict.safety == "safe" and verdict.after.breaks <= verdict.before.breaks - about


def _may_be_safe(candidate: Candidate) -> bool:
    return not candidate.mend.cautions and candidate.mend.rule not in LAST_RESORT


def _brings(mend: Mend, kinds: Collection[AssumptionKind], unreached: Collection[Span]) -> bool:
    """Whether a mend has one of these conditions, takes something of these kinds for granted, or may by what it does."""
    return (
        any(span in unreached for _, span in mend.conditions)
        or any(one.kind in kinds for one in mend.assumes)
        or not RISKS.get(mend.rule, frozenset()).isdisjoint(kinds)
    )


def rank(candidate: Candidate, judged: Sequence[Verdict]) -> tuple[int, ...]:
    """What candidates of one break are sorted by, least first; `judged` are the verdicts of all entries and modes."""
    verdict = candidate.verdict
    if verdict is None:
        return (_SAFETY.index(candidate.safety),)
    return (
        _SAFETY.index(candidate.safety),
        candidate.mend.rule in LAST_RESORT,
        candidate.mend.rule in SECOND_CHOICE,
        -sum(one.before.refused - one.after.refused for one in judged),
        -sum(one.before.skipped_frames - one.after.skipped_frames for one in judged),
        -sum(one.before.skipped_rests - one.after.skipped_rests for one in judged),
        -sum(one.before.graphs - one.after.graphs for one in judged),
        -sum(one.before.breaks - one.after.breaks for one in judged),
        *(_LIKENESS.index(part) for part in (verdict.outputs, verdict.gradients, verdict.state)),
        _EFFECTS.index(verdict.effects),
        len(candidate.mend.changes) + len(candidate.mend.cautions),
        size(candidate.mend),
    )


def size(mend: Mend) -> int:
    """How many lines a mend takes away or writes, whichever is more at each of its edits; not those of the support module."""
    return sum(
        max(edit.span.end.line - edit.span.start.line, edit.text.count("\n")) + 1
        for edit in dict.fromkeys(mend.edits)
        if not edit.path.endswith(f"{SUPPORT}.py")
    )
