"""``t in (0, 2)`` as a tensor: compared with each item of a list or tuple that is known. Nothing is known of branches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import module_constant, value_at
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk


@dataclass(frozen=True)
class Membership:
    """A search among items that are known; Python asks for identity first, which no number has with a tensor.

    Raises:
        Refused: when the items are not known, or may be the very tensor that is looked for.
    """

    source: Source
    kinds: Kinds
    node: ast.Compare

    def __post_init__(self) -> None:
        if not self.shown.elts or not self._holds_numbers():
            raise self._unknown()
        if self.kinds.of(self.node.left) != "tensor":
            left = render(self.source, self.node.left)
            raise Refused(f"GraphMend cannot tell whether `{left}` is a tensor or a Python value.")

    @property
    def shown(self) -> ast.List | ast.Tuple:
        """The items as they are written out."""
        listed = self.node.comparators[0]
        shown = value_at(self.source, listed) if isinstance(listed, ast.Name) else listed
        if isinstance(listed, ast.Name) and shown is None:
            shown = module_constant(self.source, listed)
        if not isinstance(shown, (ast.List, ast.Tuple)):
            raise self._unknown()
        return shown

    def text(self, left: str, fresh: Callable[[str], str], told: list[str]) -> str:
        """Whether `left` is among the items, as a tensor; what that takes for granted joins `told`.

        Raises:
            Refused: when the items may have become others.
        """
        listed, items = self.node.comparators[0], self.shown.elts
        if not isinstance(listed, ast.Name):
            return _either([f"({left} == {render(self.source, one)})" for one in items])
        if value_at(self.source, listed) is not None and self._only_looked_in(listed):
            return _either([f"({left} == {listed.id}[{at}])" for at in range(len(items))])
        asked = render(self.source, self.node)
        if not all(map(_is_number, items)):
            raise Refused(f"`{listed.id}` is changed or handed on, so what `{asked}` asks is not known.")
        stack, added = spell(self.source, "torch.stack", self.node)
        if added is not None:
            raise Refused(f"`{asked}` needs `torch.stack`; import torch by its name.")
        told.append(f"`{listed.id}` must have an element, and hold numbers only.")
        one = fresh("number")
        return f"{stack}([{left} == {one} for {one} in {listed.id}]).any()"

    def _holds_numbers(self) -> bool:
        """Whether all items are numbers, or tensors without dimensions, none of which is the very tensor that is looked for."""
        left, items = self.node.left, self.shown.elts
        if all(map(_is_number, items)):
            return True
        scalars = Scalars(self.source, self.kinds)
        tensors = [one for one in items if not _is_number(one)]
        return (
            scalars.is_fresh(left)
            and scalars.is_zero_dim(left)
            and all(self.kinds.of(one) == "tensor" and scalars.is_zero_dim(one) for one in tensors)
        )

    def _only_looked_in(self, name: ast.Name) -> bool:
        """Whether a list of the function is nowhere changed or handed on: its items are asked for, or looked among."""
        function = self.source.function(name)
        return function is not None and all(
            isinstance(parent := self.source.parents.get(one), ast.Compare)
            or (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load) and parent.value is one)
            for one in walk(function)
            if isinstance(one, ast.Name) and one.id == name.id and isinstance(one.ctx, ast.Load)
        )

    def _unknown(self) -> Refused:
        return Refused(f"`{render(self.source, self.node)}` has no tensor form: it is not known to look among numbers.")


def _either(pairs: list[str]) -> str:
    return " | ".join(pairs) if len(pairs) > 1 else pairs[0][1:-1]


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float))
