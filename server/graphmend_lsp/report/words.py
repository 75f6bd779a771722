"""Words that the editor and the command line say alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from graphmend_lsp.model import Break, Candidate, Finding, Measurement, Plan, Report, Verdict

LONGEST_TITLE = 80
_PREFIX = re.compile(r"\s*mend graph break:", re.IGNORECASE)
_LEAST = 16  # characters of a note that still say something when it is cut
_OPTIONS = {
    "setting graphmend.interpreter": "option --python",
    "setting graphmend.worker.timeout": "option --timeout",
    "setting graphmend.worker.memory": "option --memory",
    "setting graphmend.device": "option --device",
}


def plain_title(candidate: Candidate) -> str:
    """A mend's title without what every title begins with, to go on a sentence: in lower case, but for names."""
    return plain(candidate.mend.title)


def plain(title: str) -> str:
    """A title as `plain_title` gives it."""
    title = _PREFIX.sub("", title).strip().rstrip(".")
    first = title.split(" ", 1)[0]
    return title[:1].lower() + title[1:] if first[1:].islower() or len(first) == 1 else title


def titled(head: str, notes: Sequence[str]) -> str:
    """A title with notes in brackets, of at most `LONGEST_TITLE` characters: the notes are cut first."""
    told = "; ".join(note for note in notes if note)
    if told and len(head) + len(told) + 3 > LONGEST_TITLE:
        told = shortened(told, LONGEST_TITLE - len(head) - 3)
        told = told if len(told) >= _LEAST else next(note for note in notes if note).partition(":")[0]
    head = shortened(head, LONGEST_TITLE - len(told) - 3 if told else LONGEST_TITLE)
    return f"{head} ({told})" if told else head


def shortened(words: str, longest: int) -> str:
    """The words, cut behind a word where they are longer."""
    words = words.strip().rstrip(".")
    return words if len(words) <= longest else words[: max(longest - 2, 0)].rpartition(" ")[0].rstrip(" ,;:(") + " …"


def for_terminal(words: str) -> str:
    """Words that name settings of the editor, with the command line's options in their place."""
    for setting, option in _OPTIONS.items():
        words = words.replace(setting, option)
    return words


def cost(site: Break) -> str:
    """What a break costs, as a clause; empty where that is not known."""
    if site.evidence == "static" or (site.outcome == "unknown" and not site.graphs):
        return ""
    parts = [f"costs {site.graphs} more graph{'s' * (site.graphs != 1)}"] if site.graphs else []
    if site.outcome == "refused":
        parts.append("the compiled program raises this error")
    elif site.outcome == "frame skipped":
        parts.append("its whole function runs uncompiled")
    elif site.outcome == "rest skipped":
        parts.append("the rest of its function runs uncompiled")
    elif site.outcome == "raised":
        parts.append("raises an exception")
    return ", ".join(parts) or "costs no graph: nothing compiled runs on both sides of it"


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
        return "; ".join(one.strip().rstrip(".") for one in (*mend.cautions, *mend.changes)[:1])
    told = mend.changes if verdict.safety == "safe" else (verdict.assuming,) if verdict.assuming else verdict.reasons
    words = [saving(verdict), *(one.strip().rstrip(".") for one in told[:1])]
    return "; ".join(word for word in words if word)


def compared(verdict: Verdict) -> str:
    """What was compared and how alike it is, as a sentence. What differs in some use is never called equal without its calls."""
    parts = {
        "outputs": verdict.outputs,
        "gradients": verdict.gradients,
        "state": verdict.state,
        "effects": verdict.effects,
    }
    if set(parts.values()) == {"not compared"}:
        return "Nothing could be compared."
    groups: dict[str, list[str]] = {}
    for part, likeness in parts.items():
        is_rounded = likeness == "bit-equal" and part in verdict.rounded
        said = "bit-equal uncompiled and within rounding compiled" if is_rounded else likeness
        groups.setdefault(said, []).append(part)
    words = "; ".join(f"{_listed(those)} {likeness}" for likeness, those in groups.items())
    calls = f"{verdict.calls} call{'s' * (verdict.calls != 1)}"
    if verdict.assumes or verdict.safety == "unsafe":
        return f"In the {calls} of the entry itself: {words}. Other uses may differ, as said."
    return f"Compared in {calls}: {words}."


