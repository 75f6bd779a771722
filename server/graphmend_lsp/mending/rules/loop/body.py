"""The body of a loop under a mask: what an iteration stores is kept as it was once the loop would have been over.

Statements are rewritten where they stand; what nothing reads after the loop stays as it is. Nothing here decides which
loops are mended.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.bindings import is_bound, is_fresh, makes_tensor
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.liveness import Loop, is_carried, read_after
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.static_loops import iterates_statically
from graphmend_lsp.mending.lowering.branch import Lowering
from graphmend_lsp.mending.lowering.conditions import Conditions, Test
from graphmend_lsp.mending.lowering.lines import Lines, wrapped
from graphmend_lsp.mending.lowering.merge import merge
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.branches import comments_of
from graphmend_lsp.mending.syntax.formatting import first_line, operand, operand_of_junction, render
from graphmend_lsp.mending.syntax.imports import is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, TextEdit

_ENDS = "the loop stops at an iteration that depends on data"


@dataclass
class Body:
    """A loop being masked. `where` is how ``torch.where`` is spelled; `double` guards operands of what is masked out.

    `done` is the name of the mask of turns behind the end ("" when the loop ends by a count alone); `returned` are the
    expressions that are returned from inside; `found` collects the edits.
    """

    source: Source
    kinds: Kinds
    conditions: Conditions
    loop: Loop
    where: str
    fresh: Callable[[str], str]
    double: bool
    done: str = ""
    wanted: frozenset[str] = frozenset()
    found: list[TextEdit] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    assumes: list[Assumption] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    returned: list[ast.Return] = field(default_factory=list)
    guarded: bool = False
    breaks: bool = False

    def __post_init__(self) -> None:
        self.off = ""
        self.on = ""
        self.comments: dict[ast.stmt, tuple[str, ...]] = {}
        self.stored = frozenset(name for statement in self.loop.body for name in assigned(statement))

    # -- names ----------------------------------------------------------------------------------------------------

    def is_kept(self, name: str) -> bool:
        """Whether a name must keep what it held when the loop would have ended."""
        if name in self.wanted or read_after(self.source, self.loop, name):
            return True
        return is_carried(self.loop.body, name) and not self._is_python(name)

    def _is_python(self, name: str) -> bool:
        """Whether a name holds a Python number that only constants are added to."""
        values = [
            one.value for statement in self.loop.body for one in walk(statement)
            if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and name in assigned(one)
        ]  # fmt: skip
        node = next((one for one in walk(self.loop) if isinstance(one, ast.Name) and one.id == name), None)
        return node is not None and all(
            value is not None and (self.kinds.of(value) == "python" or self._counts(value)) for value in values
        ) and self.kinds.of(node) == "python"  # fmt: skip

    def _counts(self, node: ast.expr) -> bool:
        """Whether an expression is the variable of a loop over ``range``."""
        return isinstance(node, ast.Name) and any(
            isinstance(one, ast.For)
            and isinstance(one.target, ast.Name)
            and one.target.id == node.id
            and isinstance(one.iter, ast.Call)
            and is_builtin(self.source, one.iter.func, "range")
            for one in (self.loop, *self.source.ancestors(node))
        )

    def is_owned(self, name: str) -> bool:
        """Whether a name holds a tensor of its own in every turn: made before the loop, and only new ones put in it."""
        values = [
            one.value for statement in self.loop.body for one in walk(statement)
            if isinstance(one, ast.Assign) and name in assigned(one)
        ]  # fmt: skip
        return is_fresh(self.source, name, self.loop) and all(makes_tensor(self.source, value) for value in values)

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Rewrite a block where it stands.

        Raises:
            Refused: for what cannot run in turns behind the end.
        """
        for statement in statements:
            self.comments = {} if hasattr(statement, "body") else comments_of(self.source, statement)
            if self._leaves(statement):
                self.comments = comments_of(self.source, statement)
                assert isinstance(statement, ast.If)
                lines = self._left(statement)
                self._put(statement, lines)
            elif isinstance(statement, (ast.Break, ast.Continue)):
                continue
            else:
                self._kept_in_place(statement)

    def _kept_in_place(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If) and self.kinds.of(statement.test) != "tensor":
            self._check_static(statement.test)
            self.block(statement.body)
            self.block(statement.orelse)
        elif isinstance(statement, ast.With) and self._is_plain_with(statement):
            self.block(statement.body)
        elif isinstance(statement, ast.For) and not statement.orelse:
            if not iterates_statically(self.source, statement.iter):
                raise Refused(f"The inner loop over `{render(self.source, statement.iter)}` may take turns that end.")
            self._refuse_kept(statement.iter)
            self.block(statement.body)
        else:
            lines = self._lines(statement)
            if lines is not None:
                self._put(statement, lines)

    def _put(self, statement: ast.stmt, lines: Sequence[str]) -> None:
        new = wrapped(self.source, statement, lines)
        if not new:
            raise Refused(f"`{first_line(self.source, statement)}` would leave nothing behind.")
        if not (len(new) == 1 and new[0] == self.source.code(statement)):
            self.found.append(edits.replace(self.source, statement, statement, new))

    def _lines(self, statement: ast.stmt) -> list[str] | None:
        """A statement's lines under the mask; None when it stays as it is."""
        if isinstance(statement, ast.Pass) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            return None
        counts = isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
        if counts and all(self._is_python(name) and not self.is_kept(name) for name in assigned(statement)):
            return None
        for name in assigned(statement):
            if self.is_kept(name) and self._is_python(name):
                raise Refused(f"`{name}` is a Python number that is read after the loop; it would become a tensor.")
        if not (self.off or self.on or self.breaks):
            return None  # it runs in every turn, as before
        lowering = self.lowering()
        items = lowering.block([statement])
        if all(item.lines or item.test is not None for item in items) and not any(item.key for item in items):
            return None
        if not (self.off or self.on):
            return None
        name = self.off or self.on
        test = Test("", name, (), (), loaded(ast.parse(name)))
        merged = merge(lowering, test, items, []) if self.on else merge(lowering, test, [], items)
        lines, guarded = Lines(self.source, self.kinds, self.where).lines(merged, self.double)
        self.guarded = self.guarded or guarded
        return lines

    def lowering(self) -> Lowering:
        """What lowers the statements of this loop's body."""
        return Lowering(
            self.source, self.kinds, self.conditions, self.loop, self.fresh, self.comments, self.changes, self.assumes,
            self.tests, local=lambda name: not self.is_kept(name), owned=self.is_owned,
        )  # fmt: skip

    # -- leaving --------------------------------------------------------------------------------------------------

    def _leaves(self, statement: ast.stmt) -> bool:
        """Whether a statement is a condition on a tensor under which the turn or the loop ends."""
        if not isinstance(statement, ast.If):
            return False
        leaving = any(isinstance(one, (ast.Break, ast.Continue, ast.Return)) for one in _own(statement))
        if not leaving:
            return False
        if self._tensor_test(statement.test):
            return True
        if any(isinstance(one, ast.Return) for one in _own(statement)):
            raise Refused(f"`{first_line(self.source, statement)}` returns from the loop; {_ENDS}.")
        if any(isinstance(one, ast.Break) for one in _own(statement)) and self.loop.orelse:
            raise Refused("The loop has an `else` and is also left by a Python test; split them.")
        return any(self._leaves(one) for one in (*statement.body, *statement.orelse)) and self._refuse_nested(statement)

    def _refuse_nested(self, statement: ast.stmt) -> bool:
        raise Refused(
            f"`{first_line(self.source, statement)}` leaves the loop from inside another test; join the tests."
        )

    def _tensor_test(self, test: ast.expr) -> bool:
        if self.kinds.of(test) == "tensor":
            return True
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        over = [one.func for one in parts if isinstance(one, ast.Call)]
        return any(self.kinds.of(one) == "tensor" for one in parts) or any(
            is_builtin(self.source, one, name) for one in over for name in ("any", "all")
        )

    def _left(self, statement: ast.If) -> list[str]:
        """The lines of ``if t: ...; break`` (``continue``, ``return``), and of what stands in its other branch."""
        test = self.conditions.take(statement.test)
        self.refuse_raising(statement.test)
        self.tests.append(test)
        body, other = statement.body, statement.orelse
        predicate = test.predicate
        if not _ends(body):
            if not _ends(other) or test.static:
                raise Refused(f"`{first_line(self.source, statement)}` leaves the loop in the middle of its branch.")
            body, other, predicate = other, body, f"~{operand(predicate)}"
        last = body[-1]
        lines = [*(note for one in body for note in self.comments.get(one, ())), *test.setup]
        lines += self._end(last, predicate, body[:-1], test.static)
        for one in other:
            if self._leaves(one):
                assert isinstance(one, ast.If)
                lines += self._left(one)
            else:
                more = self._lines(one)
                lines += more if more is not None else [render(self.source, one)]
        return lines

    def _end(self, last: ast.stmt, predicate: str, before: Sequence[ast.stmt], static: str) -> list[str]:
        if isinstance(last, ast.Continue):
            if static:
                raise Refused("A `continue` under a Python test and a tensor's; take the tests apart.")
            return self._skip(predicate, before)
        if isinstance(last, ast.Return):
            self.returned.append(last)
            before = [*before]
        self.breaks = True
        active = self.off if self.off not in ("", self.done) else ""
        ended = f"~{active} & {operand_of_junction(predicate)}" if active else predicate
        lines: list[str] = []
        if before:
            name = self.fresh("ends")
            lines.append(f"{name} = ~{active or self.done} & {operand_of_junction(predicate)}")
            lines += self._stored_under(before, name)
            lines.append(f"{self.done} = {self.done} | {name}")
        else:
            lines.append(f"{self.done} = {self.done} | {operand_of_junction(ended)}")
        if active:
            lines.append(f"{active} = {active} | {self.done}")
        else:
            self.off = self.done
        if static:
            return [f"if {static}:", *(self.source.indent + line for line in lines)]
        return lines

    def _skip(self, predicate: str, before: Sequence[ast.stmt]) -> list[str]:
        lines: list[str] = []
        active = self.off
        if before:
            name = self.fresh("skips")
            lines.append(
                f"{name} = ~{active} & {operand_of_junction(predicate)}" if active else f"{name} = {predicate}"
            )
            lines += self._stored_under(before, name)
            predicate = name
        if active in ("", self.done):
            name = self.fresh("skip")
            lines.append(f"{name} = {active} | {operand_of_junction(predicate)}" if active else f"{name} = {predicate}")
            self.off = name
        else:
            lines.append(f"{active} = {active} | {operand_of_junction(predicate)}")
        return lines

    def _stored_under(self, statements: Sequence[ast.stmt], name: str) -> list[str]:
        """What a branch stores before it leaves, chosen where the mask `name` holds."""
        lowering = self.lowering()
        test = Test("", name, (), (), frozenset({name}))
        merged = merge(lowering, test, lowering.block(statements), [])
        lines, guarded = Lines(self.source, self.kinds, self.where).lines(merged, self.double)
        self.guarded = self.guarded or guarded
        return lines

    # -- refusals -------------------------------------------------------------------------------------------------

    def _check_static(self, node: ast.expr) -> None:
        """A Python test inside the loop must not read what the mask holds back."""
        self._refuse_kept(node)
        if self.kinds.of(node) == "unknown" and any(isinstance(one, ast.Call) for one in walk(node)):
            raise Refused(f"It is not clear that `{render(self.source, node)}` does not depend on data.")

    def _refuse_kept(self, node: ast.expr) -> None:
        if any(self.is_kept(name) for name in loaded(node) & self.stored):
            raise Refused(f"`{render(self.source, node)}` is a Python test of what the mask holds back.")

    def refuse_raising(self, node: ast.expr) -> None:
        """Refuse a condition that may raise in a turn that the loop did not take.

        Raises:
            Refused: with the reason.
        """
        for hazard in hazards(self.source, node):
            if hazard.kind == "raises":
                raise Refused(
                    f"`{render(self.source, hazard.node)}` {hazard.words} in an iteration that the loop does not take."
                )

    def _is_plain_with(self, statement: ast.With) -> bool:
        return all(
            isinstance(item.context_expr, ast.Call)
            and self.source.code(item.context_expr.func).split(".")[-1] in ("no_grad", "autocast", "enable_grad")
            for item in statement.items
        )


def unbound(source: Source, loop: Loop, names: Sequence[str]) -> str | None:
    """The first of the names that may have no value before the loop."""
    return next((name for name in names if not is_bound(source, name, loop)), None)


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], (ast.Break, ast.Continue, ast.Return))


def _own(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement without inner loops' ``break`` and ``continue`` and without nested functions."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = [statement]
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(one, (ast.For, ast.While)) and one is not statement:
            found += [node for node in walk(one) if isinstance(node, ast.Return)]
            continue
        found.append(one)
        stack.extend(ast.iter_child_nodes(one))
    return found
