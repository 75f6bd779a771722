"""Whether a caller may catch what a function raises: an exception of the graph goes past its handlers.

Pure reading of the frames of a break and of the file.
"""

from __future__ import annotations

import ast

from graphmend_lsp.mending.facts.reach import caught_at
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.source import Function, Source, read


def catching(request: Request, source: Source, function: Function) -> str | None:
    """Why a caller may catch the exception, by the frames of the break, or by another call of the file; None for no reason.

    What torch calls in between catches nothing that it does not raise again.
    """
    for frame in request.site.chain[:-1]:
        if frame.kind == "torch":
            continue
        text = request.sources.get(frame.path)
        found = read(frame.path, text) if text is not None else None
        node = found.node_at(frame.span) if isinstance(found, Source) else None
        if node is None or not isinstance(found, Source):
            return f"`{frame.function}` calls it from a file that is not mended here, and may catch the exception."
        child = node
        for one in found.ancestors(node):
            handled = getattr(one, "handlers", None) and child in getattr(one, "body", ())
            suppressed = isinstance(one, ast.With) and any("suppress" in ast.dump(item) for item in one.items)
            if handled or suppressed:
                line = frame.span.start.line
                return f"`{frame.function}` may catch the exception in line {line}, which it cannot do when the graph raises it."
            child = one
    line_of = caught_at(source, function)
    if line_of is None:
        return None
    return f"A call in line {line_of} may catch the exception, which it cannot do when the graph raises it."
