"""A Python number that is read from a tensor, written as a tensor without dimensions: the read, its text, what is proven.

``t.item()`` is ``t.detach()``; what is kept is copied, because the tensor may change in place later, also before a backward
pass that needs it. Integers that Python computes with are brought to int64. Nothing here knows where the number goes. No
rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import FUNCTIONAL
from graphmend_lsp.mending.facts.purity import TENSOR_METHODS
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.source import Source, local_names, parameters

Form = Literal["item", "float", "int", "bool", "sum"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REDUCING = _words(
    "sum mean max min amax amin prod any all std var norm median argmax argmin count_nonzero nansum nanmean dot vdot "
    "trace det mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss binary_cross_entropy kl_div "
    "binary_cross_entropy_with_logits"
)
_ELEMENTWISE = _words(
    "abs absolute acos asin atan ceil clamp clamp_max clamp_min clip cos cosh detach clone double erf exp expm1 float "
    "floor half int isfinite isinf isnan log log10 log1p log2 logical_not long neg negative pow reciprocal relu round "
    "rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc bool bfloat16 add sub mul div eq ne lt le gt ge logical_and "
    "logical_or maximum minimum nan_to_num contiguous"
)
_ALIASING = _words(
    "view view_as reshape reshape_as squeeze unsqueeze to type type_as float double half long int short byte char bool "
    "bfloat16 contiguous detach t transpose permute flatten ravel expand expand_as broadcast_to diagonal narrow select "
    "chunk split unbind unfold cpu cuda conj movedim moveaxis swapaxes swapdims tensor_split unflatten real imag "
    "hsplit vsplit dsplit item tolist positive sum_to_size"
)
_WHOLE = _words("argmax argmin long int short byte char count_nonzero nonzero bincount bool any all sort_indices")
_BOOLEAN_RESULT = _words("any all isnan isinf isfinite eq ne lt le gt ge logical_not logical_and logical_or bool equal")
_FLOATING = _words(
    "mean std var norm softmax log_softmax exp log sqrt rsqrt sin cos tanh sigmoid float double half bfloat16 erf "
    "log1p log2 log10 dropout gelu silu layer_norm expm1 reciprocal rand randn rand_like randn_like linear nanmean"
)
_NONNEGATIVE = _words(
    "abs absolute square exp relu sigmoid norm std var sqrt softmax count_nonzero argmax argmin numel"
)
_SIGN_KEEPING = _words(
    "sum mean max min amax amin prod median detach clone float double half reshape view flatten squeeze clamp_max contiguous"
)
_INT64 = _words("sum prod cumsum cumprod nansum argmax argmin count_nonzero long bincount nonzero")
"""What torch gives in int64 for every integer dtype."""

_DTYPE_KEEPING = _words(
    "max min amax amin abs absolute clamp clamp_max clamp_min clip detach clone reshape view squeeze flatten contiguous "
    "neg negative relu square"
)
_NEEDS_FLOATING = _words("mean std var norm softmax log_softmax")
"""Methods that refuse integers, so that a tensor on which one is called is floating."""


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


@dataclass(frozen=True)
class Scalars:
    """What can be proven of tensors from the text of their file, and reads written as tensors."""

    source: Source
    kinds: Kinds

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
            return self._all_values(node, self.is_zero_dim)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if name in _REDUCING:
                wanted = 2 if name in FUNCTIONAL or name in ("dot", "vdot") else 1  # operands that are tensors
                named = {keyword.arg for keyword in node.keywords}
                return len(arguments) <= wanted and not named - {"dtype"}
            return name in _ELEMENTWISE and bool(arguments) and all(self.is_zero_dim(one) for one in arguments)
        return False

    def is_fresh(self, node: ast.expr) -> bool:
        """Whether an expression makes a tensor that shares no memory with another one."""
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
            return True
        if not isinstance(node, ast.Call):
            return False
        name = dotted(self.source, node.func)
        if name is not None:
            last = name.rpartition(".")[2]
            made = name.startswith("torch.") and not last.endswith("_")
            return made and last not in _ALIASING | {"from_numpy", "as_tensor", "dropout", "relu_", "asarray"}
        if isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_METHODS:
            return node.func.attr not in _ALIASING
        return False

    def is_whole(self, node: ast.expr) -> bool:
        """Whether a tensor surely holds integers or booleans."""
        if self.kinds.is_bool(node) and not isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return self._all_values(node, self.is_whole)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if name in _WHOLE:
                return True
            kept = name in (
                "sum",
                "prod",
                "cumsum",
                "max",
                "min",
                "clamp",
                "reshape",
                "view",
                "squeeze",
                "flatten",
                "abs",
            )
            return kept and bool(arguments) and self.is_whole(arguments[0])
        return False

    def holds_arithmetic(self, node: ast.expr) -> bool:
        """Whether a tensor surely is floating-point or int64, so that Python's arithmetic with its numbers does not wrap."""
        if self.is_floating(node) or isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return self._all_values(node, self.holds_arithmetic)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if any(keyword.arg == "dtype" for keyword in node.keywords):
                return False
            return name in _INT64 or (
                name in _DTYPE_KEEPING and bool(arguments) and self.holds_arithmetic(arguments[0])
            )
        return False

    def is_floating(self, node: ast.expr) -> bool:
        """Whether a tensor surely is floating-point."""
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div):
                return True
            sides = (node.left, node.right)
            return any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in sides) or any(
                self.is_floating(one) for one in sides
            )
        if isinstance(node, ast.UnaryOp):
            return self.is_floating(node.operand)
        if isinstance(node, ast.Name):
            return self._refuses_whole(node) or self._all_values(node, self.is_floating)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if name in _FLOATING:
                return True
            kept = name in _REDUCING | _ELEMENTWISE and not self.is_whole(node)
            return kept and bool(arguments) and self.is_floating(arguments[0])
        return False

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
            return self._all_values(node, self.is_nonnegative)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if name in _NONNEGATIVE or self._has_floor(node, name, strictly=False):
                return True
            if name in ("sum", "mean") and arguments and self.kinds.is_bool(arguments[0]):
                return True
            return name in _SIGN_KEEPING and bool(arguments) and self.is_nonnegative(arguments[0])
        return self.kinds.is_bool(node)

    def is_positive(self, node: ast.expr) -> bool:
        """Whether every element of a tensor is greater than 0, or NaN."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float)) and node.value > 0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return (self.is_positive(node.left) and self.is_nonnegative(node.right)) or (
                self.is_nonnegative(node.left) and self.is_positive(node.right)
            )
        if isinstance(node, ast.Name):
            return self._all_values(node, self.is_positive)
        if isinstance(node, ast.Call):
            name, arguments = self.called(node)
            if self._has_floor(node, name, strictly=True):
                return True
            kept = ("max", "min", "amax", "amin", "detach", "clone", "float", "double", "sqrt")
            return name in kept and bool(arguments) and self.is_positive(arguments[0])
        return False

    def _has_floor(self, node: ast.Call, name: str, strictly: bool) -> bool:
        """Whether a call is ``t.clamp(min=c)`` or ``t.clamp_min(c)`` with a constant that says enough."""
        arguments = node.args[1:] if dotted(self.source, node.func) else node.args
        floor = next((one.value for one in node.keywords if one.arg == "min"), arguments[0] if arguments else None)
        if name not in ("clamp", "clip", "clamp_min") or not isinstance(floor, ast.Constant):
            return False
        value = floor.value
        return isinstance(value, (int, float)) and (value > 0 if strictly else value >= 0)

    def called(self, node: ast.Call) -> tuple[str, list[ast.expr]]:
        """The last name of a torch function or tensor method, and its tensors: the receiver and the arguments."""
        name = dotted(self.source, node.func)
        if name is not None:
            return (name.rpartition(".")[2], list(node.args)) if name.startswith("torch.") else ("", [])
        if isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_METHODS:
            return node.func.attr, [node.func.value, *node.args]
        return "", []

    def values(self, node: ast.Name) -> list[ast.expr] | None:
        """All values a local name can have, None when one of them is not a plain assignment."""
        function = self.source.function(node)
        if function is None or node.id in parameters(function) or node.id not in local_names(function):
            return None
        found: list[ast.expr] = []
        for one in ast.walk(function):
            if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load):
                parent = self.source.parents.get(one)
                if not (isinstance(parent, ast.Assign) and one in parent.targets):
                    return None
                found.append(parent.value)
        return found or None

    def origins(self, node: ast.expr) -> frozenset[str]:
        """The names that an expression is computed from, through names that are bound here."""
        return frozenset(one.id for part in self._chain(node) for one in ast.walk(part) if self._is_origin(one))  # type: ignore[attr-defined]

    def converts(self, node: ast.expr) -> bool:
        """Whether anything on the way to an expression may make integers or booleans of floating-point numbers."""
        for part in self._chain(node):
            tests = [one for choice in ast.walk(part) if isinstance(choice, ast.IfExp) for one in ast.walk(choice.test)]
            for one in ast.walk(part):
                if one in tests:
                    continue
                if isinstance(one, (ast.Compare, ast.FloorDiv)):
                    return True
                name = getattr(one.func, "attr", "") if isinstance(one, ast.Call) else ""
                if name in _WHOLE | {"to", "type", "type_as", "view"}:
                    return True
        return False

    def widens_integers(self, node: ast.expr) -> bool:
        """Whether an expression may be of int64 where what it is computed from is of a narrower integer dtype."""
        calls = (one for part in self._chain(node) for one in ast.walk(part) if isinstance(one, ast.Call))
        return not self.is_floating(node) and any(self.called(one)[0] in _INT64 for one in calls)

    def _chain(self, node: ast.expr) -> list[ast.expr]:
        """An expression and the values of the names in it, and of those in them."""
        found, pending, seen = [node], [node], set[str]()
        while pending:
            for one in ast.walk(pending.pop()):
                if isinstance(one, ast.Name) and one.id not in seen:
                    seen.add(one.id)
                    values = self.values(one) or []
                    found += values
                    pending += values
        return found

    def _is_origin(self, node: ast.AST) -> bool:
        """Whether a node is a name that is not bound here to an expression, nor a module's."""
        return isinstance(node, ast.Name) and dotted(self.source, node) is None and self.values(node) is None

    def _all_values(self, node: ast.Name, holds: Callable[[ast.expr], bool]) -> bool:
        values = self.values(node)
        mentioned = values and any(
            isinstance(one, ast.Name) and one.id == node.id for v in values for one in ast.walk(v)
        )
        return bool(values) and not mentioned and all(holds(value) for value in values or ())

    def _refuses_whole(self, node: ast.Name) -> bool:
        """Whether the function computes of the name, which is bound once, what is refused for integers."""
        function = self.source.function(node)
        if function is None:
            return False
        bound = [
            one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == node.id and not _loads(one)
        ]
        if len(bound) + (node.id in parameters(function)) != 1:
            return False
        for one in ast.walk(function):
            if isinstance(one, ast.Call):
                name, arguments = self.called(one)
                first = arguments[0] if arguments else None
                cast = any(keyword.arg == "dtype" for keyword in one.keywords)
                if name in _NEEDS_FLOATING and not cast and isinstance(first, ast.Name) and first.id == node.id:
                    return True
        return False

    def _is_detached(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def plain(text: str) -> str:
    """The text without the parentheses around all of it, where it stands alone."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    try:
        inner = ast.parse(text[1:-1], mode="eval").body
    except SyntaxError:
        return text
    return text if isinstance(inner, ast.Tuple) else text[1:-1]
