"""A branch on a tensor as a choice between the values of both sides, by `torch.where`. Nothing here is one rule's own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphmend_lsp.mending.facts.between import both_sides, told_of_sides
from graphmend_lsp.mending.facts.first_call import advice
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import comes_first
from graphmend_lsp.mending.lowering.branch import Lowering
from graphmend_lsp.mending.lowering.choice_values import (
    Choice,
    Leaf,
    Made,
    Value,
    Writer,
    refuse_hazards,
    refuse_value,
    with_caution,
)
from graphmend_lsp.mending.lowering.conditions import Conditions, Test
from graphmend_lsp.mending.lowering.lines import Lines, wrapped
from graphmend_lsp.mending.lowering.merge import Item, merge, refuse_later_change
from graphmend_lsp.mending.lowering.numbers import (
    Apart,
    Numbers,
    held_by_all,
    in_place_of,
    is_new,
    needs_dtype_once,
    plain_numbers,
    refuse_mixed,
    taken_as,
    uses_of,
)
from graphmend_lsp.mending.lowering.only_masked import only_masked
from graphmend_lsp.mending.lowering.stored import stored
from graphmend_lsp.mending.lowering.touched import may_return
from graphmend_lsp.mending.lowering.trees import outer_test
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.branches import branch_of, comments_of, returns, without_parentheses
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import name_for, operand, render, verbatim
from graphmend_lsp.mending.syntax.imports import is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

_TITLE = "Choose both sides with torch.where"
_UNASKED: dict[str, Any] = {"title": "Change what the mask chooses, without asking for any", "conditions": ()}
DOUBLE = "Choose both sides with torch.where, gradients kept finite"


def choices(rule: str, place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of a branch on a tensor, best first; empty when the break is no such branch.

    Raises:
        Refused: when the values of the two sides cannot be chosen between.
    """
    source, node = place.source, place.node
    if isinstance(node, ast.stmt) and source.span(node).start != place.span.start:
        return ()
    target = branch_of(source, node)
    if target is None:
        return ()
    try:
        return _Mending(rule, source, target, node, place.gb_ids).mends()
    except Refused as refused:
        by_hand = advice(source, target, place.function) if place.function is not None else None
        raise Refused(by_hand or str(refused)) from refused


