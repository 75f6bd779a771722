"""One side of a branch on a tensor, computed inside the graph: `torch.cond` where `torch.where` is wasteful or refused.

What it does
    An ``if`` whose condition is a tensor gets a twin for `torch.compile`: ``torch.cond`` holds both sides in the graph and
    computes the one that is taken. Sides that are one value each become lambdas; longer ones become functions, which
    the program calls uncompiled, too. For assignments, updates without ``else``, ``return`` on both sides and conditional
    expressions; a side may hold loops over layers, tests of Python values and calls of submodules.

Why it costs
    Dynamo cannot know which side to trace, so it ends the graph at the condition, waits for the value, and starts
    another graph. ``torch.where`` avoids that by computing both sides in every call.

Safety
    Uncompiled nothing changes: the ``if`` stays, beside ``torch.compiler.is_compiling()``, because ``torch.cond`` outside
    of `torch.compile` runs Dynamo in every call and loses gradients of gradients. Compiled, one side runs, so the one
    that is not taken gives no NaN gradients. Where a side calls something of ``self``, the ``if`` stays in training,
    too: dropout inside ``torch.cond`` has wrong gradients, and batch norm raises. A parameter that only the side not
    taken reads gets a gradient of zeros instead of none; the verdict tells that. `torch.compile` traces both sides: they
    must take every call, agree in shape, dtype and strides, and a Python float that they read must stay what it was; it
    raises for calls in which that is not so. What a side gives unchanged is copied (``clone``). What a side raises is
    raised; under the backend ``eager`` torch prints a traceback of it, too.

When it is refused
    Where ``torch.where`` is enough: cheap sides whose gradients are finite. Loops on a tensor; an ``elif``; a side with
    an effect, random numbers, a change in place, a ``with``, a second test of a tensor, or a number read from one; a side
    that gives a Python value; a name without a value before; statements behind an early ``return``; a side that calls
    something of a ``self`` that is no module.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.region import Region, calls_own
from graphmend_lsp.mending.lowering.choice import DOUBLE, choices
from graphmend_lsp.mending.lowering.choice_values import Leaf, Old, Value
from graphmend_lsp.mending.lowering.conditions import Conditions, Test
from graphmend_lsp.mending.lowering.merge import refuse_later_change
from graphmend_lsp.mending.rules.cond import RULE
from graphmend_lsp.mending.rules.cond import examples as cond_examples
from graphmend_lsp.mending.rules.cond.sides import sides_of
from graphmend_lsp.mending.rules.cond.text import Writer
from graphmend_lsp.mending.syntax.branches import returns
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.compiled_branch import branch_without_twin, not_training
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = cond_examples.EXAMPLES
REFUSALS = cond_examples.REFUSALS
_SINGULAR = frozenset(
    ("norm", "vector_norm", "matrix_norm", "std", "dist", "cdist", "pairwise_distance", "hypot", "atan2")
)
"""Operations with a gradient that is not finite at a point, of which the where rule knows no harmless operand."""
_TITLE = "Compute one side with torch.cond when compiled"
_RAISES = (
    "torch.compile traces both sides: it raises for a call that some side does not accept, in which they differ in shape,"
    " dtype or strides, or in which a Python float that they read differs from before."
)
_IN_TRAINING = "In training the `if` stays, and breaks the graph as before."


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a branch on a tensor that `torch.where` does not serve well; empty where it does, or for other breaks."""
    found = branch_without_twin(place)
    if found is None:
        return ()
    source, node, target = found
    if not isinstance(target, (ast.If, ast.IfExp)):
        return ()
    chosen = _chosen(place)
    guarded = any(mend.title == DOUBLE for mend in chosen)
    if chosen and not (guarded or any(_is_heavy(source, side) for side in _sides(source, target))):
        return ()
    try:
        return (_Mending(source, target, node).mend(),)
    except Refused as refused:
        return () if chosen else (Declined(RULE.name, str(refused)),)


def _chosen(place: Place) -> list[Mend]:
    """The mends by `torch.where`, if any."""
    try:
        return [answer for answer in choices("where", place) if isinstance(answer, Mend)]
    except Refused:
        return []


def _statement(source: Source, node: ast.AST) -> ast.stmt:
    statement = source.statement(node)
    assert statement is not None
    return statement


def _sides(source: Source, target: ast.If | ast.IfExp) -> list[ast.AST]:
    if isinstance(target, ast.IfExp):
        return [target.body, target.orelse]
    behind = source.after(target) if returns(target.body) and not target.orelse else []
    return [*target.body, *target.orelse, *behind]


def _is_heavy(source: Source, side: ast.AST) -> bool:
    """Whether a side calls a submodule, or an operation whose gradient `torch.where` may make NaN when it is not taken."""
    return calls_own(source, side) or any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _SINGULAR
        for one in walk(side)
    )


