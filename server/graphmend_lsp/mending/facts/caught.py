"""Whether a caller may catch what a function raises: an exception of the graph goes past its handlers.

Pure reading of the frames of a break and of the file.
"""

from __future__ import annotations

import ast
import builtins

from graphmend_lsp.mending.facts.reach import caught_at
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.source import Function, Source, read
from graphmend_lsp.model import Frame


def catching(request: Request, source: Source, function: Function) -> str | None:
    """Why a caller may catch the exception, by the frames of the break, or by another call of the file; None for no reason.

    What torch calls in between catches nothing that it does not raise again.
    """
    for frame in request.site.chain[:-1]:
        if frame.kind != "torch" and _call_of(request, frame) is None:
            return f"`{frame.function}` calls it from a file that is not mended here, and may catch the exception."
    if (why := handling(request)) is not None:
        return why
    line_of = caught_at(source, function)
    if line_of is None:
        return None
    return f"A call in line {line_of} may catch the exception, which it cannot do when the graph raises it."


def handling(request: Request, error: str = "") -> str | None:
    """Why a caller of the break's chain may catch what is raised there, an `error` of this name; None where none is seen to.

    A check of the support module looks at the callers itself, when it is traced, and breaks the graph there.
    """
    for frame in request.site.chain[:-1]:
        found = _call_of(request, frame) if frame.kind != "torch" else None
        if found is None:
            continue
        source, child = found
        for one in source.ancestors(child):
            handlers = getattr(one, "handlers", ()) if child in getattr(one, "body", ()) else ()
            suppressed = isinstance(one, ast.With) and any("suppress" in ast.dump(item) for item in one.items)
            if suppressed or any(_catches(handler, error) for handler in handlers):
                line = frame.span.start.line
                return f"`{frame.function}` may catch the exception in line {line}, which it cannot do when the graph raises it."
            child = one
    return None


def _call_of(request: Request, frame: Frame) -> tuple[Source, ast.AST] | None:
    text = request.sources.get(frame.path)
    found = read(frame.path, text) if text is not None else None
    node = found.node_at(frame.span) if isinstance(found, Source) else None
    return (found, node) if node is not None and isinstance(found, Source) else None


def _catches(handler: ast.ExceptHandler, error: str) -> bool:
    """Whether a handler may catch an exception of Python's own of this name; of another name any handler may."""
    raised = getattr(builtins, error, None)
    kinds = {one.__name__ for one in getattr(raised, "__mro__", ())}
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return not kinds or any(
        not isinstance(one, ast.Name) or one.id in kinds or not hasattr(builtins, one.id) for one in named
    )
