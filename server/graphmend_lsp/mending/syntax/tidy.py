"""Lines that a mend makes too long, broken as the project's formatter would: one place for what every rule writes. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from textwrap import dedent

from graphmend_lsp.mending.syntax.formatting import line_limit
from graphmend_lsp.mending.syntax.soundness import new_regions
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.mending.syntax.walk import walk
from graphmend_lsp.mending.syntax.wrapping import arguments, layout
from graphmend_lsp.model import TextEdit
from graphmend_lsp.text import OverlappingEditsError, Text, apply_edits

_MOST = 40


def tidied(source: Source, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits of one file, with the lines broken that they make too long; what cannot be broken stays."""
    limit = line_limit(source)
    now, left = tuple(edits), set[str]()
    for _ in range(_MOST):
        try:
            new = Text(apply_edits(source.text.value, now))
        except OverlappingEditsError:
            return tuple(edits)
        found = next(((at, lines) for at, lines in _long(source, new, now, limit, left)), None)
        if found is None:
            return now
        number, lines = found
        left.update(lines)
        broken = _with_lines(source, new, now, number, source.newline.join(lines))
        if _statement(apply_edits(source.text.value, broken), number) == _statement(new.value, number):
            now = broken
    return now


def _statement(text: str, line: int) -> str | None:
    """What the innermost statement says that a line (1-based) is in; None where the text is no program.

    A line that is a part of an expression may say the same by itself, and another thing where it stands: in parentheses, one of
    several strings that Python joins is a call.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    around = [
        node
        for node in walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return ast.dump(min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno, default=tree))


def _long(
    source: Source, new: Text, edits: Sequence[TextEdit], limit: int, left: set[str]
) -> list[tuple[int, list[str]]]:
    """The first line of the new text that an edit touches and that is too long, and what it becomes."""
    for start, end in new_regions(source.text, edits):
        for number in range(new.position(start).line, new.position(end).line + 1):
            line = new.line(number)
            if len(line) <= limit or line in left or line.lstrip().startswith("#"):
                continue
            left.add(line)
            alone, comma = _without_comma(line)
            if (apart := _apart(source, new, number, alone, comma)) is not None:
                return [(number, apart)]
            lines = layout(alone, source.indent, limit)
            if len(lines) > 1 and _same(alone, lines) and new.value.count(line):
                return [(number, [*lines[:-1], lines[-1] + comma])]
    return []


def _without_comma(line: str) -> tuple[str, str]:
    """A line without the comma at its end, and that comma: with it an argument on a line of its own would read as a tuple."""
    bare = line.rstrip()
    return (bare[:-1], ",") if bare.endswith(",") else (line, "")


def _apart(source: Source, new: Text, number: int, alone: str, comma: str) -> list[str] | None:
    """A line each for the arguments that share one; None where the line is something else."""
    parts = arguments(alone.strip())
    if not parts:
        return None
    base = alone[: len(alone) - len(alone.lstrip())]
    last = base + parts[-1] + (comma or ("," if _closes(new, number + 1) else ""))
    lines = [*(f"{base}{one}," for one in parts[:-1]), last]
    start = new.starts[number - 1]
    text = new.value[:start] + source.newline.join(lines) + new.value[start + len(new.line(number)) :]
    return lines if _statement(text, number) == _statement(new.value, number) else None


def _closes(new: Text, number: int) -> bool:
    """Whether a line begins with a closing bracket of what may end with a comma: no generator and no strings alone do."""
    return number <= new.line_count and new.line(number).lstrip()[:1] in (")", "]", "}")


def _same(line: str, lines: Sequence[str]) -> bool:
    """Whether lines say what one line says: a statement, a header or a decorator."""
    for behind in ("", "\n    pass", "\ndef f(): pass"):
        text = line.strip().replace("elif ", "if ", 1) if line.lstrip().startswith("elif ") else line.strip()
        broken = dedent("\n".join(lines))
        broken = broken.replace("elif ", "if ", 1) if broken.startswith("elif ") else broken
        try:
            return ast.dump(ast.parse(text + behind)) == ast.dump(ast.parse(broken + behind))
        except (SyntaxError, ValueError):
            continue
    return False


def _with_lines(source: Source, new: Text, edits: Sequence[TextEdit], number: int, text: str) -> tuple[TextEdit, ...]:
    """The edits with another text for a line of what they give: those that touch it become one."""
    first = new.starts[number - 1]
    last = first + len(new.line(number))
    ordered = sorted(edits, key=lambda edit: edit.span)
    regions = list(new_regions(source.text, ordered))
    own = [at for at, (start, end) in enumerate(regions) if start <= last and end >= first]
    start, end = min(first, regions[own[0]][0]), max(last, regions[own[-1]][1])
    shift = regions[own[0]][0] - source.text.offset(ordered[own[0]].span.start)
    behind = regions[own[-1]][1] - source.text.offset(ordered[own[-1]].span.end)
    span = source.between(start - shift, end - behind)
    merged = TextEdit(source.path, span, new.value[start:first] + text + new.value[last:end])
    return (*(one for at, one in enumerate(ordered) if at not in own), merged)
