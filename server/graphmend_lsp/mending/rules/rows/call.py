"""Chosen rows that go through one call and are put back by the same mask: ``out[m] = f(x[m], w[m, :])``.

The call gets all rows. Those that the mask leaves out hold zeros, or, where the mask chooses an interval, its lower end, so that
nothing is computed of values that were not chosen; what comes back for them is dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from graphmend_lsp.mending.facts.dimensions import dimensions
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.lowering.masked import Masked
from graphmend_lsp.mending.lowering.selected import Chosen, of_which
from graphmend_lsp.mending.rules.rows.apart import Apart
from graphmend_lsp.mending.rules.rows.rank import UNKNOWN, Rank, line_of
from graphmend_lsp.mending.rules.rows.reading import Through, arguments, bare, found_call
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, TextEdit

_TRUST = "`{}` must treat each row for itself, without random numbers, statistics of a batch or attention between rows."
_PRODUCTS = "`{}` may round differently for another number of rows."
_OTHERS = "`{}` must not raise for rows of zeros beside any `{}`, and must have finite gradients there."
_NOTHING = (
    "Where the mask chooses nothing, `{}` runs all the same: it may raise, results ask for gradients, and gradients are "
    "zeros and not None."
)
_SIZES = "{} must have the dimensions of the mask, then one for each `:`."


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write the mend. `tests` are those that go."""

    edits: list[TextEdit]
    cautions: list[str]
    tests: list[ast.expr]
    assumes: tuple[Assumption, ...] = ()


def through(source: Source, node: ast.AST) -> list[Form]:
    """The forms of a call with chosen rows, without the test for any row and with it; empty for other breaks.

    Raises:
        Refused: when the function may mix the rows, or what it gives is not put back by the same mask.
    """
    found = found_call(source, node)
    if found is None:
        return []
    writer = Writer(source, found)
    apart, ranks = writer.followed()
    name = render(source, found.call.func)
    cautions = [_TRUST.format(one) for one in apart.trusted]
    cautions += [_PRODUCTS.format(render(source, one)) for one in apart.products[:1]]
    given = {one.node for one in found.rows}
    plain = [one for one in arguments(found.call) if bare(one) not in given]
    others = [render(source, one) for one in plain if not writer.is_python(one)]
    cautions += [_OTHERS.format(name, one) for one in [*others, *apart.outside][:1]]
    whole = writer.edits(ranks)
    if writer.unsure:
        cautions.append(_SIZES.format(", ".join(f"`{one}`" for one in writer.unsure)))
    place = ((source.path, source.span(found.call)),)
    assumes = [Assumption("cost", "computing all rows, and not only those that the mask chooses, is affordable", place)]
    assumes.append(Assumption("layout", places=place))
    if writer.interval is not None:
        assumes.append(Assumption("dtype", places=place))
    varying = [one for one in plain if not writer.is_fixed(one)] if apart.raising else []
    if varying:
        words = f"`{name}` does not raise for the filled rows, whatever `{render(source, varying[0])}` is"
        assumes.append(Assumption("raised-between", words, place))
    gone = [found.test.test] if found.test is not None else []
    form = Form(whole, [*cautions, *(_NOTHING.format(name) for _ in gone)], gone, tuple(assumes))
    if found.test is None:
        return [form]
    kept = Writer(source, replace(found, test=None))
    return [form, replace(form, edits=kept.edits(kept.followed()[1]), cautions=cautions, tests=[])]


