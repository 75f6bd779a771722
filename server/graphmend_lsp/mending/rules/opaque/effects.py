"""What statements may do besides giving values, for those that become an operator: they may only change what they make.

An operator may run later than it stands, or not at all where nobody uses its results. Pure reading of `Source`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value, module_constant, operator_called
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.formatting import first_line
from graphmend_lsp.mending.syntax.imports import binding, dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, local_names

_PURE = frozenset((
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "len", "list",
    "map", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted", "sum", "tuple", "zip",
))  # fmt: skip
_TELLING = ("repr", "str", "format", "type", "vars", "dir", "id")
_PURE_PACKAGES = ("math.", "operator.", "itertools.", "copy.", "functools.reduce", "numpy.")
_IMPURE = ("numpy.random", "numpy.save", "numpy.load", "numpy.set", "numpy.seterr", "numpy.fromfile", "numpy.memmap", "numpy.put",
           "numpy.copyto", "numpy.fill_diagonal", "numpy.testing", "numpy.ctypeslib")  # fmt: skip
_PURE_TORCH = frozenset((
    "torch.autograd.grad", "torch.no_grad", "torch.enable_grad", "torch.equal", "torch.from_numpy", "torch.tensor",
    "torch.as_tensor",
))  # fmt: skip
_OF_OWN = frozenset(
    ("append", "extend", "insert", "update", "pop", "setdefault", "add", "sort", "register_hook", "discard")
)
_ARRAYS = frozenset(("astype", "copy", "tobytes", "join", "split", "replace", "index", "title", "values", "popitem"))
_DEEP = 3


@dataclass(frozen=True)
class Judge:
    """What refuses the statements of a function that would be an operator."""

    source: Source
    function: Function
    statements: Sequence[ast.stmt]
    depth: int = 0

    def refuse(self) -> None:
        """Refuse statements that do more than giving values.

        Raises:
            Refused: with the reason.
        """
        for one in (node for statement in self.statements for node in ast.walk(statement)):
            if isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load):
                self._refuse_store(one)
            elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                self._refuse_augmented(one)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                self._refuse_outer(one)
            elif isinstance(one, ast.Attribute) and one.attr in ("requires_grad", "grad_fn", "is_leaf"):
                raise Refused(f"`{self.source.code(one)}` tells of gradients, which are others inside of an operator.")
            elif isinstance(one, ast.FormattedValue) and Kinds(self.source).of(one.value) != "python":
                raise Refused(
                    f"The text of `{self.source.code(one.value)}` tells of gradients, which are others inside of an operator."
                )
            elif isinstance(one, ast.Call) and any(is_builtin(self.source, one.func, name) for name in _TELLING):
                raise Refused(f"`{self.source.code(one)}` tells of gradients, which are others inside of an operator.")
            elif isinstance(one, ast.keyword) and one.arg in ("out", "inplace"):
                raise Refused(f"`{one.arg}=` changes what others may hold.")
            elif isinstance(one, ast.Expr) and not self._is_own_change(one.value):
                raise Refused(f"`{first_line(self.source, one)}` may do more than giving a value.")
            elif isinstance(one, ast.Attribute) and one.attr == "Parameter":
                raise Refused(f"`{self.source.code(one)}` is a plain tensor inside of an operator.")
            elif isinstance(one, (ast.Raise, ast.Assert)):
                raise Refused(f"`{first_line(self.source, one)}` may raise; mend the check by itself.")
        for hazard in (one for statement in self.statements for one in hazards(self.source, statement)):
            if hazard.kind == "random":
                raise Refused(f"`{self.source.code(hazard.node)}` draws random numbers.")
            if hazard.kind in ("effect", "compute") and not self._is_allowed(hazard.node):
                raise Refused(f"`{self.source.code(hazard.node)}` {hazard.words}, and may do more than giving a value.")

    def _refuse_store(self, target: ast.Attribute | ast.Subscript) -> None:
        if not (isinstance(target.value, ast.Name) and self._is_own(target.value)):
            raise Refused(f"`{self.source.code(target)}` is stored in what others may hold.")

    def _refuse_augmented(self, one: ast.AugAssign) -> None:
        assert isinstance(one.target, ast.Name)
        fact = Seen(self.source).of(one.target)
        plain = fact.is_plain if fact is not None else Kinds(self.source).of(one.target) == "python"
        if not plain and not self._is_own(one.target):
            raise Refused(f"`{first_line(self.source, one)}` changes in place what others may hold.")

    def _refuse_outer(self, name: ast.Name) -> None:
        """Refuse names from outside of the function whose values may change: what a graph does to them comes later."""
        if name.id in local_names(self.function) or is_builtin(self.source, name, name.id):
            return
        around = self.source.function(self.function)
        if around is not None and name.id in local_names(around):
            raise Refused(f"`{name.id}` belongs to a function around; what it holds may change.")
        if binding(self.source, name.id, name) is not None or self._definition(name.id) is not None:
            return
        bound = any(name.id in assigned(one) for one in self._comprehensions())
        if not bound and not _is_constant(module_constant(self.source, name)):
            raise Refused(f"`{name.id}` comes from outside of the function, and what it holds may change.")

    def _comprehensions(self) -> Iterator[ast.AST]:
        for statement in self.statements:
            for one in ast.walk(statement):
                if isinstance(one, ast.comprehension):
                    yield one.target
                elif isinstance(one, ast.Lambda):
                    yield from (ast.Name(arg.arg, ast.Store()) for arg in one.args.args)

    def _is_allowed(self, node: ast.AST) -> bool:
        """Whether what is not known to compute only does so, or changes what the statements have made."""
        if not isinstance(node, ast.Call):
            return False
        name = dotted(self.source, node.func)
        if name is not None:
            return name in _PURE_TORCH or (name.startswith(_PURE_PACKAGES) and not name.startswith(_IMPURE))
        if isinstance(node.func, ast.Name):
            return self._may_call(node.func)
        if isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
                return False
            method = node.func.attr
            changes = (method.endswith("_") and not method.endswith("__")) or method in _OF_OWN
            return (changes and self._is_own(node.func.value)) or method in _ARRAYS or method == "backward"
        if isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
            table = last_value(self.source, node.func.value.id, self.source.statement(node) or self.statements[0])
            parts = table.elts if isinstance(table, (ast.List, ast.Tuple)) else []
            return bool(parts) and all(self._is_pure(one) for one in parts)
        return False

    def _is_own_change(self, value: ast.expr) -> bool:
        """Whether an expression whose value nobody uses is a text, or a change of what the statements have made."""
        if isinstance(value, ast.Constant):
            return True
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
            return False
        return value.func.attr == "backward" or self._is_own(value.func.value)

    def _is_pure(self, called: ast.expr) -> bool:
        probe = ast.Call(func=called, args=[], keywords=[])
        made = operator_called(self.source, probe)
        return made is not None and not (made.effect or made.random)

    def _may_call(self, called: ast.Name) -> bool:
        """Whether it is a builtin that only computes, or a function of the file that does."""
        if any(is_builtin(self.source, called, one) for one in _PURE if one == called.id):
            return True
        made = self._definition(called.id)
        if made is None or self.depth >= _DEEP or made.decorator_list:
            return False
        if any(
            isinstance(one, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await)) for one in ast.walk(made)
        ):
            return False
        try:
            Judge(self.source, made, made.body, self.depth + 1).refuse()
        except Refused:
            return False
        return True

    def _definition(self, name: str) -> ast.FunctionDef | None:
        """The function of the file that a name surely is."""
        made = [one for one in self.source.tree.body if name in assigned(one) or getattr(one, "name", "") == name]
        return made[0] if len(made) == 1 and isinstance(made[0], ast.FunctionDef) else None

    def _is_own(self, node: ast.expr) -> bool:
        """Whether a value is surely made by these statements, and nothing else holds it."""
        if isinstance(node, ast.Name):
            values = list(self._values(node.id))
            return bool(values) and all(value is not None and self._makes(value) for value in values)
        return self._makes(node)

    def _values(self, name: str) -> Iterator[ast.expr | None]:
        """What the function gives a name; None for what is not made by these statements."""
        inside = {id(one) for statement in self.statements for one in ast.walk(statement)}
        for one in ast.walk(self.function):
            if isinstance(one, ast.arg) and one.arg == name:
                yield None
            elif isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store):
                parent = self.source.parents.get(one)
                if isinstance(parent, ast.AugAssign):
                    continue
                made = parent.value if isinstance(parent, ast.Assign) and one in parent.targets else None
                yield made if id(one) in inside else None

    def _makes(self, value: ast.expr) -> bool:
        if isinstance(
            value, (ast.BinOp, ast.Compare, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.Constant)
        ):
            return True
        if isinstance(value, ast.UnaryOp):
            return not isinstance(value.op, ast.UAdd)
        if not isinstance(value, ast.Call):
            return False
        if isinstance(value.func, ast.Attribute) and dotted(self.source, value.func) is None:
            method = value.func.attr
            if method.endswith("_") and not method.endswith("__"):
                return not isinstance(value.func.value, ast.Name) and self._is_own(value.func.value)
        made = operator_called(self.source, value)
        return made is not None and made.is_tensor and made.is_new


def _is_constant(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Tuple):
        return all(_is_constant(one) for one in value.elts)
    if isinstance(value, ast.UnaryOp):
        return _is_constant(value.operand)
    return isinstance(value, ast.Constant)
