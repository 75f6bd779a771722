"""What the worker measured, judged: safe, unsafe with the reason, or wrong (DESIGN: Verdict)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from graphmend_lsp.engine.assumed import standing_of, words_of
from graphmend_lsp.engine.breaks import span_of
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.runs import cut_of
from graphmend_lsp.mending import LAST_RESORT
from graphmend_lsp.model import Assumption, Belief, Counts, Mend, Report, Safety, Span, Verdict
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import CandidateResult, Difference

_ORDER: tuple[Safety, ...] = ("safe", "unverified", "unsafe", "wrong")
_SHOWN = 3


def judge(
    result: CandidateResult,
    mends: Sequence[Mend],
    sources: Sources,
    accepted: Collection[str] = (),
    written: Sequence[Assumption] = (),
) -> Verdict:
    """The verdict on one mend (or several together); `sources` are the old texts.

    `accepted` are kinds of assumptions that the user accepts, `written` those that are read off the new texts (`declared`).

    *Safe*: everything bit-equal, effects equal or moved (told); under inductor, which fuses the operators of another
    graph to other kernels, equal but for rounding that float64 shows to be nothing else (told). *Unsafe*: close outputs,
    outputs that are rounded otherwise, an exception or a text that differs, a side of a condition that never ran, what the
    rule itself warns of, an assumption that nothing discharged: what a probe found different, above all.
    *Wrong*: anything else that differs, or nothing gained.
    """
    before, after = cut_of(result["before"]), cut_of(result["after"])
    # What a mend puts behind a boundary is still a break, also where Dynamo does not tell it.
    boundaries = {mend.edits for mend in mends if mend.rule in LAST_RESORT}  # one may be the mend of several breaks
    after = replace(after, breaks=max(after.breaks, len(boundaries)))
    safety: Safety = "safe"
    reasons: list[str] = []
    gained = result["failure"] is not None or (gains(before, after) and not _only_moves(mends, before, after))

    def lower(to: Safety, reason: str) -> None:
        nonlocal safety
        safety = max(safety, to, key=_ORDER.index)
        reasons.append(reason)

    if (failure := result["failure"]) is not None:
        stopped = failure["kind"] in ("timeout", "cancelled", "worker", "protocol")
        said = "the comparison stopped" if stopped else "the mended program failed"
        lower("unverified" if stopped else "wrong", f"{said}: {failure['message']}")
    for words in result["unlike_sides"][:_SHOWN]:
        lower("wrong", f"the two sides differ: {words}")
    differences = [one for one in result["differences"] if "assumes" not in one]
    for one in [one for one in differences if one["severity"] == "different"][:_SHOWN]:
        lower("unverified" if one.get("undecided") else "unsafe" if _is_text(one) else "wrong", words_of(one))
    for one in _first(differences, "exception"):
        lower("unsafe", words_of(one))
    fused = [one for one in differences if one.get("fused")]
    for one in [one for one in differences if one.get("rounded") and not one.get("fused")][:_SHOWN]:
        lower("unsafe", f"{words_of(one)} (another rounding: equal in float64)")
    for one in _first([one for one in differences if not one.get("rounded")], "close"):
        lower("unsafe", f"{words_of(one)} (close, not bit-equal)")
    if result["failure"] is None and (result["calls"] == 0 or result["outputs"] == "not compared"):
        lower("unverified", "no call of the two programs could be compared")
    if not gained:
        why = [mend.serves for mend in mends if mend.serves]
        why += ["another graph break follows this one; “Mend all” may mend both"] if after.breaks else []
        reasons.append(
            "; ".join((_cut_as_before(after), ", or ".join(dict.fromkeys(why)))) if why else _cut_as_before(after)
        )
    unreached: list[tuple[Span, bool]] = []
    checked: list[str] = []
    for side in result["sides"]:
        text = Text(sources.get(side["condition"]["file"]) or "")
        span = span_of(side["condition"], text)
        for value, seen in ((True, side["true"]), (False, side["false"])):
            if not seen:
                unreached.append((span, value))
                if not side.get("forced"):  # what differed when it was made to fail is told already
                    lower("unsafe", unseen_side(text.slice(span), value))
                safety = max(safety, "unsafe", key=_ORDER.index)
        if "taken" in side:
            checked.append(
                f"no call made `{_shorten(text.slice(span))}` {side['taken']}; "
                "GraphMend made it so in both programs, and they do the same"
            )
        if side.get("forced") and side["true"] and side["false"]:
            checked.append(
                f"no call failed the check `{_shorten(text.slice(span))}`; "
                "GraphMend made it fail in both programs, and they raise the same"
            )
    for caution in dict.fromkeys(caution for mend in mends for caution in mend.cautions):
        lower("unsafe", caution)
    standing = standing_of(result, mends, accepted, written)
    for assumption in standing.open:
        lower("unsafe", standing.told(assumption))
    reasons += [words_of(one) for one in _first(differences, "moved")]
    changes = [
        *(f"{words_of(one)} (compiled code rounds otherwise; equal in float64)" for one in fused[:1]),
        *(change for mend in mends for change in mend.changes),
        *believed(one for mend in mends for one in mend.rests_on),
    ]
    return Verdict(
        safety=safety if gained else "wrong",
        reasons=tuple(dict.fromkeys((*reasons, *changes, *checked))),
        before=before,
        after=after,
        outputs=result["outputs"],
        gradients=result["gradients"],
        state=result["state"],
        effects=result["effects"],
        rounded=tuple(result["rounded"]),
        calls=result["calls"],
        unreached=tuple(unreached),
        seconds=result["seconds"],
        results=safety,
        assumes=standing.open,
        discharged=standing.discharged,
        accepted=standing.accepted,
        unmet=standing.unmet,
        forced=tuple(dict.fromkeys(checked)),
    )


def unseen_side(condition: str, value: bool) -> str:
    """The reason for a condition that no call gave this value."""
    return f"no call made `{_shorten(condition)}` {value}, so that side did not run"


def believed(beliefs: Iterable[Belief]) -> tuple[str, ...]:
    """What values were in every call that a run saw, in a sentence for each kind; of an expression what says most of it."""
    said: dict[str, list[str]] = {}
    for one in beliefs:
        said.setdefault(one.code, []).append(one.what)
    groups: dict[str, list[str]] = {}
    for code, kinds in said.items():
        exact = [what for what in kinds if what not in ("a tensor", "a Python value")]
        for what in dict.fromkeys(exact or kinds):
            groups.setdefault(what, []).append(f"`{code}`")
    return tuple(
        f"{', '.join(names[:-1])} and {names[-1]} were each {what} in every call that was seen"
        if len(names) > 1
        else f"{names[0]} was {what} in every call that was seen"
        for what, names in groups.items()
    )


def cut(report: Report) -> Counts:
    """How all that ran of a report is cut."""
    met = [finding.site for finding in report.findings if finding.site.evidence == "dynamo"]
    rests = sum(site.outcome == "rest skipped" for site in met)
    refused = sum(site.outcome == "refused" for site in met)
    ran = [result for result in report.entries if result.error is None]
    return Counts(sum(one.graphs for one in ran), len(met), sum(one.skipped_frames for one in ran), rests, refused)


def gains(before: Counts, after: Counts) -> bool:
    """Whether a mended program is cut less: fewer frames left to Python, or as many and fewer graphs or breaks.

    A program that torch.compile refuses has no graphs to count: to run at all is less.

    What was left to Python, a whole frame or its rest, has no graph before and some after; that counts as less. Where one
    of both has no graph at all, the number of graphs says nothing: what a frame left to Python calls may be compiled.
    """
    if after.refused != before.refused:
        return after.refused < before.refused
    left_before, left_after = (one.skipped_frames + one.skipped_rests for one in (before, after))
    if left_after != left_before:
        return left_after < left_before
    if after.skipped_frames != before.skipped_frames:
        return after.skipped_frames < before.skipped_frames
    if after.graphs != before.graphs and before.graphs > 0 and after.graphs > 0:
        return after.graphs < before.graphs
    return after.breaks < before.breaks


def _only_moves(mends: Sequence[Mend], before: Counts, after: Counts) -> bool:
    """Whether all that mends do is to put a break behind a boundary, and no more of the program is compiled for it.

    A frame that Dynamo left to Python for a break within may be left to it no longer, and still give no graph.
    """
    same = (after.graphs, after.refused) == (before.graphs, before.refused) and after.breaks >= before.breaks
    return bool(mends) and same and all(one.rule in LAST_RESORT for one in mends)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The least favourable of the verdicts of one mend over several entries or modes.

    It is enough that one of them gains, where none loses. What is assumed of places that none of them ran is open.
    """
    verdicts = [_met(one, verdicts) for one in verdicts]
    idle = [one for one in verdicts if one.safety == "wrong" != one.results]
    lost = any(gains(one.after, one.before) for one in idle)
    if not idle or lost or all(one.safety == "wrong" for one in verdicts):
        return max(verdicts, key=lambda one: (_ORDER.index(one.safety), _ORDER.index(one.results)))
    least = max(verdicts, key=lambda one: _ORDER.index(one.results))
    return in_chain(least)