@dataclass
class Writer:
    """The text of a call with all rows: those that the mask leaves out hold zeros, or a number that the mask would choose."""

    source: Source
    found: Through
    unsure: list[str] = field(default_factory=list)
    """Tensors whose number of dimensions is not known."""

    def __post_init__(self) -> None:
        source, found = self.source, self.found
        self.seen = Seen(source)
        self.kinds = Kinds(source, frozenset({found.rows[0].tensor}))
        self.where, self.imported = spell(source, "torch.where", found.statement)
        self.masked = Masked(source, self.kinds, found.rows[0], self.where)
        mask = found.rows[0].mask
        text = render(source, mask)
        self.interval = self._between(mask)
        fact = self.seen.tensor(mask)
        boolean = self.kinds.is_bool(mask)
        if not boolean and fact is not None and fact.dtypes == ("bool",):
            self.seen.believe(mask, "a tensor of bool")
            boolean = True
        self.mask = text if boolean else f"{text}.bool()"

    def followed(self) -> tuple[Apart, tuple[Rank, ...]]:
        """The call followed with rows of the dimensions that they have, and the dimensions of the rows that it gives.

        Raises:
            Refused: when it may mix the rows.
        """
        source, found = self.source, self.found
        given: dict[ast.expr, Rank] = {}
        for one in found.rows:
            parent = source.parents.get(one.node)
            negative = isinstance(parent, ast.expr) and bare(parent) is one.node
            given[parent if negative and isinstance(parent, ast.expr) else one.node] = 1 + self._extra(one)
        apart = Apart(source)
        results = apart.call(found.call, given)
        counted = len(results) == len(found.names)
        if any(one is None or one == 0 for one in results) or not (counted or apart.trusted):
            raise Refused(
                f"`{render(source, found.call.func)}` does not give rows for each of `{', '.join(found.names)}`."
            )
        ranks = results if counted else (UNKNOWN,) * len(found.names)
        for store in found.stores:
            if store.value is not None and apart.expression(
                store.value, dict(zip(found.names, ranks, strict=True))
            ) in (None, 0):
                raise Refused(f"{line_of(store.value)}: `{render(source, store.value)}` holds no rows.")
        if apart.front and self._rank(found.rows[0].mask) != 1:
            text = render(source, apart.front[0])
            raise Refused(
                f"{line_of(apart.front[0])}: `{text}` counts dimensions from the front, and the mask may have several."
            )
        return apart, ranks

    def edits(self, ranks: tuple[Rank, ...]) -> list[TextEdit]:
        """The edits of the statements, and of an import."""
        source, found = self.source, self.found
        exchange: dict[ast.AST, str] = {one.node: self._filled(one) for one in found.rows}
        own = all(one.value is None for one in found.stores)
        names = [source.fresh(f"all_{one}") for one in found.names] if own else list(found.names)
        lines = [f"{', '.join(names)} = {render(source, found.call, exchange)}"]
        known = dict(zip(found.names, zip(names, ranks, strict=True), strict=True))
        after: list[tuple[ast.stmt, str]] = []
        for one in found.stores:
            name, rank = known[one.name]
            after.append(
                (one.statement, self._stored(one.place, rank, name if one.value is None else render(source, one.value)))
            )
        if own:
            lines += [line for _, line in after]
        spots = [self.imported] if self.imported is not None else []
        if found.test is not None:
            return [*spots, self._replace(found.test, lines if own else [*lines, *(line for _, line in after)])]
        spots.append(self._replace(found.statement, lines))
        if not own:
            spots += [self._replace(store, [line]) for store, line in after]
        return spots

    def is_python(self, node: ast.expr) -> bool:
        """Whether an argument is a Python value, by the text or by the run."""
        inner = bare(node)
        if isinstance(inner, ast.Constant) or self.kinds.of(inner) == "python":
            return True
        fact = self.seen.of(node)
        if fact is None or not fact.is_plain:
            return False
        self.seen.believe(node, "a Python value")
        return True

    def is_fixed(self, node: ast.expr) -> bool:
        """Whether an argument is a constant, or was one and the same Python value in every call of the run."""
        if isinstance(bare(node), ast.Constant):
            return True
        fact = self.seen.of(node)
        if fact is None or not fact.same_in_every_call:
            return False
        self.seen.believe(node, repr(fact.constant[0]))
        return True

    def _filled(self, one: Chosen) -> str:
        """The tensor with the rows that are left out filled."""
        text, extra = operand(of_which(self.source, one)), self._extra(one)
        value = self.interval[1] if self.interval is not None and not extra and text == self.interval[0] else "0"
        return f"{text}.masked_fill(~{self._wide(extra)}, {value})"

    def _wide(self, extra: int) -> str:
        """The mask with further dimensions of size 1."""
        mask = operand(self.mask)
        return f"{mask}[..., {', '.join(['None'] * extra)}]" if extra else mask

    def _extra(self, one: Chosen) -> int:
        """How many dimensions a tensor has behind those of the mask."""
        if self._is_full(one):
            return 0
        mine, others = self._rank(one.tensor), self._rank(one.mask)
        if mine is not None and others is not None:
            return mine - others - (len(one.rest) - one.wholes if one.has_numbers else 0)
        text = render(self.source, one.tensor)
        if text not in self.unsure:
            self.unsure.append(text)
        return one.wholes

    def _rank(self, node: ast.expr) -> int | None:
        """The number of dimensions of a tensor, by the text or by the run."""
        statement = self.source.statement(node)
        known = dimensions(self.source, node, statement) if statement is not None else None
        if known is not None:
            return known
        fact = self.seen.of(node)
        if fact is None or fact.rank is None:
            return None
        self.seen.believe(node, f"a tensor with {fact.rank} dimension{'s' if fact.rank != 1 else ''}")
        return fact.rank

    def _is_full(self, one: Chosen) -> bool:
        """Whether the mask has the shape of the tensor."""
        if one.wholes or one.has_numbers:
            return False
        like, root = self.masked.root(one.mask), self.masked.root(one.tensor)
        if self.interval is not None and (
            root == self.interval[0] or render(self.source, one.tensor) == self.interval[0]
        ):
            return True
        return root is not None and like == root

    def _between(self, mask: ast.expr) -> tuple[str, str] | None:
        """Of ``m = (x >= a) & (x <= b)`` with numbers the name of x and the text of a, when neither changes."""
        values = self.masked.scalars.values(mask) if isinstance(mask, ast.Name) else None
        both = values[0] if values and len(values) == 1 else None
        if not isinstance(both, ast.BinOp) or not isinstance(both.op, ast.BitAnd):
            return None
        compares = [one for one in (both.left, both.right) if isinstance(one, ast.Compare) and len(one.ops) == 1]
        over = {one.left.id if isinstance(one.left, ast.Name) else "" for one in compares}
        low = [one.comparators[0] for one in compares if isinstance(one.ops[0], ast.GtE)]
        high = [one.comparators[0] for one in compares if isinstance(one.ops[0], ast.LtE)]
        function = self.source.function(mask)
        if len(low) != 1 or len(high) != 1 or len(over) != 1 or function is None:
            return None
        names = {node.id for one in compares for node in walk(one) if isinstance(node, ast.Name)}
        if not all(self._is_number(function, one) for one in (*low, *high)) or not names.isdisjoint(_rebound(function)):
            return None
        return over.pop(), render(self.source, low[0])

    def _is_number(self, function: Function, node: ast.expr) -> bool:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._is_number(function, node.operand)
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        if not isinstance(node, ast.Name):
            return False
        a = function.args
        given = dict(zip([one.arg for one in a.args][::-1], a.defaults[::-1], strict=False))
        default = given.get(node.id)
        return self.kinds.of(node) == "python" or (
            isinstance(default, ast.Constant) and isinstance(default.value, (int, float))
        )

    def _stored(self, place: Chosen, rank: Rank, value: str) -> str:
        """The line that puts a value back where the mask is true."""
        out = of_which(self.source, place)
        extra, text = self._extra(place), render(self.source, place.tensor)
        if rank is not None and rank != UNKNOWN and rank - 1 != extra:
            if text not in self.unsure:
                raise Refused(
                    f"{line_of(place.node)}: `{text}` has rows of other dimensions than those that are put into it."
                )
            extra = rank - 1
        return f"{out}.copy_({self.where}({self._wide(extra)}, {value}, {out}))"

    def _replace(self, statement: ast.stmt, lines: Sequence[str]) -> TextEdit:
        base = edits.block_indentation(self.source, statement)
        start, end = self.source.range(statement)
        kept = [one.text for one in edits.comments(self.source, start, end)]
        broken = [part for line in lines for part in layout(base + line, self.source.indent, line_limit(self.source))]
        return edits.replace(self.source, statement, statement, [*kept, *(one.removeprefix(base) for one in broken)])


def _rebound(function: Function) -> set[str]:
    """Names that do not hold the same thing everywhere in a function, or are changed in place."""
    seen: dict[str, int] = dict.fromkeys(parameters(function), 1)
    changed: set[str] = set()
    for one in walk(function):
        changed |= changed_by(one)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            seen[one.id] = seen.get(one.id, 0) + 1
    return changed | {name for name, times in seen.items() if times > 1}
