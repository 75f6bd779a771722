"""What a run showed of the nodes of a file: the question that rules and lowering ask where the text does not say.

Facts are those of the calls that were made. Who believes one says so (`believe`); the mend's verdict tells it. Nothing known is
None.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from itertools import takewhile

from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Belief
from graphmend_lsp.values import FunctionFact, TensorFact, ValueFact


@dataclass(frozen=True)
class Seen:
    """Facts of one file as it reads now; of a text that is not the one that was run nothing is known."""

    source: Source

    def of(self, node: ast.AST) -> ValueFact | None:
        """What an expression gave, or what was bound to a target or parameter. None: not evaluated, or not noted.

        A parameter that its function never binds anew, and a name that it binds once, is what it was bound to, also where no
        call came, and in a text with braces, of whose parts nothing is noted.
        """
        if self.source.noted is None:
            return None
        try:
            found = self.source.noted.values.get(self.source.span(node))
        except ValueError:  # in a text over several lines, where Python tells other places before 3.12
            found = None
        if found is None and isinstance(node, ast.Attribute):
            return self._read_elsewhere(node)
        bound = self._only_binding(node) if found is None and isinstance(node, ast.Name) else None
        return found if bound is None else self.of(bound)

    def _read_elsewhere(self, node: ast.Attribute) -> ValueFact | None:
        """The kind, not the value, of what an attribute gave where its function reads it elsewhere and never stores it."""
        function = self.source.function(node)
        parts = [one for one in walk(node) if isinstance(one, ast.expr)]
        if function is None or self.source.noted is None or not isinstance(node.ctx, ast.Load):
            return None
        if not all(isinstance(one, (ast.Name, ast.Attribute)) for one in parts):
            return None
        names = {one.id for one in parts if isinstance(one, ast.Name)}
        if any(name in assigned(one) for name in names for one in function.body):
            return None
        found: list[ValueFact] = []
        for one in walk(function):
            if not isinstance(one, ast.Attribute) or one.attr != node.attr:
                continue
            if not isinstance(one.ctx, ast.Load):
                return None
            if self.source.function(one) is function and ast.dump(one) == ast.dump(node):
                fact = self.source.noted.values.get(self.source.span(one))
                found += [fact] if fact is not None else []
        alike = found and all(one.kinds == found[0].kinds for one in found) and found[0].is_plain
        alike = alike and "None" not in found[0].kinds  # what is None at first is often set later
        return replace(found[0], constant=()) if alike else None

    def _only_binding(self, name: ast.Name) -> ast.arg | ast.Name | None:
        """The one place that binds a name in its function, or the parameter that it always is; None where there is none."""
        function = self.source.function(name)
        statement = self.source.statement(name)
        if function is None or statement is function or not isinstance(name.ctx, ast.Load):
            return None
        inner = (ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        if any(
            isinstance(one, inner) for one in takewhile(lambda one: one is not function, self.source.ancestors(name))
        ):
            return None
        binding = [one for one in function.body if name.id in assigned(one)]
        if binding:
            nodes = [one for part in binding for one in walk(part) if isinstance(one, ast.Name) and one.id == name.id]
            stored = [
                one for one in nodes if not isinstance(one.ctx, ast.Load) and self.source.function(one) is function
            ]
            plain = len(stored) == 1 and isinstance(stored[0].ctx, ast.Store) and name.id not in parameters(function)
            known = plain and not isinstance(
                self.source.statement(stored[0]), (ast.AugAssign, ast.Global, ast.Nonlocal)
            )
            return stored[0] if known and len(binding) == 1 else None
        given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        return next((one for one in given if one.arg == name.id), None)

    def tensor(self, node: ast.AST) -> TensorFact | None:
        """What is known of the tensor that an expression gave; None where it gave anything else, or nothing is known."""
        fact = self.of(node)
        return fact.tensor if fact is not None and fact.is_tensor else None

    def before(self, statement: ast.stmt, name: str) -> ValueFact | None:
        """What a name that a compound statement may bind was before it; ``unbound`` where it had no value."""
        if self.source.noted is None:
            return None
        return self.source.noted.before.get((self.source.span(statement).start, name))

    def function(self, function: Function) -> FunctionFact | None:
        """How often a function was entered, and from where; None when it was not, or not watched."""
        if self.source.noted is None:
            return None
        return self.source.noted.functions.get(self.source.span(function).start.line)

    def share_storage(self, one: ast.AST, other: ast.AST) -> bool | None:
        """Whether two expressions of one function were seen to share memory in one call of it; None when not known."""
        first, second = self.of(one), self.of(other)
        return None if first is None or second is None else first.shares_storage_with(second)

    def believe(self, node: ast.AST, what: str) -> None:
        """Note that the mend rests on what `node` was: ``a tensor``."""
        self.source.rested[Belief(self.source.code(node), what)] = None