@dataclass
class _Mending:
    """One break being mended."""

    source: Source
    target: ast.If | ast.IfExp
    node: ast.AST
    taken: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = _statement(self.source, self.target)
        self.kinds = Kinds(self.source, frozenset({self.node}) if isinstance(self.node, ast.expr) else frozenset())
        self.conditions = Conditions(self.source, self.kinds, self.fresh)

    def fresh(self, wanted: str) -> str:
        """A new name, used nowhere in the file."""
        name = self.source.fresh(wanted, frozenset(self.taken))
        self.taken.add(name)
        return name

    def mend(self) -> Mend:
        """The mend.

        Raises:
            Refused: with the reason.
        """
        self._refuse_place()
        test = self._test(self.target.test)
        cond, imported = spell(self.source, "torch.cond", self.target)
        compiling, _ = spell(self.source, "torch.compiler.is_compiling", self.target)
        writer = Writer(self.source, self.kinds, self.target.test, test, cond, f"{compiling}()", self.fresh)
        spots = (
            self._value(writer, self.target)
            if isinstance(self.target, ast.IfExp)
            else self._branch(writer, self.target)
        )
        spots = [imported, *spots] if imported is not None else spots
        told = [_RAISES, *([_IN_TRAINING] if writer.training else []), *writer.changes]
        return Mend(
            rule=RULE.name,
            title=_TITLE,
            path=self.source.path,
            span=self.source.span(self.target),
            edits=tuple(spots),
            conditions=tuple((self.source.path, span) for span in dict.fromkeys(test.spans(self.source))),
            changes=tuple(dict.fromkeys(told)),
            cautions=tuple(dict.fromkeys(self.conditions.told)),
        )

    def _refuse_place(self) -> None:
        if self.source.function(self.target) is None:
            raise Refused("The branch is not inside a function.")
        if self.source.code(self.root).startswith("elif"):
            raise Refused(
                "`torch.cond` takes the place of an `if`, not of an `elif`; write it as an `if` in the `else`."
            )
        if not self.source.starts_line(self.root):
            raise Refused("The branch shares its line with other code; give it its own line.")
        function = self.source.function(self.target)
        if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in walk(function or self.root)):
            raise Refused("`torch.cond` cannot stand in a generator or a coroutine.")

    def _test(self, test: ast.expr) -> Test:
        if self.kinds.of(test) != "tensor":
            raise Refused(f"GraphMend cannot tell whether `{render(self.source, test)}` is a tensor or a Python value.")
        taken = self.conditions.take(test)
        if taken.setup:
            raise Refused("An operand of the condition is used twice; give it a name before the `if`.")
        for hazard in hazards(self.source, test):
            if hazard.kind in ("effect", "random"):
                raise Refused(f"The condition has an effect: `{render(self.source, hazard.node)}` {hazard.words}.")
        return taken

    def _value(self, writer: Writer, target: ast.IfExp) -> list[TextEdit]:
        """``y = a if t else b`` and ``return a if t else b``."""
        root, one = self.root, self.root
        plain = isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
        if not (plain or isinstance(one, ast.Return)) or getattr(one, "value", None) is not target:
            raise Refused("The conditional expression is a part of a statement; give it its own name.")
        for value in (target.body, target.orelse):
            Region(self.source, self.kinds).refuse_value(value)
        key = one.targets[0].id if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) else ""
        if key:
            self._refuse_later(key, [Leaf(target.body), Leaf(target.orelse)])
        if any(calls_own(self.source, value) for value in (target.body, target.orelse)):
            writer.training = not_training(self.source, target)
        line = writer.call_of_values(f"{key} = " if key else "return ", target.body, target.orelse)
        return [writer.twin_of_value(root, line, goes_on=bool(key))]

    def _branch(self, writer: Writer, target: ast.If) -> list[TextEdit]:
        other: list[ast.stmt] = target.orelse
        tail = False
        if len(other) == 1 and isinstance(other[0], ast.If) and self.source.code(other[0]).startswith("elif"):
            raise Refused("`torch.cond` has two sides; the `elif` would be a break inside of one of them.")
        if returns(target.body) and not other:
            other = self.source.after(target)
            tail = True
            if len(other) != 1 or not isinstance(other[0], ast.Return):
                raise Refused("Statements follow the early return; put them into an `else` that returns, too.")
        if returns(target.body) != returns(other):
            raise Refused("One side returns and the other does not.")
        sides = sides_of(self.source, self.kinds, target, other, returns=returns(target.body))
        if sides.calls_modules:
            writer.training = not_training(self.source, target)
        for name in sides.results:
            self._refuse_later(name, [_value_of(side, name) for side in (target.body, other)])
        short = writer.twin_of_short(target, sides, tail=tail)
        return short if short is not None else writer.twin_of_functions(target, sides, tail=tail)

    def _refuse_later(self, key: str, values: list[Value]) -> None:
        refuse_later_change(_Setting(self.source, self.kinds, self.root, self.changes), key, values)


@dataclass
class _Setting:
    source: Source
    kinds: Kinds
    root: ast.stmt
    changes: list[str]


def _value_of(side: list[ast.stmt], name: str) -> Value:
    """What a side leaves in a name: the value of its last plain assignment, else what it held."""
    for one in reversed(side):
        if isinstance(one, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in one.targets):
            return Leaf(one.value)
    return Old(name)
