"""Chosen rows followed from where they are gathered to where they are put back, and written for all rows.

A value with a row for each chosen row may go through modules and through arithmetic that treats each row for itself;
anything else refuses. Which rows are chosen is found elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphmend_lsp.mending import edits
from graphmend_lsp.mending.imports import dotted, spell
from graphmend_lsp.mending.index_text import changed_by
from graphmend_lsp.mending.kinds import Kinds
from graphmend_lsp.mending.loop_names import is_carried
from graphmend_lsp.mending.rows_each import PER_ROW, is_module, keeps_rows
from graphmend_lsp.mending.rows_list import Selection
from graphmend_lsp.mending.rows_passed import carries, is_passed, role_of
from graphmend_lsp.mending.rows_shape import dimensions
from graphmend_lsp.mending.scalar import plain
from graphmend_lsp.mending.source import Source, assigned
from graphmend_lsp.mending.where_condition import Refused
from graphmend_lsp.mending.where_text import layout, line_limit, operand, render
from graphmend_lsp.model import TextEdit

_IN_PLACE = {"index_add_": "add_", "index_copy_": "copy_"}
_SIGNS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add_", "0"), ast.Sub: ("sub_", "0"), ast.Mult: ("mul_", "1"), ast.Div: ("div_", "1"),
}  # fmt: skip
_NO_TENSORS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_FLAT = "A mask that lists rows must have one dimension, or others of size 1 only; it raises for any other."


@dataclass
class Rows:
    """One selection being written for all rows. `found` collects the edits, `modules` what the rows go through."""

    source: Source
    chosen: Selection
    where: str
    found: list[TextEdit] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    gathered: list[str] = field(default_factory=list)
    exchange: dict[ast.AST, str] = field(default_factory=dict)
    put: int = 0

    def __post_init__(self) -> None:
        self.kinds = Kinds(self.source)
        self.held: set[str] = set()
        self.carried: list[str] = []
        self.passes = False
        self.pairs = ""
        self.mask = self.chosen.rows
        self.at = self.chosen.statement

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Rewrite the statements in which chosen rows are used.

        Raises:
            Refused: for a use that has no form with all rows.
        """
        for statement in statements:
            self.at = statement
            if not self._concerns(statement):
                if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
                    continue
                self.held -= assigned(statement)
            elif isinstance(statement, (ast.For, ast.With)):
                self._nested(statement)
            else:
                self.exchange = {}
                self._simple(statement)

    def _concerns(self, node: ast.AST) -> bool:
        return self.chosen.mentions(node) or any(
            isinstance(one, ast.Name) and one.id in self.held for one in ast.walk(node)
        )

    def _nested(self, statement: ast.For | ast.With) -> None:
        heads = [statement.iter] if isinstance(statement, ast.For) else [one.context_expr for one in statement.items]
        if any(self._concerns(one) for one in heads) or getattr(statement, "orelse", []):
            raise Refused(f"{self._line(statement)}: how often or where it runs depends on the chosen rows.")
        before = set(self.held)
        self.block(statement.body)
        if isinstance(statement, ast.For) and self.held != before:
            carried = {
                one.id
                for inner in statement.body
                for one in ast.walk(inner)
                if isinstance(one, ast.Name) and one.id in self.held ^ before
            }
            outside = [one for one in self._behind(statement) if one.id in carried]
            later = {one for one in self.held - before if is_carried(statement.body, one)}
            if outside or later or before - self.held:
                name = min({one.id for one in outside} | later | (before - self.held))
                raise Refused(f"{self._line(statement)}: `{name}` holds chosen rows in some turns and not in others.")

    def _behind(self, loop: ast.For) -> list[ast.Name]:
        """The names that are read outside of a loop."""
        inside = {id(one) for one in ast.walk(loop)}
        function = self.source.function(loop)
        return [
            one for one in (ast.walk(function) if function is not None else ())
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and id(one) not in inside
        ]  # fmt: skip

    def _simple(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Subscript):
                self._stored(statement, target, statement.value)
                return
            holds = self.rows(statement.value)
            if not isinstance(target, ast.Name):
                if holds:
                    raise Refused(f"{self._line(statement)}: `{self._code(target)}` would hold chosen rows.")
                self._write()
                return
            self.held = self.held | {target.id} if holds else self.held - {target.id}
            self._write()
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._called(statement, statement.value)
        elif isinstance(statement, ast.Return) and statement.value is not None and not self.rows(statement.value):
            self._write()
        else:
            verb = "returned" if isinstance(statement, ast.Return) else "used as they are"
            raise Refused(f"{self._line(statement)}: the chosen rows are {verb}; keep all rows and the mask.")

    def _augmented(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript):
            self._stored(statement, target, statement.value)
            return
        holds = self.rows(statement.value)
        name = target.id if isinstance(target, ast.Name) else ""
        if holds and name not in self.held:
            raise Refused(
                f"{self._line(statement)}: chosen rows are added to `{self._code(target)}`, which has others."
            )
        self._write()

    def _stored(self, statement: ast.Assign | ast.AugAssign, target: ast.Subscript, value: ast.expr) -> None:
        """``out[token] = v`` and ``out[token] += v``."""
        if not self.chosen.is_index(target.slice) or self._concerns(target.value):
            raise Refused(f"{self._line(statement)}: `{self._code(target)}` is not the rows that were chosen.")
        if self.chosen.axis is not None:
            raise Refused(f"{self._line(statement)}: `{self._code(target)}` may be stored more than once for a row.")
        holds = self.rows(value)
        if not holds and not isinstance(value, ast.Constant):
            raise Refused(f"{self._line(statement)}: `{self._code(value)}` is not known to have the chosen rows.")
        if not isinstance(target.value, (ast.Name, ast.Attribute)):
            raise Refused(f"{self._line(statement)}: `{self._code(target.value)}` is no name; give it one first.")
        out, text = self._code(target.value), plain(render(self.source, value, self.exchange))
        rows = self.column(target.value)
        if isinstance(statement, ast.Assign):
            line = f"{out}.copy_({self.where}({rows}, {text}, {out}))"
        elif type(statement.op) in _SIGNS:
            method, neutral = _SIGNS[type(statement.op)]
            line = f"{out}.{method}({self.where}({rows}, {text}, {neutral}))"
        else:
            raise Refused(f"{self._line(statement)}: `{self._code(statement)}` has no form with all rows.")
        self.put += 1
        self._replace(statement, line)

    def _called(self, statement: ast.stmt, call: ast.Call) -> None:
        """``out.index_add_(0, token, v)``."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name not in _IN_PLACE or not isinstance(call.func, ast.Attribute):
            if self.rows(call):
                raise Refused(f"{self._line(statement)}: `{self._code(call)}` may do something with each chosen row.")
            self._write()
            return
        out, value = self._put_parts(call, call.func.value)
        if name == "index_copy_" and self.chosen.axis is not None:
            raise Refused(f"{self._line(statement)}: `{self._code(call)}` may store more than once for a row.")
        rest = "0" if name == "index_add_" else self._code(out)
        text = plain(render(self.source, value, self.exchange))
        line = f"{self._code(out)}.{_IN_PLACE[name]}({self.where}({self.column(out)}, {text}, {rest}))"
        self._replace(statement, line)

    def _put_parts(self, call: ast.Call, out: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Where rows are put back and the rows, of ``out.index_add_(0, token, v)``."""
        named = {one.arg: one.value for one in call.keywords}
        given = [*call.args, *(named.pop(one) for one in ("dim", "index", "source")[len(call.args) :] if one in named)]
        if len(given) != 3 or named or not (isinstance(given[0], ast.Constant) and given[0].value == 0):
            raise Refused(f"{self._line(call)}: `{self._code(call)}` has no form with all rows.")
        if not self.chosen.is_index(given[1]) or self._concerns(out) or not self.rows(given[2]):
            raise Refused(f"{self._line(call)}: `{self._code(call)}` does not put back the rows that were chosen.")
        if not isinstance(out, (ast.Name, ast.Attribute)):
            raise Refused(f"{self._line(call)}: `{self._code(out)}` is no name; give it one first.")
        self.put += 1
        return out, given[2]

    # -- expressions ----------------------------------------------------------------------------------------------

    def rows(self, node: ast.expr) -> bool:
        """Whether an expression has a row for each chosen row; what must be written otherwise goes to `exchange`.

        Raises:
            Refused: when it depends on the chosen rows in any other way.
        """
        if not self._concerns(node):
            return False
        if isinstance(node, ast.Name) and node.id in self.held:
            return True
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            sides = [self.rows(node.left), self.rows(node.right)]
            if isinstance(node.op, ast.MatMult) and sides[1]:
                self._refuse(node)
            return any(sides)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.rows(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], _NO_TENSORS):
            return any([self.rows(node.left), self.rows(node.comparators[0])])
        if isinstance(node, ast.Attribute) and node.attr in ("dtype", "device", "ndim") and self.rows(node.value):
            return False
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp) and not self._concerns(node.test):
            return any([self.rows(node.body), self.rows(node.orelse)])
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            self._refuse(node)
        self._plain_parts(node)
        return False

    def _plain_parts(self, node: ast.expr) -> None:
        """Let an expression stand of which no part but dtypes, devices and other sizes depends on the rows."""
        if not self._concerns(node):
            return
        children = [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.keyword))]
        for child in children:
            part = child.value if isinstance(child, ast.keyword) else child
            if isinstance(node, ast.Name) or self.rows(part):
                self._refuse(node)
        if not children:
            self._refuse(node)

    def _subscript(self, node: ast.Subscript) -> bool:
        shape = node.value
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and self.rows(shape.value):
            if isinstance(node.slice, ast.Constant) and node.slice.value != 0:
                return False
            if isinstance(node.slice, ast.UnaryOp) or (
                isinstance(node.slice, ast.Slice) and getattr(node.slice.lower, "value", 0) == 1
            ):
                return False
            self._refuse(node)
        if self.chosen.mentions(node.slice):
            return self._gathered(node)
        if not self.rows(node.value):
            self._plain_parts(node.slice)
            return False
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not keeps_rows(entries) or any(self._concerns(one) for one in entries):
            self._refuse(node)
        return True

    def _gathered(self, node: ast.Subscript) -> bool:
        """``x[token]``, ``x[None, token]``, ``w[token, rank]``, ``w[token, rank, None]``."""
        if self._concerns(node.value):
            self._refuse(node)
        entries = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        text = operand(self._code(node.value))
        if self.chosen.is_index(entries[0]) and len(entries) > 1 and self._is_other(entries[1]):
            self._pair(node, text, entries[2:])
            return True
        if len(entries) == 2 and _is_none(entries[0]) and self.chosen.is_index(entries[1]):
            if not self._is_reshaped(node):
                raise Refused(f"{self._line(node)}: `{self._code(node)}` has the chosen rows behind another dimension.")
            entries = entries[1:]
        rest = [one for one in entries[1:] if not _is_whole(one)]
        if not self.chosen.is_index(entries[0]) or any(not _is_none(one) for one in rest):
            self._refuse(node)
        zero = "False" if self.kinds.is_bool(node.value) else "0"
        out = f"{self.where}({self.column(node.value)}, {plain(text)}, {zero})"
        self.exchange[node] = out + ("[:, None]" if rest else "")
        if len(rest) > 1:
            self._refuse(node)
        self.gathered.append(self._code(node.value))
        return True

    def _pair(self, node: ast.Subscript, text: str, rest: list[ast.expr]) -> None:
        """The numbers of a token and a rank, of which a row has the one that the mask chooses."""
        if any(not _is_none(one) for one in rest) or len(rest) > 1:
            self._refuse(node)
        self.pairs = self.pairs or self.source.fresh("chosen")
        kept = ", keepdim=True" if rest else ""
        self.exchange[node] = f"{self.where}({self.pairs}, {plain(text)}, 0).sum(1{kept})"
        self.gathered.append(plain(text))

    def _is_other(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.chosen.others and self.chosen.axis is not None

    def _is_reshaped(self, node: ast.Subscript) -> bool:
        """Whether ``x[None, token]`` is brought to rows at once: ``.reshape(-1, width)``."""
        parent = self.source.parents.get(node)
        call = self.source.parents.get(parent) if isinstance(parent, ast.Attribute) else None
        if not (isinstance(call, ast.Call) and isinstance(parent, ast.Attribute) and len(call.args) == 2):
            return False
        return parent.attr in ("reshape", "view") and self._code(call.args[0]) == "-1"

    def _call(self, node: ast.Call) -> bool:
        arguments = [*node.args, *(one.value for one in node.keywords)]
        if self.passes and any(carries(self.chosen, one) for one in arguments):
            return self._passed(node, arguments)
        if isinstance(node.func, ast.Attribute) and self._concerns(node.func.value):
            return self._method(node, node.func)
        if any(isinstance(one, ast.Starred) and self._concerns(one) for one in arguments):
            self._refuse(node)
        put = self._index_added(node)
        if put is not None:
            return False
        holding = [self.rows(one) for one in arguments]
        if not any(holding):
            return False
        name = dotted(self.source, node.func) or ""
        last = name.rpartition(".")[2] if name.startswith("torch.") else ""
        if last in ("linear", "matmul", "mm", "layer_norm", "embedding") and holding[0] and not any(holding[1:]):
            return True
        if last in PER_ROW:
            return True
        if is_module(self.source, node.func):
            self.modules.append(self._code(node.func))
            return True
        raise Refused(f"{self._line(node)}: `{self._code(node.func)}` may mix the rows.")

    def _passed(self, node: ast.Call, arguments: list[ast.expr]) -> bool:
        """A call that gets the list too: then it gets all rows and a list of all of them."""
        holding = [one for one in arguments if not carries(self.chosen, one) and self.rows(one)]
        if is_module(self.source, node.func) and holding:
            self.carried.append(self._code(node.func))
            return True
        role = role_of(self.source, node.func)
        if role == "takes out" and not holding:
            return True
        if role == "puts back" and len(holding) == 1:
            text = plain(render(self.source, holding[0], self.exchange))
            for one in ast.walk(holding[0]):
                self.exchange.pop(one, None)
            self.exchange[holding[0]] = f"{self.where}({self.column(holding[0])}, {text}, 0)"
            self.put += 1
            return False
        raise Refused(f"{self._line(node)}: what `{self._code(node.func)}` does with the list of rows is not known.")

    def _index_added(self, node: ast.Call) -> str | None:
        """``out.index_add(0, token, v)``, which gives a new tensor."""
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "index_add"):
            return None
        out, value = self._put_parts(node, node.func.value)
        text = f"{self.where}({self.column(out)}, {plain(render(self.source, value, self.exchange))}, 0)"
        for one in ast.walk(node):
            self.exchange.pop(one, None)
        self.exchange[node] = f"({self._code(out)} + {text})"
        return text

    def _method(self, node: ast.Call, function: ast.Attribute) -> bool:
        if not self.rows(function.value):
            self._refuse(node)
        others = [*node.args, *(one.value for one in node.keywords)]
        name = function.attr
        if name in ("new_zeros", "new_ones", "new_full", "new_empty") and not any(self.rows(one) for one in others):
            return False
        first = self._code(node.args[0]) if node.args else ""
        if name == "size" and first not in ("", "0"):
            return False
        if any(self.rows(one) for one in others) and name not in PER_ROW:
            self._refuse(node)
        shaped = name in ("reshape", "view") and first == "-1" and len(node.args) > 1
        raised = name == "unsqueeze" and first in ("1", "-1")
        if not (name in PER_ROW or shaped or raised):
            raise Refused(f"{self._line(node)}: `.{name}()` may mix the rows.")
        return True

    # -- texts ----------------------------------------------------------------------------------------------------

    def column(self, like: ast.expr) -> str:
        """The rows' mask, in a shape that goes with `like`."""
        known = dimensions(self.source, like, self.at)
        if known is not None and known >= 1:
            return self.mask + (f"[:{', None' * (known - 1)}]" if known > 1 else "")
        if not isinstance(like, (ast.Name, ast.Attribute)):
            raise Refused(
                f"{self._line(like)}: it is not known how many dimensions `{self._code(like)}` has; give it a name first."
            )
        return f"{self.mask}.reshape(-1, *(1,) * ({self._code(like)}.dim() - 1))"

    def _write(self) -> None:
        """Put the texts of `exchange` into the statement; all of it is broken into lines when it gets too long."""
        if not self.exchange:
            return
        line = render(self.source, self.at, self.exchange)
        width = len(edits.block_indentation(self.source, self.at)) + len(line)
        if self.at.lineno == self.at.end_lineno and width > line_limit(self.source):
            self._replace(self.at, line)
            return
        for node, text in self.exchange.items():
            if not any(one in self.exchange for one in self.source.ancestors(node)):
                self.found.append(edits.rewrite(self.source, node, text))  # type: ignore[arg-type]

    def _replace(self, statement: ast.stmt, line: str) -> None:
        base = edits.block_indentation(self.source, statement)
        lines = [one.removeprefix(base) for one in layout(base + line, self.source.indent, line_limit(self.source))]
        self.found.append(edits.replace(self.source, statement, statement, lines))

    def _line(self, node: ast.AST) -> str:
        return f"Line {getattr(node, 'lineno', 0)}"

    def _code(self, node: ast.AST) -> str:
        return render(self.source, node)

    def _refuse(self, node: ast.AST) -> None:
        raise Refused(f"{self._line(node)}: `{self._code(node)}` depends on how many rows are chosen.")