def inside(site: Break) -> str:
    """Where a break really is that is shown at a call which leads there, in words; empty where it is shown where it is."""
    code = [frame for frame in site.chain if frame.kind == "code"]
    if not code or code[-1].path == site.path:
        return ""
    package, name = package_of(code[-1].path), PurePath(code[-1].path).name
    return f"inside {package + ', ' if package else ''}{name}:{code[-1].span.start.line}, reached from here"


def package_of(path: str) -> str:
    """The installed package that a file belongs to; empty for the user's own, and for a module that is one file."""
    parts = PurePath(path).parts
    homes = [number for number, part in enumerate(parts) if part in ("site-packages", "dist-packages")]
    return parts[homes[-1] + 1] if homes and len(parts) > homes[-1] + 2 else ""


def listed(report: Report) -> tuple[Finding, ...]:
    """The findings without those of the source that no run reached, where something ran."""
    if all(result.error is not None for result in report.entries):
        return report.findings
    return tuple(finding for finding in report.findings if finding.site.evidence != "static")


def found(report: Report) -> str:
    """What a check found, as one sentence."""
    ran = [result for result in report.entries if result.error is None]
    if not ran:
        failure = next((one for one in report.failures), None)
        return failure.words if failure is not None else "No entry ran."
    met = [finding for finding in report.findings if finding.site.is_met]
    graphs = sum(result.graphs for result in ran)
    words = f"{_many(len(met), 'graph break')} in {_many(graphs, 'graph')}"
    if met:
        safe = sum(any(one.safety == "safe" for one in finding.candidates) for finding in met)
        words += f"; {safe or 'none'} of them can be mended safely"
    else:
        words = f"No graph breaks in {_many(graphs, 'graph')}"
    failed = len(report.entries) - len(ran)
    return f"{words}; {_many(failed, 'run')} failed." if failed else f"{words}."


def mended(plan: Plan) -> str:
    """What mending all changed, as one sentence: the graphs, the breaks that stay, and why the first of them does."""
    before, after = _cut(plan.before), _cut(plan.after)
    left = [finding for finding in plan.after.findings if finding.site.is_met]
    if not plan.texts:
        words = f"Nothing is mended: {_many(before[0], 'graph')}, {_many(before[1], 'graph break')}"
    else:
        words = f"{_many(before[0], 'graph')}, now {after[0]}; {_many(before[1], 'graph break')}, now {after[1]}"
    why = next((one.reason for finding in left for one in finding.declined), "")
    if not left or not why:
        return f"{words}."
    stays = "the break that stays" if len(left) == 1 else "the first that stays"
    return f"{words}; {stays}, at line {left[0].site.span.start.line}: {why.strip().rstrip('.')}."


def _cut(report: Report) -> tuple[int, int]:
    graphs = sum(result.graphs for result in report.entries if result.error is None)
    return graphs, sum(finding.site.is_met for finding in report.findings)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _many(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'s' * (count != 1)}"


def speed(one: Measurement) -> str:
    """How fast a mended entry is, in words: always the ratio, with the spread of the samples; times only after it."""
    where = f"{one.entry.name} ({one.mode})"
    if one.ratio is None or one.warm is None or one.first is None or one.first_ratio is None:
        why = for_terminal(one.error.words) if one.error else "no time was measured."
        return f"{where}: not measured: {why}"
    many = "sample" if one.samples == 1 else "samples"
    between = f"{one.low:.2f} to {one.high:.2f} in {one.samples} {many} side by side"
    if one.samples < 3:
        told = f"about {one.ratio:.1f} times as fast warm, but the time limit allowed too few samples ({between})"
        told += "; raise it (--timeout), or make the entry smaller"
    elif one.is_noisy:
        told = f"about {one.ratio:.1f} times as fast warm, but the samples vary too much ({between})"
        told += "; leave the machine alone and measure again"
    else:
        told = f"{one.ratio:.2f} times as fast warm ({between})"
    words = [f"{told}; first call {one.first_ratio:.2f} times as fast"]
    words += [f"{old} → {new} {what}" for what, old, new in _launches(one)]
    words.append(
        f"a call {_seconds(one.warm[0])} → {_seconds(one.warm[1])}, the first {_seconds(one.first[0])} → "
        f"{_seconds(one.first[1])}"
    )
    return f"{where}: {'; '.join(words)} ({one.backend} on {one.device})"


def _launches(one: Measurement) -> list[tuple[str, int, int]]:
    kinds = (("kernels launched", one.kernels), ("CUDA graphs launched", one.cuda_graphs))
    return [(what, *pair) for what, pair in kinds if pair is not None and any(pair)]


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
