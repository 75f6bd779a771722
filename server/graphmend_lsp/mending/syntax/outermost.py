"""Which function Dynamo compiles as a whole when a break happens: the one whose end is the end of the graph.

Pure reading of a break's call chain and of the sources.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.source import Function, Source, Unreadable, read
from graphmend_lsp.model import Frame


@dataclass(frozen=True, slots=True)
class Outermost:
    """The function that Dynamo compiles, and the inlined ones between it and the break's own."""

    source: Source
    function: Function
    between: tuple[tuple[Source, Function], ...] = ()


def outermost(request: Request, source: Source, function: Function) -> Outermost | str:
    """The outermost compiled function as the chain tells; the break's own when there is no chain."""
    frames = [frame for frame in request.site.chain if frame.kind == "code"]
    sources: dict[str, Source] = {source.path: source}
    found: list[tuple[Source, Function]] = []
    for index, frame in enumerate(frames):
        text = request.sources.get(frame.path)
        if text is None:
            if index:
                continue
            return (
                f"This must wait for the end of the compiled function `{_plain(frame.function)}`, whose file "
                "may not be edited; name its file, too."
            )
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
    if not found:
        return Outermost(source, function)
    first_source, first = found[0]
    between = tuple((one, place) for one, place in found[1:] if place is not function and place is not first)
    return Outermost(first_source, first, between)


def without_wrappers(found: Outermost, source: Source, function: Function) -> Outermost:
    """The function that a decorator's wrapper calls, where the outermost one is such a wrapper.

    ``def tuples(function): def wrapper(...)`` is compiled as `wrapper`, which the user wrote as ``@tuples`` above a function.
    `source` and `function` are the break's own.
    """
    return unwrapped(found, source, function)[0]


def unwrapped(
    found: Outermost, source: Source, function: Function
) -> tuple[Outermost, tuple[tuple[Source, Function], ...]]:
    """The same, with the wrappers, outermost first."""
    wrappers: list[tuple[Source, Function]] = []
    while (decorator := _around(found.source, found.function)) is not None:
        inner, between = (found.between[0], found.between[1:]) if found.between else ((source, function), ())
        names = [_last(one) for one in inner[1].decorator_list]
        if decorator.name not in names or inner[1] is found.function:
            break
        wrappers.append((found.source, found.function))
        found = Outermost(*inner, between)
    return found, tuple(wrappers)


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
