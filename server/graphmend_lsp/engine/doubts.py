"""What is known against mends before they are verified: no verdict can call them safe, or one did not a round ago.

A mend-all makes safe mends. A verdict on a mend that says itself what may differ, or on one whose condition no call takes
both ways, ends as unsafe however long it takes. Such mends are not verified; the report says why they are unsafe.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from graphmend_lsp.analysis.sites import function_span
from graphmend_lsp.engine.declared import declared
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.programs import combine, programs_of
from graphmend_lsp.engine.project_texts import is_named_elsewhere
from graphmend_lsp.engine.verdicts import cut, unseen_side, worst
from graphmend_lsp.mending import LAST_RESORT, RISKS
from graphmend_lsp.model import Assumption, Candidate, Counts, Declined, Finding, Mend, Report, Span, Verdict
from graphmend_lsp.text import Text, line_before

Aside = Mapping[int, tuple[Candidate, ...]]  # candidates that are not verified, by the number of their finding
NOTHING: Aside = MappingProxyType({})
_Side = tuple[str, int, str]  # a file, a line of its first text, and the text of a condition that begins there
_Offer = tuple[str, int, str, str]  # a file, a line of its first text, a rule and the title of its mend there


@dataclass
class Doubts:
    """What the rounds of one mend-all found against mends. `first` are the texts that it began with,
    `accepted` the kinds of assumptions that the user accepts for every entry.

    `_unseen` are conditions with the value that no call gave them. `_doubted` are mends that gained nothing by themselves, or
    took for granted what nothing showed in a program that was safe in all else: they may be good behind other mends.
    `_alone` are the verdicts on unsafe mends that were judged alone, each with the text of the function that it mends.
    """

    first: Sources
    accepted: Collection[str] = ()
    _unseen: dict[_Side, bool] = field(default_factory=dict)
    _doubted: set[_Offer] = field(default_factory=set)
    _alone: dict[_Offer, tuple[str, Verdict]] = field(default_factory=dict)

    def note(self, chosen: Collection[Candidate], judged: Sequence[Verdict], sources: Sources) -> None:
        """Learn from what the entries said of mends of these texts.

        One that gained nothing ended early: no call may show a side then. What one entry does not reach another may.
        """
        if not (judged and chosen):
            return
        verdict = worst(judged)
        if verdict.safety == "wrong" != verdict.results and len(programs_of(one.mend for one in chosen)) == 1:
            self._doubted.update(self._offer(one.mend, sources) for one in chosen)
        if verdict.safety != "unsafe":
            return
        values = dict(frozenset.intersection(*(frozenset(one.unreached) for one in judged)))
        mends = [one.mend for one in chosen]
        said = {one for mend in mends for one in mend.assumes}
        found = {one.kind for one in verdict.assumes if one not in said}  # by a run, not said by a rule
        for mend in mends:
            for path, span in mend.conditions:
                if span in values:
                    self._unseen[self._side(path, span, sources)] = values[span]
            if found & RISKS.get(mend.rule, frozenset()) or not {*verdict.assumes}.isdisjoint(mend.assumes):
                self._doubted.add(self._offer(mend, sources))

    def remember(self, report: Report, sources: Sources) -> None:
        """Learn from a report whose candidates were each judged alone.

        An unsafe one stays so while its function does; but not where it changes the order of effects, which others share.
        """
        for one in (one for finding in report.findings for one in finding.candidates):
            self.note([one], [one.verdict] if one.verdict is not None else [], sources)
            if one.verdict is not None and one.verdict.safety == "unsafe" and one.verdict.effects in ("equal", "moved"):
                self._alone[self._offer(one.mend, sources)] = (_function(one.mend, sources), one.verdict)

    def set_aside(self, report: Report, sources: Sources) -> tuple[Report, Aside]:
        """The report without the candidates that no verdict can call safe; those with the reason, as unsafe."""
        now = cut(report)
        aside: dict[int, tuple[Candidate, ...]] = {}
        findings: list[Finding] = []
        for number, finding in enumerate(report.findings):
            against = {one: self._against(one, now, sources) for one in finding.candidates}
            doomed = tuple(replace(one, verdict=verdict) for one, verdict in against.items() if verdict is not None)
            if doomed:
                aside[number] = doomed
                left = tuple(one for one, verdict in against.items() if verdict is None)
                finding = replace(finding, candidates=left)
            findings.append(finding)
        return replace(report, findings=tuple(findings)), aside

    def inside(self, boundary: Mend, offered: Report, judged: Report, sources: Sources) -> tuple[Declined, ...]:
        """Why no other rule mends the breaks that a boundary holds: of each mend the first objection, then what rules said.

        `offered` is the report that the round began with, `judged` the one with the verdicts that it needed.
        """
        verdicts = {one.mend: one.verdict for finding in judged.findings for one in finding.candidates}
        now = cut(offered)
        found: dict[Declined, None] = {}
        declined: dict[Declined, None] = {}
        for finding in offered.findings:
            if not any({*one.mend.edits} == {*boundary.edits} for one in finding.candidates):
                continue
            declined |= dict.fromkeys(finding.declined)
            for one in finding.candidates:
                verdict = verdicts.get(one.mend) or one.verdict or self._against(one, now, sources)
                if one.mend.rule not in LAST_RESORT and verdict is not None and verdict.safety != "safe":
                    found |= dict.fromkeys(Declined(one.mend.rule, reason) for reason in verdict.reasons[:1])
        return (*found, *declined)

    def untried(self, findings: Sequence[Finding], sources: Sources) -> list[Finding]:
        """The findings with the candidates that no round doubts; without those that have none but a last resort."""
        found = []
        for finding in findings:
            fresh = tuple(one for one in finding.candidates if self._offer(one.mend, sources) not in self._doubted)
            if len(fresh) == len(finding.candidates):
                found.append(finding)
            elif any(one.mend.rule not in LAST_RESORT for one in fresh):
                found.append(replace(finding, candidates=fresh))
        return found

    def _against(self, candidate: Candidate, now: Counts, sources: Sources) -> Verdict | None:
        """Why it is unsafe whatever a verdict would say; None where it may be safe."""
        mend = candidate.mend
        if candidate.safety == "safe":  # a report that was verified before
            return None
        function, verdict = self._alone.get(self._offer(mend, sources), ("", candidate.verdict))
        if function and function == _function(mend, sources):
            return verdict
        sides = {(path, span): self._unseen.get(self._side(path, span, sources)) for path, span in mend.conditions}
        unseen = [(path, span, value) for (path, span), value in sides.items() if value is not None]
        granted = self._granted(mend, sources)
        if not (mend.cautions or unseen or granted):
            return None
        if candidate.verdict is not None:
            return candidate.verdict
        assumed = [f"assumes that {one.words}" for one in granted]
        texts = [unseen_side(_text(sources, path).slice(span), value) for path, span, value in unseen]
        return Verdict(
            "unsafe",
            (*assumed, *texts, *mend.cautions, *mend.changes),
            now,
            now,
            unreached=tuple((span, value) for _, span, value in unseen),
            results="unsafe",
            assumes=granted,
        )

    def _granted(self, mend: Mend, sources: Sources) -> tuple[Assumption, ...]:
        """What the mend takes for granted by what it writes, which no run shows and the user does not accept."""
        texts = combine([mend], sources)[1]
        written = declared({path: sources.get(path) or "" for path in texts}, texts, is_named_elsewhere)
        return tuple(one for one in written if one.kind not in self.accepted)

    def _side(self, path: str, span: Span, sources: Sources) -> _Side:
        return path, self._line(path, span, sources), _text(sources, path).slice(span)

    def _offer(self, mend: Mend, sources: Sources) -> _Offer:
        return mend.path, self._line(mend.path, mend.span, sources), mend.rule, mend.title

    def _line(self, path: str, span: Span, sources: Sources) -> int:
        old, new = self.first.get(path) or "", sources.get(path) or ""
        return span.start.line if old == new else line_before(old, new, span.start.line)


def put_back(report: Report, aside: Aside) -> Report:
    """The report with the candidates that were set aside of one with the same findings, behind the others."""
    findings = tuple(
        replace(finding, candidates=(*finding.candidates, *aside.get(number, ())))
        for number, finding in enumerate(report.findings)
    )
    return replace(report, findings=findings)


def _function(mend: Mend, sources: Sources) -> str:
    """The text of the function that a mend's break is in, or of the whole file."""
    text = _text(sources, mend.path)
    span = function_span(text, mend.span.start)
    return text.value if span is None else text.slice(span)


def _text(sources: Sources, path: str) -> Text:
    return Text(sources.get(path) or "")
