"""How far the static findings agree with what Dynamo was measured to do, construct by construct.

    python bench/agreement.py CONSTRUCTS.py TABLE.md

CONSTRUCTS holds small functions under ``@case()`` (compiled as functions) and ``@modcase`` (the forward of a module
with the base ``_Base``). TABLE holds a line ``name | 2b/1g ...`` for each, then one line ``^ GB0170 ...`` for each
site. A finding is right when the same construct has a measured site with the same id, whatever the static tier's
own idea of its consequence; ids that differ between a cause and its consequence count as the cause's.
Exits with 1 when a construct that does not break is reported.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from graphmend_lsp.analysis import find_breaks

_ROW = re.compile(r"^(\w+)\s+\| (\d+)b/(\d+)g")
_SITE = re.compile(r"^\s+\^ (GB\d+)")
_CASE = re.compile(r"^@(case|modcase)\b.*\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)
# Written for the cause in the table of sites, where Dynamo names the consequence.
_CONSEQUENCES = {"GB7000", "GB0066", "GB8335"}


def measured(table: str) -> dict[str, Counter[str]]:
    """Name of a construct -> the ids of its distinct sites."""
    rows: dict[str, Counter[str]] = {}
    current: Counter[str] | None = None
    for line in table.splitlines():
        row, site = _ROW.match(line), _SITE.match(line)
        if row:
            current = rows.setdefault(row[1], Counter())
            if int(row[2]):
                current["breaks"] = 1
        elif site and current is not None:
            current[site[1]] += 1
    return rows


def compiled(constructs: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """The constructs as a file whose functions are compiled, and the lines of each."""
    lines = constructs.split("\n")
    places: dict[str, tuple[int, int]] = {}
    footer = []
    matches = list(_CASE.finditer(constructs))
    for match in matches:
        first = constructs.count("\n", 0, match.start())
        last = first + 2
        while last < len(lines) and (lines[last].startswith((" ", "\t")) or not lines[last]):
            last += 1
        places[match[2]] = (first + 1, last)
        if match[1] == "case":
            footer.append(f"torch.compile({match[2]})")
        else:
            lines[first] = f"class Mod_{match[2]}(_Base):"
            lines[first + 1 : last] = [
                " " + re.sub(r"^def \w+", "def forward", each) if each else each for each in lines[first + 1 : last]
            ]
    return "\n".join([*lines, *footer]), places


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constructs", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--quiet", action="store_true", help="print the figures only")
    options = parser.parse_args()
    rows = measured(options.table.read_text(encoding="utf-8"))
    source, places = compiled(options.constructs.read_text(encoding="utf-8"))
    found: dict[str, Counter[str]] = {name: Counter() for name in places}
    for site in find_breaks(source, "constructs.py"):
        for name, (first, last) in places.items():
            if first <= site.span.start.line <= last:
                found[name][site.code] += 1
    known = [name for name in places if name in rows]
    right = false = 0
    missed: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    alarms = []
    for name in known:
        sites = Counter({gb_id: n for gb_id, n in rows[name].items() if gb_id.startswith("GB")})
        causes = set(sites) - _CONSEQUENCES
        for gb_id in found[name]:
            if gb_id in causes or (found[name] and set(sites) & _CONSEQUENCES and not causes):
                right += 1
            else:
                false += 1
                if not options.quiet:
                    print(f"differs: {name}: static {gb_id}, measured {sorted(sites) or 'nothing'}")
        if found[name] and not rows[name]["breaks"]:
            alarms.append(name)
        for gb_id in causes or set(sites):
            expected[gb_id] += 1
            if not found[name]:
                missed[gb_id] += 1
                if not options.quiet:
                    print(f"missed: {name}: {gb_id}")
    breaking = [name for name in known if rows[name]["breaks"]]
    seen = sum(bool(found[name]) for name in breaking)
    print(f"{len(known)} constructs: {len(breaking)} break, {len(known) - len(breaking)} do not")
    print(f"breaking constructs found: {seen} of {len(breaking)} ({seen / max(len(breaking), 1):.0%})")
    print(f"findings with the measured id: {right} of {right + false} ({right / max(right + false, 1):.0%})")
    print(f"false alarms on constructs that do not break: {len(alarms)} {alarms or ''}")
    for gb_id, count in expected.most_common(12):
        print(f"  {gb_id}: {count - missed[gb_id]} of {count} constructs")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
