"""The sweep as a page: the sums of both halves, and what is left in the half that may be looked at."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mended import cell, code, sizes  # noqa: E402
from swept import Outcome, Swept  # noqa: E402

_OUTCOMES: tuple[Outcome, ...] = ("whole", "mended", "fewer", "stays", "fails", "no input")

HEAD = """\
# Sweep of {package} {version}

{what}, mended by safe mends only. Made by

```
python bench/sweep{option} --seconds {seconds:g} --page docs/sweep/{package}.md
```

**whole**: the run met no break; **mended**: no break is left after safe mends; **fewer**: fewer are left; **stays**: as many as before;
**fails**: the run raises; **no input**: GraphMend found nothing to run; **out of time**: mending ended at its limit,
with what was proven by then. A break behind `torch.compiler.disable` counts as left. {numbered}; rules were
written while looking at the odd-numbered half only.

"""


def totals(rows: Iterable[Swept]) -> str:
    """A table of counts: each half, and both."""
    rows = list(rows)
    lines = [
        _line(
            [
                "half",
                "models",
                *_OUTCOMES,
                "breaks met",
                "left",
                "gone",
                "no break left",
                "out of time",
                "seconds a model",
            ]
        )
    ]
    halves = [(half, [row for row in rows if row.half == half]) for half in ("odd", "even")]
    sums = [_sums(half, chosen) for half, chosen in (*halves, ("both", rows))]
    return "\n".join([*lines, _line(["---"] * len(sums[0])), *map(_line, sums)])


def _sums(half: str, rows: list[Swept]) -> list[str]:
    counts = Counter(row.outcome for row in rows)
    ran = [row for row in rows if row.outcome not in ("fails", "no input")]
    before, after = sum(row.before for row in ran), sum(row.after for row in ran)
    seconds = sorted(row.seconds for row in ran)
    return [
        half, str(len(rows)), *(str(counts[outcome]) for outcome in _OUTCOMES), str(before), str(after),
        f"{(before - after) / before:.0%}" if before else "-",
        f"{(counts['whole'] + counts['mended']) / len(ran):.0%}" if ran else "-",
        str(sum(row.late for row in ran)),
        f"{seconds[len(seconds) // 2]:.0f}" if seconds else "-",
    ]  # fmt: skip


def page(package: str, version: str, rows: list[Swept], count: int, seconds: float) -> str:
    """The whole page; `count` is how many files the package has, `seconds` the time limit for one."""
    option = "" if package == "transformers" else f" --package {package}"
    what, numbered = (
        (
            "Every model of the package, run with inputs that GraphMend makes up",
            "Files are numbered in order of their names",
        )
        if package == "transformers"
        else (f"The entries of `bench/sweep/{package}_models.py`", "Entries are numbered in their order")
    )
    head = HEAD.format(package=package, version=version, option=option, seconds=seconds, what=what, numbered=numbered)
    lines = [head + totals(rows)]
    if words := sizes(row.row for row in rows):
        lines.append(f"\n{words}.")
    if len(rows) < count:
        lines.append(f"\nThis page has {len(rows)} of {count} {'files' if package == 'transformers' else 'entries'}.")
    odd = [row for row in rows if row.half == "odd"]
    lines += ["\n## What is left in the odd half\n", _line(["kind", "breaks", "where", "why"]), _line(["---"] * 4)]
    left: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in odd:
        for site in row.row.left:
            why = site.declined[0][1] if site.declined else (site.mends[0][2] if site.mends else "")
            left.setdefault((site.gb_id, site.gb_type), []).append((f"{code(site.text)} ({site.place})", why))
    for (gb_id, gb_type), sites in sorted(left.items(), key=lambda item: -len(item[1])):
        lines.append(_line([f"{gb_id} {gb_type}", str(len(sites)), cell(sites[0][0]), cell(sites[0][1])]))
    lines += [
        "\n## Models\n",
        _line(["half", "file", "", "before", "left", "mended by", "seconds"]),
        _line(["---"] * 7),
    ]
    for row in rows:
        rules = ", ".join(f"`{rule}`" for rule in dict.fromkeys(row.row.rules))
        seconds = f"{row.seconds:.0f}" + ", out of time" * row.late
        before, after = (str(row.before), str(row.after)) if row.before else ("", "")
        name = row.name.removeprefix("graphmend_entry_")
        lines.append(_line([row.half, name, row.outcome, before, after, rules, seconds]))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