def put_back(source: Source, chosen: Selection) -> tuple[list[TextEdit], list[str]]:
    """The edits that compute all rows, and what is taken for granted about the program.

    Raises:
        Refused: when the rows are used in a way that has no form with all rows.
    """
    where, imported = spell(source, "torch.where", chosen.statement)
    flow = Rows(source, chosen, where)
    _refuse_changes(source, chosen)
    flow.passes = is_passed(source, chosen)
    flow.mask = source.fresh("chosen" if flow.passes else "rows") if flow.passes or not chosen.rows else chosen.rows
    flow.block(chosen.uses(source))
    function = source.function(chosen.statement)
    last = chosen.uses(source)[-1]
    for one in ast.walk(function) if function is not None else ():
        if not isinstance(one, ast.Name) or not isinstance(one.ctx, ast.Load):
            continue
        outside = source.range(one)[0] >= source.range(last)[1]
        if outside and (one.id in flow.held or (chosen.lists and one.id in (chosen.rows, chosen.others))):
            raise Refused(f"Line {one.lineno}: `{one.id}` is used behind the block in which the rows are chosen.")
    if not flow.put:
        raise Refused("The chosen rows are not put back where they were; keep all rows and the mask.")
    flow.found[:0] = _heads(source, flow, chosen)
    cautions = [_FLAT] if chosen.lists and chosen.axis is None and not _is_flat(source, chosen) else []
    cautions += [f"`{one}` must have a row for each element of the mask." for one in dict.fromkeys(flow.gathered)]
    cautions += [
        f"`{one}` must treat each row for itself, without statistics of a batch or attention between rows, and be finite "
        "for a row of zeros."
        for one in dict.fromkeys(flow.modules)
    ]
    cautions += [
        f"`{one}` gets all rows: what it gives for one must not depend on rows that the mask leaves out."
        for one in dict.fromkeys(flow.carried)
    ]
    return [*([imported] if imported is not None else []), *flow.found], cautions


