"""A Python number that is read from a tensor, written as a tensor without dimensions: the read, its text, what is proven.

``t.item()`` is ``t.detach()``; what is kept is copied, because the tensor may change in place later, also before a backward
pass that needs it. Integers that Python computes with are brought to int64. Nothing here knows where the number goes. No
rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.facts.dtypes import Dtypes
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import FUNCTIONAL, operator_of_ast
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source

Form = Literal["item", "float", "int", "bool", "sum"]

_MAKE_NEW = ("torch.fft.", "torch.linalg.", "torch.special.")
"""Homes of functions of which none that the table lacks gives a view."""


@dataclass(frozen=True, slots=True)
class Read:
    """An expression that turns a tensor into a Python number. `call` is all of it, `tensor` what is read, `form` how."""

    call: ast.expr
    tensor: ast.expr
    form: Form


def read_of(source: Source, kinds: Kinds, node: ast.AST) -> Read | None:
    """The read that a node is, None when it is none: ``t.item()``, ``float(t)``, ``int(t)``, ``bool(t)``, ``sum(t.tolist())``."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args and not node.keywords:
        return Read(node, node.func.value, "item")
    if len(node.args) != 1 or node.keywords:
        return None
    inner = node.args[0]
    if is_builtin(source, node.func, "sum"):
        listed = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "tolist"
        return Read(node, inner.func.value, "sum") if listed and not inner.args else None  # type: ignore[attr-defined]
    form: Form
    for form in ("float", "int", "bool"):
        if is_builtin(source, node.func, form):
            read = read_of(source, kinds, inner)
            if read is not None:
                return Read(node, read.tensor, form) if read.form == "item" else None
            return Read(node, inner, form) if kinds.of(inner) == "tensor" else None
    return None


