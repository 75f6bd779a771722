"""Chosen rows that go through one call and are put back by the same mask: ``out[m] = f(x[m], w[m, :])``.

The call gets as many rows as the mask has elements. In the place of each row that the mask leaves out stands a copy of the
first chosen one, so that nothing is computed of values that were not chosen; what comes back for copies is dropped.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.per_row import is_module, own_function
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.masked import Masked
from graphmend_lsp.mending.lowering.selected import Chosen, chosen, of_which
from graphmend_lsp.mending.rules.rows.apart import Apart
from graphmend_lsp.mending.rules.rows.rank import Rank
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import dotted, spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, assigned, parameters
from graphmend_lsp.model import TextEdit

_COPIES = "Rows that are left out are computed as copies of the first chosen one; its gradient may be NaN where it was infinite."


@dataclass(frozen=True, slots=True)
class Through:
    """A call that gets chosen rows: its statement, the rows, and the statements that put back what it gives.

    `stores` are pairs of a place and what is put there: a target of the statement itself, or a statement behind it.
    """

    statement: ast.Assign
    call: ast.Call
    rows: tuple[Chosen, ...]
    stores: tuple[tuple[Chosen, ast.stmt], ...]
    names: tuple[str, ...]
    test: ast.If | None


Form = tuple[list[TextEdit], list[str], list[ast.expr]]
"""Edits, what is taken for granted, and the tests that go."""


def through(source: Source, node: ast.AST) -> list[Form]:
    """The forms of a call with chosen rows, without the test for any row and with it; empty for other breaks.

    Raises:
        Refused: when the function may mix the rows, or what it gives is not put back by the same mask.
    """
    found = _found(source, node)
    if found is None:
        return []
    given: dict[ast.expr, Rank] = {}
    for one in found.rows:
        negative = isinstance(parent := source.parents.get(one.node), ast.UnaryOp)
        given[parent if negative and isinstance(parent, ast.expr) else one.node] = 1 + one.wholes
    apart = Apart(source)
    results = apart.call(found.call, given)
    if any(one is None or one == 0 for one in results) or (len(results) != len(found.names) and not apart.trusted):
        raise Refused(f"`{render(source, found.call.func)}` does not give rows for each of `{', '.join(found.names)}`.")
    name = render(source, found.call.func)
    cautions = [
        f"`{one}` must treat each row for itself, without random numbers, statistics of a batch or attention between rows."
        for one in apart.trusted
    ]
    gathered = ", ".join(dict.fromkeys(f"`{render(source, one.tensor)}`" for one in found.rows))
    cautions.append(
        f"{gathered} must have the dimensions of the mask, then one for each `:`, then equally many others."
    )
    cautions.append(_COPIES)
    nothing = (
        f"Where the mask chooses nothing, `{name}` gets copies of the first row all the same: it may raise, and gradients are "
        "zeros and not None."
    )
    whole: Form = (
        Writer(source, found).edits(),
        [*cautions, nothing],
        [found.test.test] if found.test is not None else [],
    )
    if found.test is None:
        return [whole]
    return [whole, (Writer(source, replace(found, test=None)).edits(), cautions, [])]


@dataclass
class Writer:
    """The text of a call with all rows."""

    source: Source
    found: Through
    taken: frozenset[str] = frozenset()

    def edits(self) -> list[TextEdit]:
        """The edits of the statements, and of an import."""
        source, found = self.source, self.found
        self.kinds = Kinds(source, frozenset({found.rows[0].tensor}))
        self.where, imported = spell(source, "torch.where", found.statement)
        arange, _ = spell(source, "torch.arange", found.statement)
        self.masked = Masked(source, self.kinds, found.rows[0], self.where)
        self.mask = render(source, found.rows[0].mask)
        self.interval = self._between(found.rows[0].mask)
        self.rows, index = source.fresh("rows"), source.fresh("index")
        boolean = self.kinds.is_bool(found.rows[0].mask)
        flat = f"{self.mask}.reshape(-1)" if boolean else f"{self.mask}.bool().reshape(-1)"
        lines = [
            f"{self.rows} = {flat}",
            f"{index} = {arange}(len({self.rows}), device={self.rows}.device).masked_fill(~{self.rows}, "
            f"{self.rows}.byte().argmax())",
        ]
        exchange: dict[ast.AST, str] = {one.node: self._gathered(one, index) for one in found.rows}
        own = all(store is found.statement for _, store in found.stores)
        names = [source.fresh(f"all_{one}") for one in found.names] if own else list(found.names)
        lines.append(f"{', '.join(names)} = {render(source, found.call, exchange)}")
        after = [
            (store, self._stored(place, name if own else render(source, store.value)))
            for (place, store), name in zip(found.stores, names if own else [""] * len(found.stores), strict=True)
            if isinstance(store, ast.Assign)
        ]
        if own:
            lines += [line for _, stored in after for line in stored]
        spots = [imported] if imported is not None else []
        if found.test is not None:
            everything = lines if own else [*lines, *(line for _, stored in after for line in stored)]
            return [*spots, self._replace(found.test, everything)]
        spots.append(self._replace(found.statement, lines))
        if not own:
            spots += [self._replace(store, stored) for store, stored in after]
        return spots

    def _gathered(self, one: Chosen, index: str) -> str:
        """The rows of a tensor with copies of the first chosen one in the place of those left out."""
        text = of_which(self.source, one)
        full = self._is_full(one)
        if self.interval is not None and full and text == self.interval[0]:  # for a mask that chooses nothing
            text = f"{self.where}({self.mask}, {text}, {self.interval[1]})"
        text = operand(text)
        return f"{text}.reshape(-1)[{index}]" if full else f"{text}.flatten(0, {self.mask}.dim() - 1)[{index}]"

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
        names = {node.id for one in compares for node in ast.walk(one) if isinstance(node, ast.Name)}
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

    def _stored(self, place: Chosen, value: str) -> list[str]:
        """The lines that put a value back where the mask is true."""
        out = of_which(self.source, place)
        full = self._is_full(place) and self.kinds.is_bool(place.mask)
        shaped = f"{self.rows}.reshape({self.mask}.shape + (1,) * ({out}.dim() - {self.mask}.dim()))"
        both = f"{value}.unflatten(0, {self.mask}.shape), {out}))"
        line = f"{out}.copy_({self.where}({self.mask if full else shaped}, {both}"
        room = line_limit(self.source) - len(edits.block_indentation(self.source, self.found.statement))
        if full or len(line) <= room:
            return [line]
        kept = self.source.fresh("kept", self.taken)
        self.taken |= {kept}
        return [f"{kept} = {shaped}", f"{out}.copy_({self.where}({kept}, {both}"]

    def _replace(self, statement: ast.stmt, lines: Sequence[str]) -> TextEdit:
        base = edits.block_indentation(self.source, statement)
        start, end = self.source.range(statement)
        kept = [one.text for one in edits.comments(self.source, start, end)]
        broken = [part for line in lines for part in layout(base + line, self.source.indent, line_limit(self.source))]
        return edits.replace(self.source, statement, statement, [*kept, *(one.removeprefix(base) for one in broken)])


def _found(source: Source, node: ast.AST) -> Through | None:
    statement = _statement(source, node)
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(statement.value, ast.Call)
    ):
        return None
    call = statement.value
    if not _is_followed(source, call.func):
        return None
    rows: list[Chosen] = []
    for one in (*call.args, *(keyword.value for keyword in call.keywords)):
        inner = one.operand if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub) else one
        leaf = chosen(source, inner)
        if leaf is not None and isinstance(leaf.mask, ast.Name) and not leaf.broadcasts:
            rows.append(leaf)
    if not rows or (node is not statement and not _is_at(source, node, statement, rows)):
        return None
    mask = rows[0].mask
    assert isinstance(mask, ast.Name)
    by_mask = [one for one in rows if isinstance(one.mask, ast.Name) and one.mask.id == mask.id]
    if is_module(source, call.func) and not any(one.rest for one in by_mask):
        return None  # followed as rows that go through modules
    own = {id(part) for one in by_mask for part in ast.walk(one.node)}
    for part in ast.walk(call):
        if isinstance(part, ast.Name) and part.id == mask.id and id(part) not in own:
            raise Refused(f"`{render(source, call.func)}` gets `{mask.id}` itself beside the rows that it chooses.")
    if any(one.kind in ("effect", "random") for row in by_mask for one in hazards(source, row.tensor)):
        raise Refused(f"`{render(source, call)}` does more than choose rows in its arguments.")
    stores, names = _stores(source, statement, mask)
    test = source.parents.get(statement)
    body = {id(statement), *(id(one) for _, one in stores)}
    asked = isinstance(test, ast.If) and not test.orelse and _asks_for_any(source, test.test) == mask.id
    whole = isinstance(test, ast.If) and asked and {id(one) for one in test.body} == body
    return Through(statement, call, tuple(by_mask), stores, names, test if whole and isinstance(test, ast.If) else None)


def _is_at(source: Source, node: ast.AST, statement: ast.Assign, rows: Sequence[Chosen]) -> bool:
    """Whether a break is at what a statement chooses, at where it is put back, or at the test for any row around it."""
    around = source.parents.get(statement)
    if isinstance(around, ast.If) and any(node is one for one in (around, *ast.walk(around.test))):
        return _asks_for_any(source, around.test) is not None
    return any(node is one.node for one in rows) or source.statement(node) is not statement or node in statement.targets


def _statement(source: Source, node: ast.AST) -> ast.stmt | None:
    """The statement with the call: that of the break, the one under a test, or that of a name which is put back."""
    statement = source.statement(node)
    if isinstance(statement, ast.If) and any(node is one for one in (statement, *ast.walk(statement.test))):
        return next((one for one in statement.body if isinstance(one, ast.Assign)), None)
    stored = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
    if isinstance(statement, ast.Assign) and stored and isinstance(statement.value, ast.Name):
        value = last_value(source, statement.value.id, statement)
        return source.statement(value) if value is not None else None
    return statement


def _is_followed(source: Source, callee: ast.expr) -> bool:
    if own_function(source, callee) is not None or is_module(source, callee):
        return True
    name = dotted(source, callee)
    return name is not None and name.partition(".")[0] not in ("torch", "numpy", "math", "operator", "functools")


def _stores(
    source: Source, statement: ast.Assign, mask: ast.Name
) -> tuple[tuple[tuple[Chosen, ast.stmt], ...], tuple[str, ...]]:
    """Where what the call gives is put back, and names for it.

    Raises:
        Refused: when any of it is used otherwise.
    """
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if all(isinstance(one, ast.Subscript) for one in parts):
        places = [_place(source, one, mask) for one in parts]
        names = [one.tensor.id if isinstance(one.tensor, ast.Name) else "rows" for one in places]
        return tuple((one, statement) for one in places), tuple(names)
    if not all(isinstance(one, ast.Name) for one in parts):
        raise Refused(f"`{render(source, target)}` holds chosen rows; keep all rows and the mask.")
    names = [one.id for one in parts if isinstance(one, ast.Name)]
    function = source.function(statement)
    uses = (
        [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id in names]
        if function is not None
        else []
    )
    behind = source.after(statement)
    stores: list[tuple[Chosen, ast.stmt]] = []
    for use in uses:
        if use in parts:
            continue
        store = source.parents.get(use)
        if not (isinstance(store, ast.Assign) and store.value is use and store in behind and len(store.targets) == 1):
            raise Refused(f"Line {use.lineno}: `{use.id}` holds chosen rows and is not used only to put them back.")
        stores.append((_place(source, store.targets[0], mask), store))
    stores.sort(key=lambda one: one[1].lineno)
    last = behind.index(stores[-1][1]) if stores else -1
    for one in behind[: last + 1]:
        changed = {name for part in ast.walk(one) for name in changed_by(part)} | assigned(one)
        if mask.id in changed:
            raise Refused(f"Line {one.lineno}: `{mask.id}` is changed before the rows are put back.")
    if {use.id for use in uses if use not in parts} != set(names):
        raise Refused("The chosen rows are not put back where they were; keep all rows and the mask.")
    return tuple(stores), tuple(names)


def _place(source: Source, target: ast.expr, mask: ast.Name) -> Chosen:
    place = chosen(source, target)
    if place is None or not (isinstance(place.mask, ast.Name) and place.mask.id == mask.id):
        raise Refused(f"`{render(source, target)}` is not where the rows were chosen.")
    if not isinstance(place.tensor, (ast.Name, ast.Attribute)):
        raise Refused(f"`{render(source, place.tensor)}` is no name; give it one first.")
    return place


def _asks_for_any(source: Source, test: ast.expr) -> str | None:
    """The name of the mask of ``m.any()`` or ``torch.any(m)``."""
    if not isinstance(test, ast.Call) or test.keywords:
        return None
    if dotted(source, test.func) == "torch.any" and len(test.args) == 1:
        return test.args[0].id if isinstance(test.args[0], ast.Name) else None
    on = test.func.value if isinstance(test.func, ast.Attribute) and test.func.attr == "any" and not test.args else None
    return on.id if isinstance(on, ast.Name) else None


def _rebound(function: Function) -> set[str]:
    """Names that do not hold the same thing everywhere in a function, or are changed in place."""
    seen: dict[str, int] = dict.fromkeys(parameters(function), 1)
    changed: set[str] = set()
    for one in ast.walk(function):
        changed |= changed_by(one)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            seen[one.id] = seen.get(one.id, 0) + 1
    return changed | {name for name, times in seen.items() if times > 1}
