"""Loops that end when data says so: a mask is carried through all iterations instead.

What it does
------------
``for ...: if t: break`` (also ``continue``, ``return``, ``else``) takes every iteration, and a `done` mask keeps what each
name held when the loop would have ended: ``x = torch.where(done, x, new)``. ``for i in range(int(t))`` with a largest
number of iterations that the source states (``min(int(t), 8)``, ``t.clamp(max=8)``, ``(x > 0).sum()``) runs over that number.
``while t and n < 8`` stays a loop over ``n < 8``.

Why it costs
------------
Dynamo unrolls a loop while it traces. A break of the graph inside it cannot be resumed, so the whole function is left
to Python: no graph at all.

Safety
------
Every iteration runs in every call, so time is that of the longest loop. The names hold bit-equal values after the loop. What
can raise, draw random numbers or have an effect in an iteration that did not run is refused. Operands of ``sqrt``, ``log``, ``/``
are made harmless in those iterations so that gradients stay finite. Values of different shape or dtype in different iterations
appear only in a run: the verdict compares them.

When it is refused
------------------
No largest number of iterations is known; the loop's own variable or a Python number that it counts is read after it; the body
says something, appends to a list or calls what is not known; an index may be out of range in an iteration that did not run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.bindings import is_bound
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import Loop, read_after
from graphmend_lsp.mending.facts.loop_bounds import Count, count_of, counter_of, split_test
from graphmend_lsp.mending.facts.purity import needing_elements, with_history, words_for_empty, words_for_history
from graphmend_lsp.mending.facts.static_loops import iterates_statically
from graphmend_lsp.mending.lowering.choice_values import with_caution
from graphmend_lsp.mending.lowering.conditions import Conditions, Test
from graphmend_lsp.mending.rules.loop import RULE
from graphmend_lsp.mending.rules.loop.body import Body
from graphmend_lsp.mending.rules.loop.end import behind, else_lines, returned
from graphmend_lsp.mending.rules.loop.examples import EXAMPLES, REFUSALS
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Site, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Declined, Mend, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

_TITLES = {
    "done": "Carry a mask through the loop",
    "count": "Run the loop over its largest number of iterations",
    "skip": "Choose in every iteration with torch.where",
}
_COST = "Every call runs all iterations of the loop, also those after the last that was needed."


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mends of a loop that data ends, best first; empty when the break is about no such loop."""
    source = place.source
    if place.function is None:
        return ()
    target = _target(source, place.site)
    if target is None:
        return ()
    made: list[Mend] = []
    for double in (True, False):
        mend, guarded = _Mending(source, target, place.node, double).mend()
        if guarded or not double:
            made.append(mend)
    return with_caution(made)


@dataclass(frozen=True, slots=True)
class _Target:
    """The loop that a break is about, and how many turns it takes when a tensor counts them."""

    loop: Loop
    count: Count | None = None


def _target(source: Source, place: Site) -> _Target | None:
    """The loop, or None when the break is about something else.

    Raises:
        Refused: when a tensor counts the turns and no largest number is known.
    """
    count = count_of(source, place.node, place.statement)
    if count is not None:
        return _Target(count.loop, count)
    loop = next((one for one in place.loops if isinstance(one, (ast.For, ast.While))), None)
    whole = place.statement if isinstance(place.statement, ast.While) else None
    if whole is not None:
        inside = place.node is whole or any(one is place.node for one in walk(whole.test))
        return _Target(whole) if inside else None
    if loop is None or not isinstance(place.statement, ast.If):
        return None
    if place.node is not place.statement and not any(one is place.node for one in walk(place.statement.test)):
        return None
    leaves = any(
        isinstance(one, (ast.Break, ast.Continue, ast.Return))
        for one in walk(place.statement)
    )  # fmt: skip
    return _Target(loop) if leaves else None


