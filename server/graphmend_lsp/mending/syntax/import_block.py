"""Where a new import goes: into the section, and behind the lines, where an import sorter (isort, ruff) would put it.

Pure. Files whose imports are in no order get it behind the last one that belongs in front of it.
"""

from __future__ import annotations

import ast
import re
import sys

from graphmend_lsp.mending.rule import Style
from graphmend_lsp.mending.syntax.source import Source
from graphmend_lsp.model import TextEdit

_FUTURE, _STDLIB, _THIRD, _FIRST, _LOCAL = range(5)
_DIGITS = re.compile(r"(\d+)")
Import = ast.Import | ast.ImportFrom


def import_edit(source: Source, line: str) -> TextEdit | None:
    """The edit that puts an import into the first run of imports; None where the file begins with none."""
    block = _block(source)
    new = ast.parse(line).body[0]
    assert isinstance(new, (ast.Import, ast.ImportFrom))
    if not block:
        return None
    key = _key(new, source.style)
    same = [one for one in block if _key(one, source.style)[0] == key[0]]
    behind = [one for one in same if _key(one, source.style) > key]
    before = [one for one in same if _key(one, source.style) <= key]
    if before and not (behind and source.range(behind[0]) < source.range(before[-1])):
        return _behind(source, before[-1], source.newline + line)
    if behind:
        return _in_front(source, behind[0], line + source.newline)
    lower = [one for one in block if _key(one, source.style)[0] < key[0]]
    gap = source.newline * 2
    return _behind(source, lower[-1], gap + line) if lower else _in_front(source, block[0], line + gap)


def _block(source: Source) -> list[Import]:
    """The imports at the top of the file, up to the first other statement; each on lines of its own."""
    found: list[Import] = []
    for index, one in enumerate(source.tree.body):
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            if not source.starts_line(one) or source.text.line(source.span(one).end.line).rstrip().endswith(
                (";", "\\")
            ):
                return []
            found.append(one)
        elif not (index == 0 and isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            break
    return found


def _key(one: Import, style: Style) -> tuple[int, bool, list[tuple[int, str]], bool, str]:
    """What an import sorter sorts by: the section, `import` before `from`, the module's name with its numbers as numbers.

    Where it sorts both together the name comes first; where a statement imports one name, that counts, too.
    """
    name = (one.module or "") if isinstance(one, ast.ImportFrom) else one.names[0].name
    top = name.split(".")[0]
    if isinstance(one, ast.ImportFrom) and one.level:
        section = _LOCAL
    elif top == "__future__":
        section = _FUTURE
    elif top in sys.stdlib_module_names:
        section = _STDLIB
    else:
        section = _FIRST if top in style.first_party else _THIRD
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name.lower())]
    is_from = isinstance(one, ast.ImportFrom)
    name = one.names[0].name if is_from and style.single_line else ""
    return section, is_from and not style.mixed, parts, is_from, name


def _behind(source: Source, one: ast.stmt, text: str) -> TextEdit:
    position = source.span(one).end
    at = source.text.starts[position.line - 1] + len(source.text.line(position.line))
    return TextEdit(source.path, source.between(at, at), text)


def _in_front(source: Source, one: ast.stmt, text: str) -> TextEdit:
    """In front of an import and of the comments right above it."""
    number = source.span(one).start.line
    while number > 1 and source.text.line(number - 1).startswith("#") and not _is_header(source, number - 1):
        number -= 1
    at = source.text.starts[number - 1]
    return TextEdit(source.path, source.between(at, at), text)


def _is_header(source: Source, number: int) -> bool:
    """Whether a comment belongs to the run of comments that the file begins with."""
    return all(source.text.line(one).lstrip("\ufeff").startswith("#") for one in range(1, number + 1))
