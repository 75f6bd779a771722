"""Chosen rows followed from where they are gathered to where they are put back, and written for all rows.

A value with a row for each chosen row may go through modules and through arithmetic that treats each row for itself;
anything else refuses. Which rows are chosen is found elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.dimensions import dimensions
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.liveness import is_carried
from graphmend_lsp.mending.facts.scalars import plain
from graphmend_lsp.mending.rules.rows.list import Selection
from graphmend_lsp.mending.rules.rows.values import Values, line_of
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit

_IN_PLACE = {"index_add_": "add_", "index_copy_": "copy_"}
_SIGNS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add_", "0"), ast.Sub: ("sub_", "0"), ast.Mult: ("mul_", "1"), ast.Div: ("div_", "1"),
}  # fmt: skip
_FLAT = "A mask that lists rows must have one dimension, or others of size 1 only; it raises for any other."


@dataclass
class Rows:
    """The statements of one selection being written for all rows; `found` collects the edits."""

    source: Source
    values: Values
    found: list[TextEdit] = field(default_factory=list)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Rewrite the statements in which chosen rows are used.

        Raises:
            Refused: for a use that has no form with all rows.
        """
        for statement in statements:
            self.values.at = statement
            if not self.values.concerns(statement):
                if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
                    continue
                self.values.held -= assigned(statement)
            elif isinstance(statement, (ast.For, ast.With)):
                self._nested(statement)
            else:
                self.values.exchange = {}
                self._simple(statement)

    def _nested(self, statement: ast.For | ast.With) -> None:
        heads = [statement.iter] if isinstance(statement, ast.For) else [one.context_expr for one in statement.items]
        if any(self.values.concerns(one) for one in heads) or getattr(statement, "orelse", []):
            raise Refused(f"{line_of(statement)}: how often or where it runs depends on the chosen rows.")
        before = set(self.values.held)
        self.block(statement.body)
        if isinstance(statement, ast.For) and self.values.held != before:
            carried = {
                one.id
                for inner in statement.body
                for one in walk(inner)
                if isinstance(one, ast.Name) and one.id in self.values.held ^ before
            }
            outside = [one for one in self._behind(statement) if one.id in carried]
            later = {one for one in self.values.held - before if is_carried(statement.body, one)}
            if outside or later or before - self.values.held:
                name = min({one.id for one in outside} | later | (before - self.values.held))
                raise Refused(f"{line_of(statement)}: `{name}` holds chosen rows in some iterations and not in others.")

    def _behind(self, loop: ast.For) -> list[ast.Name]:
        """The names that are read outside of a loop."""
        inside = {id(one) for one in walk(loop)}
        function = self.source.function(loop)
        return [
            one for one in (walk(function) if function is not None else ())
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in inside
        ]  # fmt: skip

    def _simple(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Subscript):
                self._stored(statement, target, statement.value)
                return
            holds = self.values.rows(statement.value)
            if not isinstance(target, ast.Name):
                if holds:
                    raise Refused(f"{line_of(statement)}: `{render(self.source, target)}` would hold chosen rows.")
                self._write()
                return
            self.values.held = self.values.held | {target.id} if holds else self.values.held - {target.id}
            self._write()
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._called(statement, statement.value)
        elif (
            isinstance(statement, ast.Return) and statement.value is not None and not self.values.rows(statement.value)
        ):
            self._write()
        else:
            verb = "returned" if isinstance(statement, ast.Return) else "used as they are"
            raise Refused(f"{line_of(statement)}: the chosen rows are {verb}; keep all rows and the mask.")

    def _augmented(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript):
            self._stored(statement, target, statement.value)
            return
        holds = self.values.rows(statement.value)
        name = target.id if isinstance(target, ast.Name) else ""
        if holds and name not in self.values.held:
            raise Refused(
                f"{line_of(statement)}: chosen rows are added to `{render(self.source, target)}`, which has others."
            )
        self._write()

    def _stored(self, statement: ast.Assign | ast.AugAssign, target: ast.Subscript, value: ast.expr) -> None:
        """``out[token] = v`` and ``out[token] += v``."""
        if not self.values.chosen.is_index(target.slice) or self.values.concerns(target.value):
            raise Refused(f"{line_of(statement)}: `{render(self.source, target)}` is not the rows that were chosen.")
        if self.values.chosen.axis is not None:
            raise Refused(
                f"{line_of(statement)}: `{render(self.source, target)}` may be stored more than once for a row."
            )
        holds = self.values.rows(value)
        if not holds and not isinstance(value, ast.Constant):
            raise Refused(f"{line_of(statement)}: `{render(self.source, value)}` is not known to have the chosen rows.")
        if not isinstance(target.value, (ast.Name, ast.Attribute)):
            raise Refused(f"{line_of(statement)}: `{render(self.source, target.value)}` is no name; give it one first.")
        out, text = render(self.source, target.value), plain(render(self.source, value, self.values.exchange))
        rows = self.values.column(target.value)
        if isinstance(statement, ast.Assign):
            line = f"{out}.copy_({self.values.where}({rows}, {text}, {out}))"
        elif type(statement.op) in _SIGNS:
            method, neutral = _SIGNS[type(statement.op)]
            line = f"{out}.{method}({self.values.where}({rows}, {text}, {neutral}))"
        else:
            raise Refused(f"{line_of(statement)}: `{render(self.source, statement)}` has no form with all rows.")
        self.values.put += 1
        self._replace(statement, line)

    def _called(self, statement: ast.stmt, call: ast.Call) -> None:
        """``out.index_add_(0, token, v)``."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name not in _IN_PLACE or not isinstance(call.func, ast.Attribute):
            if self.values.rows(call):
                raise Refused(
                    f"{line_of(statement)}: `{render(self.source, call)}` may do something with each chosen row."
                )
            self._write()
            return
        out, value = self.values.put_parts(call, call.func.value)
        if name == "index_copy_" and self.values.chosen.axis is not None:
            raise Refused(f"{line_of(statement)}: `{render(self.source, call)}` may store more than once for a row.")
        rest = "0" if name == "index_add_" else render(self.source, out)
        text = plain(render(self.source, value, self.values.exchange))
        line = f"{render(self.source, out)}.{_IN_PLACE[name]}({self.values.where}({self.values.column(out)}, {text}, {rest}))"
        self._replace(statement, line)

    def _write(self) -> None:
        """Put the texts of `exchange` into the statement; all of it is broken into lines when it gets too long."""
        if not self.values.exchange:
            return
        line = render(self.source, self.values.at, self.values.exchange)
        width = len(edits.block_indentation(self.source, self.values.at)) + len(line)
        if self.values.at.lineno == self.values.at.end_lineno and width > line_limit(self.source):
            self._replace(self.values.at, line)
            return
        for node, text in self.values.exchange.items():
            if not any(one in self.values.exchange for one in self.source.ancestors(node)):
                self.found.append(edits.rewrite(self.source, node, text))  # type: ignore[arg-type]

    def _replace(self, statement: ast.stmt, line: str) -> None:
        base = edits.block_indentation(self.source, statement)
        lines = [one.removeprefix(base) for one in layout(base + line, self.source.indent, line_limit(self.source))]
        self.found.append(edits.replace(self.source, statement, statement, lines))


def put_back(source: Source, chosen: Selection) -> tuple[list[TextEdit], list[str]]:
    """The edits that compute all rows, and what is taken for granted about the program.

    Raises:
        Refused: when the rows are used in a way that has no form with all rows.
    """
    where, imported = spell(source, "torch.where", chosen.statement)
    _refuse_changes(source, chosen)
    values = Values(source, chosen, where)
    flow = Rows(source, values)
    flow.block(chosen.uses(source))
    function = source.function(chosen.statement)
    last = chosen.uses(source)[-1]
    for one in walk(function) if function is not None else ():
        if not isinstance(one, ast.Name) or not isinstance(one.ctx, ast.Load):
            continue
        outside = source.range(one)[0] >= source.range(last)[1]
        if outside and (one.id in values.held or (chosen.lists and one.id in (chosen.rows, chosen.others))):
            raise Refused(f"Line {one.lineno}: `{one.id}` is used after the block in which the rows are chosen.")
    if not values.put:
        raise Refused("The chosen rows are not put back where they were; keep all rows and the mask.")
    flow.found[:0] = _heads(source, values, chosen)
    cautions = [_FLAT] if chosen.lists and chosen.axis is None and not _is_flat(source, chosen) else []
    cautions += [f"`{one}` must have a row for each element of the mask." for one in dict.fromkeys(values.gathered)]
    cautions += [
        f"`{one}` must treat each row for itself, without statistics of a batch or attention between rows, and be finite "
        "for a row of zeros."
        for one in dict.fromkeys(values.modules)
    ]
    cautions += [f"`{one}` must be finite where rows are zeros." for one in dict.fromkeys(values.bare)]
    cautions += [
        f"`{one}` gets all rows: what it gives for one must not depend on rows that the mask leaves out."
        for one in dict.fromkeys(values.carried)
    ]
    return [*([imported] if imported is not None else []), *flow.found], cautions


def _heads(source: Source, values: Values, chosen: Selection) -> list[TextEdit]:
    """The mask in the place of the list of rows."""
    kinds = values.kinds
    text = render(source, chosen.mask)
    boolean = text if kinds.is_bool(chosen.mask) else f"{operand(text)} != 0"
    flat = _is_flat(source, chosen)
    if chosen.axis is not None:
        pairs = values.pairs or source.fresh("chosen")
        turned = f"{operand(text)}.T" if chosen.axis == 1 else text
        turned = turned if kinds.is_bool(chosen.mask) else f"{operand(turned)} != 0"
        return [_put(source, chosen.statement, [f"{pairs} = {turned}", f"{chosen.rows} = {pairs}.any(1)"])]
    if chosen.lists and values.passes:
        every = values.where.removesuffix("where") + "arange"
        lines = [f"{values.mask} = {boolean}"]
        lines += [] if flat else [f"{values.mask} = {values.mask}.reshape(len({values.mask}))"]
        lines.append(f"{chosen.rows} = {every}(len({values.mask}), device={values.mask}.device)")
        return [_put(source, chosen.statement, lines)]
    if chosen.lists:
        lines = [f"{chosen.rows} = {boolean}"]
        lines += [] if flat else [f"{chosen.rows} = {chosen.rows}.reshape(len({chosen.rows}))"]
        return [_put(source, chosen.statement, lines)]
    if not flat:
        raise Refused(f"GraphMend cannot tell whether `{text}` has one dimension; it mends masks of rows only.")
    return [] if chosen.rows else [edits.insert_before(source, chosen.statement, [f"{values.mask} = {text}"])]


def _refuse_changes(source: Source, chosen: Selection) -> None:
    """Refuse when the mask may be changed in place where the rows are used."""
    names = {one.id for one in walk(chosen.mask) if isinstance(one, ast.Name)}
    for statement in chosen.uses(source):
        for node in walk(statement):
            if changed := changed_by(node) & names:
                raise Refused(f"`{min(changed)}` is changed in place where its rows are used.")


def _put(source: Source, statement: ast.stmt, lines: list[str]) -> TextEdit:
    return edits.replace(source, statement, statement, lines)


def _is_flat(source: Source, chosen: Selection) -> bool:
    bound = chosen.statement
    if chosen.rows and not chosen.lists and isinstance(bound, ast.Assign) and chosen.rows in assigned(bound):
        return dimensions(source, bound.value, bound) == 1
    return dimensions(source, chosen.mask, chosen.statement) == 1
