"""Reading a call that gets chosen rows: ``out[m] = f(x[m], w[m, :])``, with where its results are put back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from graphmend_lsp.mending.facts.bindings import last_value
from graphmend_lsp.mending.facts.effects import changed_by
from graphmend_lsp.mending.facts.per_row import is_module, own_function
from graphmend_lsp.mending.facts.purity import hazards
from graphmend_lsp.mending.lowering.selected import Chosen, chosen
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import dotted
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Source, assigned
from graphmend_lsp.mending.syntax.walk import walk


@dataclass(frozen=True, slots=True)
class Through:
    """A call that gets chosen rows: its statement, the rows, and the statements that put back what it gives.

    `stores` are triples of a place, the statement, and what is put there; without that, the name at the place's position is.
    """

    statement: ast.Assign
    call: ast.Call
    rows: tuple[Chosen, ...]
    stores: tuple[Store, ...]
    names: tuple[str, ...]
    test: ast.If | None


@dataclass(frozen=True, slots=True)
class Store:
    """Rows that are put back: where, in which statement, and from which expression of which name (None: the call itself)."""

    place: Chosen
    statement: ast.stmt
    value: ast.expr | None
    name: str


def arguments(call: ast.Call) -> list[ast.expr]:
    """The expressions that a call gets, in order."""
    return [*call.args, *(one.value for one in call.keywords)]


def bare(node: ast.expr) -> ast.expr:
    """An argument without its minus."""
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node


def found_call(source: Source, node: ast.AST) -> Through | None:
    """The call that a break is about; None when it is about no such call.

    Raises:
        Refused: when the call gets the mask, too, or what it gives is used otherwise than to put it back.
    """
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
    for one in arguments(call):
        leaf = chosen(source, bare(one))
        if leaf is not None and isinstance(leaf.mask, ast.Name) and not leaf.broadcasts:
            rows.append(leaf)
    if not rows or (node is not statement and not _is_at(source, node, statement, rows)):
        return None
    mask = rows[0].mask
    assert isinstance(mask, ast.Name)
    by_mask = [one for one in rows if isinstance(one.mask, ast.Name) and one.mask.id == mask.id]
    own = {id(part) for one in by_mask for part in walk(one.node)}
    for part in walk(call):
        if isinstance(part, ast.Name) and part.id == mask.id and id(part) not in own:
            raise Refused(f"`{render(source, call.func)}` gets `{mask.id}` itself beside the rows that it chooses.")
    if any(one.kind in ("effect", "random") for row in by_mask for one in hazards(source, row.tensor)):
        raise Refused(f"`{render(source, call)}` does more than choose rows in its arguments.")
    stores, names = _stores(source, statement, mask)
    test = source.parents.get(statement)
    body = {id(statement), *(id(one.statement) for one in stores)}
    asked = isinstance(test, ast.If) and not test.orelse and _asks_for_any(source, test.test) == mask.id
    whole = isinstance(test, ast.If) and asked and {id(one) for one in test.body} == body
    return Through(statement, call, tuple(by_mask), stores, names, test if whole and isinstance(test, ast.If) else None)


def _is_at(source: Source, node: ast.AST, statement: ast.Assign, rows: Sequence[Chosen]) -> bool:
    """Whether a break is at what a statement chooses, at where it is put back, or at the test for any row around it."""
    around = source.parents.get(statement)
    if isinstance(around, ast.If) and any(node is one for one in (around, *walk(around.test))):
        return _asks_for_any(source, around.test) is not None
    return any(node is one.node for one in rows) or source.statement(node) is not statement or node in statement.targets


def _statement(source: Source, node: ast.AST) -> ast.stmt | None:
    """The statement with the call: that of the break, the one under a test, or that of a name which is put back."""
    statement = source.statement(node)
    if isinstance(statement, ast.If) and any(node is one for one in (statement, *walk(statement.test))):
        return next((one for one in statement.body if isinstance(one, ast.Assign)), None)
    stored = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
    if isinstance(statement, ast.Assign) and stored and isinstance(statement.value, ast.Name):
        value = last_value(source, statement.value.id, statement)
        return source.statement(value) if value is not None else None
    return statement


def _is_followed(source: Source, callee: ast.expr) -> bool:
    if own_function(source, callee) is not None:
        return True
    if is_module(source, callee):
        return False
    name = dotted(source, callee)
    return name is not None and name.partition(".")[0] not in ("torch", "numpy", "math", "operator", "functools")


def _stores(source: Source, statement: ast.Assign, mask: ast.Name) -> tuple[tuple[Store, ...], tuple[str, ...]]:
    """Where what the call gives is put back, and names for it.

    Raises:
        Refused: when any of it is used otherwise.
    """
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if all(isinstance(one, ast.Subscript) for one in parts):
        places = [_place(source, one, mask) for one in parts]
        names = [one.tensor.id if isinstance(one.tensor, ast.Name) else "rows" for one in places]
        if len(set(names)) < len(names):
            names = [f"{one}_{at}" for at, one in enumerate(names)]
        return tuple(Store(one, statement, None, name) for one, name in zip(places, names, strict=True)), tuple(names)
    names = [one.id for one in parts if isinstance(one, ast.Name)]
    if len(names) < len(parts):
        raise Refused(f"`{render(source, target)}` holds chosen rows; keep all rows and the mask.")
    function = source.function(statement)
    uses = (
        [one for one in walk(function) if isinstance(one, ast.Name) and one.id in names] if function is not None else []
    )
    behind = source.after(statement)
    stores: list[Store] = []
    for use in uses:
        parent = source.parents.get(use)
        if use in parts or (isinstance(parent, ast.Attribute) and parent.attr in ("dtype", "device")):
            continue
        stores.append(_put_back(source, use, behind, mask))
    stores.sort(key=lambda one: one.statement.lineno)
    last = max((at for at, one in enumerate(behind) if any(_holds(one, each.statement) for each in stores)), default=-1)
    for one in behind[: last + 1]:
        changed = {name for part in walk(one) for name in changed_by(part)} | assigned(one)
        if mask.id in changed:
            raise Refused(f"Line {one.lineno}: `{mask.id}` is changed before the rows are put back.")
    if {one.name for one in stores} != set(names):
        raise Refused("The chosen rows are not put back where they were; keep all rows and the mask.")
    return tuple(stores), tuple(names)


def _put_back(source: Source, use: ast.Name, behind: Sequence[ast.stmt], mask: ast.Name) -> Store:
    """The statement that puts rows back, perhaps in another dtype: ``out[m] = rows.to(out.dtype)``.

    Raises:
        Refused: when a use of the rows is in no such statement.
    """
    store = source.statement(use)
    held = any(one is store or (isinstance(one, ast.If) and _holds(one, store)) for one in behind)
    stored = isinstance(store, ast.Assign) and len(store.targets) == 1 and isinstance(store.targets[0], ast.Subscript)
    if not (held and stored and isinstance(store, ast.Assign) and _holds(store.value, use)):
        raise Refused(f"Line {use.lineno}: `{use.id}` holds chosen rows and is not used only to put them back.")
    return Store(_place(source, store.targets[0], mask), store, store.value, use.id)


def _holds(node: ast.AST, inner: ast.AST | None) -> bool:
    return any(one is inner for one in walk(node))


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
