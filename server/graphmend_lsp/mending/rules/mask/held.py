"""Chosen elements with a name: ``kept = x[m]`` is put back where the name is used, so that each use can be mended.

Only where tensor and mask stay what they are between the two places; nothing else is known of the uses.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.lowering.number_text import by_lines
from graphmend_lsp.mending.lowering.selected import Chosen, chosen
from graphmend_lsp.mending.lowering.selected_rows import mended_all
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Propose
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, local_names, parameters
from graphmend_lsp.model import Mend, TextEdit
from graphmend_lsp.text import apply_edits

NAME = "mask"
_TITLE = "Reduce all elements under the mask"


def held(request: Request, source: Source, first: Chosen, propose: Propose) -> Mend | None:
    """The mend of a name that holds chosen elements; None when they get no name.

    Raises:
        Refused: when the name, the tensor or the mask may be something else at a use, or a use has no form.
    """
    statement = source.parents.get(first.node)
    function = source.function(first.node)
    if not isinstance(statement, ast.Assign) or function is None or not isinstance(first.node, ast.Subscript):
        return None
    if [type(one) for one in statement.targets] != [ast.Name]:
        return None
    spots: list[TextEdit] = []
    texts: set[str] = set()
    for one in function.body:
        value = chosen(source, one.value) if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if value is None or not isinstance(target, ast.Name) or ast.dump(value.mask) != ast.dump(first.mask):
            continue
        _refuse_changes(source, function, value, target.id)
        texts.add(render(source, value.node))
        spots.append(edits.remove(source, one))
        spots += [
            edits.rewrite(source, use, render(source, value.node))
            for use in ast.walk(function)
            if isinstance(use, ast.Name) and use.id == target.id and isinstance(use.ctx, ast.Load)
        ]
    if render(source, first.node) not in texts:
        return None
    new = apply_edits(source.text.value, spots)
    new, cautions = mended_all(request, source, new, lambda now: _place(now, function.name, texts), propose)
    return Mend(
        NAME, _TITLE, source.path, source.span(statement), tuple(by_lines(source, new)), cautions=tuple(cautions)
    )


def _refuse_changes(source: Source, function: Function, value: Chosen, name: str) -> None:
    """Refuse unless name, tensor and mask are bound once and nothing is changed in place."""
    for one in (value.tensor, value.mask):
        if not isinstance(one, ast.Name):
            raise Refused(
                f"`{render(source, one)}` may give something else where `{name}` is used; give it a name first."
            )
    names = {
        one.id
        for part in (value.tensor, value.mask, *value.rest)
        for one in ast.walk(part)
        if isinstance(one, ast.Name)
    }
    bound = {one: _bindings(function, one) + (one in parameters(function)) for one in (*names, name)}
    if name not in local_names(function) or any(times != 1 for times in bound.values()):
        raise Refused(f"`{name}`, its tensor or its mask is bound in more than one place.")
    for node in ast.walk(function):
        if changed := changed_by(node) & {*names, name}:
            raise Refused(f"`{min(changed)}` is changed in place between where `{name}` is made and where it is used.")
        if isinstance(node, (ast.Lambda, ast.FunctionDef)) and node is not function:
            inside = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name]
            if inside:
                raise Refused(f"`{name}` is used in a function of its own.")


def _bindings(function: Function, name: str) -> int:
    return sum(
        isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load) for one in ast.walk(function)
    )


def _place(source: Source, function: str, texts: set[str]) -> ast.Subscript | None:
    """The first place of the function that reads one of the texts."""
    found = [
        one
        for one in ast.walk(source.tree)
        if isinstance(one, ast.Subscript)
        and isinstance(one.ctx, ast.Load)
        and getattr(source.function(one), "name", "") == function
        and render(source, one) in texts
    ]
    return min(found, key=lambda one: (one.lineno, one.col_offset), default=None)
