"""Elements chosen by a mask, taken back to full size: ``x[m]`` in elementwise arithmetic becomes ``x``, under one mask.

What is computed at places that the mask leaves out must not reach the gradient: where the arithmetic is more than linear,
the elements there are made harmless first. Nothing here knows what is done with the result.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.operators import Operator
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.scalars import Scalars, plain
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.selected import Chosen, chosen, looked_up, of_which
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit


@dataclass
class Masked:
    """An elementwise expression of chosen elements, being taken back to full size."""

    source: Source
    kinds: Kinds
    first: Chosen
    where: str
    leaves: list[Chosen] = field(default_factory=list)
    safe: int | None = None
    linear: bool = True
    bare: list[ast.expr] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    """Statements that must stand before the one with the elements."""

    def __post_init__(self) -> None:
        self.scalars = Scalars(self.source, self.kinds)
        self.leaves.append(self.first)

    def grow(self) -> ast.expr:
        """The largest elementwise expression around the first chosen elements.

        Raises:
            Refused: when an operand of it is not known to be a number or chosen by the same mask.
        """
        node: ast.expr = self.first.node
        while True:
            parent = self.source.parents.get(node)
            if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
                self._binary(node, parent)
                node = parent
            elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, (ast.USub, ast.UAdd)):
                node = parent
            elif isinstance(parent, ast.Compare) and len(parent.ops) == 1 and parent.left is node:
                self.operand(parent.comparators[0])
                self.linear = False
                node = parent
            elif (call := self._elementwise(node, parent)) is not None:
                node = call
            else:
                return node

    def pair(self, node: ast.expr) -> None:
        """Another expression that must be chosen by the same mask (the target of a loss)."""
        self.linear = False
        self.operand(node)

    def _binary(self, node: ast.expr, parent: ast.BinOp) -> None:
        other = parent.right if parent.left is node else parent.left
        before = len(self.leaves)
        self.operand(other)
        both = len(self.leaves) > before
        divides = isinstance(parent.op, ast.Div) and (both or parent.right is node)
        if isinstance(parent.op, ast.Pow) or divides:
            power = parent.right
            whole = isinstance(power, ast.Constant) and isinstance(power.value, int) and power.value > 0
            self.guard(0 if isinstance(parent.op, ast.Pow) and whole and parent.left is node else 1)
        elif isinstance(parent.op, ast.Mult) and both:
            self.guard(0)

    def guard(self, safe: int) -> None:
        """The arithmetic is more than linear: elements left out become the number `safe`, 0 or 1."""
        self.linear = False
        self.safe = max(self.safe or 0, safe)

    def _curved(self, node: ast.expr, safe: int) -> None:
        """As `guard`, around a tensor without dimensions: its gradient is a sum that elements left out could make NaN."""
        self.guard(safe)
        if self.bare:
            text = render(self.source, self.bare[0])
            raise Refused(
                f"The gradient of `{text}` goes through `{render(self.source, node)}` for elements that are left out too, "
                "and could become NaN there."
            )

    def operand(self, other: ast.expr) -> None:
        """An operand: a number, a tensor without dimensions, or elements chosen by the same mask."""
        leaf = self._leaf(other)
        if leaf is not None:
            if leaf.wholes != self.first.wholes:
                raise Refused(
                    f"`{render(self.source, other)}` may have other dimensions than `{render(self.source, self.first.node)}`."
                )
            self.leaves.append(leaf)
            return
        if isinstance(other, ast.Call) and self._operand_call(other):
            return
        if isinstance(other, ast.BinOp):
            self.operand(other.left)
            self.operand(other.right)
            if isinstance(other.op, (ast.Div, ast.Pow)):
                self._curved(other, 1)
            elif not isinstance(other.op, (ast.Add, ast.Sub)):
                self.guard(0)
            return
        if isinstance(other, ast.UnaryOp):
            self.operand(other.operand)
            return
        if self._is_python(other):
            return
        if self.scalars.is_zero_dim(other):
            self.bare.append(other)
            self.guard(0)  # its gradient is a sum over all elements
            return
        raise Refused(
            f"`{render(self.source, other)}` beside `{render(self.source, self.first.node)}` is not known to be a number; "
            "it may have as many elements as the mask chooses."
        )

    def _is_python(self, node: ast.expr) -> bool:
        """Whether an operand surely is a number of Python's, or another value that is no tensor and no container."""
        number = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        return number or (self.kinds.of(node) == "python" and not isinstance(node, (ast.List, ast.Tuple)))

    def _operand_call(self, call: ast.Call) -> bool:
        """Whether an operand is an elementwise function of elements chosen by the same mask, taken back to full size."""
        before = len(self.leaves)
        arguments = self.scalars.called(call)[1]
        if self._operator(call) is None or not arguments:
            return False
        if not any(self._leaf(one) for one in walk(call)):
            return False
        self.operand(arguments[0])
        return len(self.leaves) > before and self._elementwise(arguments[0], call) is call

    def _leaf(self, node: ast.AST) -> Chosen | None:
        """What a node chooses by the same mask, or looks up by what it chooses."""
        if isinstance(node, ast.Subscript) and (index := self._leaf(node.slice)) is not None:
            return looked_up(self.source, self.kinds, index)
        leaf = chosen(self.source, node)
        return leaf if leaf is not None and ast.dump(leaf.mask) == ast.dump(self.first.mask) else None

    def _elementwise(self, node: ast.expr, parent: ast.AST | None) -> ast.Call | None:
        """The call of an elementwise method or function that the node is a tensor of, the others being operands."""
        call = self.source.parents.get(parent) if isinstance(parent, ast.Attribute) else parent
        if not isinstance(call, ast.Call):
            return None
        operator, arguments = self._operator(call), self.scalars.called(call)[1]
        if operator is None:
            return None
        safe = int(operator.safe not in (None, "0"))
        if len(arguments) == 2 and node in arguments and not call.keywords:
            other = arguments[1 - arguments.index(node)]
            if not isinstance(other, ast.Constant):
                self.operand(other)
                self._curved(call, safe)
                return call
        numbers = all(one.arg not in (None, "dim") and self._is_python(one.value) for one in call.keywords)
        plain_call = bool(arguments) and arguments[0] is node and numbers
        if not plain_call or not all(isinstance(one, ast.Constant) for one in arguments[1:]):
            return None
        if not operator.linear:
            power = arguments[1] if operator.name == "pow" and len(arguments) == 2 else None
            whole = isinstance(power, ast.Constant) and isinstance(power.value, int) and power.value > 0
            self._curved(call, safe * (not whole))
        return call

    def _operator(self, call: ast.Call) -> Operator | None:
        """The elementwise operator that a call calls, where numbers in the place of its operands are harmless."""
        operator = self.scalars.operator(call)
        if operator is None or operator.form != "elementwise" or operator.dtype == "unknown":
            return None
        if operator.moves and not self._only_converts(call):
            return None
        return None if operator.effect or operator.random or operator.raises or operator.wholes else operator

    def _only_converts(self, call: ast.Call) -> bool:
        """Whether a call is ``t.to(torch.float16)`` or ``t.to(u.dtype)``, which leaves the tensor on its device."""
        if len(call.args) != 1 or call.keywords:
            return False
        (given,) = call.args
        is_dtype = (dotted(self.source, given) or "").startswith("torch.") and self.kinds.of(given) != "tensor"
        return is_dtype or (isinstance(given, ast.Attribute) and given.attr == "dtype")

    # -- texts ----------------------------------------------------------------------------------------------------

    def mask(self, like: Chosen) -> str:
        """The mask's text, in the shape of what `like` chooses of."""
        text = render(self.source, self.first.mask)
        if not self.kinds.is_bool(self.first.mask):
            text = f"{operand(text)}.bool()"
        if self.is_full():
            return text
        if not isinstance(like.tensor, (ast.Name, ast.Attribute)):
            raise Refused(
                f"`{render(self.source, like.tensor)}` may have more dimensions than the mask; give it a name first."
            )
        own = ""
        name, mask = of_which(self.source, like), operand(render(self.source, self.first.mask))
        if not isinstance(self.first.mask, (ast.Name, ast.Attribute)):
            self._refuse_earlier()
            text = mask = own = self._above(text)
        shaped = f"{operand(text)}.reshape({mask}.shape + (1,) * ({name}.dim() - {mask}.dim())).expand_as({name})"
        return self._above(shaped, own)

    def _above(self, text: str, name_of_mask: str = "") -> str:
        """A name for a mask, given in a statement of its own before the one it is used in."""
        statement = self.source.statement(self.first.node)
        simple = (ast.Assign, ast.Return, ast.Expr, ast.AugAssign, ast.AnnAssign)
        if not isinstance(statement, simple):
            raise Refused("The mask may have fewer dimensions than the tensor; use it in its own statement.")
        name = name_of_mask or self.source.fresh("mask")
        self.setup.append(f"{name} = {text}")
        return name

    def _refuse_earlier(self) -> None:
        """Refuse where the mask would be computed before something in its statement that could change it."""
        for hazard in hazards(self.source, self.source.statement(self.first.node) or self.first.node):
            if hazard.kind in ("effect", "random"):
                raise Refused(f"`{render(self.source, hazard.node)}` {hazard.words}; give the mask a name first.")

    def above(self) -> list[TextEdit]:
        """The edit that puts the statements of `setup` in place."""
        statement = self.source.statement(self.first.node)
        assert statement is not None
        return [edits.insert_before(self.source, statement, self.setup)] if self.setup else []

    def is_full(self) -> bool:
        """Whether mask and tensors surely have the same shape (or broadcast as the original's do)."""
        if self.first.broadcasts:
            return True
        root = self.root(self.first.mask)
        plain_ = not any(one.wholes or one.has_numbers for one in self.leaves)
        return plain_ and root is not None and all(self._root_of(one) == root for one in self.leaves)

    def _root_of(self, one: Chosen) -> str | None:
        if one.index is None:
            return self.root(one.tensor)
        table = Seen(self.source).of(one.node.value) if isinstance(one.node, ast.Subscript) else None
        return self.root(one.index.tensor) if table is not None and table.rank == 1 else None

    def body(self, node: ast.expr, mask: str) -> str:
        """The text of the expression with all elements; harmless ones in the place of those the mask leaves out."""
        exchange: dict[ast.AST, str] = {}
        for one in self.leaves:
            for hazard in hazards(self.source, one.tensor):
                if hazard.kind in ("effect", "random"):
                    raise Refused(f"`{render(self.source, hazard.node)}` {hazard.words}.")
            text = of_which(self.source, one) if one.index is None else self._in_range(one, one.index)
            safe = bool(self.safe) if self.kinds.is_bool(one.tensor) else self.safe or 0
            exchange[one.node] = operand(text) if self.linear else f"{self.where}({mask}, {plain(text)}, {safe})"
        return render(self.source, node, exchange)

    def _in_range(self, one: Chosen, index: Chosen) -> str:
        """The text of a look-up by all numbers; the first entry in the place of those that the mask leaves out."""
        numbers = f"{self.where}({render(self.source, index.mask)}, {render(self.source, index.tensor)}, 0)"
        return render(self.source, one.node, {index.node: numbers})

    def root(self, node: ast.expr, depth: int = 0) -> str | None:
        """The name of the tensor whose shape an expression surely has; None when that is not known."""
        if depth > 8:
            return None
        if isinstance(node, ast.Compare):
            return self._together([node.left, *node.comparators], depth)
        if isinstance(node, ast.BinOp):
            return self._together([node.left, node.right], depth)
        if isinstance(node, ast.UnaryOp):
            return self.root(node.operand, depth + 1)
        if isinstance(node, ast.Attribute):
            return render(self.source, node) if dotted(self.source, node) is None else None
        if isinstance(node, ast.Call):
            operator, (name, arguments) = self.scalars.operator(node), self.scalars.called(node)
            if operator is None or not arguments or not operator.is_tensor or operator.gives == "tensors":
                return None
            if operator.form == "elementwise":
                return self._together(arguments, depth)
            kept = operator.keeps_shape or (operator.form == "makes" and name.endswith("_like"))
            return self._together(arguments[:1], depth) if kept else None
        if not isinstance(node, ast.Name):
            return None
        values = self.scalars.values(node)
        if values is None:
            return node.id if not self._stores(node) else self._pair(node)
        if len(values) == 1 and not any(isinstance(one, ast.Name) and one.id == node.id for one in walk(values[0])):
            return self.root(values[0], depth + 1) or node.id
        roots = {self.root(value, depth + 1) for value in values}
        return roots.pop() if len(roots) == 1 else None

    def _pair(self, node: ast.Name) -> str | None:
        """One name for both tensors of ``values, indices = x.max(1)``, as of any reduction or scan: they have one shape."""
        stores = self._stores(node)
        parts = self.source.parents.get(stores[0]) if len(stores) == 1 else None
        made = self.source.parents.get(parts) if isinstance(parts, ast.Tuple) and len(parts.elts) == 2 else None
        if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
            return None
        operator = self.scalars.operator(made.value)
        alike = operator is not None and (operator.form in ("reduction", "scan") or operator.name == "topk")
        return render(self.source, parts) if alike else None  # type: ignore[arg-type]

    def _stores(self, node: ast.Name) -> list[ast.Name]:
        """Where a name is bound in its function, but as a parameter."""
        function = self.source.function(node)
        return [
            one
            for one in (walk(function) if function is not None else ())
            if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
        ]

    def _together(self, parts: list[ast.expr], depth: int) -> str | None:
        roots = [self.root(one, depth + 1) for one in parts if not self._is_scalar(one)]
        return roots[0] if roots and all(one == roots[0] for one in roots) else None

    def _is_scalar(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) or self.kinds.of(node) == "python" or self.scalars.is_zero_dim(node)


def rewritten(source: Source, node: ast.expr, text: str) -> TextEdit:
    """Other text for an expression; its statement is broken into lines when it would be too long and stands on one."""
    statement = source.statement(node)
    simple = (ast.Assign, ast.Return, ast.Expr, ast.AugAssign, ast.AnnAssign)
    if isinstance(statement, simple) and statement.lineno == statement.end_lineno:
        base = edits.block_indentation(source, statement)
        line = base + render(source, statement, {node: text})
        if len(line) > line_limit(source):
            lines = layout(line, source.indent, line_limit(source))
            return edits.replace(source, statement, statement, [one.removeprefix(base) for one in lines])
    return edits.rewrite(source, node, text)
