"""Padding that is taken out in more than one way: masks as an index and lengths in a list, told by one list of rows.

Where a function lists the rows of a flattened mask, ``i = torch.nonzero(m.flatten()).flatten()``, its ``x[m.bool()]`` are the
same rows of ``x``, and ``torch.cat([p[:n] for n in m.sum(-1).tolist()])`` are rows of ``p`` that the mask counts. Texts in,
texts out; what becomes of the list is not decided here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.rules.rows.list import Selection, names, selections
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import operand, render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, parameters
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import TextEdit
from graphmend_lsp.text import apply_edits

_LAST = ("-1", "1")


@dataclass
class Padding:
    """A function that takes padding out. `mask` is the mask's name, `chosen` the list of its rows."""

    source: Source
    function: Function
    chosen: Selection
    mask: str
    gathers: list[ast.Subscript] = field(default_factory=list)
    lengths: list[ast.Assign] = field(default_factory=list)
    counted: list[ast.Call] = field(default_factory=list)

    def members(self) -> Iterator[ast.AST]:
        """Every place that depends on how many rows the mask has."""
        yield from (self.chosen.statement, *self.gathers, *self.lengths, *self.counted)


def taken_out(source: Source, node: ast.AST) -> tuple[str, str] | None:
    """The text in which one list tells all rows of the padding that a break is about, and the list's name.

    None where the break is about no such padding, or a list is all there is.

    Raises:
        Refused: when a mask or the lengths are used in a way that a list of rows does not tell.
    """
    function = source.function(node)
    padding = _padding(source, function) if function is not None else None
    if padding is None:
        return None
    _find(padding)
    inside = {id(one) for member in padding.members() for one in walk(member)}
    if id(node) not in inside or not (padding.gathers or padding.lengths):
        return None
    _refuse(padding)
    return apply_edits(source.text.value, _spots(padding)), padding.chosen.rows


def _padding(source: Source, function: Function) -> Padding | None:
    """The only list of rows of a flattened mask in a function."""
    found: list[Padding] = []
    for call in walk(function):
        for one in selections(source, call) if isinstance(call, ast.Call) and _may_list(call) else ():
            mask = _flattened(one.mask)
            if one.lists and one.axis is None and mask is not None:
                found.append(Padding(source, function, one, mask))
    return found[0] if len(found) == 1 else None


def _may_list(call: ast.Call) -> bool:
    """Whether a call may list rows in a way that cannot be refused."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("nonzero", "argwhere", "where")


def _flattened(node: ast.expr) -> str | None:
    """The name of which an expression is all elements in a row."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords):
        return None
    sizes = [ast.unparse(one) for one in node.args]
    flat = node.func.attr in ("flatten", "ravel") and not sizes
    viewed = node.func.attr in ("view", "reshape") and sizes == ["-1"]
    return node.func.value.id if (flat or viewed) and isinstance(node.func.value, ast.Name) else None


def _find(padding: Padding) -> None:
    source, function, mask = padding.source, padding.function, padding.mask
    same = {
        one.targets[0].id
        for one in walk(function)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and _is_same(source, one.value, mask)
    }
    same |= {mask} if any(Kinds(source).is_bool(one) for one in names(function, mask)) else set()
    listed = {
        one.targets[0].id: one
        for one in walk(function)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and _is_lengths(one.value, mask)
    }
    for one in walk(function):
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id in same:
            padding.gathers.append(one)
        elif isinstance(one, ast.Call) and (name := _counted(source, one)) in listed:
            padding.counted.append(one)
            padding.lengths += [listed[name]] if listed[name] not in padding.lengths else []
    for name in same - {mask}:
        if sum(not isinstance(one.ctx, ast.Load) for one in names(function, name)) != 1:
            raise Refused(f"`{name}` is bound in more than one place.")


def _is_same(source: Source, node: ast.expr, mask: str) -> bool:
    """Whether an expression is the mask as booleans."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        zero = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value == 0
        return zero and isinstance(node.left, ast.Name) and node.left.id == mask
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    of_mask = isinstance(node.func.value, ast.Name) and node.func.value.id == mask
    to_bool = node.func.attr == "to" and [dotted(source, one) for one in node.args] == ["torch.bool"]
    return of_mask and not node.keywords and ((node.func.attr == "bool" and not node.args) or to_bool)


def _is_lengths(node: ast.expr, mask: str) -> bool:
    """Whether an expression is ``m.sum(-1).tolist()``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tolist"):
        return False
    summed = node.func.value
    if not (isinstance(summed, ast.Call) and isinstance(summed.func, ast.Attribute) and summed.func.attr == "sum"):
        return False
    over = [*summed.args, *(one.value for one in summed.keywords if one.arg == "dim")]
    of_mask = isinstance(summed.func.value, ast.Name) and summed.func.value.id == mask
    return of_mask and len(over) == 1 and ast.unparse(over[0]) in _LAST


