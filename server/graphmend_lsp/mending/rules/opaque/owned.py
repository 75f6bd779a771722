"""What statements have made themselves, and nothing else holds: only that they may change. Pure reading of `Source`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rules.opaque.callee import argument, called_here
from graphmend_lsp.mending.rules.opaque.containers import makes_array, makes_container, value_of
from graphmend_lsp.mending.rules.opaque.several import one_of_new
from graphmend_lsp.mending.rules.opaque.taken import is_array
from graphmend_lsp.mending.syntax.endings import sets
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, loaded
from graphmend_lsp.mending.syntax.walk import walk


@dataclass(frozen=True)
class Owned:
    """The values of statements of a function; `carried` are tensors that they may fill, which count as theirs."""

    source: Source
    function: Function
    statements: Sequence[ast.stmt]
    carried: Collection[str] = ()

    def is_tensor(self, name: ast.expr) -> bool:
        """Whether a name surely holds a tensor, whose parts are parts of its memory, or new."""
        return isinstance(name, ast.Name) and not self.is_container(name) and Kinds(self.source).of(name) == "tensor"

    def is_array(self, name: ast.expr) -> bool:
        """Whether a name surely holds an array that the statements have made, whose parts are parts of its memory."""
        values = list(self._values(name.id)) if isinstance(name, ast.Name) else []
        if bool(values) and all(one is not None and makes_array(self.source, one) for one in values):
            return True
        fact = Seen(self.source).of(name) if values == [None] else None  # a parameter, never bound anew
        if fact is None or not is_array(fact):
            return False
        Seen(self.source).believe(name, "a numpy array")
        return True

    def is_container(self, name: ast.Name) -> bool:
        """Whether a name may hold a container that the statements have made, whose elements others may hold."""
        return any(makes_container(self.source, value) for value in self._values(name.id) if value is not None)

    def is_iterator(self, node: ast.expr) -> bool:
        """Whether a value is surely an iterator that the statements have made over a tensor, a list or the like."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            held = list(self._values(node.value.id))
            parts = [
                one.values if isinstance(one, ast.Dict) else getattr(one, "elts", []) for one in held if one is not None
            ]
            return bool(parts) and None not in held and all(each and all(map(self._iterates, each)) for each in parts)
        values = list(self._values(node.id)) if isinstance(node, ast.Name) else []
        return bool(values) and all(one is not None and self._iterates(one) for one in values)

    def is_iterator_made(self, call: ast.Call) -> bool:
        """Whether a call of `iter` makes an iterator of its own."""
        return len(call.args) == 1 and self._is_iterable(call.args[0])

    def _iterates(self, value: ast.expr) -> bool:
        if isinstance(value, ast.IfExp):
            return self._iterates(value.body) and self._iterates(value.orelse)
        if isinstance(value, ast.Constant):
            return value.value is None  # of which there is no next
        called = isinstance(value, ast.Call) and is_builtin(self.source, value.func, "iter")
        return called and isinstance(value, ast.Call) and self.is_iterator_made(value)

    def _is_iterable(self, node: ast.expr) -> bool:
        """Whether a value is no iterator itself, which going on would change for others."""
        fact = Seen(self.source).of(node)
        kinds = fact.kinds if fact is not None else ()
        known = Kinds(self.source).of(node) == "tensor" or makes_container(self.source, node)
        return known or (bool(kinds) and {"tensor", "list", "tuple", "dict", "None"}.issuperset(kinds))

    def _holds_containers(self, name: ast.Name) -> bool:
        """Whether a name surely holds a list of as many new containers, to which no other is added."""
        values = list(self._values(name.id))
        made = all(isinstance(one, ast.ListComp) and makes_container(self.source, one.elt) for one in values)
        uses = [
            self.source.parents.get(one)
            for one in walk(self.function)
            if isinstance(one, ast.Name) and one.id == name.id
        ]
        kept = any(
            isinstance(one, ast.Attribute) or (isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load))
            for one in uses
        )
        return bool(values) and made and not kept

    def is_own(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a value is surely made by these statements, or a view of such a tensor, and nothing else holds it."""
        if isinstance(node, ast.Name):
            if node.id in seen or node.id in self.carried:
                return True  # of what else the name is made of, the others tell
            values = list(self._values(node.id))
            return bool(values) and all(value is not None and self._makes(value, seen | {node.id}) for value in values)
        return self._makes(node, seen)

    def _values(self, name: str) -> Iterator[ast.expr | None]:
        """What the function gives a name; None for what is not made by these statements."""
        inside = {id(one) for statement in self.statements for one in walk(statement)}
        own = self._begins_with(name)
        for one in walk(self.function):
            if own and id(one) not in inside:
                continue  # no value from outside arrives
            if isinstance(one, ast.arg) and one.arg == name:
                yield None
            elif isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store):
                statement = self.source.statement(one)
                if isinstance(statement, ast.AugAssign):
                    continue
                made = value_of(one, statement) or one_of_new(self.source, statement, name)
                yield made if id(one) in inside else None

    def _begins_with(self, name: str) -> bool:
        """Whether the first of the statements that speaks of a local name gives it a value, and no inner function does."""
        nodes = (one for one in walk(self.function) if isinstance(one, (ast.Global, ast.Nonlocal)))
        if any(name in one.names for one in nodes):
            return False
        for statement in self.statements:
            if any(isinstance(one, ast.Name) and one.id == name for one in walk(statement)):
                plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and name in sets(self.source, statement)
                return plain and statement.value is not None and name not in loaded(statement)  # type: ignore[attr-defined]
        return False

    def _makes(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        new = makes_container(self.source, value) or makes_array(self.source, value)
        if new or isinstance(value, (ast.BinOp, ast.Compare, ast.Constant)):
            return True
        if isinstance(value, ast.UnaryOp):
            return not isinstance(value.op, ast.UAdd)
        if isinstance(value, ast.Subscript):
            return self._is_part(value, seen)
        if not isinstance(value, ast.Call):
            return False
        if dotted(self.source, value.func) == "torch.from_numpy" and len(value.args) == 1:
            return self.is_own(value.args[0], seen)
        if (called := called_here(self.source, value)) is not None:
            return self._is_handed_back(value, called, seen)
        if isinstance(value.func, ast.Attribute) and dotted(self.source, value.func) is None:
            method = value.func.attr
            if method == "numpy":
                return self.is_own(value.func.value, seen)
            if method.endswith("_") and not method.endswith("__"):
                return not isinstance(value.func.value, ast.Name) and self.is_own(value.func.value, seen)
        made = operator_called(self.source, value)
        if made is None or not made.is_tensor or made.effect:
            return False
        return made.is_new or self._is_part(value, seen)

    def _is_handed_back(self, call: ast.Call, made: ast.FunctionDef, seen: frozenset[str]) -> bool:
        """Whether a function of the file gives back nothing but what it is given, where the statements have made that."""
        given = [one.value for part in made.body for one in walk(part) if isinstance(one, ast.Return)]
        names = [one.id for one in given if isinstance(one, ast.Name)]
        kept = not any(name in assigned(one) for one in made.body for name in names)
        handed = [argument(call, made, name) for name in names]
        return (
            bool(given) and len(names) == len(given) and kept
            and all(one is not None and self.is_own(one, seen) for one in handed)
        )  # fmt: skip

    def _is_part(self, value: ast.expr, seen: frozenset[str]) -> bool:
        """Whether a value is a view of a tensor that the statements have made: elements of a container are others' tensors."""
        part = value.func if isinstance(value, ast.Call) else value
        if not isinstance(part, (ast.Attribute, ast.Subscript)) or dotted(self.source, part) is not None:
            return False
        root: ast.expr = part.value
        if part is value and isinstance(root, ast.Name) and self._holds_containers(root):
            return True
        if isinstance(root, ast.Call):  # of a new tensor that has no name
            return operator_called(self.source, root) is not None and self._makes(root, seen)
        return isinstance(root, ast.Name) and self.is_tensor(root) and self.is_own(root, seen)
