"""From a source text to its likely graph breaks: cut, reach, walk, place.

The only door to the static tier's findings. Whatever the text is, it answers and does not raise.
"""

from __future__ import annotations

from graphmend_lsp.analysis.outline import Chunk, outline
from graphmend_lsp.analysis.reach import World
from graphmend_lsp.analysis.reasons import consequence_of, reason_for, remedy_for
from graphmend_lsp.analysis.scope import Found
from graphmend_lsp.model import Break, Outcome, Position, Span
from graphmend_lsp.text import Text

_BOM = "\ufeff"


def find_breaks(source: str, path: str) -> tuple[Break, ...]:
    """The graph breaks that the text of the file `path` is certain enough to have, in the order of the text.

    Text that does not parse is answered for the functions that do. Suppression comments are not looked at.
    """
    try:
        return _find(source, path)
    except (RecursionError, MemoryError):
        return ()


def _find(source: str, path: str) -> tuple[Break, ...]:
    marked = source.startswith(_BOM)
    chunks = outline(source[1:] if marked else source)
    places: dict[int, tuple[int, Chunk]] = {}
    for line, chunk in chunks:
        for function in chunk.functions.values():
            places[id(function)] = (line, chunk)
        for each in chunk.classes.values():
            for method in each.methods.values():
                places[id(method)] = (line, chunk)
    world = World([chunk for _, chunk in chunks])
    texts: dict[int, Text] = {}
    breaks: dict[tuple[Span, str], Break] = {}
    for function, walked in world.reached():
        if not walked.found:
            continue
        line, chunk = places[id(function)]
        text = texts.setdefault(id(chunk), Text(chunk.text))
        for found in walked.found:
            site = _break(found, path, text, line, marked)
            breaks.setdefault((site.span, site.code), site)
    return tuple(sorted(breaks.values(), key=lambda site: (site.span.start, site.span.end, site.code)))


def _break(found: Found, path: str, text: Text, line: int, marked: bool) -> Break:
    node, hit = found.hit.node, found.hit
    local = text.span_from_utf8(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
    reason = reason_for(hit.gb_id, hit.gb_type, text.slice(local))
    gb_id, gb_type = hit.gb_id, hit.gb_type
    root_id: str | None = None
    root_type: str | None = None
    skipped: Outcome = "frame skipped"
    if found.inside:
        reason = f"{reason} {consequence_of(found.inside)}"
    if found.inside == "loop":
        gb_id, gb_type, root_id, root_type = "GB7000", "graph break in loop", gb_id, gb_type
    elif found.inside == "context":
        gb_id, gb_type = "GB0066", "Graph break under GenericContextWrappingVariable"
        root_id, root_type = hit.gb_id, hit.gb_type
    remedy = remedy_for(hit.gb_id)
    return Break(
        path=path,
        span=Span(_moved(local.start, line, marked), _moved(local.end, line, marked)),
        gb_id=gb_id,
        gb_type=gb_type,
        reason=reason,
        evidence="static",
        hints=(remedy,) if remedy else (),
        outcome=skipped if found.inside or hit.skips_frame else "resumed",
        root_gb_id=root_id,
        root_gb_type=root_type,
    )


def _moved(position: Position, lines: int, marked: bool) -> Position:
    """A position in a chunk as one in the file; a byte order mark takes the first column of the first line."""
    column = position.column + (1 if marked and lines == 0 and position.line == 1 else 0)
    return Position(position.line + lines, column)
