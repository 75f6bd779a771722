"""What mending shows of one program: its breaks, the mends that were made, and what is said to the breaks that are left.

The rows of the tables that `bench/constructs` and `bench/packages` make; plain data that is kept as JSON.
"""

from __future__ import annotations

import difflib
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

from graphmend_lsp.engine.files import Sources
from graphmend_lsp.model import Finding, Plan, Report
from graphmend_lsp.text import Text


@dataclass(frozen=True)
class Site:
    """One break: the expression, where it is, the kind, and what the rules say.

    `place` is the file (from the package's name on where it is installed) and line. `mends` are (rule, safety, first reason), best
    first; `declined` are (rule, reason).
    """

    text: str
    place: str
    gb_id: str
    gb_type: str
    mends: tuple[tuple[str, str, str], ...]
    declined: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Row:
    """One program. `before` and `after` safe mends: (graphs, breaks, skipped frames); `left` are the breaks after them.

    `rules` are those of the safe mends that were made, `told` what these tell; `differs` is what other calls showed.
    `digest` is that of the program, so that a kept row is known to be of this text. `lines` are those that the mends add and
    remove together, without the support module.
    """

    group: str
    name: str
    digest: str
    failure: str
    sites: tuple[Site, ...]
    left: tuple[Site, ...]
    before: tuple[int, int, int]
    after: tuple[int, int, int]
    rules: tuple[str, ...]
    told: tuple[str, ...]
    differs: tuple[str, ...] = ()
    lines: int = 0

    @property
    def outcome(self) -> str:
        """How far it is mended.

        ``no break``; ``safe``: none left after safe mends; ``boundary``: none left, but code that runs uncompiled behind
        `torch.compiler.disable`; ``fewer``: safe mends leave fewer graphs, breaks or skipped frames; ``told``: the breaks left
        have mends that say what they change; ``reason``: a break has a reason only; ``failed``: it does not run.
        """
        if self.failure:
            return "failed"
        if not self.sites:
            return "no break"
        if not self.left:
            return "boundary" if "isolate" in self.rules else "safe"
        if self.rules:
            return "fewer"
        return "told" if all(site.mends for site in self.left) else "reason"

    @property
    def kind(self) -> str:
        """The id of the first break."""
        return self.sites[0].gb_id if self.sites else ""


def row_of(group: str, name: str, digest: str, plan: Plan) -> Row:
    """The row of a program from its safe plan."""
    changed = {path: Text(text) for path, text in plan.texts.items()}
    disk = Sources({})
    return Row(
        group=group,
        name=name,
        digest=digest,
        failure="; ".join(failure.message for failure in plan.before.failures),
        sites=tuple(_site(one, Text(disk.get(one.site.path) or "")) for one in plan.before.findings if one.site.is_met),
        left=tuple(
            _site(one, changed.get(one.site.path) or Text(disk.get(one.site.path) or ""))
            for one in plan.after.findings
            if one.site.is_met
        ),
        before=_cut(plan.before),
        after=_cut(plan.after),
        rules=tuple(one.mend.rule for one in plan.applied),
        told=plan.verdict.reasons if plan.verdict else (),
        lines=sum(sum(changed_lines(old, plan.texts.get(path, old))[:2]) for path, old in plan.old.items() if old),
    )


def changed_lines(old: str, new: str) -> tuple[int, int, int]:
    """How many lines a diff of the texts adds and removes, and how many of them are the same but for white space."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    added = Counter("".join(line[1:].split()) for line in lines if line.startswith("+"))
    removed = Counter("".join(line[1:].split()) for line in lines if line.startswith("-"))
    return added.total(), removed.total(), (added & removed).total()


def sizes(rows: Iterable[Row]) -> str:
    """How large the diffs are, a mend: a sentence; "" where nothing was mended."""
    made = [(row.lines, len(row.rules)) for row in rows if row.rules and row.lines]
    each = sorted(lines / mends for lines, mends in made)
    if not each:
        return ""
    over = sum(one > 12 for one in each)
    return (
        f"{sum(mends for _, mends in made)} safe mends; lines added and removed for each, by program: "
        f"median {statistics.median(each):g}, most {each[-1]:g}; over 12 in {over} of {len(each)} programs"
    )


def _cut(report: Report) -> tuple[int, int, int]:
    return (
        sum(result.graphs for result in report.entries),
        sum(finding.site.is_met for finding in report.findings),
        sum(result.skipped_frames for result in report.entries),
    )


def _site(finding: Finding, text: Text) -> Site:
    site = finding.site
    parts = PurePath(site.path).parts
    start = parts.index("site-packages") + 1 if "site-packages" in parts else len(parts) - 1
    return Site(
        text=" ".join(text.slice(site.span).split()),
        place=f"{'/'.join(parts[start:])}:{site.span.start.line}",
        gb_id=site.root_gb_id or site.gb_id or "-",
        gb_type=site.root_gb_type or site.gb_type,
        mends=tuple(
            (one.mend.rule, one.safety, one.verdict.reasons[0] if one.verdict and one.verdict.reasons else "")
            for one in finding.candidates
        ),
        declined=tuple((one.rule, one.reason) for one in finding.declined),
    )


def write_rows(file: Path, rows: list[Row]) -> None:
    """Keep rows in a file."""
    data = [{**asdict(row), "outcome": row.outcome} for row in rows]
    file.write_text(json.dumps(data, indent=1) + "\n")


def read_rows(file: Path | None) -> list[Row]:
    """The rows of a file; none where there is no such file."""
    return [row_from(data) for data in json.loads(file.read_text())] if file and file.exists() else []


def row_from(data: Mapping[str, Any]) -> Row:
    """A row of its JSON."""

    def sites(name: str) -> tuple[Site, ...]:
        return tuple(
            Site(**{**one, "mends": tuple(map(tuple, one["mends"])), "declined": tuple(map(tuple, one["declined"]))})
            for one in data[name]
        )

    plain = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name != "outcome"
    }
    return Row(**{**plain, "sites": sites("sites"), "left": sites("left")})


def problems(row: Row) -> list[str]:
    """What must not be: a program that does not run, a safe mend that differs, a break without mend and reason."""
    found = [f"{row.group} {row.name} does not run: {row.failure}"] if row.failure else []
    found += [f"{row.group} {row.name}: a safe mend differs: {words}" for words in row.differs]
    for site in row.left:
        if not site.mends and not site.declined:
            found.append(
                f"{row.group} {row.name}: `{site.text}` ({site.place} {site.gb_id}) has neither a mend nor a reason"
            )
    return found


def cell(words: str, width: int = 200) -> str:
    """Words as a cell of a Markdown table, cut at `width` characters."""
    words = " ".join(words.split()).replace("|", "\\|")
    return words if len(words) <= width else words[: width - 1] + "…"


def code(words: str, width: int = 60) -> str:
    """A stretch of source as a cell's code."""
    words = " ".join(words.split())
    words = (words if len(words) <= width else words[: width - 1] + "…").replace("|", "\\|")
    return f"``{words}``" if "`" in words else f"`{words}`"