def _heads(source: Source, flow: Rows, chosen: Selection) -> list[TextEdit]:
    """The mask in the place of the list of rows."""
    kinds = flow.kinds
    text = render(source, chosen.mask)
    boolean = text if kinds.is_bool(chosen.mask) else f"{operand(text)} != 0"
    flat = _is_flat(source, chosen)
    if chosen.axis is not None:
        pairs = flow.pairs or source.fresh("chosen")
        turned = f"{operand(text)}.T" if chosen.axis == 1 else text
        turned = turned if kinds.is_bool(chosen.mask) else f"{operand(turned)} != 0"
        return [_put(source, chosen.statement, [f"{pairs} = {turned}", f"{chosen.rows} = {pairs}.any(1)"])]
    if chosen.lists and flow.passes:
        every = flow.where.removesuffix("where") + "arange"
        lines = [f"{flow.mask} = {boolean}"]
        lines += [] if flat else [f"{flow.mask} = {flow.mask}.reshape(len({flow.mask}))"]
        lines.append(f"{chosen.rows} = {every}(len({flow.mask}), device={flow.mask}.device)")
        return [_put(source, chosen.statement, lines)]
    if chosen.lists:
        lines = [f"{chosen.rows} = {boolean}"]
        lines += [] if flat else [f"{chosen.rows} = {chosen.rows}.reshape(len({chosen.rows}))"]
        return [_put(source, chosen.statement, lines)]
    if not flat:
        raise Refused(f"It is not known whether `{text}` has one dimension; only a mask of rows can be mended.")
    return [] if chosen.rows else [edits.insert_before(source, chosen.statement, [f"{flow.mask} = {text}"])]


def _refuse_changes(source: Source, chosen: Selection) -> None:
    """Refuse when the mask may be changed in place where the rows are used."""
    names = {one.id for one in ast.walk(chosen.mask) if isinstance(one, ast.Name)}
    for statement in chosen.uses(source):
        for node in ast.walk(statement):
            if changed := changed_by(node) & names:
                raise Refused(f"`{min(changed)}` is changed in place where its rows are used.")


def _put(source: Source, statement: ast.stmt, lines: list[str]) -> TextEdit:
    return edits.replace(source, statement, statement, lines)


def _is_flat(source: Source, chosen: Selection) -> bool:
    bound = chosen.statement
    if chosen.rows and not chosen.lists and isinstance(bound, ast.Assign) and chosen.rows in assigned(bound):
        return dimensions(source, bound.value, bound) == 1
    return dimensions(source, chosen.mask, chosen.statement) == 1


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
