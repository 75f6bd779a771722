"""What a number kept as a tensor without dimensions meets: of two such tensors the wider dtype wins, a number takes the other's.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.dimensions import has_dimensions
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.result_dtype import is_float, same_kind
from graphmend_lsp.mending.facts.scalars import Read, Scalars
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.source import Source

_COMPARING = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


@dataclass(frozen=True)
class Beside:
    """A number of these `reads`, computed in so many `steps`. `floats`: it may be a float of integers; `wide`: in int64."""

    source: Source
    kinds: Kinds
    scalars: Scalars
    reads: Sequence[Read]
    floats: bool
    wide: bool
    steps: int

    def is_decided(self, node: ast.expr, other: ast.expr) -> bool:
        """Whether what the number `node` gives beside `other` has the dtype that a number would give, whatever is called."""
        whole = all(self.scalars.is_whole(one.tensor) for one in self.reads) and not self.floats
        floating, known = self.scalars.is_floating(other), has_dimensions(self.source, other)
        is_bool = self.kinds.is_bool(node) or (self.steps == 0 and all(one.form == "bool" for one in self.reads))
        if is_bool or (floating and (whole or known)) or (whole and known):
            return True
        return same_kind(self.scalars, self.reads, other) and (known or not self._may_widen())

    def _may_widen(self) -> bool:
        """Whether the number may be of int64 where what it was read from comes of narrower integers."""
        return not self.floats and any(
            not self.scalars.is_floating(one.tensor)
            and (self.wide or one.form == "sum" or self.scalars.widens_integers(one.tensor))
            for one in self.reads
        )

    def dtype(self, node: ast.expr, other: ast.expr) -> str | None:
        """The dtype that the number may be rounded to before it meets `other`, as text; None where that loses something.

        Comparisons round it to their tensor's dtype; so does arithmetic with an integer and a tensor of its own kind. Booleans
        become integers beside an integer.
        """
        if not isinstance(other, (ast.Name, ast.Attribute)):
            return None
        text, alike = render(self.source, other), same_kind(self.scalars, self.reads, other)
        if self._is_compared(node):
            if self.scalars.is_floating(other):
                return f"{text}.dtype"
            if is_float(self.source, self.scalars, self.reads, node):
                return f"({text} * 1.0).dtype"
        return f"({text} * 1).dtype" if alike and self._stays_whole(node) else None

    def _is_compared(self, node: ast.expr) -> bool:
        parent = self.source.parents.get(node)
        return isinstance(parent, ast.Compare) or (
            isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") in _COMPARING
        )

    def _stays_whole(self, node: ast.expr) -> bool:
        """Whether a number surely is an int where every tensor that is read holds integers."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int)
        if isinstance(node, ast.UnaryOp):
            return self._stays_whole(node.operand)
        if isinstance(node, ast.BinOp):
            kept = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv))
            return kept and self._stays_whole(node.left) and self._stays_whole(node.right)
        if isinstance(node, ast.Name):
            return all(map(self._stays_whole, self.scalars.values(node) or [ast.Constant("")]))
        read = next((one for one in self.reads if one.call is node), None)
        return read is not None and (
            read.form in ("item", "sum") or (read.form == "int" and self.scalars.is_whole(read.tensor))
        )
