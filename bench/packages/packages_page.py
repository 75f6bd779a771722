"""The table of packages as a page: what breaks in each, what mends it, and why the rest stays."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from mended import Row, Site, cell, code, sizes

from graphmend_lsp.mending import LAST_RESORT

HEAD = """\
# Packages

Models of packages as they are installed, run from the short entries in `bench/packages/entries/`, and what `graphmend-lsp mend
--overlay` would leave of their breaks by mends that were verified safe. Made by

```
python bench/packages --python PYTHON_WITH_THE_PACKAGES --page docs/packages.md
```

Counts are graphs / breaks / functions that are left to Python.

"""


def totals(rows: Iterable[Row]) -> str:
    """One line of counts."""
    rows = list(rows)
    counts = Counter(row.outcome for row in rows)
    breaking = len(rows) - counts["no break"] - counts["failed"]
    sites = sum(row.before[1] for row in rows)
    left = sum(row.after[1] for row in rows)
    words = ", ".join(
        f"{name} {counts[key]}"
        for key, name in (
            ("safe", "mended"), ("boundary", "behind a boundary"), ("fewer", "fewer"), ("told", "mends that change something"),
            ("reason", "reasons only"), ("failed", "failed"),
        )
        if counts[key]
    )  # fmt: skip
    return f"{len(rows)} entries, {breaking} break: {words}; {sites} breaks, {left} left"


def page(rows: list[Row], versions: Mapping[str, str], every: Iterable[tuple[str, str]] = ()) -> str:
    """The whole page; `every` are all entries (package, name), of which those without a row are named."""
    known = {(row.group, row.name) for row in rows}
    missing: dict[str, list[str]] = defaultdict(list)
    for package, name in every:
        if (package, name) not in known:
            missing[package].append(name.replace("_", " "))
    left_out = "; ".join(f"{package} ({', '.join(names)})" for package, names in missing.items())
    note = f"\nNot in this table: {left_out}.\n" if left_out else ""
    lines = [
        HEAD + totals(rows) + ".\n" + (f"\n{sizes(rows)}.\n" if sizes(rows) else "") + note,
        _line(["package", "entry", "before", "after", "mended by"]),
        _line(["---"] * 5),
    ]
    lines += [
        _line([
            f"{row.group} {versions.get(row.group, '')}", row.name.replace("_", " "), _counts(row.before),
            "" if row.outcome == "no break" else _counts(row.after), ", ".join(f"`{rule}`" for rule in dict.fromkeys(row.rules)),
        ])
        for row in rows
    ]  # fmt: skip
    lines += ["\n## What is left\n", _line(["kind", "breaks", "where", "why"]), _line(["---"] * 4)]
    groups: dict[str, dict[str, Site]] = defaultdict(dict)
    for row in rows:
        for site in row.left:
            groups[site.gb_id].setdefault(f"{site.place} {site.text}", site)
    for kind, sites in sorted(groups.items(), key=lambda one: -len(one[1])):
        for number, site in enumerate(sites.values()):
            first = [f"{kind}: {cell(site.gb_type)}", str(len(sites))] if number == 0 else ["", ""]
            lines.append(_line([*first, f"{site.place} {code(site.text)}", cell(_why(site), 240)]))
    return "\n".join(lines) + "\n"


def _why(site: Site) -> str:
    if site.mends:
        rule, safety, reason = site.mends[0]
        return f"`{rule}` offers, {safety}: {reason}"
    best = [one for one in site.declined if one[0] not in LAST_RESORT] or list(site.declined)
    return f"`{best[0][0]}`: {best[0][1]}" if best else ""


def _counts(cut: tuple[int, int, int]) -> str:
    return " / ".join(map(str, cut))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
