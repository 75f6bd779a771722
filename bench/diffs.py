"""What mends cost in a diff: lines added and removed by the best mend of each example, with the support module and without.

    python bench/diffs.py [--rule NAME]... [--all]

The support module itself, which is written once into a project, is not counted. --all lists every example. "Rewritten" are the
lines that only move (also to another indentation) not counted, which `git diff --color-moved` shows as moved. "Safe" are the mends
that a verdict may call safe: those without a caution that leave no break.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from mended import changed_lines

from graphmend_lsp.mending import LAST_RESORT, propose, rules_by_name
from graphmend_lsp.mending.rule import Example, Style
from graphmend_lsp.model import Break, Frame, Span
from graphmend_lsp.text import Text, apply_edits

PATH = "model.py"


@dataclass(frozen=True)
class Cost:
    """Lines that a mend adds and removes: as it is, and holding all that it needs itself."""

    rule: str
    title: str
    added: int
    removed: int
    moved: int
    inline: int
    may_be_safe: bool

    @property
    def lines(self) -> int:
        return self.added + self.removed

    @property
    def rewritten(self) -> int:
        return self.lines - 2 * self.moved


def cost(rule: str, example: Example) -> Cost | None:
    """What an example's best mend costs; None where there is none."""
    text, site = unmarked(example)
    counted, best = [], []
    for style in (Style(), Style(support=None)):
        mends = propose(site, {PATH: text}, [rule], styles={PATH: style}).mends
        if not mends:
            return None
        counted.append(changed_lines(text, apply_edits(text, mends[0].edits)))
        best.append(mends[0])
    may_be_safe = not best[0].cautions and rule not in LAST_RESORT
    return Cost(rule, example.title, *counted[0], sum(counted[1][:2]), may_be_safe)


def unmarked(example: Example) -> tuple[str, Break]:
    """An example's program without its marks, and the break between them."""
    start, end = example.before.index("⟦"), example.before.index("⟧") - 1
    value = example.before.replace("⟦", "").replace("⟧", "")
    text = Text(value)
    span = Span(text.position(start), text.position(end))
    frames = ()
    if example.outermost:
        name = example.outermost.rpartition(".")[2]
        at = text.position(value.index(f"def {name}("))
        frames = (Frame(PATH, example.outermost, Span(at, text.position(text.offset(at) + 3))),)
    kind = "Data-dependent branching" if example.gb_id == "GB0170" else example.gb_id
    chain = (*frames, Frame(PATH, "fn", span))
    return value, Break(PATH, span, example.gb_id, kind, "", "dynamo", chain=chain)


def table(costs: Iterable[Cost]) -> str:
    """A line for each rule and for all: examples, median, ninth decile, most, and the median without the support module."""
    groups: dict[str, list[Cost]] = {"all": []}
    for one in costs:
        groups.setdefault(one.rule, []).append(one)
        groups["all"].append(one)
    rows = [
        "| rule | examples | median | 90% | most | over 12 | over 12 rewritten | over 12 safe | median inline | most inline |",
        "|---|" + "---|" * 9,
    ]
    for name, group in sorted(groups.items()):
        lines = sorted(one.lines for one in group)
        inline = sorted(one.inline for one in group)
        tenth = lines[min(len(lines) - 1, len(lines) * 9 // 10)]
        over = [one for one in group if one.lines > 12]
        rewritten, safe = sum(one.rewritten > 12 for one in over), sum(one.may_be_safe for one in over)
        rows.append(
            f"| {name} | {len(group)} | {statistics.median(lines):g} | {tenth} | {lines[-1]} | {len(over)} | {rewritten} "
            f"| {safe} | {statistics.median(inline):g} | {inline[-1]} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    rules = {name: one for name, one in rules_by_name().items() if not arguments.rule or name in arguments.rule}
    costs = [found for name, rule in rules.items() for example in rule.examples if (found := cost(name, example))]
    for one in sorted(costs, key=lambda one: -one.lines) if arguments.all else ():
        print(
            f"{one.lines:4} +{one.added} -{one.removed} (rewritten {one.rewritten}, inline {one.inline})  {one.rule}: {one.title}"
        )
    print(table(costs))


if __name__ == "__main__":
    main()
