"""Updates of what a mask chooses, done at full size: ``y[m] = y[m] * 2`` is ``torch.where(m, y * 2, y)``."""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.scalars import Scalars, plain
from graphmend_lsp.mending.lowering.masked import Masked
from graphmend_lsp.mending.lowering.selected import Chosen, chosen, of_which
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.formatting import layout, line_limit, operand, render
from graphmend_lsp.mending.syntax.imports import spell
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Assumption, Mend, TextEdit

NAME = "mask"
_TITLE = "Update all elements under the mask"
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def updated(source: Source, kinds: Kinds, statement: ast.Assign | ast.AugAssign, place: Chosen, first: Chosen) -> Mend:
    """The mend of a statement that writes to chosen elements.

    Raises:
        Refused: when what is written is not elementwise arithmetic of elements chosen by the same mask.
    """
    where, imported = spell(source, "torch.where", statement)
    masked = Masked(source, kinds, place if isinstance(statement, ast.AugAssign) else first, where)
    if isinstance(statement, ast.AugAssign):
        if type(statement.op) not in _SIGNS:
            raise Refused(f"`{render(source, statement)}` has no form over all elements.")
        masked.operand(statement.value)
        if isinstance(statement.op, (ast.Div, ast.Pow)) or (
            isinstance(statement.op, ast.Mult) and len(masked.leaves) > 1
        ):
            masked.guard(1 if isinstance(statement.op, (ast.Div, ast.Pow)) else 0)
    elif masked.grow() is not statement.value:
        raise Refused(
            f"`{render(source, statement.value)}` is more than elementwise arithmetic of what the mask chooses."
        )
    if statement is not source.statement(place.node) or not isinstance(place.tensor, (ast.Name, ast.Attribute)):
        raise Refused(f"`{render(source, place.tensor)}` is no name; give the tensor a name first.")
    if any(one.wholes != place.wholes for one in masked.leaves):
        raise Refused(f"`{render(source, place.node)}` may have other dimensions than what is written to it.")
    target = of_which(source, place)
    mask = masked.mask(place)
    if isinstance(statement, ast.AugAssign):
        value = operand(masked.body(statement.value, mask))
        old = target if masked.linear else f"{where}({mask}, {target}, {masked.safe or 0})"
        body = f"{old} {_SIGNS[type(statement.op)]} {value}"
    else:
        body = masked.body(statement.value, mask)
    text = f"{where}({plain(mask)}, {plain(body)}, {target})"
    own = (
        not place.has_numbers
        and _is_own(source, kinds, place.tensor, statement)
        and _keeps_dtype(masked, place, statement)
    )
    line = f"{target} = {text}" if own else f"{target}.copy_({text})"
    base = edits.block_indentation(source, statement)
    lines = [one.removeprefix(base) for one in layout(base + line, source.indent, line_limit(source))]
    lines = [*masked.setup, *lines]
    spots: list[TextEdit] = [imported] if imported is not None else []
    spots.append(edits.replace(source, statement, statement, lines))
    assumes: tuple[Assumption, ...] = (
        () if own or _is_made_here(source, kinds, place.tensor) else (_apart(source, place.tensor),)
    )
    tables = [one.node.value for one in masked.leaves if one.index is not None and isinstance(one.node, ast.Subscript)]
    texts = dict.fromkeys(render(source, one) for one in tables)
    changes = tuple(f"`{one}` must have an entry even where the mask chooses nothing." for one in texts)
    assumes += (Assumption("shapes"),) if tables else ()
    return Mend(NAME, _TITLE, source.path, source.span(statement), tuple(spots), changes=changes, assumes=assumes)


def _apart(source: Source, tensor: ast.expr) -> Assumption:
    """That elements of the tensor share no memory: an index may be written to such a one (torch warns), `copy_` raises."""
    return Assumption("layout", places=((source.path, source.span(tensor)),))


def _is_made_here(source: Source, kinds: Kinds, tensor: ast.expr) -> bool:
    scalars = Scalars(source, kinds)
    values = scalars.values(tensor) if isinstance(tensor, ast.Name) else None
    return bool(values) and all(scalars.is_fresh(value) for value in values or ())


def _keeps_dtype(masked: Masked, place: Chosen, statement: ast.Assign | ast.AugAssign) -> bool:
    """Whether what is written surely has the dtype of the tensor: an update in place converts, a new tensor would not."""
    scalars = masked.scalars
    bases = {ast.dump(one.tensor) for one in masked.leaves} - {ast.dump(place.tensor)}
    if bases:
        origins = scalars.origins(place.tensor)
        if scalars.converts(place.tensor) or any(
            scalars.origins(one.tensor) != origins or scalars.converts(one.tensor) for one in masked.leaves
        ):
            return False
    if scalars.is_floating(place.tensor) and not bases:
        return True
    divides = isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Div, ast.Pow))
    return not divides and not any(
        isinstance(one, (ast.Div, ast.Pow, ast.Compare))
        or (isinstance(one, ast.Constant) and isinstance(one.value, float))
        or (
            isinstance(one, ast.Call)
            and chosen(masked.source, one) is None
            and scalars.called(one)[0] not in ("abs", "neg")
        )
        for one in walk(statement.value)
    )


def _is_own(source: Source, kinds: Kinds, tensor: ast.expr, statement: ast.stmt) -> bool:
    """Whether nobody but the name can hold the tensor: it was made here, and until here only computed with."""
    if not isinstance(tensor, ast.Name):
        return False
    scalars = Scalars(source, kinds)
    values = scalars.values(tensor)
    function = source.function(tensor)
    if function is None or not values or not all(scalars.is_fresh(value) for value in values):
        return False
    nested = any(isinstance(one, (ast.For, ast.While)) for one in source.ancestors(statement))
    for one in walk(function):
        if isinstance(one, ast.Name) and one.id == tensor.id and isinstance(one.ctx, ast.Load):
            earlier = (one.lineno, one.col_offset) < (statement.lineno, statement.col_offset)
            inside = one in walk(statement)
            if (earlier or nested) and not inside and not _computes(source, scalars, one):
                return False
            scope = next((a for a in source.ancestors(one) if isinstance(a, (ast.FunctionDef, ast.Lambda))), None)
            if scope is not function:
                return False
    return True


def _computes(source: Source, scalars: Scalars, node: ast.Name) -> bool:
    """Whether a use of a name makes something that shares no memory with it."""
    parent = source.parents.get(node)
    if isinstance(parent, (ast.BinOp, ast.Compare, ast.UnaryOp)):
        return True
    if isinstance(parent, ast.Subscript) and parent.value is node:
        leaf = chosen(source, parent)  # by a number, `x[i]` would be a view
        return not isinstance(parent.ctx, ast.Load) or (leaf is not None and scalars.kinds.is_bool(leaf.mask))
    if isinstance(parent, ast.Attribute):
        call = source.parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            return scalars.is_fresh(call)
        return parent.attr in ("shape", "dtype", "device", "ndim")
    return isinstance(parent, ast.Call) and node in parent.args and scalars.is_fresh(parent)
