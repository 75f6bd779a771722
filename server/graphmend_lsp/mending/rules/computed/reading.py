"""What a Python expression computes from tensors: its type, the tensors that it takes, and whether it only computes.

Pure reading of `Source`. Types are those that Python gives for every call, not those that were seen.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from graphmend_lsp.mending.facts.bindings import module_constant, value_at
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned, local_names
from graphmend_lsp.mending.syntax.walk import walk

Kind = Literal["int", "float", "bool", "number", "element", "list", "text"]
"""``number`` is an int or a float, and an ``element`` may be a flag, too, as the tensors tell that it comes from."""

NUMERIC = frozenset(("int", "float", "bool", "number", "element"))
_TO_FLOAT = frozenset((
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "pow", "hypot", "fabs", "fmod", "copysign",
    "degrees", "radians", "cbrt", "remainder", "ldexp",
))  # fmt: skip
_BUILTINS = ("int", "float", "abs", "round", "len", "sum", "min", "max", "sorted", "str", "bool")
_TO_INT = frozenset(("floor", "ceil", "trunc"))
_TO_BOOL = frozenset(("isnan", "isinf", "isfinite"))


@dataclass(frozen=True, slots=True)
class Form:
    """What an expression gives. `follows` are the tensors whose dtype says whether it is an int or a float.

    A ``list`` that follows none is one of floats.
    """

    kind: Kind
    follows: frozenset[str] = frozenset()


@dataclass
class Reading:
    """One expression that is read.

    `tensors` are its tensors with the names that stand for them, `exchange` other texts, `asked` what Python makes a number of.
    `outer` says that it reads a constant of the module.
    """

    source: Source
    kinds: Kinds
    tensors: dict[ast.expr, str] = field(default_factory=dict)
    exchange: dict[ast.AST, str] = field(default_factory=dict)
    asked: list[ast.expr] = field(default_factory=list)
    steps: int = 0
    outer: bool = False

    def __post_init__(self) -> None:
        self.scalars = Scalars(self.source, self.kinds)

    def form(self, node: ast.expr) -> Form:
        """What an expression gives.

        Raises:
            Refused: when it is not known to compute only, from tensors and constants.
        """
        if isinstance(node, ast.Constant):
            return _of_constant(self._code(node), node.value)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self._step(self.number(node.operand))
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, ast.JoinedStr):
            for one in node.values:
                if isinstance(one, ast.FormattedValue):
                    self.number(one.value)
            return Form("text")
        raise self._unknown(node)

    def number(self, node: ast.expr) -> Form:
        """What an expression gives that must be a number.

        Raises:
            Refused: when it is none, or not known to compute only.
        """
        found = self.form(node)
        if found.kind not in NUMERIC:
            raise self._unknown(node)
        return found

    def _name(self, node: ast.Name) -> Form:
        value = value_at(self.source, node)
        if value is None:
            value = module_constant(self.source, node)
            self.outer = self.outer or value is not None  # another module may set it, and it is read when it is needed
        elif isinstance(value, ast.Constant):
            self.exchange[node] = self._code(value)
        if not isinstance(value, ast.Constant):
            raise self._unknown(node)
        return _of_constant(self._code(node), value.value)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Form:
        plain = not node.keywords and not any(isinstance(one, ast.Starred) for one in node.args)
        if not plain:
            raise self._unknown(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "tolist") and not node.args:
            return self._read(node.func.value, listed=node.func.attr == "tolist")
        name = dotted(self.source, node.func) or ""
        if name.startswith("math.") and self._by_module(node.func):
            return self._math(node, name.removeprefix("math."))
        for builtin in _BUILTINS:
            if is_builtin(self.source, node.func, builtin) and node.args:
                return self._builtin(builtin, node)
        raise self._unknown(node)

    def _read(self, tensor: ast.expr, *, listed: bool) -> Form:
        name = self._take(tensor)
        if listed:
            return Form("list", frozenset() if self.scalars.is_floating(tensor) else frozenset({name}))
        if self.kinds.is_bool(tensor):
            return Form("bool")
        if self.scalars.is_floating(tensor):
            return Form("float")
        return Form("element", frozenset({name}))

    def _math(self, node: ast.Call, name: str) -> Form:
        kind: Kind | None = (
            "float" if name in _TO_FLOAT else "int" if name in _TO_INT else "bool" if name in _TO_BOOL else None
        )
        if kind is None:
            raise self._unknown(node)
        for one in node.args:
            self._number_or_tensor(one)
        return self._step(Form(kind))

    def _builtin(self, name: str, node: ast.Call) -> Form:
        first, *others = node.args
        if name in ("int", "float", "bool"):
            self._number_or_tensor(first)
            if others:
                raise self._unknown(node)
            return self._step(Form("int" if name == "int" else "float" if name == "float" else "bool"))
        if name == "round":
            return self._round(node)
        if name in ("min", "max") and others:
            forms = [self.number(one) for one in node.args]
            kinds = {one.kind for one in forms}
            if len(kinds) != 1 or kinds & {"element", "number"}:
                raise self._unknown(node)
            return self._step(forms[0])
        if others:
            raise self._unknown(node)
        if name == "abs":
            return self._step(_counted(self.number(first)))
        found = self.form(first)
        if name == "str" and found.kind in NUMERIC:
            return Form("text")
        if name == "len" and found.kind in ("list", "text"):
            return self._step(Form("int"))
        if found.kind != "list" or name in ("str", "len"):
            raise self._unknown(node)
        if name == "sorted":
            return found
        return self._step(_counted(_element(found)) if name == "sum" else _element(found))

    def _round(self, node: ast.Call) -> Form:
        found = self.number(node.args[0])
        digits = node.args[1] if len(node.args) == 2 else None
        if digits is None:
            return self._step(Form("int"))
        if len(node.args) > 2 or self.number(digits).kind != "int":
            raise self._unknown(node)
        return self._step(_counted(found))

    def _number_or_tensor(self, node: ast.expr) -> None:
        """Take what is made a number: a number, or a tensor with one element."""
        if not isinstance(node, ast.Constant) and self.kinds.of(node) == "tensor" and not _reads(self.source, node):
            self._take(node)
            self.asked.append(node)
        else:
            self.number(node)

    # -- operators ------------------------------------------------------------------------------------------------

    def _arithmetic(self, node: ast.BinOp) -> Form:
        sides = [self.number(node.left), self.number(node.right)]
        floats = any(one.kind == "float" for one in sides)
        follows = frozenset[str]().union(*(one.follows for one in sides))
        open_ = any(one.kind in ("number", "element") for one in sides)
        same = Form("float") if floats else Form("number", follows) if open_ else Form("int")
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)):
            return self._step(same)
        if isinstance(node.op, ast.Div):
            return self._step(Form("float"))
        power = node.right
        whole = isinstance(power, ast.Constant) and type(power.value) is int and power.value >= 0
        if isinstance(node.op, ast.Pow) and whole:
            return self._step(_counted(sides[0]))
        raise self._unknown(node)

    def _item(self, node: ast.Subscript) -> Form:
        base = node.value
        shown = base if isinstance(base, (ast.List, ast.Tuple, ast.Dict)) else self._shown(base)
        if shown is None:
            index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
            found = self.form(base)
            if found.kind != "list" or not (isinstance(index, ast.Constant) and type(index.value) is int):
                raise self._unknown(node)
            return _element(found)
        values = shown.values if isinstance(shown, ast.Dict) else shown.elts
        keys = shown.keys if isinstance(shown, ast.Dict) else []
        types = {type(one.value) if isinstance(one, ast.Constant) else None for one in (*values,)}
        if len(types) != 1 or not types <= {int, float} or not all(isinstance(one, ast.Constant) for one in keys):
            raise self._unknown(node)
        self.number(node.slice)
        if shown is not base and isinstance(base, ast.Name) and value_at(self.source, base) is not None:
            self.exchange[base] = self._code(shown)
        return self._step(Form("float" if types == {float} else "int"))

    def _shown(self, node: ast.expr) -> ast.List | ast.Tuple | ast.Dict | None:
        """The container that a name surely holds, written out and only ever asked for its items."""
        if not isinstance(node, ast.Name):
            return None
        value = value_at(self.source, node)
        if value is None:
            value = module_constant(self.source, node)
            self.outer = self.outer or value is not None
            return value if isinstance(value, ast.Tuple) else None
        if not isinstance(value, (ast.List, ast.Tuple, ast.Dict)):
            return None
        for one in walk(self.source.tree):
            if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Load):
                parent = self.source.parents.get(one)
                read = isinstance(parent, ast.Subscript) and parent.value is one and isinstance(parent.ctx, ast.Load)
                if not read:
                    return None
        return value

    # -- words ----------------------------------------------------------------------------------------------------

    def _take(self, tensor: ast.expr) -> str:
        """The name that stands for a tensor, which is handed to the operator."""
        if self.kinds.of(tensor) != "tensor" or _reads(self.source, tensor):
            raise self._unknown(tensor)
        for other, name in self.tensors.items():
            if ast.dump(other) == ast.dump(tensor):
                self.tensors[tensor] = self.exchange[tensor] = name
                return name
        wanted = tensor.id if isinstance(tensor, ast.Name) else "tensor"
        name, number = wanted, 1
        while name in self.tensors.values() or (number > 1 and name in local_names_of(self.source, tensor)):
            number += 1
            name = f"{wanted}_{number}"
        self.tensors[tensor] = self.exchange[tensor] = name
        return name

    def _by_module(self, node: ast.AST) -> bool:
        """Whether a dotted name is bound by the module, so that it means the same outside of the function."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and any(node.id in assigned(one) for one in self.source.tree.body)

    def _step(self, form: Form) -> Form:
        self.steps += 1
        return form

    def _code(self, node: ast.AST) -> str:
        return render(self.source, node)

    def _unknown(self, node: ast.AST) -> Refused:
        return Refused(f"`{operand(self._code(node))}` is not known to compute a number only.")


def local_names_of(source: Source, node: ast.AST) -> frozenset[str]:
    """The names of the function around a node."""
    function = source.function(node)
    return local_names(function) if function is not None else frozenset()


def _of_constant(text: str, value: object) -> Form:
    kind: Kind
    for kind, types in (("bool", bool), ("int", int), ("float", float), ("text", str)):
        if type(value) is types:
            return Form(kind)
    raise Refused(f"`{text}` is not known to compute a number only.")


def _element(form: Form) -> Form:
    """What an item of a list gives."""
    return Form("element", form.follows) if form.follows else Form("float")


def _counted(form: Form) -> Form:
    """What arithmetic makes of a number: of a flag an int."""
    if form.kind in ("element", "number"):
        return Form("number", form.follows)
    return Form("int") if form.kind == "bool" else form


def _reads(source: Source, node: ast.AST) -> bool:
    """Whether an expression takes a value out of a tensor on its way."""
    calls = [one.func for one in walk(node) if isinstance(one, ast.Call)]
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("item", "tolist"))
        or (dotted(source, one) or "").startswith("math.")
        or any(is_builtin(source, one, name) for name in _BUILTINS)
        for one in calls
    )
