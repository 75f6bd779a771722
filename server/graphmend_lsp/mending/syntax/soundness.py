"""What every mend must pass before it is offered, whatever rule made it.

The new text parses and round-trips through libcst, statements outside the edits are the same trees in the same
functions, line ends and the byte order mark are kept, and the rule has nothing more to mend at the place.
Pure; knows no rule.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from graphmend_lsp.mending.syntax.source import Source, Unreadable, read
from graphmend_lsp.model import Break, Mend, Span, TextEdit
from graphmend_lsp.text import OverlappingEditsError, Text, apply_edits

Again = Callable[[Break, Mapping[str, str]], bool]
Region = tuple[int, int]


def flaw(site: Break, mend: Mend, sources: Mapping[str, str], again: Again) -> str | None:
    """Why a mend must not be offered, or None. `again` says whether its rule would mend a place of the new texts."""
    if not mend.edits:
        return "The rewrite changes nothing."
    texts = dict(sources)
    for path in dict.fromkeys(edit.path for edit in mend.edits):
        if path not in sources:
            return "The rewrite would change a file outside the named paths."
        edits = [edit for edit in mend.edits if edit.path == path]
        problem, texts[path] = _flaw_of_file(path, sources[path], edits)
        if problem:
            return problem
    after = _site_after(_frames_after(site, mend.edits, sources, texts), mend.edits, sources, texts)
    if again(after, texts):
        return "GraphMend would rewrite its own result again; mend this code by hand."
    return None


def _flaw_of_file(path: str, old: str, edits: Sequence[TextEdit]) -> tuple[str | None, str]:
    try:
        new = apply_edits(old, edits)
    except OverlappingEditsError:
        return "Two parts of the rewrite touch the same text.", old
    if new == old:
        return "The rewrite changes nothing.", old
    before, after = read(path, old), read(path, new)
    if isinstance(before, Unreadable):
        return before.reason, old
    if isinstance(after, Unreadable):
        return f"GraphMend cannot read the rewritten file: {after.reason}", old
    if old.startswith("\ufeff") != new.startswith("\ufeff"):
        return "The rewrite would lose the byte order mark of the file.", old
    if any(_foreign_line_end(edit.text, before.newline) for edit in edits):
        return "The rewrite would mix line ends.", old
    regions = [_region(before.text, edit.span) for edit in edits]
    now_regions = list(new_regions(before.text, edits))
    if _rest(before, regions) != _rest(after, now_regions):
        return "The rewrite would change other statements.", old
    for source, own in ((before, regions), (after, now_regions)):
        if not _round_trips(source, own):
            return "GraphMend cannot rewrite the code here without changes to its formatting.", old
    return None, new


def _foreign_line_end(text: str, newline: str) -> bool:
    return "\r" in text if newline == "\n" else text.replace("\r\n", "").strip("\n") != text.replace("\r\n", "")


def _region(text: Text, span: Span) -> Region:
    return text.offset(span.start), text.offset(span.end)


def new_regions(text: Text, edits: Iterable[TextEdit]) -> Iterable[Region]:
    """Where the new texts of the edits stand in the text after them."""
    shift = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        start, end = _region(text, edit.span)
        yield start + shift, start + shift + len(edit.text)
        shift += len(edit.text) - (end - start)


def _rest(source: Source, regions: Sequence[Region]) -> list[tuple[str, str]]:
    """The texts of the statements that no region touches, outermost only, each with the statements and blocks around it."""
    found: list[tuple[str, str]] = []

    def visit(block: Iterable[ast.stmt], scope: str) -> None:
        for statement in block:
            start, end = whole(source, statement)
            if not any(touches(region, start, end) for region in regions):
                found.append((scope, source.text.value[start:end]))
                continue
            inner = f"{scope}/{type(statement).__name__} {getattr(statement, 'name', '')}"
            for name in ("body", "orelse", "finalbody"):
                visit(getattr(statement, name, []), f"{inner}.{name}")
            for name in ("handlers", "cases"):
                for child in getattr(statement, name, []):
                    visit(child.body, f"{inner}.{name}")

    visit(source.tree.body, "")
    return found


def whole(source: Source, statement: ast.stmt) -> Region:
    """The offsets of a statement with its decorators, half-open."""
    start, end = source.range(statement)
    for decorator in getattr(statement, "decorator_list", []):
        start = min(start, source.range(decorator)[0])
    return start, end


def touches(region: Region, start: int, end: int) -> bool:
    """Whether an edited region has text in common with what stands between two offsets, or an insertion is inside."""
    first, last = region
    return first < end and start < last if first < last else start < first < end


def _round_trips(source: Source, regions: Sequence[Region]) -> bool:
    """Whether libcst reads the top-level statements that the regions touch and writes them back unchanged."""
    for statement in source.tree.body:
        start, end = whole(source, statement)
        if any(touches(region, start, end) for region in regions):
            line = source.text.position(start).line
            last = source.text.position(end).line
            piece = "".join(source.text.line(number) + "\n" for number in range(line, last + 1)).removeprefix("\ufeff")
            if not _is_written_back(piece):
                return False
    return True


@lru_cache(maxsize=32)  # several mends touch the same class
def _is_written_back(piece: str) -> bool:
    import libcst

    try:
        return libcst.parse_module(piece).code == piece
    except (libcst.ParserSyntaxError, RecursionError):
        return False


def _site_after(site: Break, edits: Sequence[TextEdit], sources: Mapping[str, str], texts: Mapping[str, str]) -> Break:
    """The break as if it were met again at the new text that stands in its place."""
    old, new = Text(sources[site.path]), Text(texts[site.path])
    own = [edit for edit in edits if edit.path == site.path]
    for edit, region in zip(sorted(own, key=lambda edit: edit.span), new_regions(old, own), strict=True):
        if edit.span.overlaps(site.span) and edit.text.strip():
            start, end = region
            start += len(edit.text) - len(edit.text.lstrip())
            end -= len(edit.text) - len(edit.text.rstrip())
            return replace(site, span=Span(new.position(start), new.position(end)))
    return replace(site, span=_moved(site.span, old, new, own))


def _frames_after(
    site: Break, edits: Sequence[TextEdit], sources: Mapping[str, str], texts: Mapping[str, str]
) -> Break:
    """The break with the frames of its chain that lie in other files where they are in the new texts."""
    chain = []
    for frame in site.chain:
        own = [edit for edit in edits if edit.path == frame.path]
        if own and frame.path != site.path:
            frame = replace(frame, span=_moved(frame.span, Text(sources[frame.path]), Text(texts[frame.path]), own))
        chain.append(frame)
    return replace(site, chain=tuple(chain))


def _moved(span: Span, old: Text, new: Text, edits: Sequence[TextEdit]) -> Span:
    """Where a span that no edit touches lies in the new text."""
    offset = old.offset(span.start)
    shift = sum(
        len(edit.text) - (old.offset(edit.span.end) - old.offset(edit.span.start))
        for edit in edits
        if old.offset(edit.span.end) <= offset
    )
    length = old.offset(span.end) - offset
    return Span(new.position(offset + shift), new.position(offset + shift + length))
