"""Words that every face of the engine says alike."""

from __future__ import annotations

from graphmend_lsp.model import Candidate, Verdict


def saving(verdict: Verdict) -> str:
    """What a mend saves, in words; empty when it saves nothing, or nothing that was counted."""
    before, after = verdict.before, verdict.after
    pairs = (
        (before.skipped_frames, after.skipped_frames, "skipped frames"),
        (before.graphs, after.graphs, "graphs"),
        (before.breaks, after.breaks, "breaks"),
    )
    saved = [f"{old} → {new} {what}" for old, new, what in pairs if new < old]
    return ", ".join(saved[:2])


def difference(candidate: Candidate) -> str:
    """What tells one mend of a break from the others: what it saves, and what it changes (with a verdict: or why not safe)."""
    verdict, mend = candidate.verdict, candidate.mend
    if verdict is None:
        return "; ".join((*mend.cautions, *mend.changes)[:1])
    told = mend.changes if verdict.safety == "safe" else verdict.reasons
    words = [saving(verdict), *(one.strip().rstrip(".") for one in told[:1])]
    return "; ".join(word for word in words if word)
