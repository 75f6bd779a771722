"""What takes a number that became a tensor, in tables: torch's functions, Python's `math`, and when a copy is needed.

Nothing is followed here.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import read_of
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk

TAKES_TENSOR = frozenset((
    "mul", "multiply", "add", "sub", "subtract", "div", "divide", "true_divide", "pow", "eq", "ne", "lt", "le", "gt", "ge",
    "masked_fill", "where", "fmod", "remainder", "maximum", "minimum", "mul_", "add_", "sub_", "div_", "masked_fill_",
    "fill_", "floor_divide", "float_power",
))  # fmt: skip
"""Torch functions and methods that take a tensor without dimensions wherever they take a number."""

DIVIDES = ("Div", "div", "div_", "divide", "true_divide")
RAISES = ("Pow", "pow", "float_power")  # by squaring, by a root, or in float64, where the exponent is a number
INT = "Python's `int` raises for NaN and infinity; the tensor does not."
SUM = "Python adds the elements one by one in float64; the tensor's sum may be rounded in another way."
LIBRARY = "torch computes `{}` by another library than Python does; the last bit may differ."
POWER = "A power may differ in its last bit: torch computes it in another way where the exponent is a tensor."
ROUND = "The last digit of a rounded number may differ from Python's."
MATH = {
    "sqrt": "sqrt", "fabs": "abs", "tanh": "tanh", "log": "log", "log2": "log2", "log10": "log10", "isnan": "isnan",
    "isinf": "isinf", "isfinite": "isfinite", "log1p": "log1p", "erf": "erf", "atan": "atan",
}  # fmt: skip
"""Functions of `math` that raise for no number but those outside a domain that can be proven."""
EXACT = ("abs", "isnan", "isinf", "isfinite")


def is_kept(source: Source, kinds: Kinds, call: ast.expr) -> bool:
    """Whether a read may be asked for again: under a name, or by a backward pass, which wants factors and indices."""
    parent = source.parents.get(call)
    if isinstance(parent, (ast.Compare, ast.UnaryOp, ast.BoolOp, ast.If, ast.IfExp)):
        return False
    if isinstance(parent, ast.Call):
        return not isinstance(parent.func, ast.Name)
    if not isinstance(parent, ast.BinOp):
        return True
    other = parent.right if parent.left is call else parent.left
    number = kinds.of(other) == "python" or read_of(source, kinds, other) is not None
    return not number and not isinstance(parent.op, (ast.Add, ast.Sub))


def ends(source: Source, branch: ast.If) -> bool:
    """Whether a branch that nothing else stands beside ends in an exception, or in ``sys.exit``, behind other statements."""
    last = branch.body[-1]
    called = last.value if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    loops = any(isinstance(one, (ast.For, ast.While, ast.FunctionDef, ast.Lambda)) for one in walk(branch))
    exits = called is not None and dotted(source, called.func) == "sys.exit"
    return not (branch.orelse or loops) and (exits or (isinstance(last, ast.Raise) and len(branch.body) > 1))


def is_where_failing(source: Source, node: ast.expr) -> bool:
    """Whether an expression stands in a branch that ends in an exception or in ``sys.exit``: Python reads the tensor there."""
    inner: ast.AST = node
    for one in source.ancestors(node):
        if isinstance(one, ast.If) and inner in one.body:
            return ends(source, one)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
        inner = one
    return False


def second(node: ast.expr, operation: ast.BinOp, is_same_kind: bool) -> str | None:
    """The text, for the name and the number, in which the tensor of a number in front of a name comes second; None as it is.

    Beside a float16 or bfloat16 tensor torch rounds a tensor without dimensions to that dtype before it multiplies, if it comes
    first; it does not round one that comes second, nor a number: but where both are of one dtype. It divides a number by a
    tensor as it multiplies the tensor's reciprocal by the number, and two tensors in one step (measured on the CPU, torch 2.13;
    `Tensor.__rtruediv__`).
    """
    if operation.left is not node or not isinstance(operation.right, (ast.Name, ast.Attribute)):
        return None
    if operation.lineno != operation.end_lineno:
        return None
    if isinstance(operation.op, ast.Div):
        return "{}.reciprocal() * {}"
    return "{} * {}" if isinstance(operation.op, ast.Mult) and not is_same_kind else None


def scope_of(source: Source, node: ast.AST) -> ast.AST | None:
    """The innermost function, lambda or comprehension around a node."""
    scopes = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.Lambda,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
    )
    return next((one for one in source.ancestors(node) if isinstance(one, scopes)), None)
