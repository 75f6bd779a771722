"""Whether a function of the file treats each row for itself: the first dimension of what it gets is left alone.

A value is None (no rows), or how many dimensions its rows have, the one of the rows among them; 0 is a largest, a smallest, an
``any`` or an ``all`` over rows, which only a check may ask for. What cannot be read is taken on trust and told.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.per_row import is_module, own_function
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.facts.scalars import Scalars
from graphmend_lsp.mending.rules.rows.called import rank_of
from graphmend_lsp.mending.rules.rows.rank import (
    DIFFERS,
    UNKNOWN,
    Rank,
    is_constant,
    is_outside,
    joined_rank,
    line_of,
    merged,
    whole_number,
)
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted, is_builtin
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source
from graphmend_lsp.mending.syntax.support import is_supported
from graphmend_lsp.mending.syntax.walk import walk

_ABOUT = frozenset(("dtype", "device", "ndim", "is_cuda", "requires_grad"))
_ASKING = frozenset(("torch.is_tensor", "torch.is_floating_point", "torch.is_complex"))
_DEEP = 6


@dataclass
class Apart:
    """Calls being followed; `trusted` are the functions and modules that could not be read.

    `front` are expressions that count dimensions from the front, and so are about rows of one dimension only; `products` are
    products of matrices, which another number of rows may round otherwise; `raising` is what may raise for the values of a
    row; `outside` are names of the file, no constants, that are computed with.
    """

    source: Source
    trusted: list[str] = field(default_factory=list)
    front: list[ast.expr] = field(default_factory=list)
    products: list[ast.expr] = field(default_factory=list)
    raising: list[ast.AST] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.source)
        self.scalars = Scalars(self.source, self.kinds)

    def call(self, node: ast.Call, given: Mapping[ast.expr, Rank]) -> tuple[Rank, ...]:
        """What a call gives for arguments of the given ranks; more than one for a function that returns a tuple.

        Raises:
            Refused: when it is read and may mix the rows.
        """
        function = own_function(self.source, node.func)
        if function is not None:
            return self._function(function, node, given)
        if dotted(self.source, node.func) is None and not is_module(self.source, node.func):
            raise Refused(f"{line_of(node)}: what `{render(self.source, node.func)}` does with rows is not known.")
        self._trust(node)
        return (UNKNOWN,)

    def expression(self, node: ast.expr, env: Mapping[str, Rank]) -> Rank:
        """The rank of an expression over names that have rows.

        Raises:
            Refused: when it may mix them.
        """
        return Body(self, dict(env), frozenset()).rank(node)

    def _trust(self, node: ast.Call) -> None:
        text = render(self.source, node.func)
        if text not in self.trusted:
            self.trusted.append(text)

    def _function(self, function: Function, node: ast.Call, given: Mapping[ast.expr, Rank]) -> tuple[Rank, ...]:
        if self.depth >= _DEEP:
            raise Refused(f"{line_of(node)}: `{function.name}` calls functions too deeply to be followed.")
        a = function.args
        if a.vararg or a.kwarg or any(isinstance(one, ast.Starred) for one in node.args):
            raise Refused(f"{line_of(node)}: the arguments of `{function.name}` are not told one by one.")
        names = [one.arg for one in (*a.posonlyargs, *a.args)]
        env: dict[str, Rank] = dict(zip(names, (given.get(one) for one in node.args), strict=False))
        for one in node.keywords:
            if one.arg is None:
                raise Refused(f"{line_of(node)}: the arguments of `{function.name}` are not told one by one.")
            env[one.arg] = given.get(one.value)
        self.depth += 1
        try:
            returned = Body(self, env, frozenset(one for one in env if env[one] is not None)).run(function)
        finally:
            self.depth -= 1
        return returned


@dataclass
class Body:
    """One function's statements; `env` holds the names that have rows, `own` those that may be written to in place."""

    apart: Apart
    env: dict[str, Rank]
    own: frozenset[str]
    returned: list[tuple[Rank, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = self.apart.source

    def rank(self, node: ast.expr) -> Rank:
        """The rank of an expression."""
        return self._of(node)

    def run(self, function: Function) -> tuple[Rank, ...]:
        """What the function returns."""
        self._block(function.body)
        counts = {len(one) for one in self.returned}
        if len(counts) != 1:
            raise Refused(f"`{function.name}` does not return the same number of values everywhere.")
        return tuple(joined_rank(parts) for parts in zip(*self.returned, strict=True))

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            self._assign(statement)
        elif isinstance(statement, ast.AugAssign):
            new = self.together(statement, [statement.target, statement.value])
            if isinstance(statement.target, ast.Name):
                if self.env.get(statement.target.id) is None and new is not None:
                    self.refuse(statement)
            else:
                self._store(statement.target, new)
        elif isinstance(statement, ast.If):
            self._if(statement)
        elif isinstance(statement, ast.Assert):
            if self._is_one(statement.test) is not None:
                self.apart.raising.append(statement)
        elif isinstance(statement, ast.Return):
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            self.returned.append(tuple(self._of(one) if one is not None else None for one in values))
        elif isinstance(statement, ast.For) and not statement.orelse and self._of(statement.iter) is None:
            before = dict(self.env)
            for _ in range(2):
                self._bind(statement.target, None)
                self._block(statement.body)
            self.env = merged([before, self.env])
        elif isinstance(statement, ast.Expr):
            self._of(statement.value)
        elif not isinstance(statement, (ast.Raise, ast.Pass)):
            self.refuse(statement)

    def _assign(self, statement: ast.Assign) -> None:
        if isinstance(statement.value, ast.Call) and isinstance(statement.targets[0], ast.Tuple):
            values: tuple[Rank, ...] = self._call(statement.value)
        elif isinstance(statement.value, ast.Tuple):
            values = tuple(self._of(one) for one in statement.value.elts)
        else:
            values = (self._of(statement.value),)
        for target in statement.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(values) == 1 and len(parts) > 1 and values[0] in (None, UNKNOWN):
                values = values * len(parts)
            if len(parts) != len(values):
                self.refuse(statement)
            for part, value in zip(parts, values, strict=True):
                self._bind(part, value)

    def _bind(self, target: ast.expr, value: Rank) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = value
            self.own = self.own | {target.id} if value is not None else self.own - {target.id}
        else:
            self._store(target, value)

    def _store(self, target: ast.expr, value: Rank) -> None:
        """``x[..., 0] = v`` into rows that are the function's own."""
        known = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self.own
        if not known:
            raise Refused(f"{line_of(target)}: `{render(self.source, target)}` is written to, which others may see.")
        place = self._of(target)
        if value not in (None, UNKNOWN, 0) and place != UNKNOWN and value != place:
            self.refuse(target)

    def _if(self, statement: ast.If) -> None:
        if self._is_one(statement.test) is not None:
            if statement.orelse or not all(isinstance(one, ast.Raise) for one in statement.body):
                raise Refused(f"{line_of(statement)}: which way is taken depends on all rows at once.")
            self.apart.raising.append(statement)
            return
        before, ends = dict(self.env), []
        for block in (statement.body, statement.orelse):
            self.env = dict(before)
            self._block(block)
            if not (block and isinstance(block[-1], (ast.Return, ast.Raise))):
                ends.append(self.env)
        self.env = merged(ends) if ends else before

    def _is_one(self, test: ast.expr) -> Rank:
        """The rank of a test, which must be no rows or one value of all of them."""
        value = self._of(test)
        if value not in (None, 0):
            raise Refused(f"{line_of(test)}: `{render(self.source, test)}` asks for the truth of rows.")
        return value

    def _of(self, node: ast.expr) -> Rank:
        if isinstance(node, ast.Name):
            rank = self.env.get(node.id)
            if node.id not in self.env and is_outside(self.source, node):
                self.apart.outside.append(node.id)
            if rank == DIFFERS:
                raise Refused(
                    f"{line_of(node)}: `{node.id}` is not known to have rows, or how many dimensions they have."
                )
            return rank
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return None
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare):
            if any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops):
                return None
            return self.together(node, [node.left, *node.comparators])
        if isinstance(node, ast.BoolOp):
            return self.together(node, node.values)
        if isinstance(node, ast.UnaryOp):
            return self._of(node.operand)
        if isinstance(node, ast.IfExp):
            if self._of(node.test) is not None:
                self.refuse(node)
            return joined_rank((self._of(node.body), self._of(node.orelse)))
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Attribute):
            self._attribute(node)
            return None
        if isinstance(node, ast.Call):
            values = self._call(node)
            if len(values) != 1:
                self.refuse(node)
            return values[0]
        if any(isinstance(one, ast.Name) and self.env.get(one.id) is not None for one in walk(node)):
            self.refuse(node)
        self._harmless(node)
        return None

    def _binary(self, node: ast.BinOp) -> Rank:
        if not isinstance(node.op, ast.MatMult):
            rank = self.together(node, [node.left, node.right])
            if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and self._of(node.right) is not None:
                self.apart.raising.append(node)  # integers by zero
            return rank
        left, right = self._of(node.left), self._of(node.right)
        if right is not None or left in (0, 1):
            self.refuse(node)
        if left is not None:
            self.apart.products.append(node)
        return left

    def _attribute(self, node: ast.Attribute) -> None:
        if self._of(node.value) is None:
            return
        if node.attr not in _ABOUT:
            self.refuse(node)
        if node.attr == "ndim":
            self.apart.front.append(node)

    def together(self, node: ast.AST, parts: Sequence[ast.expr]) -> Rank:
        """The rank of what is computed element by element: rows must have as many dimensions, or be in the wrong place."""
        ranks = [one for one in (self._of(part) for part in parts) if one is not None]
        known = {one for one in ranks if one not in (0, UNKNOWN)}
        if 0 in ranks and len(set(ranks)) > 1:
            raise Refused(
                f"{line_of(node)}: `{render(self.source, node)}` puts each row beside a value of all rows, which may mix them."
            )
        if len(known) > 1:
            raise Refused(
                f"{line_of(node)}: `{render(self.source, node)}` puts rows with {min(known)} and {max(known)} dimensions beside "
                "each other, which may mix them."
            )
        return known.pop() if known else (min(ranks) if ranks else None)

    def _subscript(self, node: ast.Subscript) -> Rank:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            rank = self._of(node.value.value)
            self.apart_from_rows(node, rank, node.slice)
            return None
        rank = self._of(node.value)
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if rank is None:
            if any(self._of(one) is not None for one in entries if not isinstance(one, ast.Slice)):
                self.refuse(node)
            return None
        added = sum(is_constant(one, None) for one in entries)
        numbers = sum(whole_number(one) is not None for one in entries)
        slices = sum(isinstance(one, ast.Slice) for one in entries)
        first = entries[0]
        whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None and first.step is None
        plain = added + numbers + slices + sum(is_constant(one, Ellipsis) for one in entries) == len(entries)
        if not plain or not (whole or is_constant(first, Ellipsis)) or (rank in (0, 1) and numbers + slices > whole):
            self.refuse(node)
        if whole:
            self.apart.front.append(node)
        if rank == UNKNOWN:
            return UNKNOWN
        if numbers + slices - whole > rank - 1:
            self.refuse(node)
        return rank + added - numbers

    def apart_from_rows(self, node: ast.expr, rank: Rank, dimension: ast.expr | None) -> None:
        """Refuse unless a dimension is a constant and not that of the rows."""
        at = whole_number(dimension) if dimension is not None else None
        if rank is None:
            return
        last = rank if rank != UNKNOWN else 2
        if at is None or not (1 <= at < last or -last < at < 0):
            self.refuse(node)
        if at is not None and at > 0:
            self.apart.front.append(node)

    def _call(self, node: ast.Call) -> tuple[Rank, ...]:
        if is_supported(self.source, node.func, "check"):
            self._checked(node)
            return (None,)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        arguments = [*node.args, *(one.value for one in node.keywords)]
        given: dict[ast.expr, Rank] = {one: self.argument(one) for one in arguments}
        name = dotted(self.source, node.func)
        on = self._of(receiver) if receiver is not None and name is None else None
        if on is None and not any(one is not None for one in given.values()):
            if own_function(self.source, node.func) is None:
                self._harmless(node)
                return (None,)
            return self.apart.call(node, given)
        if name in _ASKING or is_builtin(self.source, node.func, "isinstance"):
            return (None,)
        about = node.func.attr if isinstance(node.func, ast.Attribute) and on is not None else ""
        if about in ("dim", "is_floating_point", "is_complex"):
            if about == "dim":
                self.apart.front.append(node)
            return (None,)
        if about == "size":
            self.apart_from_rows(node, on, node.args[0] if len(node.args) == 1 else None)
            return (None,)
        last, tensors = self.apart.scalars.called(node)
        if not last:
            return self.apart.call(node, given)
        if any(one.kind == "random" for one in hazards(self.source, node)):
            raise Refused(f"{line_of(node)}: `{render(self.source, node)}` draws random numbers for rows.")
        if any(one.arg in ("out", "inplace") for one in node.keywords):
            self.refuse(node)
        return (rank_of(self, node, last, tensors),)

    def _checked(self, node: ast.Call) -> None:
        """A check that a mend put into the graph raises as an ``if`` with a ``raise`` does: for one value of all rows."""
        if not node.args or node.keywords or any(self.argument(one) is not None for one in node.args[1:]):
            self.refuse(node)
        if self._is_one(node.args[0]) is not None:
            self.apart.raising.append(node)

    def argument(self, node: ast.expr) -> Rank:
        """The rank of an argument, which may be several tensors in a list."""
        if isinstance(node, (ast.Tuple, ast.List)):
            ranks = [self._of(one) for one in node.elts]
            if ranks and (joined := joined_rank(tuple(ranks))) == DIFFERS:
                self.refuse(node)
            return joined if ranks else None
        return self._of(node)

    def _harmless(self, node: ast.AST) -> None:
        """Refuse what may do something else than compute, where no rows are."""
        for one in hazards(self.source, node):
            numpy = isinstance(one.node, ast.Call) and (dotted(self.source, one.node.func) or "").startswith("numpy.")
            if one.kind in ("effect", "random") and not (numpy and "random" not in render(self.source, one.node)):
                raise Refused(f"{line_of(one.node)}: `{render(self.source, one.node)}` {one.words}.")

    def refuse(self, node: ast.AST) -> None:
        """Refuse for an expression that may mix the rows."""
        raise self.mixes(node)

    def mixes(self, node: ast.AST) -> Refused:
        """The refusal of an expression that may mix the rows."""
        return Refused(
            f"{line_of(node)}: `{render(self.source, node).partition(chr(10))[0]}` may mix or count the rows."
        )
