"""Loops that only data ends, inside the graph and without gradients: `torch.while_loop` where no number of iterations is known.

What it does
    A ``while`` whose test is a tensor becomes ``while_loop`` of the support module: uncompiled it turns as the loop does, and
    when compiled it is ``torch.while_loop``, which takes the same iterations as the data asks for, inside one graph. It carries
    the names that the test, the next turn or the code after the loop reads. A turn that is one assignment becomes a lambda, a
    longer one a function. A Python number that only counts turns (``and n < 50``) is carried as a tensor: there, without the
    support module, and where a turn may leave a tensor as it is, the loop stays and gets ``torch.while_loop`` as a twin.

Why it costs
    Dynamo cannot know how often the loop turns, so it leaves the whole function to Python: every iteration waits for the value
    of the test, and no turn is compiled. The rule ``loop`` takes the largest number of iterations in every call, and
    needs one.

Safety
    The twin is for inference: under gradients ``torch.while_loop`` breaks the graph or, without a turn, loses the gradient,
    so the loop then stays as it was, as it does uncompiled, for a tensor that asks for gradients and, where an iteration calls
    something of ``self``, in training. To gain from it, call the program under `torch.no_grad()`. An iteration must keep shape,
    dtype and strides of what it carries, and a Python float that it reads must stay what it was: `torch.compile` raises for
    calls in which it does not. What two names may hold is copied (``clone``), and a loop without an iteration gives copies.

When it is refused
    A carried Python value; a name without a value before the loop, or of which it is not clear that it is a tensor; a turn
    that is left early, has an effect, draws random numbers, changes a tensor in place, tests a tensor or reads a
    number from one; a tensor that grows, or gets another dtype or other strides; a parameter that is a Python float; a
    turn that calls something of a ``self`` that is no module.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.loop_bounds import counter_of, split_test
from graphmend_lsp.mending.facts.purity import hazards, needing_elements, words_for_empty
from graphmend_lsp.mending.facts.region import assigned_in
from graphmend_lsp.mending.lowering.choice_values import Old
from graphmend_lsp.mending.lowering.conditions import Conditions, Test
from graphmend_lsp.mending.lowering.merge import refuse_later_change
from graphmend_lsp.mending.rules.while_loop import RULE
from graphmend_lsp.mending.rules.while_loop import examples as while_loop_examples
from graphmend_lsp.mending.rules.while_loop.iteration import (
    Counter,
    Iteration,
    iteration_of,
    may_ask,
    other_names,
    refuse_floats,
    step_of,
)
from graphmend_lsp.mending.rules.while_loop.text import Writer
from graphmend_lsp.mending.syntax.break_site import Place
from graphmend_lsp.mending.syntax.compiled_branch import branch_without_twin, not_training
from graphmend_lsp.mending.syntax.formatting import operand_of_junction, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, loaded
from graphmend_lsp.mending.syntax.support import supported
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend, Span, TextEdit

__all__ = ["EXAMPLES", "REFUSALS", "propose"]

EXAMPLES = while_loop_examples.EXAMPLES
REFUSALS = while_loop_examples.REFUSALS
_TITLE = "Loop with torch.while_loop when compiled without gradients"
_SERVES = "it serves calls without gradients only (`torch.no_grad()`)"
_WITH_GRADIENTS = "With gradients the loop stays, and breaks the graph as before."
_IN_TRAINING = "In training the loop stays, too."
_RAISES = (
    "torch.compile raises for a call in which an iteration changes shape, dtype or strides, or in which a Python float that the"
    " loop reads differs from before."
)
_COPIES = "When compiled, a loop that runs no iteration gives copies."


def propose(place: Place) -> tuple[Mend | Declined, ...]:
    """The mend of a ``while`` on a tensor; empty for other breaks."""
    found = branch_without_twin(place)
    if found is None:
        return ()
    source, node, loop = found
    if not isinstance(loop, ast.While):
        return ()
    return (_Mending(source, loop, node).mend(),)


@dataclass(frozen=True, slots=True)
class _Test:
    """The test of a loop: what of it stays Python, the rest as a tensor, and where a tensor was tested."""

    static: tuple[str, ...]
    predicate: str
    spans: tuple[Span, ...]


@dataclass
class _Mending:
    """One loop being mended."""

    source: Source
    loop: ast.While
    node: ast.AST
    taken: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root: ast.stmt = self.loop
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
        function = self.source.function(self.loop)
        if function is None:
            raise Refused("The loop is not inside a function.")
        if any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in walk(function)):
            raise Refused("`torch.while_loop` cannot stand in a generator or a coroutine.")
        if any(isinstance(one, ast.Try) or type(one).__name__ == "TryStar" for one in self.source.ancestors(self.loop)):
            raise Refused(
                "The loop stands in a `try`, and code after an error may see what an iteration did before it."
            )
        static, moving = split_test(self.kinds, self.loop)
        name = counter_of(self.source, self.loop, static)
        counter = step_of(self.source, self.loop, name) if name else None
        own = assigned_in(self.loop.body)
        cautions = list(refuse_floats(self.source, self.loop, own))
        iteration = iteration_of(self.source, self.kinds, self.loop, counter)
        test = self._test(static, moving, own, counter)
        for one in iteration.carried:
            self._refuse_later(one)
        writer = Writer(self.source, self.loop, iteration, test.predicate, self.fresh)
        spots = self._call(writer, test, static) or self._twin(writer, test)
        told = [
            _WITH_GRADIENTS,
            *([_IN_TRAINING] if iteration.calls_modules else []),
            _RAISES,
            _COPIES,
            *writer.changes,
        ]
        return Mend(
            rule=RULE.name,
            title=_TITLE,
            path=self.source.path,
            span=self.source.span(self.loop.test),
            edits=tuple(spots),
            conditions=tuple((self.source.path, span) for span in dict.fromkeys(test.spans)),
            changes=tuple(dict.fromkeys([*told, *self.changes])),
            cautions=tuple(dict.fromkeys([*cautions, *self.conditions.told])),
            serves=_SERVES,
        )

    def _call(self, writer: Writer, test: _Test, static: Sequence[ast.expr]) -> list[TextEdit]:
        """The edits that call the support module, uncompiled too; none where the loop would then test something else.

        What an iteration is to copy, and a counter, are the twin's.
        """
        loop, iteration = self.loop, writer.iteration
        values = [loop.test]
        if isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And):
            values = loop.test.values
        same = values[:-1] == list(static) and render(self.source, values[-1]) == test.predicate
        stays = all(self.kinds.of(one) == "python" and _reads_names_alone(one) for one in static)
        binds = any(isinstance(one, ast.NamedExpr) for one in walk(loop.test))
        if not same or not stays or binds or iteration.counter is not None or iteration.given_copies:
            return []
        found = supported(self.source, loop, "while_loop")
        if found is None:
            return []
        training = not_training(self.source, loop).removeprefix("not ") if iteration.calls_modules else ""
        asked = render(self.source, static[0]) if len(static) == 1 else " and ".join(test.static)
        return [*found[1], writer.call(found[0]["while_loop"], asked, training)]

    def _twin(self, writer: Writer, test: _Test) -> list[TextEdit]:
        """The edits that write ``torch.while_loop`` beside the loop."""
        called, imported = spell(self.source, "torch.while_loop", self.loop)
        if called.rpartition(".")[2] != "while_loop" or "." not in called:
            raise Refused("`while_loop` is imported by its own name; import torch.")
        writer.torch = called.removesuffix("while_loop")
        writer.guard = self._guard(writer.iteration, test, writer.torch)
        spots = writer.twin()
        return [imported, *spots] if imported is not None else spots

    def _guard(self, iteration: Iteration, test: _Test, torch: str) -> str:
        against = [f"{torch}is_grad_enabled()"]
        against += [f"{one}.requires_grad" for one in iteration.carried if may_ask(self.source, self.loop, one)]
        against += [not_training(self.source, self.loop).removeprefix("not ")] if iteration.calls_modules else []
        off = f"not ({' or '.join(against)})" if len(against) > 1 else f"not {against[0]}"
        return " and ".join((f"{torch}compiler.is_compiling()", off, *test.static))

    def _test(
        self, static: Sequence[ast.expr], moving: Sequence[ast.expr], own: frozenset[str], counter: Counter | None
    ) -> _Test:
        """The loop's test taken apart."""
        counted = [one for one in static if counter is not None and counter.name in loaded(one)]
        stays: list[str] = []
        for one in static:
            text = render(self.source, one)
            if one in counted:
                continue
            if loaded(one) & own:
                raise Refused(
                    f"`{text}` is a Python test of what an iteration changes; `torch.while_loop` tests tensors only."
                )
            if self.kinds.of(one) == "unknown" and self._behind(one, moving):
                raise Refused(f"GraphMend cannot tell whether `{text}` is a tensor or a Python value.")
            if hazards(self.source, one):
                raise Refused(f"`{text}` would be evaluated once only, before the loop.")
            plain = isinstance(one, (ast.Compare, ast.Name, ast.Attribute, ast.Call, ast.UnaryOp))
            stays.append(text if plain else f"({text})")
        if not moving:
            raise Refused("No tensor is tested by the loop.")
        tests = [self._tensor(one) for one in moving]
        texts = [test.predicate for test in tests]
        for one in counted:
            if not isinstance(one, ast.Compare) or hazards(self.source, one):
                raise Refused(f"`{render(self.source, one)}` is more than a bound of the number of iterations.")
            texts.append(render(self.source, one))
        for one in [each for each in (self.loop.test, *walk(self.loop.test)) if isinstance(each, ast.BoolOp)][:1]:
            for later in one.values[1:]:
                self._refuse_raising(later)
        predicate = texts[0] if len(texts) == 1 else " & ".join(operand_of_junction(one) for one in texts)
        spans = dict.fromkeys(span for test in tests for span in test.spans(self.source))
        return _Test(tuple(stays), predicate, tuple(spans))

    def _tensor(self, one: ast.expr) -> Test:
        taken = self.conditions.take(one)
        if taken.setup:
            raise Refused("An operand of the loop's test is used twice; give it a name in the loop.")
        if taken.static:
            raise Refused("The loop's test also compares shapes; do that before the loop.")
        return taken

    def _behind(self, one: ast.expr, moving: Sequence[ast.expr]) -> bool:
        """Whether a part of the test stands behind a tensor of it."""
        return any(self.source.range(each) < self.source.range(one) for each in moving)

    def _refuse_raising(self, later: ast.expr) -> None:
        """Refuse what may raise and was not evaluated where a part before it was false."""
        self.conditions.told += [words_for_empty(self.source, call) for call in needing_elements(later)]
        for hazard in hazards(self.source, later):
            if hazard.kind == "raises":
                text = render(self.source, hazard.node)
                raise Refused(f"`{text}` {hazard.words}, and would be evaluated before every iteration.")

    def _refuse_later(self, name: str) -> None:
        """Refuse changes in place behind the loop: without an iteration, a name no longer holds the tensor that it held."""
        for one in (name, *(other_names(self.source, self.loop, name) or ())):
            refuse_later_change(self, one, [Old(one)])


def _reads_names_alone(test: ast.expr) -> bool:
    """Whether a test is of names and constants, which nothing that an iteration calls changes."""
    plain = (ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp)
    kinds = (*plain, ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context)
    return all(isinstance(one, kinds) for one in walk(test))
