"""What fake runs add to real ones: the breaks of the other sides of branches, in words, and runs that are too large to make.

Pure. A fake run builds and calls an entry with tensors that have no data; the worker makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graphmend_lsp.analysis.reasons import in_mode, only_when
from graphmend_lsp.engine.breaks import Scope, breaks_of, merge_all
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.runs import Key, Run, cut_of
from graphmend_lsp.model import Break, Counts, EntryResult, Finding, Mode, Verdict
from graphmend_lsp.text import Text

_HEADROOM = 2  # a run needs room for what is computed besides parameters and inputs
_UNMET = "The entry's own inputs do not reach this"


def fake_breaks(
    explored: Mapping[Key, Run], real: Sequence[Break], met: Mapping[Key, Run], scope: Scope, sources: Sources
) -> tuple[Break, ...]:
    """The sites that fake runs met and the real runs did not, each saying on which side of which conditions it lies.

    `real` are the sites of the real runs `met`.
    """
    known = {(site.path, site.span) for site in real}
    groups = [
        breaks_of(run.events, len(run.ops), entry.name, mode, scope, sources, "fake")
        for (entry, mode), run in explored.items()
    ]
    ran = {entry.name for (entry, _), run in met.items() if run.failure is None}
    found = (site for site in merge_all(groups) if (site.path, site.span) not in known)
    return tuple(_told(site, not ran.isdisjoint(site.entries), sources) for site in found)


def with_modes(sites: Iterable[Break], keys: Iterable[Key]) -> tuple[Break, ...]:
    """The sites, those in one mode only saying so where their entries ran in both."""
    ran: dict[str, set[Mode]] = {}
    for entry, mode in keys:
        ran.setdefault(entry.name, set()).add(mode)
    both = {name for name, modes in ran.items() if len(modes) > 1}
    return tuple(
        replace(site, reason=f"{site.reason} {in_mode(site.modes[0])}")
        if len(site.modes) == 1 and site.entries and both.issuperset(site.entries)
        else site
        for site in sites
    )


def shown_runs(runs: Mapping[Key, Run], explored: Mapping[Key, Run]) -> dict[Key, Run]:
    """The run that stands for each entry and mode: the real one where it was made, with what the fake one has to say."""
    shown = {key: replace(run, note=run.note or note_of(run)) for key, run in explored.items()}
    for key, run in runs.items():
        shown[key] = replace(run, note=run.note or (note_of(explored[key]) if key in explored else ""))
    return shown


def too_large(run: Run) -> str | None:
    """Why a real run of what this fake run showed would not fit into the worker's memory, in words; None when it may."""
    if run.tensor_bytes is None or run.available_bytes is None or run.tensor_bytes * _HEADROOM <= run.available_bytes:
        return None
    return (
        f"its tensors take {_size(run.tensor_bytes)} and {_size(run.available_bytes)} of memory are free, "
        "so it ran without data only"
    )


def counts_of(result: EntryResult, findings: Sequence[Finding]) -> Counts:
    """How a run without data saw its entry cut."""
    seen = [one for one in findings if result.entry.name in one.site.entries and result.mode in one.site.modes]
    rests = sum(one.site.outcome == "rest skipped" for one in seen)
    return Counts(
        result.graphs, len(seen), result.skipped_frames, rests, sum(one.site.outcome == "refused" for one in seen)
    )


def graphs_only(before: Counts, after: Run) -> Verdict:
    """The verdict that a run without data gives on a mended program: how it is cut, never that it computes the same."""
    if after.failure is not None:
        reason = f"graphs only: the mended program failed in a run without data ({after.failure.message})"
        return Verdict("unverified", (reason,), before, before, seconds=after.seconds)
    now = cut_of(after.counts)
    change = f"{before.breaks} → {now.breaks} breaks, {before.graphs} → {now.graphs} graphs"
    reason = f"graphs only: {change} in runs without data; results were not compared"
    return Verdict("unverified", (reason,), before, now, seconds=after.seconds)


def note_of(run: Run) -> str:
    """What a user is told of a fake run besides its breaks: conditions whose other side was not taken."""
    if run.failure is not None:
        if run.failure.stage in ("load", "worker") or run.kind == "real":
            return ""  # told as a failure
        return f"the other sides of its conditions did not run: {run.failure.message}"
    if run.unexplored:
        sides = "side of a condition" if run.unexplored == 1 else "sides of conditions"
        return f"{run.unexplored} {sides} did not run ({run.explored} runs without data)"
    return ""


def _told(site: Break, ran: bool, sources: Sources) -> Break:
    conditions = []
    for path, span, value in site.answers:
        text = sources.get(path)
        words = Text(text).slice(span) if text is not None else ""
        conditions.append((words, span.start.line, value))
    said = only_when(conditions) if conditions else f"{_UNMET}." if ran else ""
    return replace(site, reason=f"{site.reason} {said}".strip())


def _size(amount: int) -> str:
    return f"{amount / 2**30:.1f} GiB" if amount >= 2**30 else f"{amount / 2**20:.0f} MiB"