@dataclass
class _Mending:
    """One loop being mended."""

    source: Source
    target: _Target
    node: ast.AST
    double: bool
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.loop = self.target.loop
        tensors = {self.node} if isinstance(self.node, ast.expr) else set()
        self.kinds = Kinds(self.source, frozenset(tensors))
        self.conditions = Conditions(self.source, self.kinds, self.fresh)
        self.where, self.imported = spell(self.source, "torch.where", self.loop)
        self.torch = self.where.removesuffix("where")

    def fresh(self, wanted: str) -> str:
        """A new name, used nowhere in the file."""
        name = self.source.fresh(wanted, frozenset(self.taken))
        self.taken.add(name)
        return name

    def mend(self) -> tuple[Mend, bool]:
        """The mend, and whether a guard was written in it.

        Raises:
            Refused: with the reason.
        """
        body = Body(
            self.source, self.kinds, self.conditions, self.loop, self.where, self.fresh, self.double,
            wanted=returned(self.loop),
        )  # fmt: skip
        spots = [self.imported] if self.imported is not None else []
        if self.target.count is not None:
            spots += self._counted(body, self.target.count)
        elif isinstance(self.loop, ast.While):
            spots += self._while(body, self.loop)
        else:
            spots += self._for(body, self.loop)
        spots += body.found
        changes = (_COST, *body.changes) if body.done or body.on else tuple(body.changes)
        spans = [span for test in body.tests for span in test.spans(self.source)]
        title = _TITLES["done" if body.done else "count" if body.on else "skip"]
        return Mend(
            rule=RULE.name,
            title=f"{title}, gradients kept finite" if body.guarded else title,
            path=self.source.path,
            span=self.source.span(self.node),
            edits=tuple(spots),
            conditions=tuple((self.source.path, span) for span in dict.fromkeys(spans)),
            changes=tuple(dict.fromkeys(changes)),
            cautions=tuple(dict.fromkeys((*self.conditions.told, *self._told()))),
            assumes=tuple(dict.fromkeys((*body.assumes, *self._costs(body)))),
        ), body.guarded

    def _costs(self, body: Body) -> tuple[Assumption, ...]:
        """That all turns run, where the loop had ended before."""
        if not (body.done or body.on):
            return ()
        words = f"all iterations of the loop in line {self.source.span(self.loop).start.line} are affordable"
        return (Assumption("cost", words, ((self.source.path, self.source.span(self.loop)),)),)

    def _told(self) -> list[str]:
        """What turns do that the loop had ended before: raise for nothing to look at, give an attribute a history."""
        first = self.loop.body[0]
        always = [first.test] if isinstance(first, ast.If) else []
        told = [
            words_for_empty(self.source, call)
            for statement in self.loop.body
            for call in needing_elements(statement)
            if call not in [known for test in always for known in needing_elements(test)]
        ]
        return [*told, *map(words_for_history, with_history(self.source, self.loop.body))]

    def _for(self, body: Body, loop: ast.For) -> list[TextEdit]:
        if not iterates_statically(self.source, loop.iter):
            raise Refused(
                f"`{render(self.source, loop.iter)}` may be an iterator: all iterations would take more from it than before."
            )
        self._refuse_target(loop)
        for one in (loop.iter, *(loop.iter.args if isinstance(loop.iter, ast.Call) else ())):
            if isinstance(one, ast.Name) and self.kinds.of(one) == "unknown":
                body.changes.append(f"`{one.id}` is gone through to its end.")
        return self._masked(body, [])

    def _while(self, body: Body, loop: ast.While) -> list[TextEdit]:
        static, moving = split_test(self.kinds, loop)
        if not static or not counter_of(self.source, loop, static):
            raise Refused("No largest number of iterations is known; count them in the loop's test, as in `and n < 8`.")
        for one in static:
            for name in sorted(loaded(one) & body.stored):
                if read_after(self.source, loop, name):
                    raise Refused(f"`{name}` counts the iterations and is read after the loop.")
        if not moving:
            return self._masked(body, [])
        tests = [self.conditions.take(one) for one in moving]
        if any(test.static for test in tests):
            raise Refused("The loop's test also compares shapes; do that before the loop.")
        for one in moving:
            body.refuse_raising(one)
        body.tests += tests
        predicates = [test.predicate for test in tests]
        joined = predicates[0] if len(predicates) == 1 else " & ".join(operand(one) for one in predicates)
        setup = [line for test in tests for line in test.setup]
        texts = " and ".join(render(self.source, one) for one in static)
        spots = [edits.rewrite(self.source, loop.test, texts)]
        first = self._masked(body, [joined])
        done = [*setup, f"{body.done} = {body.done} | ~{operand(joined)}"]
        spots.append(edits.insert_before(self.source, loop.body[0], done))
        return [*first, *spots]

    def _counted(self, body: Body, count: Count) -> list[TextEdit]:
        loop = count.loop
        leaves = any(isinstance(one, (ast.Break, ast.Return)) for one in walk(loop))
        if leaves or loop.orelse:
            raise Refused("The loop is also left from inside; mend that first.")
        self._refuse_target(loop)
        spots = list(count.edits)
        name = count.name
        lines: list[str] = []
        if not name:
            name = self.fresh("turns")
            lines = [f"{name} = {count.tensor}"]
        variable = loop.target.id if isinstance(loop.target, ast.Name) else ""
        if variable in ("", "_"):
            variable = self.fresh("turn")
            spots.append(edits.rewrite(self.source, loop.target, variable))
        spots.append(edits.rewrite(self.source, loop.iter, count.over))
        if lines:
            spots.append(edits.insert_before(self.source, loop, lines))
        body.on = f"{variable} < {name}"
        body.block(loop.body)
        body.changes += count.changes
        return spots

    def _masked(self, body: Body, moving: list[str]) -> list[TextEdit]:
        """The edits around a loop whose end is a mask; the body's own are in `body.found`."""
        loop = self.loop
        ends = bool(moving) or any(isinstance(one, (ast.Break, ast.Return)) for one in walk(loop))
        if not ends:
            body.block(loop.body)
            return []
        body.done = self.fresh("done")
        body.off = body.done
        body.block(loop.body)
        if not (body.breaks or moving):
            raise Refused("The loop is not left where data decides.")
        device = self._device(body)
        start = f"{body.done} = {self.torch}zeros((), dtype={self.torch}bool{device})"
        if self.torch and not self.torch.endswith("."):
            raise Refused("`where` is imported by its own name; import torch.")
        spots = [edits.insert_before(self.source, loop, [start])]
        test = Test("", body.done, (), (), frozenset({body.done}))
        spots += else_lines(body, test)
        if body.returned:
            spots += behind(body, test)
        return spots

    def _device(self, body: Body) -> str:
        """``, device=x.device`` of a tensor that the loop's tests read and that has a value before the loop."""
        nodes = {one.id: one for one in walk(self.loop) if isinstance(one, ast.Name)}
        reads = [name for test in body.tests for name in sorted(test.reads)]
        for name in (*reads, *sorted(body.stored), *sorted(nodes)):
            if name in nodes and is_bound(self.source, name, self.loop):
                chosen = name in body.stored and body.is_kept(name)
                if chosen or self.kinds.of(nodes[name]) == "tensor":
                    return f", device={name}.device"
        raise Refused("No tensor is known before the loop whose device the mask could have.")

    def _refuse_target(self, loop: ast.For) -> None:
        for name in sorted(assigned(loop.target)):
            if read_after(self.source, loop, name):
                raise Refused(f"`{name}` is read after the loop, where it tells the iteration at which the loop ended.")
