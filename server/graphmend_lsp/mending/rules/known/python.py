"""Computations on tensors of sizes in Python: ``(s[:, 0] * s[:, 1]).sum()`` is ``sum(row[0] * row[1] for row in sizes)``.

Only what gives the same integers. Where a tensor's values come from is known elsewhere (`known_mirror`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.static_loops import is_size
from graphmend_lsp.mending.rules.known.mirror import Mirror, mirror_of
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit

_EXACT = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


@dataclass(frozen=True, slots=True)
class Python:
    """A Python text. `rows` is the list over whose rows it runs when it has a value for each ("" when it is one value)."""

    text: str
    rows: str = ""
    whole: bool = False


@dataclass
class Writer:
    """Writes expressions. `used` are the mirrors that were needed, `added` the imports."""

    source: Source
    at: ast.AST
    used: list[Mirror] = field(default_factory=list)
    added: list[TextEdit] = field(default_factory=list)

    def write(self, node: ast.expr) -> Python | None:
        """The Python text of an expression; None when it is not made of tensors whose integers are known."""
        if (mirror := self._mirror(node)) is not None:
            return mirror
        if Kinds(self.source).of(node) == "python" or is_size(self.source, node):
            return Python(render(self.source, node))
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return Python(render(self.source, node))
        if isinstance(node, ast.Subscript):
            return self._index(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _EXACT:
            return self._joined(node.left, node.right, _EXACT[type(node.op)])
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
            return self._joined(node.left, node.comparators[0], _COMPARED[type(node.ops[0])])
        if isinstance(node, ast.Call):
            return self._call(node)
        return None

    def _mirror(self, node: ast.expr) -> Python | None:
        mirror = mirror_of(self.source, node)
        if mirror is None:
            return None
        self.used.append(mirror)
        one = isinstance(mirror.node, (ast.Constant, ast.Call)) or (
            isinstance(mirror.node, ast.Subscript) and isinstance(mirror.node.value, ast.Attribute)
        )
        return Python(mirror.text, whole=not one)

    def _index(self, node: ast.Subscript) -> Python | None:
        base = self.write(node.value)
        if base is None or not base.whole:
            return None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) == 2 and _is_all(parts[0]) and _is_fixed(parts[1]):
            return Python(f"row[{render(self.source, parts[1])}]", rows=base.text)
        if all(_is_fixed(one) for one in parts):
            return Python(operand(base.text) + "".join(f"[{render(self.source, one)}]" for one in parts))
        return None

    def _joined(self, left: ast.expr, right: ast.expr, sign: str) -> Python | None:
        one, other = self.write(left), self.write(right)
        if one is None or other is None or one.whole or other.whole:
            return None
        if one.rows and other.rows and one.rows != other.rows:
            return None
        return Python(f"{self._operand(left, one)} {sign} {self._operand(right, other)}", rows=one.rows or other.rows)

    def _operand(self, node: ast.expr, value: Python) -> str:
        return f"({value.text})" if isinstance(node, (ast.BinOp, ast.Compare)) else value.text

    def _call(self, node: ast.Call) -> Python | None:
        if is_builtin(self.source, node.func, "int") and len(node.args) == 1:
            value = self.write(node.args[0])
            return value if value is not None and not (value.rows or value.whole) else None
        if not isinstance(node.func, ast.Attribute) or dotted(self.source, node.func) is not None:
            return None
        value = self.write(node.func.value)
        if value is None:
            return None
        name = node.func.attr
        if name in ("item", "long") and not node.args:
            return value if name == "long" or not (value.rows or value.whole) else None
        if name == "tolist" and not node.args:
            text = value.text if value.text.startswith("[") else f"list({value.text})"
            return Python(text) if value.whole else None
        if name == "prod" and value.whole and [ast.unparse(one) for one in node.args] in (["1"], ["-1"]):
            return Python(f"{self._prod()}(row)", rows=value.text)
        if node.args or node.keywords or not (value.rows or value.whole) or name not in ("sum", "prod", "max", "min"):
            return None
        function = self._prod() if name == "prod" else name
        return Python(
            f"{function}({value.text} for row in {value.rows})" if value.rows else f"{function}({value.text})"
        )

    def _prod(self) -> str:
        text, added = spell(self.source, "math.prod", self.at)
        if added is not None and added not in self.added:
            self.added.append(added)
        return text


def python_of(source: Source, node: ast.expr) -> tuple[Python, Writer]:
    """The Python text of a computation on known integers, and what it took.

    Raises:
        Refused: when it is a computation on such tensors and cannot be written in Python.
    """
    writer = Writer(source, node)
    value = writer.write(node)
    if value is None or value.rows or not writer.used:
        raise Refused(f"`{render(source, node)}` is not known to hold Python integers.")
    return value, writer


def _is_all(node: ast.expr) -> bool:
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None and node.step is None
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _is_fixed(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
