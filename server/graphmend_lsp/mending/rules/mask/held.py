"""Chosen elements with a name: ``kept = x[m]`` is put back where the name is used, so that each use can be mended.

A tensor or a mask that may be another one there is given a name where the elements were chosen.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.bindings import value_at
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.number_text import by_lines
from graphmend_lsp.mending.lowering.selected import Chosen, chosen
from graphmend_lsp.mending.lowering.selected_rows import mended_all
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax import edits
from graphmend_lsp.mending.syntax.break_site import Propose
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, parameters
from graphmend_lsp.mending.syntax.walk import walk
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
    texts: dict[ast.AST, str] = {}
    names: dict[str, str] = {}
    for one in function.body:
        value = chosen(source, one.value) if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if value is None or not isinstance(target, ast.Name) or ast.dump(value.mask) != ast.dump(first.mask):
            continue
        assert isinstance(one, ast.Assign)
        uses = _uses(source, function, one, target.id)
        _refuse_changes(source, function, value, target.id)
        text, lines = _fixed(source, function, value, target.id, names)
        texts[value.node] = text
        spots.append(edits.replace(source, one, one, lines) if lines else edits.remove(source, one))
        spots += [edits.rewrite(source, use, text) for use in uses]
    if first.node not in texts:
        return None
    own = frozenset(texts.values())
    new = apply_edits(source.text.value, spots)
    new, cautions = mended_all(request, source, new, lambda now: _place(now, function.name, own), propose)
    return Mend(
        NAME, _TITLE, source.path, source.span(statement), tuple(by_lines(source, new)), cautions=tuple(cautions)
    )


def _uses(source: Source, function: Function, statement: ast.Assign, name: str) -> list[ast.Name]:
    """Where the function reads what the statement binds.

    Raises:
        Refused: when a place may read that or something else, or reads it when another function is called.
    """
    found: list[ast.Name] = []
    inside = {id(one) for one in walk(statement)}
    for node in walk(function):
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store) or id(node) in inside:
            continue
        value = value_at(source, node)
        if value is statement.value:
            found.append(node)
        elif source.function(node) is not function or any(
            isinstance(one, ast.Lambda) for one in source.ancestors(node)
        ):
            raise Refused(f"`{name}` is used in a function of its own.")
        elif value is None and not _is_before(source, node, statement):
            raise Refused(f"Line {node.lineno}: `{name}` may hold another value there than what the mask chooses.")
    return found


def _is_before(source: Source, node: ast.AST, statement: ast.stmt) -> bool:
    return (
        source.range(node)[1] <= source.range(statement)[0]
    )  # the statement is in the function's own block: in no loop


def _fixed(
    source: Source, function: Function, value: Chosen, name: str, names: dict[str, str]
) -> tuple[str, list[str]]:
    """What the mask chooses, by names that stay what they are, and the lines that give these; `names` are those of before."""
    lines: list[str] = []
    exchange: dict[ast.AST, str] = {}
    for part, label in ((value.tensor, "values"), (value.mask, "mask")):
        stays = all(_is_bound_once(function, one.id) for one in walk(part) if isinstance(one, ast.Name))
        if stays and isinstance(part, ast.Name):
            continue
        for hazard in hazards(source, part):
            if hazard.kind in ("effect", "random"):
                raise Refused(f"`{render(source, hazard.node)}` {hazard.words}.")
        text = render(source, part)
        known = names.get(text) if stays else None
        if known is None:
            known = source.fresh(f"{name}_{label}", frozenset(names.values()))
            lines.append(f"{known} = {text}")
            names[text] = known
        exchange[part] = known
    return render(source, value.node, exchange), lines


def _refuse_changes(source: Source, function: Function, value: Chosen, name: str) -> None:
    """Refuse unless the row numbers stay what they are, and nothing is changed in place from here on."""
    for one in (node for part in value.rest for node in walk(part) if isinstance(node, ast.Name)):
        if not _is_bound_once(function, one.id):
            raise Refused(f"`{one.id}` may be another number where `{name}` is used.")
    names = {
        one.id for part in (value.tensor, value.mask, *value.rest) for one in walk(part) if isinstance(one, ast.Name)
    }
    for node in walk(function):
        changed = changed_by(node) & {*names, name}
        if changed and not source.range(node)[1] <= source.range(value.node)[0]:
            raise Refused(f"`{min(changed)}` is changed in place between where `{name}` is made and where it is used.")


def _is_bound_once(function: Function, name: str) -> bool:
    return _bindings(function, name) + (name in parameters(function)) <= 1


def _bindings(function: Function, name: str) -> int:
    return sum(
        isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load) for one in walk(function)
    )


def _place(source: Source, function: str, texts: frozenset[str]) -> ast.Subscript | None:
    """The first place of the function that reads one of the texts."""
    found = [
        one
        for one in source.nodes
        if isinstance(one, ast.Subscript)
        and isinstance(one.ctx, ast.Load)
        and getattr(source.function(one), "name", "") == function
        and render(source, one) in texts
    ]
    return min(found, key=lambda one: (one.lineno, one.col_offset), default=None)
