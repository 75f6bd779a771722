"""Breaks that are silenced: `# graphmend: ignore`, `# graphmend: ignore[GB0170]`, `# graphmend: ignore-file`.

Only comments count, not strings that look like one. The comment stands on the first or the last line of the break.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from graphmend_lsp.analysis.outline import cut
from graphmend_lsp.model import Break, Position, Span, TextEdit
from graphmend_lsp.text import Text

_MARK = "graphmend:"
_COMMENT = re.compile(r"#\s*graphmend:\s*ignore(?P<file>-file)?(?![-\w])(?:\[(?P<ids>[^\]]*)\])?")
_TOKEN_ERRORS = (tokenize.TokenError, SyntaxError, ValueError, IndexError)
_TOPS = ("FSTRING_START", "TSTRING_START")
_ENDS = ("FSTRING_END", "TSTRING_END")

# The ids that are silenced; None: all of them.
Ids = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What a text silences: `lines` by 1-based line, `file` for all of it (an empty set: nothing)."""

    lines: Mapping[int, Ids] = field(default_factory=dict)
    file: Ids = frozenset()


@lru_cache(maxsize=4)
def find_suppressions(source: str) -> Suppressions:
    """The suppressions of a text; those of half-typed functions count as far as they can be read."""
    if _MARK not in source:
        return Suppressions()
    lines: dict[int, Ids] = {}
    file: Ids = frozenset()
    first = 0
    for text in cut(source):
        chunk = Text(text)
        if _MARK in text:
            for token in _tokens(chunk):
                match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
                if match is None:
                    continue
                ids = _ids(match)
                if match["file"]:
                    file = _both(file, ids)
                else:
                    line = first + token.start[0]
                    lines[line] = _both(lines.get(line, frozenset()), ids)
        first += chunk.line_count - 1
    return Suppressions(lines, file)


def is_suppressed(site: Break, suppressions: Suppressions | str) -> bool:
    """Whether the author has silenced the break, by its id or that of its root cause."""
    known = find_suppressions(suppressions) if isinstance(suppressions, str) else suppressions
    ids = {each.upper() for each in (site.code, site.gb_id, site.root_gb_id) if each}
    silenced = [
        known.file,
        *(known.lines.get(line, frozenset()) for line in (site.span.start.line, site.span.end.line)),
    ]
    return any(each is None or bool(each & ids) for each in silenced)


def ignore_edit(source: str, site: Break) -> TextEdit | None:
    """The edit that silences a break by a comment on its line; None where there is no place for a comment.

    An existing `ignore[...]` gets one id more; other comments stay in front. No comment fits behind a backslash or
    inside a string of several lines; then the last line of the break is tried.
    """
    if is_suppressed(site, source):
        return None
    text = Text(source)
    for line in dict.fromkeys((site.span.start.line, site.span.end.line)):
        edit = _edit(text, site, line)
        if edit is not None:
            return edit
    return None


def _edit(text: Text, site: Break, line: int) -> TextEdit | None:
    content = text.line(line)
    if not 1 <= line <= text.line_count:
        return None
    chunk, first = _chunk_at(text.value, line)
    tokens = list(_tokens(chunk))
    complete = bool(tokens) and tokens[-1].type == tokenize.ENDMARKER
    if not complete or _is_inside_string(tokens, line - first):
        return None
    code = site.code if re.fullmatch(r"GB\d+", site.code) else None
    comment = next((each for each in tokens if each.type == tokenize.COMMENT and each.start[0] == line - first), None)
    match = _COMMENT.search(comment.string) if comment is not None else None
    if (
        comment is not None
        and match is not None
        and match["ids"] is not None
        and code is not None
        and not match["file"]
    ):
        at = comment.start[1] + match.end("ids") + 1
        separator = ", " if match["ids"].strip() else ""
        return TextEdit(site.path, Span(Position(line, at), Position(line, at)), separator + code)
    if comment is None and content.rstrip().endswith("\\"):
        return None
    mark = f"  # graphmend: ignore[{code}]" if code else "  # graphmend: ignore"
    kept = len(content.rstrip())
    return TextEdit(site.path, Span(Position(line, kept + 1), Position(line, len(content) + 1)), mark)


def _chunk_at(source: str, line: int) -> tuple[Text, int]:
    """The stretch around a line, with the number of lines before it; the whole text when stretches do not tokenize."""
    first = 0
    for text in cut(source):
        chunk = Text(text)
        if first < line <= first + chunk.line_count - 1 or (
            line == first + chunk.line_count and not text.endswith("\n")
        ):
            tokens = list(_tokens(chunk))
            return (chunk, first) if tokens and tokens[-1].type == tokenize.ENDMARKER else (Text(source), 0)
        first += chunk.line_count - 1
    return Text(source), 0


def _is_inside_string(tokens: list[tokenize.TokenInfo], line: int) -> bool:
    """Whether the end of the line lies in a string."""
    open_at: list[int] = []
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name in _TOPS:
            open_at.append(token.start[0])
        elif name in _ENDS and open_at:
            if open_at.pop() <= line < token.end[0]:
                return True
        elif token.type == tokenize.STRING and token.start[0] <= line < token.end[0]:
            return True
    return False


def _tokens(text: Text) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a text as far as they can be read."""
    lines = iter([text.line(number) + "\n" for number in range(1, text.line_count + 1)])
    try:
        yield from tokenize.generate_tokens(lambda: next(lines, ""))
    except _TOKEN_ERRORS:
        return


def _ids(match: re.Match[str]) -> Ids:
    if match["ids"] is None:
        return None
    return frozenset(part.strip().upper() for part in match["ids"].split(",") if part.strip())


def _both(left: Ids, right: Ids) -> Ids:
    return None if left is None or right is None else left | right
