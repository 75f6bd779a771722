"""What a mask chooses of a tensor: ``x[m]``, ``x[m, :]``, ``x[m, ...]``, ``x[m, 0]`` and ``masked_select``.

Reading of `Source` only; a number beside the mask is a tensor with one dimension less, of which the mask chooses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphmend_lsp.mending.facts.dimensions import counts
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.harmless import is_position
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source


@dataclass(frozen=True, slots=True)
class Chosen:
    """``x[m]`` or ``torch.masked_select(x, m)``: the tensor, the mask, and whether both broadcast against each other.

    `rest` are the entries of the index behind the mask: ``:``, ``...`` and numbers. `index`: the whole numbers that the mask
    chooses where they say what is looked up, as in ``t[i[m]]``, which is what the mask chooses of ``t[i]``.
    """

    node: ast.expr
    tensor: ast.expr
    mask: ast.expr
    broadcasts: bool
    rest: tuple[ast.expr, ...] = ()
    index: Chosen | None = None

    @property
    def has_numbers(self) -> bool:
        """Whether a number in the index takes a dimension away."""
        return any(not (_is_all(one) or _is_dots(one)) for one in self.rest)

    @property
    def wholes(self) -> int:
        """How many dimensions the index names behind the mask: each ``:`` is one, which the tensor must have."""
        return sum(_is_all(one) for one in self.rest)


def chosen(source: Source, node: ast.AST) -> Chosen | None:
    """What a node chooses by a mask; None when it is no such node."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant)):
        return Chosen(node, node.value, node.slice, False)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
        first, *rest = node.slice.elts
        if isinstance(first, (ast.Name, ast.Attribute, ast.Compare, ast.UnaryOp, ast.BinOp)) and not counts(
            source, first
        ):
            dots = sum(_is_dots(one) for one in rest)
            if dots <= 1 and all(_is_all(one) or _is_dots(one) or _is_whole(source, one) for one in rest):
                return Chosen(node, node.value, first, False, tuple(rest))
        return None
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    name = dotted(source, node.func)
    if name == "torch.masked_select" and len(node.args) == 2:
        return Chosen(node, node.args[0], node.args[1], True)
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "masked_select"
        and len(node.args) == 1
        and name is None
    ):
        return Chosen(node, node.func.value, node.args[0], True)
    return None


def looked_up(source: Source, kinds: Kinds, index: Chosen) -> Chosen | None:
    """What is looked up in a tensor by whole numbers that a mask chooses, each of them; None where they are used otherwise."""
    node = source.parents.get(index.node)
    if not isinstance(node, ast.Subscript) or node.slice is not index.node or not isinstance(node.ctx, ast.Load):
        return None
    numbers, mask, seen = index.tensor, index.mask, Seen(source)
    if index.rest or kinds.of(node.value) != "tensor" or not is_position(source, numbers):
        return None
    listed, flags = seen.of(numbers), seen.of(mask)
    if listed is None or flags is None or flags.dtype != "bool" or listed.rank is None or listed.rank != flags.rank:
        return None
    return Chosen(node, node, mask, False, index=index)


def of_which(source: Source, one: Chosen) -> str:
    """The text of the tensor whose elements the mask chooses: ``x``, or ``x.select(m.dim(), 0)`` for ``x[m, 0]``.

    Raises:
        Refused: when the mask has no name, and how many dimensions it has must be asked of it.
    """
    text = render(source, one.tensor)
    if not one.has_numbers:
        return text
    dots = next((at for at, part in enumerate(one.rest) if _is_dots(part)), len(one.rest))
    for at in range(len(one.rest) - 1, -1, -1):
        part = one.rest[at]
        if _is_all(part) or _is_dots(part):
            continue
        if at > dots:  # counted from the end, where the numbers behind it are gone already
            dimension = str(-1 - sum(_is_all(other) for other in one.rest[at + 1 :]))
        elif isinstance(one.mask, (ast.Name, ast.Attribute)):
            dimension = f"{render(source, one.mask)}.dim()" + (f" + {at}" if at else "")
        else:
            raise Refused(f"`{render(source, one.mask)}` may have any number of dimensions; give it a name first.")
        text = f"{operand(text)}.select({dimension}, {render(source, part)})"
    return text


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _is_whole(source: Source, node: ast.expr) -> bool:
    """Whether a part of an index surely is a Python integer."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_whole(source, node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool)
    return counts(source, node)
