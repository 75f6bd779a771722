"""The table of constructs as a page: counts by kind of break, then each construct with what mends it, or why nothing does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mended import Row, Site, cell, code, sizes

from graphmend_lsp.mending import LAST_RESORT

HEAD = """\
# Constructs

What Python programs do that may break a graph, one small program each, in `bench/constructs/programs/`; what Dynamo does with
each, and what GraphMend makes of it. Made by

```
python bench/constructs --page docs/constructs.md
```

**Mended** says that no break is left after mends that were verified safe; **fewer**, that safe mends leave fewer graphs or less that
runs uncompiled (a message that is moved to the end still ends a graph there, but cuts none in two); **boundary**, that what breaks
runs uncompiled in a function of its own and the rest of the function is compiled; **told**, that there are mends, and each says what it changes;
**reason**, that no change of the source is known to keep the results, and why. The command also runs every safe mend by a program
that shares nothing with the worker, over other values and sizes, and fails where one differs.

"""
OUTCOMES = ("safe", "fewer", "boundary", "told", "reason")
_TITLES = {"safe": "mended"}


def totals(rows: Iterable[Row]) -> str:
    """One line of counts."""
    counts = Counter(row.outcome for row in rows)
    breaking = sum(counts[outcome] for outcome in OUTCOMES)
    words = ", ".join(f"{_TITLES.get(outcome, outcome)} {counts[outcome]}" for outcome in OUTCOMES)
    failed = f", failed {counts['failed']}" if counts["failed"] else ""
    return f"{counts.total()} constructs, {breaking} break: {words}{failed}"


def left(row: Row) -> str:
    """What stays of a construct, as lines; "" of one that is mended or does not break."""
    if row.outcome in ("safe", "no break"):
        return ""
    lines = [f"{row.name} {row.outcome} {' '.join(row.rules)}"]
    for site in row.left:
        lines.append(f"  {site.gb_id} {code(site.text)}")
        lines += [f"    {rule} {safety}: {cell(reason)}" for rule, safety, reason in site.mends]
        lines += [f"    {rule}: {cell(reason)}" for rule, reason in site.declined]
    return "\n".join(lines) + "\n"


def page(rows: list[Row]) -> str:
    """The whole page."""
    breaking = [row for row in rows if row.outcome in OUTCOMES]
    kinds = Counter(row.kind for row in breaking)
    types = {site.gb_id: site.gb_type for row in breaking for site in row.sites}
    lines = [
        HEAD + totals(rows) + ".\n" + _sentence(sizes(rows)),
        _line(["kind", "", "constructs", *(_TITLES.get(one, one) for one in OUTCOMES)]),
    ]
    lines.append(_line(["---"] * (3 + len(OUTCOMES))))
    for kind, count in kinds.most_common():
        of_kind = Counter(row.outcome for row in breaking if row.kind == kind)
        counts = [str(of_kind[outcome] or "") for outcome in OUTCOMES]
        lines.append(_line([kind, cell(types[kind]), str(count), *counts]))
    for kind, _ in kinds.most_common():
        lines += [f"\n## {kind}: {types[kind]}\n", _line(["construct", "at", "", "by, or why not"]), _line(["---"] * 4)]
        lines += [_line(_cells(row)) for row in breaking if row.kind == kind]
    quiet: list[str] = []
    lines.append("\n## Constructs that do not break\n")
    for group in dict.fromkeys(row.group for row in rows):
        names = [name_of(row.name) for row in rows if row.group == group and row.outcome == "no break"]
        quiet += [f"* {group.replace('_', ' ')}: {', '.join(names)}"] if names else []
    return "\n".join([*lines, *quiet]) + "\n"


def _sentence(words: str) -> str:
    return f"\n{words}.\n" if words else ""


def _cells(row: Row) -> list[str]:
    site = row.sites[0]
    outcome = _TITLES.get(row.outcome, row.outcome)
    return [name_of(row.name), code(site.text), outcome, cell(_words(row), 320)]


def _words(row: Row) -> str:
    made = [", ".join(f"`{rule}`" for rule in dict.fromkeys(row.rules))] if row.rules else []
    return "; ".join([*made, *dict.fromkeys(map(_of_site, row.left))]) if row.outcome != "fewer" else made[0]


def _of_site(site: Site) -> str:
    offered = [f"`{rule}` offers, {safety}: {reason}" for rule, safety, reason in site.mends[:1]]
    return offered[0] if offered else reason_of(site)


def reason_of(site: Site) -> str:
    """The reason of the rule that is most about a break that nothing mends."""
    best = [one for one in site.declined if one[0] not in LAST_RESORT] or list(site.declined)
    return f"`{best[0][0]}`: {best[0][1]}" if best else ""


def name_of(name: str) -> str:
    """A construct's name as words; a class's as it is."""
    return name.replace("_", " ") if name.islower() else f"`{name}`"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