class Scalars(Dtypes):
    """What can be proven of tensors from the text of their file, and reads written as tensors."""

    def text(self, read: Read, *, kept: bool, double: bool, wide: bool = False) -> str:
        """The read as a tensor without dimensions and gradient.

        `kept`: it outlives its statement, or a backward pass may need it. `double`: in float64. `wide`: integers in int64,
        in which they hold what Python's arithmetic makes of them.
        """
        tensor = read.tensor
        whole = self.is_whole(tensor)
        text = operand(render(self.source, tensor))
        if not whole and not self._is_detached(tensor):
            text += ".detach()"
        if read.form == "sum":
            return f"{text}.sum()"
        if not self.is_zero_dim(tensor):
            text += ".reshape(())"
        if read.form == "bool" and not self.kinds.is_bool(tensor):
            return f"({text} != 0)"
        if read.form == "int" and (not whole or self.kinds.is_bool(tensor)):
            text += ".long()"
        elif wide and read.form in ("item", "int") and not (double and not whole) and not self.holds_arithmetic(tensor):
            return f"{text}.long()" if whole else f"{text}.prod()"  # int64 of integers; floats stay what they are
        elif read.form == "float" and not double and not self.is_floating(tensor):
            return f"({text} * 1.0)"
        elif double and read.form != "bool" and (not whole or read.form == "float"):
            text += ".double()"
        copied = read.form == "int" and (self.kinds.is_bool(tensor) or self.is_floating(tensor))
        return f"{text}.clone()" if kept and not copied and not self.is_fresh(tensor) else text  # others need not copy

    def is_zero_dim(self, node: ast.expr) -> bool:
        """Whether a tensor surely has no dimensions."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp):
            return self.is_zero_dim(node.operand)
        if isinstance(node, ast.BinOp):
            return self.is_zero_dim(node.left) and self.is_zero_dim(node.right)
        if isinstance(node, ast.Compare):
            return all(self.is_zero_dim(one) for one in (node.left, *node.comparators))
        if isinstance(node, ast.IfExp):
            return self.is_zero_dim(node.body) and self.is_zero_dim(node.orelse)
        if isinstance(node, ast.Name):
            return self.all_values(node, self.is_zero_dim)
        operator = self.operator(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or operator is None or operator.gives != "tensor":
            return False
        name, arguments = self.called(node)
        if operator.form == "reduction":
            wanted = 2 if name in FUNCTIONAL or operator.dimensionless else 1  # operands that are tensors
            named = {keyword.arg for keyword in node.keywords}
            return len(arguments) <= wanted and not named - {"dtype"}
        elementwise = operator.form == "elementwise" and bool(arguments)
        return operator.dimensionless or (elementwise and all(map(self._is_beside, arguments)))

    def _is_beside(self, node: ast.expr) -> bool:
        """Whether an argument leaves a tensor without dimensions as it is: such a tensor, a number, a dtype."""
        return self.is_zero_dim(node) or (dotted(self.source, node) or "").startswith("torch.")

    def is_fresh(self, node: ast.expr) -> bool:
        """Whether an expression makes a tensor that shares no memory with another one."""
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            operator = operator_of_ast(type(node.op))
            return operator is not None and operator.is_new
        if not isinstance(node, ast.Call):
            return False
        operator = self.operator(node)
        if operator is None:
            return (dotted(self.source, node.func) or "").startswith(_MAKE_NEW)
        in_place = operator.inplace and any(keyword.arg == "inplace" for keyword in node.keywords)
        return operator.is_tensor and operator.is_new and not operator.effect and not in_place

    def is_nonnegative(self, node: ast.expr) -> bool:
        """Whether no element of a tensor can be less than 0 (it can be NaN)."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float)) and node.value >= 0
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Pow):
                power = node.right
                return isinstance(power, ast.Constant) and isinstance(power.value, int) and power.value % 2 == 0
            kept = isinstance(node.op, (ast.Add, ast.Mult, ast.Div))
            return kept and self.is_nonnegative(node.left) and self.is_nonnegative(node.right)
        if isinstance(node, ast.Name):
            return self.all_values(node, self.is_nonnegative)
        operator = self.operator(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or operator is None:
            return self.kinds.is_bool(node)
        if operator.nonnegative or self.kinds.is_bool(node) or self._has_floor(node, strictly=False):
            return True
        arguments = self.called(node)[1]
        if operator.form == "elementwise":
            arguments += [keyword.value for keyword in node.keywords]
        else:
            arguments = arguments[:1]
        return operator.keeps_sign and bool(arguments) and all(map(self.is_nonnegative, arguments))

    def is_positive(self, node: ast.expr) -> bool:
        """Whether every element of a tensor is greater than 0, or NaN."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float)) and node.value > 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return (self.is_positive(node.left) and self.is_nonnegative(node.right)) or (
                self.is_nonnegative(node.left) and self.is_positive(node.right)
            )
        if isinstance(node, ast.Name):
            return self.all_values(node, self.is_positive)
        operator = self.operator(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or operator is None:
            return False
        if self._has_floor(node, strictly=True):
            return True
        name, arguments = self.called(node)
        exact = operator.linear and operator.keeps_sign and operator.dtype in ("same", "float64")
        chosen = operator.keeps_sign and operator.dtype == "same" and operator.form == "reduction"
        return (exact or chosen or name == "sqrt") and bool(arguments) and self.is_positive(arguments[0])

    def _has_floor(self, node: ast.Call, strictly: bool) -> bool:
        """Whether a call is ``t.clamp(min=c)`` or ``t.clamp_min(c)`` with a constant that says enough, and no ceiling below."""
        name, arguments = self.called(node)
        if name not in ("clamp", "clip", "clamp_min") or len(arguments) > 3:
            return False
        given = dict(zip(("min", "max"), arguments[1:], strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        numbers = [one.value for one in given.values() if isinstance(one, ast.Constant) and one.value is not None]
        if "min" not in given or len(numbers) != len(given):
            return False
        return all(isinstance(one, (int, float)) and (one > 0 if strictly else one >= 0) for one in numbers)

    def _is_detached(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"


def plain(text: str) -> str:
    """The text without the parentheses around all of it, where it stands alone."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    try:
        inner = ast.parse(text[1:-1], mode="eval").body
    except SyntaxError:
        return text
    return text if isinstance(inner, ast.Tuple) else text[1:-1]