def _counted(source: Source, call: ast.Call) -> str:
    """The name of the lengths in ``torch.cat([p[:n] for n in lengths])``; "" for anything else."""
    if dotted(source, call.func) != "torch.cat" or len(call.args) != 1 or call.keywords:
        return ""
    made = call.args[0]
    if not isinstance(made, ast.ListComp) or len(made.generators) != 1 or made.generators[0].ifs:
        return ""
    turn, part = made.generators[0], made.elt
    cut = part.slice if isinstance(part, ast.Subscript) else None
    whole = isinstance(cut, ast.Slice) and cut.lower is None and cut.step is None and isinstance(cut.upper, ast.Name)
    if not whole or not isinstance(turn.target, ast.Name) or not isinstance(turn.iter, ast.Name):
        return ""
    assert isinstance(cut, ast.Slice)
    assert isinstance(cut.upper, ast.Name)
    fixed = isinstance(part, ast.Subscript) and isinstance(part.value, (ast.Name, ast.Attribute))
    return turn.iter.id if cut.upper.id == turn.target.id and fixed else ""


def _refuse(padding: Padding) -> None:
    source, function, mask = padding.source, padding.function, padding.mask
    bound = [one for one in names(function, mask) if not isinstance(one.ctx, ast.Load)]
    if len(bound) + (mask in parameters(function)) != 1:
        raise Refused(f"`{mask}` is bound in more than one place.")
    for node in walk(function):
        if mask in changed_by(node):
            raise Refused(f"`{mask}` is changed in place, and its rows may not be the same everywhere.")
    for one in padding.gathers:
        if not isinstance(one.ctx, ast.Load):
            raise Refused(f"Line {one.lineno}: `{source.code(one)}` puts rows back by the mask, others by their list.")
    used = {id(part) for call in padding.counted for part in walk(call)}
    for listed in padding.lengths:
        target = listed.targets[0]
        assert isinstance(target, ast.Name)
        for name in names(function, target.id):
            if name is not target and id(name) not in used:
                raise Refused(f"Line {name.lineno}: `{name.id}` is used for more than the first elements of each row.")
    block = source.block(padding.chosen.statement)
    if any(source.statement(one) not in block for one in padding.members()):
        raise Refused("The rows of the mask are used in different blocks; list them before.")


def _spots(padding: Padding) -> list[TextEdit]:
    """The list stands first; what was chosen otherwise is gathered by it."""
    source, chosen, mask = padding.source, padding.chosen, padding.mask
    block = source.block(chosen.statement)
    uses = [source.statement(one) for one in (*padding.gathers, *padding.counted)]
    first = min((one for one in (*uses, chosen.statement) if one is not None), key=block.index)
    above: dict[ast.stmt, list[str]] = {}
    spots: list[TextEdit] = []
    taken: frozenset[str] = frozenset()
    if first is not chosen.statement:
        above[first] = [render(source, chosen.statement)]
        spots.append(edits.remove(source, chosen.statement))
    for one in padding.gathers:
        name = source.fresh("whole", taken)
        taken |= {name}
        text = f"{name} = {operand(render(source, one.value))}.flatten(0, {mask}.dim() - 1)"
        _above(source, above, one, text)
        spots.append(edits.rewrite(source, one, f"{name}[{chosen.rows}]"))
    for call in padding.counted:
        name = source.fresh("placed", taken)
        taken |= {name}
        part = call.args[0].elt  # type: ignore[attr-defined]
        text = f"{name} = {render(source, part.value)}[(({mask} != 0).cumsum(-1) - 1).clamp(min=0).flatten()]"
        _above(source, above, call, text)
        spots.append(edits.rewrite(source, call, f"{name}[{chosen.rows}]"))
    spots += [edits.remove(source, one) for one in padding.lengths]
    return [*(edits.insert_before(source, statement, lines) for statement, lines in above.items()), *spots]


def _above(source: Source, above: dict[ast.stmt, list[str]], node: ast.expr, text: str) -> None:
    statement = source.statement(node)
    assert statement is not None
    above.setdefault(statement, []).append(text)