def _met(verdict: Verdict, others: Sequence[Verdict]) -> Verdict:
    """The verdict, in which what another one met is no longer unmet, and the rest of that open."""
    known = {one for other in others for one in (*other.assumes, *other.discharged, *other.accepted)}
    left = tuple(one for one in verdict.unmet if one not in known)
    if not left:
        return replace(verdict, unmet=()) if verdict.unmet else verdict
    told = tuple(f"assumes that {one.words} (no call runs that place)" for one in left)
    return replace(
        verdict,
        safety=max(verdict.safety, "unsafe", key=_ORDER.index),
        results=max(verdict.results, "unsafe", key=_ORDER.index),
        reasons=(*told, *verdict.reasons) if verdict.safety == "safe" else (*verdict.reasons, *told),
        assumes=(*verdict.assumes, *left),
        unmet=(),
    )


def elsewhere(verdict: Verdict, name: str) -> Verdict:
    """The verdict of an entry that runs what is mended, but did not meet its break: it need not gain, and must not lose."""
    before, after = verdict.before, verdict.after
    reasons = in_chain(verdict).reasons
    lost = verdict.results in ("safe", "unsafe") and gains(after, before)
    if lost:
        cut = f"{before.graphs} graphs, {before.breaks} breaks became {after.graphs}, {after.breaks}"
        reasons = (f"the mended program has more graph breaks ({cut})", *reasons)
    safety: Safety = "wrong" if lost else verdict.results
    return replace(verdict, safety=safety, reasons=tuple(f"{name}: {reason}" for reason in reasons))


def in_chain(verdict: Verdict) -> Verdict:
    """The verdict on a mend that need not gain by itself, because others are made with it."""
    told = _cut_as_before(verdict.after)
    reasons = tuple(reason for reason in verdict.reasons if not reason.startswith(told))
    return replace(verdict, safety=verdict.results, reasons=reasons)


def _cut_as_before(after: Counts) -> str:
    return f"the mend saves nothing ({after.graphs} graphs, {after.breaks} breaks as before)"


def _is_text(difference: Difference) -> bool:
    return difference["what"] in ("stdout", "stderr", "log", "warning", "effects") and not _is_lost(difference)


def _is_lost(difference: Difference) -> bool:
    return "missing" in difference["detail"] or "lost" in difference["detail"]


def _first(differences: Sequence[Difference], severity: str) -> list[Difference]:
    return [one for one in differences if one["severity"] == severity][:_SHOWN]


def _shorten(words: str, width: int = 60) -> str:
    words = " ".join(words.split())
    return words if len(words) <= width else words[: width - 1] + "…"
