"""What a function computes in Python with numbers that come from data, where a graph does not raise as Python does.

Measured with torch 2.13: ``1.0 / n`` with ``n == 0`` and ``math.sqrt(n)`` below zero raise in Python and under eager, and give
infinity or NaN under aot_eager; ``6 // n`` gives 0 under inductor, and ``7 % n`` there ends the process (SIGFPE);
``int(t)`` of NaN gives a number under inductor, and ``n * n`` beyond 64 bits another one. Pure reading.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import operator_of_method
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Function, Source, assigned
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk

_READS = ("item", "tolist")
_NUMBERS = (*_READS, "size", "numel", "dim", "nelement", "stride")
_BUILTINS = ("int", "float", "bool", "len", "abs", "round", "min", "max", "sum", "pow", "range", "divmod")
_WHOLE_DTYPES = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"))
_UNCOMPILED = ("defer", "call_in_graph", "check")
_RAISING = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)


@dataclass(frozen=True)
class Arithmetic:
    """The numbers from data in one function: those that it reads, those of `starts`, and what is computed with them.

    What stands inside of `apart` is computed elsewhere, as Python does.
    """

    source: Source
    function: Function
    starts: frozenset[ast.AST]
    apart: frozenset[ast.AST] = frozenset()

    def raising(self) -> ast.AST | None:
        """A computation with such a number, and with no tensor, that raises for some values in Python only."""
        names = self._names()
        for node in self._nodes():
            if isinstance(node, ast.Call) and self._is_function(node) and any(self._comes(x, names) for x in node.args):
                return node
            for operator, left, right in _operations(node):
                whole = isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value >= 0
                if not isinstance(operator, _RAISING) or (isinstance(operator, ast.Pow) and whole):
                    continue
                either = isinstance(operator, (ast.Pow, ast.LShift, ast.RShift)) and self._comes(left, names)
                if not (either or self._comes(right, names)) or self._is_tensor(left) or self._is_tensor(right):
                    continue
                if not (self._was_tensor(left) or self._was_tensor(right)):
                    return node
        return None

    def product(self) -> ast.AST | None:
        """A product of two such numbers, which a graph computes with 64 bits."""
        names = self._names()
        for node in self._nodes():
            for operator, left, right in _operations(node):
                both = isinstance(operator, ast.Mult) and self._comes(left, names) and self._comes(right, names)
                if both and self._is_number(left) and self._is_number(right):
                    return node
        return None

    def whole(self) -> ast.AST | None:
        """A tensor or number from data made a whole number by ``int``, not known to be one: NaN raises in Python only."""
        names = self._names()
        for node in self._nodes():
            if not (isinstance(node, ast.Call) and is_builtin(self.source, node.func, "int") and node.args):
                continue
            if not self._is_whole(node.args[0]) and (node in self.starts or self._comes(node.args[0], names)):
                return node
        return None

    def asserted(self) -> ast.AST | None:
        """An ``assert`` that such a number decides: a graph checks it, and raises RuntimeError."""
        names = self._names()
        tests = (one for one in self._nodes() if isinstance(one, ast.Assert))
        return next((one for one in tests if self._comes(one.test, names)), None)

    def _nodes(self) -> Iterator[ast.AST]:
        later = {id(each) for one in walk(self.function) if self._is_later(one) for each in walk(one)}
        return (one for one in walk(self.function) if one not in self.apart and id(one) not in later)

    def _is_later(self, node: ast.AST) -> bool:
        """Whether a node is the body of a lambda that a function of the support module calls uncompiled."""
        given = self.source.parents.get(node)
        call = self.source.parents.get(given) if isinstance(given, ast.Lambda) and given.body is node else None
        return isinstance(call, ast.Call) and any(is_supported(self.source, call.func, one) for one in _UNCOMPILED)

    def _is_whole(self, node: ast.expr) -> bool:
        """Whether ``int`` takes it without an error: whole numbers, what is read of such a tensor, sizes."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int)
        if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Div, ast.Pow)):
            return self._is_whole(node.left) and self._is_whole(node.right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            operator = operator_of_method(node.func.attr)
            if operator is not None and operator.name == "item":
                return self._held_whole(node.func.value)
            if operator is not None and operator.gives in ("number", "size", "flag"):
                return True
        return self._held_whole(node)

    def _held_whole(self, node: ast.expr) -> bool:
        """Whether a tensor holds integers or flags: by the text, else by a run."""
        if Scalars(self.source, Kinds(self.source)).is_whole(node):
            return True
        seen = Seen(self.source)
        fact = seen.of(node)
        held = (
            fact is not None and fact.is_tensor and fact.tensor is not None and {*fact.tensor.dtypes} <= _WHOLE_DTYPES
        )
        if held:
            seen.believe(node, "a tensor of whole numbers")
        return held

    def _is_number(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is surely a Python number."""
        if isinstance(node, ast.Name) and node.id not in seen:
            values = list(self._values(node.id))
            return bool(values) and all(one is not None and self._is_number(one, seen | {node.id}) for one in values)
        if isinstance(node, ast.BinOp):
            return self._is_number(node.left, seen) and self._is_number(node.right, seen)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in _NUMBERS
        if isinstance(node, ast.Call):
            return any(is_builtin(self.source, node.func, one) for one in _BUILTINS)
        of_shape = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)
        return isinstance(node, ast.Constant) or (of_shape and node.value.attr == "shape")  # type: ignore[attr-defined]

    def _names(self) -> frozenset[str]:
        """The names of this function that are given something that comes from such numbers."""
        names: frozenset[str] = frozenset()
        statements = [one for one in walk(self.function) if isinstance(one, ast.stmt) and one is not self.function]
        while True:
            more = names
            for one in statements:
                given = one.iter if isinstance(one, ast.For) else getattr(one, "value", None)
                if isinstance(given, ast.AST) and self._comes(given, more):
                    more |= assigned(one.target if isinstance(one, ast.For) else one)
            if more == names:
                return names
            names = more

    def _comes(self, node: ast.AST, names: frozenset[str]) -> bool:
        return any(
            one in self.starts
            or (isinstance(one, ast.Name) and one.id in names)
            or (isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _READS)
            for one in walk(node)
        )

    def _is_function(self, call: ast.Call) -> bool:
        if any(is_builtin(self.source, call.func, one) for one in ("divmod", "pow")):
            return True
        return (dotted(self.source, call.func) or "").partition(".")[0] in ("math", "operator", "numpy")

    def _is_tensor(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> bool:
        """Whether it is surely a tensor, with which nothing raises."""
        if isinstance(node, ast.BinOp):
            return self._is_tensor(node.left, seen) or self._is_tensor(node.right, seen)
        if isinstance(node, (ast.UnaryOp, ast.Subscript)):
            inner = node.operand if isinstance(node, ast.UnaryOp) else node.value
            return self._is_tensor(inner, seen)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _NUMBERS:
                return False
            if any(is_builtin(self.source, node.func, one) for one in _BUILTINS):
                return False
            return Kinds(self.source).of(node) == "tensor"
        if isinstance(node, ast.Name):
            values = [] if node.id in seen else list(self._values(node.id))
            known = all(value is not None and self._is_tensor(value, seen | {node.id}) for value in values)
            return known and node.id not in seen and (bool(values) or Kinds(self.source).of(node) == "tensor")
        return False

    def _was_tensor(self, node: ast.AST) -> bool:
        """Whether it was a tensor in every call of a run."""
        seen = Seen(self.source)
        fact = seen.of(node)
        if fact is None or not fact.is_tensor:
            return False
        seen.believe(node, "a tensor")
        return True

    def _values(self, name: str) -> Iterator[ast.expr | None]:
        """What a name is given in this function; None for anything but a plain assignment."""
        for one in walk(self.function):
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store):
                parent = self.source.parents.get(one)
                yield parent.value if isinstance(parent, ast.Assign) else None


def _operations(node: ast.AST) -> Iterator[tuple[ast.operator, ast.expr, ast.expr]]:
    if isinstance(node, ast.BinOp):
        yield node.op, node.left, node.right
    elif isinstance(node, ast.AugAssign):
        yield node.op, node.target, node.value
