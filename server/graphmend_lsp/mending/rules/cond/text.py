"""The text of a cond mend: the twin of a branch for `torch.compile`, beside what the program runs uncompiled.

Sides keep their own text where they stand; only what is around them is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.region import alias
from graphmend_lsp.mending.lowering.conditions import Test
from graphmend_lsp.mending.lowering.lines import wrapped
from graphmend_lsp.mending.rules.cond.sides import Sides, tails
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.compiled_branch import behind_colon, line_start, space_above
from graphmend_lsp.mending.syntax.formatting import line_limit, operand, render, verbatim
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass
class Writer:
    """Writes the twin of one branch. `cond` and `compiling` are how torch's functions are spelled.

    `changes` collects what is copied; `training` is the test with which the branch stays as it is in training.
    """

    source: Source
    kinds: Kinds
    node: ast.expr
    test: Test
    cond: str
    compiling: str
    fresh: Callable[[str], str]
    changes: list[str] = field(default_factory=list)
    training: str = ""

    def call_of_values(self, head: str, then: ast.expr, other: ast.expr) -> str:
        """``head`` and the call with a lambda for each side."""
        sides = ", ".join(f"lambda: {self._given(value)}" for value in (then, other))
        return f"{head}{self.cond}({self.test.predicate}, {sides})"

    def twin_of_value(self, statement: ast.stmt, line: str, *, goes_on: bool) -> TextEdit:
        """The twin in front of a statement, which runs otherwise; `goes_on`: the line does not return."""
        lines = [self._guard("if"), *self._inner([line], statement)]
        if not goes_on:
            return edits.insert_before(self.source, statement, lines)
        kept = [self.source.indent + one for one in verbatim(self.source, statement)]
        return edits.replace(self.source, statement, statement, [*lines, "else:", *kept])

    def twin_of_short(self, target: ast.If, sides: Sides, *, tail: bool) -> list[TextEdit] | None:
        """The twin of sides that are one value each, the branch left as it is; None where they are more or too long."""
        if len(sides.results) > 1:
            return None
        key = "" if sides.returns else sides.results[0]
        then = _only_value(sides.then, key)
        other = _only_value(sides.other, key) if sides.other else ast.Name(key, ast.Load())
        if then is None or other is None:
            return None
        head = f"{key} = " if key else "return "
        given = self._given(other) if sides.other else self._copied(key)
        line = f"{head}{self.cond}({self.test.predicate}, lambda: {self._given(then)}, lambda: {given})"
        base = self.source.indentation(target)
        if len(base + self.source.indent + line) > max(line_limit(self.source), 100):
            return None
        lines = [self._guard("if"), *self._inner([line], target)]
        if tail:
            return [edits.insert_before(self.source, target, lines)]
        start, end = self.source.range(target)
        text = self.source.newline.join(
            [lines[0], *(base + one for one in lines[1:]), f"{base}el{self.source.code(target)}"]
        )
        return [TextEdit(self.source.path, self.source.between(start, end), text)]

    def twin_of_functions(self, target: ast.If, sides: Sides, *, tail: bool) -> list[TextEdit]:
        """The sides as two functions, called by `torch.cond` and, uncompiled, by a branch."""
        self._refuse_header(target)
        positive, otherwise = self.fresh("positive"), self.fresh("otherwise")
        base, newline = self.source.indentation(target), self.source.newline
        names = ", ".join(sides.operands)
        then = self._body(sides.then, sides, self._colon(target))
        parts = [f"{space_above(self.source, target)}{base}def {positive}({names}):{then}"]
        last: ast.stmt = target
        second = otherwise
        if tail:
            last = sides.other[0]
            value = last.value if isinstance(last, ast.Return) else None
            assert value is not None
            parts.append(
                f"{base}def {otherwise}({names}):{newline}{base}{self.source.indent}return {self._given(value)}"
            )
        elif sides.other:
            body = self._body(sides.other, sides, self._else_colon(target))
            parts.append(f"{base}def {otherwise}({names}):{body}")
        else:
            self.fresh(otherwise)
            copies = [self._copied(name) for name in sides.results]
            second = f"lambda {names}: " if names else "lambda: "
            second += f"({', '.join(copies)})" if len(copies) > 1 else copies[0]
        operands = f", ({names}{',' if len(sides.operands) == 1 else ''})" if names else ""
        head = "return " if sides.returns else f"{', '.join(sides.results)} = "
        call = f"{head}{self.cond}({self.test.predicate}, {positive}, {second}{operands})"
        lines = [self._guard("if"), *self._inner([call], target)]
        test, first = render(self.source, self.node), f"{head}{positive}({names})"
        if sides.other:
            test = f"({test})" if isinstance(self.node, (ast.IfExp, ast.Lambda, ast.NamedExpr)) else test
            lines += ["else:", *self._inner([f"{first} if {test} else {otherwise}({names})"], target)]
        else:
            lines += [f"elif {test}:", *self._inner([first], target)]
        parts.append(newline.join(base + one for one in lines))
        start, end = line_start(self.source, target), edits.end_of_line(self.source, self.source.range(last)[1])
        return [TextEdit(self.source.path, self.source.between(start, end), (newline * 2).join(parts))]

    # -- parts ----------------------------------------------------------------------------------------------------

    def _guard(self, word: str) -> str:
        training = f" and {self.training}" if self.training else ""
        static = f" and {self.test.static}" if self.test.static else ""
        return f"{word} {self.compiling}{training}{static}:"

    def _inner(self, lines: Sequence[str], at: ast.stmt) -> list[str]:
        """Lines one level deeper than `at`, broken where they are too long."""
        return [self.source.indent + one for line in lines for one in wrapped(self.source, at, [line])]

    def _given(self, value: ast.expr) -> str:
        """What a side gives, copied where it may be a tensor that there is already."""
        if isinstance(value, ast.Tuple):
            return f"({', '.join(self._given(one) for one in value.elts)}{',' if len(value.elts) == 1 else ''})"
        text = render(self.source, value)
        return self._copied(text) if alias(value) else text

    def _copied(self, text: str) -> str:
        self.changes.append(f"When compiled, the caller gets a copy of `{text}`.")
        return f"{operand(text)}.clone()"

    def _body(self, side: Sequence[ast.stmt], sides: Sides, start: int) -> str:
        """The text of a side from behind its colon, and what it gives at its end."""
        value = self.source.text.value
        end = edits.end_of_line(self.source, self.source.range(side[-1])[1])
        pieces: list[str] = []
        for one in sorted(tails(side), key=self.source.range):
            parts = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
            for part in parts:
                if part is not None and alias(part):
                    first, last = self.source.range(part)
                    pieces += [value[start:first], self._copied(render(self.source, part))]
                    start = last
        text = "".join([*pieces, value[start:end]])
        if sides.returns:
            return text
        given = ", ".join(name if self._is_new(side, name) else self._copied(name) for name in sides.results)
        return f"{text}{self.source.newline}{edits.block_indentation(self.source, side[0])}return {given}"

    def _is_new(self, side: Sequence[ast.stmt], name: str) -> bool:
        """Whether a side leaves a value of its own in a name, and not a tensor that there was before."""
        for one in reversed(side):
            if isinstance(one, ast.Assign) and any(
                isinstance(each, ast.Name) and each.id == name for each in one.targets
            ):
                return not alias(one.value)
            if any(
                isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in walk(one)
            ):
                return True
        return False

    def _refuse_header(self, target: ast.If) -> None:
        for side in (target.body, target.orelse):
            if side and not self.source.starts_line(side[0]):
                raise Refused("A side shares the line of its `if` or `else`; give it its own lines.")
        if edits.comments(self.source, self.source.range(target)[0], self._colon(target)):
            raise Refused("A comment stands inside the condition; put it above the `if`.")

    def _colon(self, target: ast.If) -> int:
        """The offset behind the colon of the ``if``."""
        return behind_colon(self.source, target.test)

    def _else_colon(self, target: ast.If) -> int:
        """The offset behind the colon of the ``else``."""
        start = self.source.range(target.body[-1])[1]
        stop = self.source.range(target.orelse[0])[0]
        value = list(self.source.text.value[start:stop])
        for note in edits.comments(self.source, start, stop):
            if note.own_line and note.offset < start + "".join(value).rfind("else"):
                raise Refused("A comment stands between the two sides; put it into one of them.")
            for at in range(note.offset - start, min(note.offset - start + len(note.text), len(value))):
                value[at] = " "
        found = re.search(r"\belse\s*:", "".join(value))
        if found is None:
            raise Refused("The `else` of the branch was not found.")
        return start + found.end()


def _only_value(side: Sequence[ast.stmt], key: str) -> ast.expr | None:
    """The value of a side that is one assignment of `key`, or one return where there is none; None for any other side."""
    one = side[0] if len(side) == 1 else None
    if isinstance(one, ast.Return) and not key:
        return one.value
    if isinstance(one, ast.Assign) and [target.id for target in one.targets if isinstance(target, ast.Name)] == [key]:
        return one.value if len(one.targets) == 1 else None
    return None
