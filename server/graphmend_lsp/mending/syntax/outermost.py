"""Which function Dynamo compiles as a whole when a break happens: the one whose end is the end of the graph.

Pure reading of a break's call chain and of the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.source import Function, Source, Unreadable, read
from graphmend_lsp.model import Frame

_Place = tuple[Source, Function]


@dataclass(frozen=True, slots=True)
class Outermost:
    """The function that Dynamo compiles, and the inlined ones between it and the break's own."""

    source: Source
    function: Function
    between: tuple[_Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Below:
    """The outermost function that a user writes: below the wrappers of its decorators, which stand here, outermost first.

    ``def tuples(function): def wrapper(...)`` is compiled as `wrapper`, which the user wrote as ``@tuples`` above a function.
    A wrapper may stand in a file that may not be edited.
    """

    found: Outermost
    wrappers: tuple[_Place, ...] = ()


def outermost(request: Request, source: Source, function: Function) -> Outermost | str:
    """The outermost compiled function as the chain tells; the break's own when there is no chain."""
    places = _places(request, source, {})
    return places if isinstance(places, str) else _outermost(places, source, function)


def below_wrappers(request: Request, source: Source, function: Function) -> Below | str:
    """The same, below the wrappers of its decorators."""
    places = _places(request, source, request.wrapping)
    if isinstance(places, str):
        return places
    chain = [*places, (source, function)]
    count = _wrappers(chain)
    found = _outermost(chain[count:], source, function)
    if found.source.path not in request.sources and found.source is not source:
        return _not_editable(found.function.name, found.source.path)
    return Below(found, tuple(chain[:count]))


def _outermost(places: Sequence[_Place], source: Source, function: Function) -> Outermost:
    if not places:
        return Outermost(source, function)
    first_source, first = places[0]
    between = tuple((one, place) for one, place in places[1:] if place is not function and place is not first)
    return Outermost(first_source, first, between)


def _places(request: Request, source: Source, wrapping: Mapping[str, str]) -> list[_Place] | str:
    """The functions of the chain, outermost first, as far as there is a text of their files; why the first has none."""
    frames = [frame for frame in request.site.chain if frame.kind == "code"]
    sources: dict[str, Source] = {source.path: source}
    found: list[_Place] = []
    for index, frame in enumerate(frames):
        text = request.sources.get(frame.path)
        if text is None and all(one.path in wrapping for one, _ in found):
            text = wrapping.get(frame.path)
        if text is None:
            if index:
                continue
            return _not_editable(_plain(frame.function), frame.path)
        one = sources.get(frame.path) or read(frame.path, text)
        if isinstance(one, Unreadable):
            return one.reason
        if one is not source:
            one = replace(one, style=request.style_of(frame.path))
        sources[frame.path] = one
        place = _function_at(one, frame)
        if place is not None:
            found.append((one, place))
        elif not index:
            return f"The outermost compiled function, `{_plain(frame.function)}`, is not a `def` that can be edited."
    return found


def _not_editable(name: str, path: str) -> str:
    return f"`{name}` in {PurePath(path).name} is the compiled function, and GraphMend may not edit that file; name it, too."


def _wrappers(chain: Sequence[_Place]) -> int:
    """How many functions the chain begins with that are wrappers of the decorators of the first that is none."""
    decorators: list[str] = []
    for source, function in chain[:-1]:
        around = _around(source, function)
        if around is None:
            break
        decorators.append(around.name)
    for count in range(len(decorators), 0, -1):
        written = [_last(one) for one in chain[count][1].decorator_list]
        at = [written.index(name) if name in written else -1 for name in decorators[:count]]
        if at[0] >= 0 and at == sorted(at):
            return count
    return 0


def _around(source: Source, function: Function) -> Function | None:
    """The outermost function that defines this one inside."""
    around = None
    while (parent := source.function(around or function)) is not None:
        around = parent
    return around


def _last(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _plain(name: str) -> str:
    """A function's name without what Dynamo puts around it for the rest of a function."""
    return name.rsplit(".", 1)[-1].removeprefix("torch_dynamo_resume_in_").split("_at_")[0]


def _function_at(source: Source, frame: Frame) -> Function | None:
    node = source.node_at(frame.span)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node
    return source.function(node) if node is not None else None