@dataclass
class _Mending:
    """One break being mended."""

    rule: str
    source: Source
    target: ast.If | ast.While | ast.IfExp | ast.BoolOp | ast.Compare
    node: ast.AST
    ids: frozenset[str] = frozenset()
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tensors = frozenset({self.node}) if isinstance(self.node, ast.expr) else frozenset()
        self.kinds = Kinds(self.source, self.tensors)
        self.where, self.imported = spell(self.source, "torch.where", self.target)
        as_tensor = spell(self.source, "torch.as_tensor", self.target)[0] if self.imported is None else ""
        self.conditions = Conditions(self.source, self.kinds, self.fresh, as_tensor=as_tensor)

    def fresh(self, wanted: str) -> str:
        """A new name, used nowhere in the file."""
        name = self.source.fresh(wanted, frozenset(self.taken))
        self.taken.add(name)
        return name

    def mends(self) -> tuple[Mend | Declined, ...]:
        """The mends, best first."""
        if isinstance(self.target, ast.While):
            raise Refused(
                "The number of iterations of this loop depends on a tensor's data; no `torch.where` replaces a loop."
            )
        if isinstance(self.target, ast.If):
            return self._statement(self._root(self.target))
        return self._expression(self.target)

    def _root(self, target: ast.If) -> ast.If:
        """The first ``if`` of the chain when the conditions above an ``elif`` are tensors too."""
        parent = self.source.parents.get(target)
        while isinstance(parent, ast.If) and parent.orelse == [target] and self.source.code(target).startswith("elif"):
            if self.kinds.of(parent.test) != "tensor":
                break
            target, parent = parent, self.source.parents.get(parent)
        return target

    # -- statements -----------------------------------------------------------------------------------------------

    def _statement(self, target: ast.If) -> tuple[Mend | Declined, ...]:
        if self.kinds.of(target.test) == "python" and not self.conditions.emptiness(target.test):
            if self.node is target or "GB0036" not in self.ids:
                return ()
            raise Refused("The condition is about a size that depends on data; test the mask itself with `.any()`.")
        if self.source.function(target) is None:
            raise Refused("The branch is not inside a function.")
        over = target.test.func if isinstance(target.test, ast.Call) else target.test
        elements = any(is_builtin(self.source, over, name) for name in ("any", "all"))
        if self.node is self.target and self.kinds.of(target.test) != "tensor" and not elements:
            raise Refused(
                f"GraphMend cannot tell whether `{render(self.source, target.test)}` is a tensor or a Python value."
            )
        self._refuse_jumps(target)
        test = self.conditions.take_first(target.test)
        lowering = Lowering(
            self.source, self.kinds, self.conditions, target, self.fresh, comments_of(self.source, target), tests=[test]
        )
        if (lines := stored(lowering, target, test, self.where)) is not None:
            return (self._mend(self._edits(target, target, lines), lowering, False, target),)
        last: ast.stmt = target
        rest = self.source.after(target) if may_return(target) else []
        if may_return(target) and not rest:
            words = "continues after the block; return on both sides." if returns(target.body) else "does not."
            raise Refused(f"One side returns and the other {words}")
        if rest:
            short = len(rest) == 1 and isinstance(rest[0], ast.Return)
            if returns(target.body) and not target.orelse and (test.static or not short):
                try:
                    return self._early(target, test, lowering, rest)
                except Refused:
                    if test.static or not returns(rest):
                        raise
            if test.static:
                raise Refused("One side returns and the other continues, and a Python test decides too; split them.")
            last = rest[-1]
            lowering.comments = comments_of(self.source, target, *rest)
            then, other = lowering.sides(target, rest)
        else:
            then, other = lowering.block(target.body), lowering.block(target.orelse)
        items = merge(lowering, test, then, other)
        if not rest and (lines := only_masked(self.source, self.kinds, target)) is not None:
            self.imported = None
            return (replace(self._mend(self._edits(target, target, lines), lowering, False, target), **_UNASKED),)
        if not any(item.key or item.returns or item.call for item in items):
            raise Refused("Neither side stores or returns anything that could be chosen.")
        return self._finished(items, lowering, target, last, test)

    def _finished(
        self, items: list[Item], lowering: Lowering, first: ast.If, last: ast.stmt, test: Test
    ) -> tuple[Mend, ...]:
        made: list[Mend] = []
        writing = Lines(self.source, self.kinds, self.where, frozenset(self.taken))
        for double in (True, False):
            lines, guarded = writing.lines(items, double)
            if double and not guarded:
                continue
            if test.static:
                lines = [f"if {test.static}:", *(self.source.indent + line for line in lines)]
                if first.orelse:
                    lines += ["else:", *self._kept(first.orelse)]
            if self.source.code(first).startswith("elif"):
                lines = ["else:", *(self.source.indent + line for line in lines)]
            made.append(self._mend(self._edits(first, last, lines), lowering, double, first))
        return with_caution(made)

    def _kept(self, block: Sequence[ast.stmt]) -> list[str]:
        if isinstance(block[0], ast.If) and self.source.code(block[0]).startswith("elif"):
            raise Refused("The condition has a Python part and an `elif`; write the Python part as an `if` around it.")
        lines: list[str] = []
        for statement in block:
            lines += [self.source.indent + line for line in verbatim(self.source, statement)]
        return lines

    def _early(self, target: ast.If, test: Test, lowering: Lowering, rest: list[ast.stmt]) -> tuple[Mend, ...]:
        """``if c: return a`` before other statements: the return waits until the last one."""
        final = rest[-1]
        if test.static or not isinstance(final, ast.Return) or final.value is None:
            raise Refused("One side returns early and the rest of the function is more than assignments and a return.")
        then = lowering.block(target.body)
        if len(then) != 1 or len(then[0].values) != 1:
            raise Refused("The early return does more than return one value.")
        for statement in rest[:-1]:
            plain = isinstance(statement, ast.Assign) and all(isinstance(one, ast.Name) for one in statement.targets)
            if not plain or not isinstance(statement, ast.Assign):
                raise Refused("After the early return comes more than assignments of names and a return.")
            refuse_hazards(self.source, statement.value, lowering.changes)
        refuse_value(self.source, self.kinds, final.value, lowering.changes)
        condition, early = self.fresh("condition"), self.fresh("early")
        made: list[Mend] = []
        for double in (True, False):
            writer = Writer(self.source, self.kinds, self.where, double, names={id(test): condition})
            value = writer.text(then[0].values[0], ((test, True),))
            behind = writer.text(Leaf(final.value), ((test, False),))
            if double and not writer.guarded:
                continue
            lines = [*then[0].comments, *test.setup, f"{condition} = {test.predicate}", f"{early} = {value}"]
            spots = [
                edits.replace(self.source, target, target, wrapped(self.source, target, lines)),
                edits.replace(
                    self.source,
                    final,
                    final,
                    wrapped(self.source, final, [f"return {self.where}({condition}, {early}, {behind})"]),
                ),
            ]
            made.append(self._mend(spots, lowering, double, target))
        return with_caution(made)

    def _edits(self, first: ast.stmt, last: ast.stmt, lines: list[str]) -> list[TextEdit]:
        return [edits.replace(self.source, first, last, wrapped(self.source, first, lines))]

    def _refuse_jumps(self, target: ast.If) -> None:
        for node in walk(target):
            if isinstance(node, (ast.Break, ast.Continue)):
                raise Refused(
                    "A branch leaves a loop; when it does depends on data. Carry a `done` mask through the loop."
                )
            if isinstance(node, ast.Raise):
                raise Refused("A branch raises; only an `if` that does nothing else can become a check in the graph.")

    # -- expressions ----------------------------------------------------------------------------------------------

    def _expression(self, target: ast.IfExp | ast.BoolOp | ast.Compare) -> tuple[Mend | Declined, ...]:
        statement = self.source.statement(target)
        function = self.source.function(target)
        if statement is None or function is None:
            raise Refused("The condition is not inside a function.")
        for one in self.source.ancestors(target):
            if isinstance(one, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.JoinedStr)):
                raise Refused("The condition is inside a comprehension, a lambda or an f-string; give it a statement.")
            if one is statement:
                break
        lowering = Lowering(self.source, self.kinds, self.conditions, statement, self.fresh)
        setup, made = list[str](), list[Mend]()
        numbers = plain_numbers(target) if isinstance(target, ast.IfExp) else None
        if isinstance(target, ast.IfExp) and numbers is not None and len(numbers) == 2 and not held_by_all(numbers):
            return (self._numbers_apart(target, statement, lowering),)
        if apart := self._one_apart(target, statement):
            return (apart,)
        value, static, other = self._chosen(target, lowering, setup)
        held = Numbers(self.source, self.kinds, numbers) if numbers is not None else None
        taken = taken_as(held, target, lowering.assumes) if held is not None and isinstance(target, ast.IfExp) else {}
        if static and taken:
            raise Refused(
                f"`{static}` decides too, so what is chosen may be a Python number; test it in an `if` first."
            )
        if setup and not comes_first(self.source, statement, target):
            raise Refused("The operand would be evaluated before what stands left of it; give it a name first.")
        first = comes_first(self.source, statement, target)
        self._refuse_changed(statement, value, lowering)
        for double in (True, False):
            writer = Writer(self.source, self.kinds, self.where, double)
            text = writer.text(value)
            if double and not writer.guarded:
                continue
            above = list(setup)
            test = outer_test(value)
            if first and test is not None and not static and writer.uses.get(id(test), 0) > 1:
                name = self.source.fresh("condition", frozenset(self.taken))
                above.append(f"{name} = {test.predicate}")
                text = Writer(self.source, self.kinds, self.where, double, {id(test): name}).text(value)
            if static:
                text = f"{text} if {static} else {other}"
            elif isinstance(self.source.parents.get(target), (ast.BinOp, ast.UnaryOp, ast.Compare)):
                text = text if not isinstance(value, Leaf) else operand(text)
            start, end = self.source.range(target)
            notes = [note.text for note in edits.comments(self.source, start, end)]
            simple = isinstance(statement, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign, ast.AnnAssign))
            if simple and statement.lineno == statement.end_lineno:
                line = without_parentheses(render(self.source, statement, {target: text}), text)
                whole = getattr(statement, "value", None) is target
                lines = wrapped(self.source, statement, [*above, line]) if whole else [*above, line]
                spots = [edits.replace(self.source, statement, statement, lines)]
            else:
                above = [*notes, *above]
                spots = [edits.insert_before(self.source, statement, above)] if above else []
                spots.append(edits.rewrite(self.source, target, text))
            spots += [edits.rewrite(self.source, use, text) for use, text in taken.items()]
            made.append(self._mend(spots, lowering, double, target))
        return with_caution(made)

    def _refuse_changed(self, statement: ast.stmt, value: Value, lowering: Lowering) -> None:
        """Refuse a chosen value under a name where what it was is changed in place later."""
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            key = ast.unparse(statement.targets[0])
            refuse_later_change(lowering, key, [value])

    def _numbers_apart(self, target: ast.IfExp, statement: ast.stmt, lowering: Lowering) -> Mend:
        """Numbers that a dtype may round: what is computed with each of them is chosen."""
        numbers = plain_numbers(target) or []
        refuse_mixed(numbers)
        test = self.conditions.take(target.test)
        lowering.tests.append(test)
        uses = uses_of(self.source, target)
        if test.static or test.setup:
            raise Refused(
                "The condition has a Python part, or an operand that needs a name; give it its own statement."
            )
        end = Numbers(self.source, self.kinds, ()).end(target.test)
        condition = f"{operand(test.predicate)}{end}" if end else test.predicate
        apart, spots = Apart(self.source, self.kinds, self.where, target), list[TextEdit]()
        if uses != [target]:
            name = self.fresh(f"{render(self.source, uses[0])}_condition")  # mends made together must not share a name
            if not is_new(self.source, self.kinds, test.predicate, target.test):
                condition += ".clone()"
            spots = [edits.replace(self.source, statement, statement, [f"{name} = {condition}"])]
            condition = name
        for use in uses:
            around, text = apart.text(use, condition)
            lowering.changes.append(f"`{render(self.source, around)}` is computed with both numbers.")
            spots.append(in_place_of(self.source, around, text))
        return self._mend(spots, lowering, False, target)

    def _one_apart(self, target: ast.expr, statement: ast.stmt) -> Mend | None:
        """Numbers that would need the dtype of what their one use stands beside: its results are chosen, where they can be."""
        try:
            if isinstance(target, ast.IfExp) and needs_dtype_once(self.source, self.kinds, target):
                lowering = Lowering(self.source, self.kinds, self.conditions, statement, self.fresh)
                return self._numbers_apart(target, statement, lowering)
        except Refused:
            return None
        return None

    def _chosen(
        self, target: ast.IfExp | ast.BoolOp | ast.Compare, lowering: Lowering, setup: list[str]
    ) -> tuple[Value, str, str]:
        """The value of an expression, and the Python condition around it with what it gives otherwise."""
        if isinstance(target, ast.IfExp):
            test = self.conditions.take(target.test)
            setup += test.setup
            lowering.tests.append(test)
            value = lowering.choice(test, target)
            return value, test.static, render(self.source, target.orelse)
        if isinstance(target, ast.Compare):
            test = self.conditions.take(target)
            setup += test.setup
            lowering.tests.append(test)
            return Made(test.predicate), "", ""
        *firsts, last = target.values
        if len(firsts) != 1:
            raise Refused("More than two operands; split the expression.")
        first = firsts[0]
        refuse_value(self.source, self.kinds, last, lowering.changes)
        text = render(self.source, first)
        if self.kinds.of(first) != "tensor" and first not in self.tensors and self.node is not target:
            raise Refused(f"GraphMend cannot tell whether `{text}` is a tensor or a Python value.")
        if not isinstance(first, ast.Name):
            name = self.fresh(name_for(text))
            setup.append(f"{name} = {text}")
            text = name
        predicate = text if self.kinds.is_bool(first) else f"{text} != 0"
        test = Test("", predicate, (), (first,), loaded(first))
        lowering.tests.append(test)
        kept: Value = Made(text)
        is_or = isinstance(target.op, ast.Or)
        return Choice(test, kept if is_or else Leaf(last), Leaf(last) if is_or else kept), "", ""

    # -- the mend -------------------------------------------------------------------------------------------------

    def _mend(self, spots: list[TextEdit], lowering: Lowering, double: bool, at: ast.AST) -> Mend:
        if self.imported is not None:
            spots = [self.imported, *spots]
        spans = [span for test in lowering.tests for span in test.spans(self.source)]
        return Mend(
            rule=self.rule,
            title=DOUBLE if double else _TITLE,
            path=self.source.path,
            span=self.source.span(at),
            edits=tuple(spots),
            conditions=tuple((self.source.path, span) for span in dict.fromkeys(spans)),
            changes=tuple(dict.fromkeys(lowering.changes)),
            cautions=tuple(dict.fromkeys((*self.conditions.told, *told_of_sides(self.source, at)))),
            assumes=tuple(dict.fromkeys((*lowering.assumes, *both_sides(self.source, at)))),
        )
