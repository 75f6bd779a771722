"""Whether an expression is a tensor, a Python value, or not known to be either: by the text of its file, else by a run.

Used to tell which part of a condition stays Python. "tensor" also covers what reads a tensor's data (``.item()``,
``torch.equal``). Nothing here decides about soundness. No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.mending.facts.bindings import value_at
from graphmend_lsp.mending.facts.operators import METHODS, names_that
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

Kind = Literal["tensor", "python", "unknown"]

_SHAPES = ("batch_shape", "event_shape")
"""What every distribution of torch has as `torch.Size`."""
_PYTHON_ATTRIBUTES = frozenset((
    "dtype", "device", "shape", "ndim", "is_cuda", "training", "requires_grad", "itemsize", "layout", "type",
))  # fmt: skip
_PYTHON_METHODS = frozenset((
    *(name for name, one in METHODS.items() if not (one.is_tensor or one.reads or one.effect) and name != "storage"),
    "get", "startswith", "endswith", "keys",
))  # fmt: skip
_PYTHON_FUNCTIONS = frozenset((
    "torch.is_tensor", "torch.is_floating_point", "torch.is_complex", "torch.finfo", "torch.iinfo", "torch.Size",
    "torch.is_grad_enabled", "torch.is_inference_mode_enabled", "torch.device", "torch.get_default_dtype",
    "torch.numel", "torch.is_autocast_enabled", "torch.is_storage",
))  # fmt: skip
_PYTHON_PACKAGES = (
    "torch.cuda.",
    "torch.compiler.",
    "torch.jit.",
    "torch.backends.",
    "torch.distributed.",
    "torch.version.",
)
_ALSO_PYTHON = frozenset((
    "split", "index", "sort", "type", "where", "repeat", "t", "equal", "to", "unique", "round", "values", "indices", "put",
    "resize", "solve", "new", "numpy", "storage", "lu", "eig",
))  # fmt: skip
_BOOL_METHODS = names_that(lambda one: one.dtype in ("bool", "truth") or one.gives == "flag")


@dataclass(frozen=True)
class Kinds:
    """Kinds of the expressions of a file; `tensors` are nodes that Dynamo found to be tensors."""

    source: Source
    tensors: frozenset[ast.AST] = field(default_factory=frozenset)

    def of(self, node: ast.AST) -> Kind:
        """The kind of an expression."""
        kind = self._of(node, frozenset())
        return self._by_run(node) if kind == "unknown" else kind

    def is_bool(self, node: ast.AST) -> bool:
        """Whether a tensor expression surely has dtype bool (or a Python expression is a bool)."""
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self.is_bool(node.operand)
        if isinstance(node, ast.BoolOp):
            return all(self.is_bool(one) for one in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            return self.is_bool(node.left) and self.is_bool(node.right)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                return node.func.attr in _BOOL_METHODS
            name = dotted(self.source, node.func) or ""
            return name.startswith("torch.") and name.rpartition(".")[2] in _BOOL_METHODS
        if isinstance(node, ast.Name):
            values = list(self._values(node))
            if self._annotation(node) == "python" and not values:
                return self._annotated(node) == "bool"
            if self._annotated(node) is not None:
                return False
            return bool(values) and all(
                value is not None and not _mentions(value, node.id) and self.is_bool(value) for value in values
            )
        return isinstance(node, ast.Constant) and isinstance(node.value, bool)

    def _of(self, node: ast.AST, seen: frozenset[str]) -> Kind:
        if node in self.tensors:
            return "tensor"
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda)):
            return "python"
        if isinstance(node, ast.Compare):
            if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                return "tensor" if self._of(node.left, seen) == "tensor" else "python"
            if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
                return "python"
            return _together([self._of(one, seen) for one in (node.left, *node.comparators)])
        if isinstance(node, ast.BoolOp):
            return _together([self._of(one, seen) for one in node.values])
        if isinstance(node, ast.BinOp):
            return _together([self._of(node.left, seen), self._of(node.right, seen)])
        if isinstance(node, ast.UnaryOp):
            return self._of(node.operand, seen)
        if isinstance(node, ast.IfExp):
            return _together([self._of(node.body, seen), self._of(node.orelse, seen)])
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, seen)
        if isinstance(node, ast.Subscript):
            return self._of_element(node, seen)
        if isinstance(node, ast.Call):
            return self._of_call(node, seen)
        if isinstance(node, ast.Name):
            return self._of_name(node, seen)
        return "unknown"

    def _by_run(self, node: ast.AST) -> Kind:
        """What the expression was in every call, where that was noted. What a call gives may have been read from a tensor."""
        seen = Seen(self.source)
        fact = seen.of(node)
        if fact is not None and fact.is_tensor:
            seen.believe(node, "a tensor")
            return "tensor"
        if fact is not None and fact.is_plain and not any(isinstance(one, ast.Call) for one in walk(node)):
            seen.believe(node, "a Python value")
            return "python"
        if fact is None and isinstance(node, ast.Compare):
            return _together([self.of(one) for one in (node.left, *node.comparators)])
        if fact is None and isinstance(node, ast.BinOp):
            return _together([self.of(node.left), self.of(node.right)])
        if fact is None and isinstance(node, ast.UnaryOp):
            return self.of(node.operand)
        return "unknown"

    def _of_element(self, node: ast.Subscript, seen: frozenset[str]) -> Kind:
        """The kind of an item: a tensor's is a tensor, a container's is what all that is put in it is."""
        name = node.value
        shown: list[ast.expr | None] = [name]
        if isinstance(name, ast.Name):
            here = value_at(self.source, name)
            shown = [here] if here is not None else list(self._values(name))
        if not shown or not all(isinstance(one, (ast.List, ast.Tuple, ast.Dict)) for one in shown):
            return self._of(name, seen)
        parts = [
            part
            for one in shown
            if isinstance(one, (ast.List, ast.Tuple, ast.Dict))
            for part in (one.values if isinstance(one, ast.Dict) else one.elts)
        ]
        function = self.source.function(node)
        if function is not None and isinstance(name, ast.Name):
            stored = [one for one in walk(function) if isinstance(one, ast.Assign)]
            parts += [
                one.value for one in stored for target in one.targets
                if isinstance(target, ast.Subscript) and _is_name(target.value, name.id)
            ]  # fmt: skip
        key = f"{ast.unparse(name)}[]"
        if key in seen:
            return "unknown"
        return _agree([self._of(one, seen | {key}) for one in parts])

    def _of_attribute(self, node: ast.Attribute, seen: frozenset[str]) -> Kind:
        name = dotted(self.source, node)
        if name is not None:
            return "python"
        if node.attr in _PYTHON_ATTRIBUTES:
            return "python"
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._of_own(node, seen)
        return self._of(node.value, seen) if node.attr in ("T", "mT", "data", "real", "imag") else "unknown"

    def _of_own(self, node: ast.Attribute, seen: frozenset[str]) -> Kind:
        """The kind of ``self.name``, from what the class assigns to it."""
        key = f"self.{node.attr}"
        owner = self.source.owner(node)
        if owner is None or key in seen:
            return "unknown"
        bases = [dotted(self.source, one) or "" for one in owner.bases]
        if node.attr in _SHAPES and any(one.startswith("torch.distributions.") for one in bases):
            return "python"
        found: list[Kind] = []
        for one in walk(owner):
            if isinstance(one, ast.Assign) and any(_is_own(target, node.attr) for target in one.targets):
                called = dotted(self.source, one.value.func) if isinstance(one.value, ast.Call) else None
                again = any(_is_own(part, node.attr) for part in walk(one.value))
                if again and self._of(one.value, seen | {key}) != "tensor":
                    continue  # it counts on from what it was
                found.append("tensor" if called == "torch.nn.Parameter" else self._of(one.value, seen | {key}))
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.args:
                first = one.args[0]
                named = isinstance(first, ast.Constant) and first.value == node.attr
                if one.func.attr in ("register_buffer", "register_parameter") and named:
                    found.append("tensor")
        return _agree(found)

    def _of_call(self, node: ast.Call, seen: frozenset[str]) -> Kind:
        name = dotted(self.source, node.func)
        if name is not None:
            if name in _PYTHON_FUNCTIONS or name.startswith(_PYTHON_PACKAGES):
                return "python"
            return "tensor" if name.startswith("torch.") else "unknown"
        if isinstance(node.func, ast.Name):
            if any(
                is_builtin(self.source, node.func, one) for one in ("isinstance", "hasattr", "len", "callable", "str")
            ):
                return "python"
            if any(
                is_builtin(self.source, node.func, one)
                for one in ("bool", "float", "int", "abs", "round", "max", "min")
            ):
                return _together([self._of(one, seen) for one in node.args])
            return "unknown"
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _PYTHON_METHODS:
                return "python"
            receiver = self._of(node.func.value, seen)
            if node.func.attr in TENSOR_METHODS:
                return receiver if node.func.attr in _ALSO_PYTHON or receiver == "python" else "tensor"
        return "unknown"

    def _of_name(self, node: ast.Name, seen: frozenset[str]) -> Kind:
        if node.id in seen:
            return "unknown"
        value = value_at(self.source, node) if isinstance(node.ctx, ast.Load) else None
        if value is not None and (here := self._of(value, seen)) != "unknown":
            return here
        found = [
            "unknown" if value is None else self._of(value, seen | {node.id})
            for value in self._values(node)
            if value is None or not _mentions(value, node.id) or self._of(value, seen | {node.id}) == "tensor"
        ]
        annotation = self._annotation(node)
        if annotation is not None:
            found.append(annotation)
        kind = _agree(list(found))
        if kind == "unknown" and self._used_as_tensor(node):
            return "tensor"
        return kind

    def _annotation(self, node: ast.Name) -> Kind | None:
        """What a parameter's annotation says; None when the name is no parameter."""
        words = self._annotated(node)
        if words is None:
            return None
        if "Tensor" in words:
            return "tensor"
        plain = words.replace("Optional[", "").rstrip("]")
        return "python" if plain in ("int", "float", "bool", "str") else "unknown"

    def _annotated(self, node: ast.Name) -> str | None:
        """The text of a parameter's annotation ("" for none); None when the name is no parameter."""
        function = self.source.function(node)
        while function is not None:
            a = function.args
            for one in (*a.posonlyargs, *a.args, *a.kwonlyargs):
                if one.arg == node.id:
                    return self.source.code(one.annotation) if one.annotation is not None else ""
            function = self.source.function(function)
        return None

    def _values(self, node: ast.Name) -> Iterator[ast.expr | None]:
        """The values that the function assigns to a name; None for one that is not a plain assignment."""
        function = self.source.function(node)
        if function is None:
            return
        for one in walk(function):
            if isinstance(one, ast.Assign):
                for target in one.targets:
                    if isinstance(target, ast.Name) and target.id == node.id:
                        yield one.value
                    elif isinstance(target, (ast.Tuple, ast.List)) and any(
                        isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Store)
                        for part in walk(target)
                    ):
                        yield None
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.target.id == node.id:
                yield one.value
            elif isinstance(one, (ast.For, ast.comprehension)) and self._counts(one, node.id):
                yield ast.Constant(0)
            elif isinstance(one, (ast.For, ast.comprehension)) and any(
                isinstance(part, ast.Name) and part.id == node.id for part in walk(one.target)
            ):
                yield None

    def _counts(self, loop: ast.For | ast.comprehension, name: str) -> bool:
        """Whether a loop counts in a name: over ``range``, or as the first target over ``enumerate``."""
        if not isinstance(loop.iter, ast.Call):
            return False
        if is_builtin(self.source, loop.iter.func, "range"):
            return isinstance(loop.target, ast.Name) and loop.target.id == name
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
        return is_builtin(self.source, loop.iter.func, "enumerate") and isinstance(first, ast.Name) and first.id == name

    def _used_as_tensor(self, node: ast.Name) -> bool:
        """Whether the function calls a method on the name that only tensors have."""
        function = self.source.function(node)
        if function is None:
            return False
        for one in walk(function):
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == node.id:
                parent = self.source.parents.get(one)
                called = isinstance(parent, ast.Call) and parent.func is one
                if called and one.attr in TENSOR_METHODS - _ALSO_PYTHON:
                    return True
        return False


def _together(kinds: list[Kind]) -> Kind:
    if "tensor" in kinds:
        return "tensor"
    return "python" if kinds and all(kind == "python" for kind in kinds) else "unknown"


def _agree(kinds: list[Kind]) -> Kind:
    if "tensor" in kinds and "python" not in kinds:
        return "tensor"
    return "python" if kinds and all(kind == "python" for kind in kinds) else "unknown"


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in walk(node))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_own(target: ast.AST, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
