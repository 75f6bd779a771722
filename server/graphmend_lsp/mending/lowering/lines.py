"""The statements of a where mend: items of `where_merge` written as lines, and lines broken where they are too long.

A condition gets a name when it is written more than once, or when something it reads changes before it is used.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.choice_values import Choice, Tree, Value, Writer
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.lowering.merge import Item
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, render
from graphmend_lsp.mending.syntax.source import Source


@dataclass(frozen=True)
class Lines:
    """Writes items. `where` is how ``torch.where`` is spelled, `taken` are new names that are in use already."""

    source: Source
    kinds: Kinds
    where: str
    taken: frozenset[str] = frozenset()

    def lines(self, items: Sequence[Item], double: bool) -> tuple[list[str], bool]:
        """The statements of the items, and whether a guard was written. Written twice: to count, then to name."""
        names: dict[int, str] = {}
        tests = [item.test for item in items if item.test is not None]
        writer = Writer(self.source, self.kinds, self.where, double)
        for item in items:
            self._line(item, writer)
        for test in tests:
            often = writer.uses.get(id(test), 0) > 1 and not test.predicate.isidentifier()
            if often or _moves(items, test):
                names[id(test)] = self.source.fresh("condition", self.taken | frozenset(names.values()))
        writer = Writer(self.source, self.kinds, self.where, double, names)
        lines: list[str] = []
        named = ""
        for item in items:
            if item.test is not None:
                if id(item.test) in names:
                    lines += [named] if named else []
                    named = f"{names[id(item.test)]} = {item.test.predicate}"
                continue
            lines += [*item.comments, *([named] if named else []), *self._line(item, writer)]
            named = ""
        return lines, writer.guarded

    def _line(self, item: Item, writer: Writer) -> list[str]:
        if item.lines:
            return list(item.lines)
        if item.returns:
            texts = [writer.text(value) for value in item.values]
            return [f"return {', '.join(texts)}{',' if item.key and len(texts) == 1 else ''}"]
        if item.call is not None:
            exchange: dict[ast.AST, str] = {}
            for one, value in item.pairs:
                exchange[one] = writer.text(value)
            return [render(self.source, item.call, exchange)]
        if item.key:
            text = writer.text(item.values[0])
            if item.in_place:
                return [f"{item.key}.copy_({text})"]
            return [f"{item.key} = {text}"] if text != item.key else []
        return []


def wrapped(source: Source, at: ast.stmt, lines: Sequence[str]) -> list[str]:
    """Lines for the block of `at`, broken where they are too long."""
    base = edits.block_indentation(source, at)
    limit = line_limit(source)
    found: list[str] = []
    for line in lines:
        broken = [base + line] if line.lstrip().startswith("#") else layout(base + line, source.indent, limit)
        found += [one.removeprefix(base) for one in broken]
    return found


def _moves(items: Sequence[Item], test: Test) -> bool:
    """Whether something that the test reads changes between the test's place and its only use."""
    at = next(index for index, item in enumerate(items) if item.test is test)
    writes: frozenset[str] = frozenset()
    for item in items[at + 1 :]:
        if any(_uses(value, test) for value in (*item.values, *(value for _, value in item.pairs))):
            return bool(writes & test.reads)
        writes |= item.writes
    return False


def _uses(value: Value, test: Test) -> bool:
    if isinstance(value, Tree):
        return any(_uses(part, test) for part in value.parts)
    if not isinstance(value, Choice):
        return False
    return value.test is test or _uses(value.then, test) or _uses(value.other, test)
