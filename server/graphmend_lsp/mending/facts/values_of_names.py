"""What a local name can hold and what a call computes, from the text of their function: the ground of `dtypes`, `scalars`.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import FUNCTIONS, METHODS, Operator, operator_of_function
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters
from graphmend_lsp.mending.syntax.walk import walk

_CONVERTS = frozenset(("to", "type", "type_as", "view"))
_WHOLE = ("bool", "truth", "int64", "int32", "int16", "int8", "uint8")


@dataclass(frozen=True)
class ValuesOfNames:
    """Local names of a file, the expressions that are bound to them, and the torch functions that these call."""

    source: Source
    kinds: Kinds
    _open: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def called(self, node: ast.Call) -> tuple[str, list[ast.expr]]:
        """The last name of a torch function or tensor method, and its tensors: the receiver and the arguments."""
        name = dotted(self.source, node.func)
        if name is not None:
            return (name.rpartition(".")[2], list(node.args)) if name.startswith("torch.") else ("", [])
        if isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_METHODS:
            return node.func.attr, [node.func.value, *node.args]
        return "", []

    def operator(self, node: ast.Call) -> Operator | None:
        """What the table says of the function or the method that is called; None where it does not know it."""
        name = dotted(self.source, node.func)
        return METHODS.get(self.called(node)[0]) if name is None else operator_of_function(name)

    def values(self, node: ast.Name) -> list[ast.expr] | None:
        """All values a local name can have, None when one of them is not a plain assignment."""
        function = self.source.function(node)
        if function is None or node.id in parameters(function) or node.id not in local_names(function):
            return None
        found: list[ast.expr] = []
        for one in walk(function):
            if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load):
                parent = self.source.parents.get(one)
                if not (isinstance(parent, ast.Assign) and one in parent.targets):
                    return None
                found.append(parent.value)
        return found or None

    def all_values(self, node: ast.Name, holds: Callable[[ast.expr], bool]) -> bool:
        """Whether something holds of all values of a name; False where they are not known, or are computed from it."""
        values = self.values(node)
        if not values or node.id in self._open:
            return False
        self._open.add(node.id)
        try:
            return all(holds(value) for value in values)
        finally:
            self._open.discard(node.id)

    def origins(self, node: ast.expr) -> frozenset[str]:
        """The names that an expression is computed from, through names that are bound here."""
        return frozenset(one.id for part in self.chain(node) for one in walk(part) if self._is_origin(one))  # type: ignore[attr-defined]

    def converts(self, node: ast.expr) -> bool:
        """Whether anything on the way to an expression may make integers or booleans of floating-point numbers."""
        for part in self.chain(node):
            tests = [one for choice in walk(part) if isinstance(choice, ast.IfExp) for one in walk(choice.test)]
            for one in walk(part):
                if one in tests:
                    continue
                if isinstance(one, (ast.Compare, ast.FloorDiv)):
                    return True
                name = one.func.attr if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) else ""
                meant = (METHODS.get(name), FUNCTIONS.get(name))
                if name in _CONVERTS or any(known is not None and known.dtype in _WHOLE for known in meant):
                    return True
        return False

    def chain(self, node: ast.expr) -> list[ast.expr]:
        """An expression and the values of the names in it, and of those in them."""
        found, pending, seen = [node], [node], set[str]()
        while pending:
            for one in walk(pending.pop()):
                if isinstance(one, ast.Name) and one.id not in seen:
                    seen.add(one.id)
                    values = self.values(one) or []
                    found += values
                    pending += values
        return found

    def _is_origin(self, node: ast.AST) -> bool:
        """Whether a node is a name that is not bound here to an expression, nor a module's."""
        return isinstance(node, ast.Name) and dotted(self.source, node) is None and self.values(node) is None
