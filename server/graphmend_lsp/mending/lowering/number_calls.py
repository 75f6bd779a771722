"""Python's own functions of a number that is read from a tensor (``float``, ``abs``, ``max``, `math`), as text of that tensor."""

from __future__ import annotations

import ast
from typing import Protocol

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.result_dtype import exact_number
from graphmend_lsp.mending.facts.scalars import Read, Scalars, plain
from graphmend_lsp.mending.lowering.number_uses import EXACT, INT, LIBRARY, MATH, ROUND
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit


class Following(Protocol):
    """A number on its way, and what following it has found; see `number_flow.Flow`."""

    source: Source
    kinds: Kinds
    scalars: Scalars
    reads: list[Read]
    double: bool
    inexact: bool
    widens: bool
    floats: bool
    imports: list[TextEdit]

    def tensor_of(self, node: ast.expr) -> ast.expr | None:
        """The tensor that a number is read from."""

    def is_number(self, node: ast.expr) -> bool:
        """Whether an operand is a constant or another read, which is then taken as well."""

    def tell(self, words: str) -> None:
        """Note what the mend changes."""

    def line(self, node: ast.AST) -> str:
        """Where a node stands, for messages."""

    def code(self, node: ast.AST) -> str:
        """A node's text, for messages."""


def python_call(flow: Following, node: ast.expr, call: ast.Call, given: str) -> str | None:
    """The tensor text of a Python function of the number, whose text is `given`; None for other calls.

    Raises:
        Refused: where Python raises, or gives another kind of number.
    """
    text = operand(plain(given))
    single = len(call.args) == 1 and not call.keywords
    for name in ("float", "int", "bool", "abs", "round", "max", "min"):
        if is_builtin(flow.source, call.func, name):
            flow.widens = flow.widens or name not in ("float", "int", "bool")
            return _builtin(flow, name, node, call, text)
    name = dotted(flow.source, call.func) or ""
    if not (name.startswith("math.") and single):
        return None
    method = MATH.get(name[5:])
    if method is None:
        return None
    inner = flow.tensor_of(node)
    if method in ("sqrt", "log1p") and not (inner is not None and flow.scalars.is_nonnegative(inner)):
        raise Refused(f"{flow.line(node)}: `{name}` raises for a negative number, and a tensor gives NaN.")
    if method in ("log", "log2", "log10") and not (inner is not None and flow.scalars.is_positive(inner)):
        raise Refused(f"{flow.line(node)}: `{name}` raises for 0 and less, and a tensor gives infinity or NaN.")
    if method not in EXACT:
        flow.inexact = True
        flow.tell(LIBRARY.format(name))
    return f"{text}.{method}()"


def _builtin(flow: Following, name: str, node: ast.expr, call: ast.Call, text: str) -> str | None:
    single = len(call.args) == 1 and not call.keywords
    if name not in ("int", "float", "bool") and any(flow.kinds.is_bool(read.tensor) for read in flow.reads):
        return None
    if name in ("max", "min"):
        return _extreme(flow, name, node, call, text)
    if name == "round":
        digits = call.args[1] if len(call.args) == 2 else None
        if call.keywords or not (digits is None or isinstance(digits, ast.Constant)):
            return None
        flow.tell(ROUND if digits is not None else INT)
        flow.inexact = flow.inexact or digits is not None
        if digits is None:
            return f"{text}.round().long()"
        function, edit = spell(flow.source, "torch.round", call)
        flow.imports += [edit] if edit is not None else []
        return f"{function}({plain(text)}, decimals={render(flow.source, digits)})"
    if not single:
        return None
    if name == "int":
        flow.tell(INT)
        return f"{text}.long()"
    if name == "float":
        flow.floats = flow.floats or not all(flow.scalars.is_floating(one.tensor) for one in flow.reads)
        return f"{text}.double()" if flow.double else f"({text} * 1.0)"
    return f"({text} != 0)" if name == "bool" else f"{text}.abs()"


def _extreme(flow: Following, name: str, node: ast.expr, call: ast.Call, text: str) -> str | None:
    """``max(s, 1.0)`` is ``s.clamp(min=1.0)``: both keep a NaN in the first place."""
    if call.keywords or len(call.args) != 2 or call.args[0] is not node or not flow.is_number(call.args[1]):
        return None
    other = call.args[1]
    if not isinstance(other, ast.Constant) or isinstance(other.value, bool):
        return None
    read = flow.reads[0]
    whole = read.form == "int" or flow.scalars.is_whole(read.tensor)
    floating = read.form == "float" or flow.scalars.is_floating(read.tensor)
    if not ((whole and isinstance(other.value, int)) or (floating and isinstance(other.value, float))):
        raise Refused(
            f"{flow.line(node)}: `{flow.code(call)}` gives an int or a float, whichever is chosen; write both as the same."
        )
    flow.inexact = flow.inexact or not exact_number(other)
    return f"{text}.clamp({'min' if name == 'max' else 'max'}={render(flow.source, other)})"
