"""Lists of row numbers made from a mask: ``i = torch.where(m)[0]`` becomes the mask of those rows.

Every use of the list must be an index of rows that are updated or reduced; each is then mended as one of a mask. A mask
with more than one dimension would list rows more than once; it is reshaped to one dimension, which then raises.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.lowering.counted import indices
from graphmend_lsp.mending.lowering.number_text import by_lines
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Propose, answers_of
from graphmend_lsp.mending.syntax.formatting import operand, render, settled_style
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, Unreadable, local_names, parameters, read
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Declined, Mend
from graphmend_lsp.text import apply_edits

NAME = "mask"
_TITLE = "Keep the mask instead of the rows' numbers"
_FLAT = "A mask that lists rows must have one dimension, or others of size 1 only; it raises for any other."
_MOST = 8


def listed(request: Request, source: Source, node: ast.AST, propose: Propose) -> Mend | None:
    """The mend of a name that holds row numbers and is used as an index; None when the break is no such list.

    Raises:
        Refused: when a use of the list has no form with the mask.
    """
    found = _list_of(source, node)
    if found is None:
        return None
    statement, name, mask, flat = found
    function = source.function(statement)
    if function is None or name not in local_names(function) or name in parameters(function):
        return None
    uses = [one for one in _names(function, name) if isinstance(one.ctx, ast.Load)]
    places = [source.parents.get(one) for one in uses]
    if not uses or not all(isinstance(one, ast.Subscript) and one.slice in uses for one in places):
        return None
    if sum(not isinstance(one.ctx, ast.Load) for one in _names(function, name)) != 1:
        raise Refused(f"`{name}` is bound in more than one place.")
    text = render(source, mask)
    if not Kinds(source).is_bool(mask):
        text = f"{operand(text)} != 0"
    lines = [f"{name} = {text}"] if flat else [f"{name} = {text}", f"{name} = {name}.reshape(len({name}))"]
    new = apply_edits(source.text.value, [edits.replace(source, statement, statement, lines)])
    cautions: list[str] = [] if flat else [_FLAT]
    new, more = mended_all(request, source, new, lambda now: _indexed(now, function.name, name), propose)
    cautions += more
    return Mend(
        NAME, _TITLE, source.path, source.span(statement), tuple(by_lines(source, new)), cautions=tuple(cautions)
    )


def mended_all(
    request: Request, source: Source, text: str, place: Callable[[Source], ast.Subscript | None], propose: Propose
) -> tuple[str, list[str]]:
    """The text with every place mended that is found in it, one after the other, and what that changes.

    Raises:
        Refused: with the reason for a place that has no mend.
    """
    cautions: list[str] = []
    style = settled_style(source)
    for _ in range(_MOST):
        now = read(source.path, text)
        if isinstance(now, Unreadable):
            raise Refused(now.reason)
        now = replace(now, style=style)
        found = place(now)
        if found is None:
            return text, cautions
        site = replace(request.site, span=now.span(found), gb_id="GB0036", root_gb_id=None)
        answers = answers_of(
            NAME, propose, Request(site, {source.path: text}, styles={**request.styles, source.path: style})
        )
        mend = next((one for one in answers if isinstance(one, Mend)), None)
        if mend is None:
            declined = next((one.reason for one in answers if isinstance(one, Declined)), "")
            raise Refused(declined or f"`{render(now, found)}` has no form over all elements.")
        text = apply_edits(text, mend.edits)
        cautions += [one for one in (*mend.changes, *mend.cautions) if one not in cautions]
    raise Refused("What the mask chooses is used in too many places.")


def _list_of(source: Source, node: ast.AST) -> tuple[ast.Assign, str, ast.expr, bool] | None:
    """The assignment of row numbers to a name, the mask, and whether the mask surely has one dimension."""
    found = indices(source, node)
    if found is None:
        return None
    call, mask, pair = found
    parent = source.parents.get(call)
    if not pair:
        return None
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value == 0:
        statement = source.parents.get(parent)
        if isinstance(statement, ast.Assign) and [type(one) for one in statement.targets] == [ast.Name]:
            return statement, statement.targets[0].id, mask, False  # type: ignore[attr-defined]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Tuple):
        names = parent.targets[0].elts
        if len(names) == 1 and isinstance(names[0], ast.Name):
            return parent, names[0].id, mask, True
    return None


def _names(function: Function, name: str) -> list[ast.Name]:
    return [one for one in walk(function) if isinstance(one, ast.Name) and one.id == name]


def _indexed(source: Source, function: str, name: str) -> ast.Subscript | None:
    """A subscript of the function whose index is the name; one that is read before one that is written."""
    found: list[ast.Subscript] = []
    for one in source.nodes:
        by_name = isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id == name
        if by_name and isinstance(one, ast.Subscript) and getattr(source.function(one), "name", "") == function:
            found.append(one)
    return min(found, key=lambda one: (one.lineno, not isinstance(one.ctx, ast.Load)), default=None)
