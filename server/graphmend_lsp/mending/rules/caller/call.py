"""Which call leads to a function, by the text: the call's node, that it can lead nowhere else, and its arguments.

No rule's knowledge enters here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphmend_lsp.mending.facts.purity import comes_first, hazards
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.formatting import render
from graphmend_lsp.mending.syntax.imports import binding
from graphmend_lsp.mending.syntax.refused import Refused
from graphmend_lsp.mending.syntax.source import Function, Source, loaded, read
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.model import Frame


@dataclass(frozen=True, slots=True)
class Call:
    """The call `node` in a `statement` of `caller`; `arguments` are what the parameters of `callee` get, where they are given."""

    node: ast.Call
    statement: ast.stmt
    caller: Function
    callee: Function
    arguments: Mapping[str, ast.expr]
    is_module: bool


def call_of(request: Request, source: Source, inside: ast.stmt, frame: Frame) -> Call:
    """The call at `frame` of the function around the statement `inside`.

    Raises:
        Refused: when it may lead elsewhere, or something else would come between it and a statement in front of it.
    """
    callee = source.parents[inside]
    if not isinstance(callee, ast.FunctionDef):
        raise Refused(f"The number is not read in the block of a function itself: line {inside.lineno}.")
    if callee.decorator_list:
        raise Refused(f"`{callee.name}` is decorated, so what is called may take other arguments.")
    if callee.args.vararg is not None or callee.args.kwarg is not None:
        raise Refused(f"`{callee.name}` takes any arguments, so a new argument may have a name that it takes already.")
    node = source.node_at(frame.span) if frame.path == source.path else None
    while isinstance(node, ast.expr) and not isinstance(node, ast.Call):
        parent = source.parents.get(node)
        node = parent if isinstance(parent, ast.Call) and parent.func is node else None
    caller = source.function(node) if node is not None else None
    if not isinstance(node, ast.Call) or caller is None or caller is callee:
        raise Refused(f"The call of `{callee.name}` is not found in this file, in `{frame.function}`.")
    is_module = _refuse_others(request, source, node, callee)
    return Call(node, _statement(source, node, caller), caller, callee, _bound(source, node, callee), is_module)


def _refuse_others(request: Request, source: Source, call: ast.Call, callee: Function) -> bool:
    """Refuse a call that may lead to another function than the callee; whether it goes through a submodule."""
    text = render(source, call.func)
    home = source.parents[callee]
    if isinstance(home, ast.Module) and isinstance(call.func, ast.Name) and call.func.id == callee.name:
        defined = [one for one in source.nodes if getattr(one, "name", "") == callee.name]
        if (
            defined == [callee]
            and binding(source, callee.name, call) is None
            and callee.name not in _stored(source.tree)
        ):
            return False
    if isinstance(home, ast.ClassDef) and isinstance(source.parents[home], ast.Module) and _is_own(call.func):
        _refuse_overrides(request, source, home, callee)
        owner, attribute = source.owner(call), call.func.attr  # type: ignore[attr-defined]
        values = list(_values(owner, attribute)) if owner is not None else []
        if owner is home and attribute == callee.name and not values:
            return False
        made = [
            isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == home.name for one in values
        ]
        if callee.name == "forward" and made and all(made):
            if "forward_pre_hook" in source.text.value:
                raise Refused(f"A hook of this file may replace the arguments of `{text}`.")
            return True
    raise Refused(f"`{text}` may be another function than the `{callee.name}` that reads the number.")


def _refuse_overrides(request: Request, source: Source, home: ast.ClassDef, callee: Function) -> None:
    if sum(isinstance(one, ast.ClassDef) and one.name == home.name for one in source.nodes) > 1:
        raise Refused(f"There are several classes named `{home.name}`.")
    own = [getattr(part, "name", "") for part in walk(home)]
    if own.count(callee.name) > 1 or "__call__" in own:
        raise Refused(f"`{home.name}` decides in another way than by the name what is called.")
    classes = [
        part
        for path, text in request.sources.items()
        if isinstance(one := source if path == source.path else read(path, text), Source)
        for part in walk(one.tree)
        if isinstance(part, ast.ClassDef)
    ]
    for part in _in_front(classes, home):
        if any(getattr(one, "name", "") == callee.name for one in part.body):
            raise Refused(f"`{part.name}` overrides `{home.name}.{callee.name}` and would get an argument more.")


def _in_front(classes: list[ast.ClassDef], home: ast.ClassDef) -> list[ast.ClassDef]:
    """The classes that may be asked for a method before `home`: those derived from it, and their other bases."""
    derived = {home.name}
    while True:
        found = [one for one in classes if one is not home and any(_last(base) in derived for base in one.bases)]
        if {one.name for one in found} <= derived:
            break
        derived |= {one.name for one in found}
    own = {_last(base) for base in home.bases}
    beside = {_last(base) for one in found for base in one.bases} - derived - own
    return [*found, *(one for one in classes if one.name in beside)]


def _last(base: ast.expr) -> str:
    return ast.unparse(base).rpartition(".")[2]


def _values(owner: ast.ClassDef, attribute: str) -> Iterator[ast.expr | None]:
    """What a class stores in an attribute of its own; None for anything but a plain assignment."""
    for one in walk(owner):
        if isinstance(one, ast.Attribute) and one.attr == attribute and isinstance(one.ctx, (ast.Store, ast.Del)):
            stores = [part for part in walk(owner) if isinstance(part, ast.Assign) and one in part.targets]
            yield stores[0].value if stores else None


def _statement(source: Source, call: ast.Call, caller: Function) -> ast.stmt:
    """The statement of the call, in front of which another one sees what the call sees.

    Raises:
        Refused: when it is not so.
    """
    statement = source.statement(call)
    text = render(source, call.func)
    if statement is None or not comes_first(source, statement, call):
        raise Refused(f"Something runs before `{text}` in its statement, or decides whether it is called.")
    if not source.starts_line(statement):
        raise Refused(f"Line {statement.lineno}: `{text}` shares its line with another statement.")
    for up in source.ancestors(call):
        if isinstance(up, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)):
            raise Refused(f"`{text}` is called in an expression of its own scope.")
        if up is caller:
            break
        if isinstance(up, ast.stmt) and up is not statement and not isinstance(up, ast.If):
            raise Refused(
                f"Line {up.lineno}: `{text}` is called in a loop, a `try` or a `with`, which a break leaves to Python."
            )
    return statement


def _bound(source: Source, call: ast.Call, callee: Function) -> dict[str, ast.expr]:
    """The arguments of a call by the names of the callee's parameters."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        raise Refused(f"`{render(source, call.func)}` gets `*` or `**` arguments.")
    names = [one.arg for one in (*callee.args.posonlyargs, *callee.args.args)]
    names = names[isinstance(source.parents[callee], ast.ClassDef) :]
    if len(call.args) > len(names):
        raise Refused(f"`{render(source, call.func)}` gets more arguments than `{callee.name}` takes.")
    given = dict(zip(names, call.args, strict=False))
    given.update({one.arg: one.value for one in call.keywords if one.arg is not None})
    names_given = frozenset(one.id for one in given.values() if isinstance(one, ast.Name))
    for one in given.values():
        for hazard in hazards(source, one):
            if hazard.kind in ("effect", "random") or loaded(hazard.node) & names_given:
                raise Refused(f"`{render(source, hazard.node)}` {hazard.words}; give it a name before the call.")
    return given


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _stored(tree: ast.Module) -> frozenset[str]:
    """The names that are bound by anything but a definition, anywhere in a file."""
    return frozenset(one.id for one in walk(tree) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))
