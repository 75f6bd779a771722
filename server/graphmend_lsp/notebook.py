"""A notebook as one program: the text that its code cells make, and how edits of that text are edits of cells. Pure.

The cells follow each other with a blank line between them. What only IPython understands (``%magic``, ``!command``, a cell
of another language) is a comment of the same length there, so that a place of a cell differs from the program's by its line
only.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from graphmend_lsp.model import Mend, Span, TextEdit
from graphmend_lsp.text import OverlappingEditsError, Text, apply_edits

SUFFIX = ".ipynb"
CROSSES = "This mend changes code of several cells at once. Put that code into one cell."
MAGIC = "This mend changes a line with an IPython magic or a shell command. Move the code to a line of its own."
_IMPORTS = re.compile(r"(?:(?:import |from )[^\n]*\n|\n)+")
_GAP = "\n\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BODY_IS_PYTHON = re.compile(r"%%(time|capture|prun)\b")
_TIME = re.compile(r"%time(?=[ \t])")
_ASSIGNED = re.compile(r"[A-Za-z_][\w.,\t ]*=[ \t]*[%!][^=]")
_LINES = re.compile(r"\b([Ll]ines?) (\d+)(?: to (\d+))?(?! of code cell)")
_LARGEST = 200_000  # characters of a cell that is looked at


def is_notebook(path: str) -> bool:
    """Whether a path names a notebook; the text of that "file" is the program that its cells make."""
    return path.endswith(SUFFIX)


def by_cell(data: Any, notebooks: Mapping[str, Cells]) -> Any:
    """Data (lists and dicts) with each ``path`` and ``line`` of a notebook's program as those of a cell: ``nb.ipynb:cell 2``."""
    if isinstance(data, list):
        return [by_cell(one, notebooks) for one in data]
    if not isinstance(data, dict):
        return data
    made = {key: by_cell(value, notebooks) for key, value in data.items()}
    cells = notebooks.get(made.get("path", "")) if isinstance(made.get("path"), str) else None
    if cells is None or not cells.sources or not made.get("line"):
        return made
    number = cells.cell_at(made["line"])
    shift = cells.first_lines[number] - 1
    lines = {key: made[key] - shift for key in ("line", "end_line") if key in made}
    return {**made, "path": f"{made['path']}:cell {number + 1}", **lines}


class UnsplitEditError(ValueError):
    """Edits of the program that are no edits of single cells; the message is for the user."""


@dataclass(frozen=True)
class Cells:
    """The code cells of a notebook, as the editor or the file has them. Those that are `hidden`, by number, are comments."""

    sources: tuple[str, ...]
    hidden: frozenset[int] = frozenset()

    @staticmethod
    def readable(sources: Iterable[str]) -> Cells:
        """The cells, with those hidden that are no Python by themselves: a kernel carries out none of it either."""
        sources = tuple(sources)
        return Cells(sources, frozenset(number for number, source in enumerate(sources) if is_broken(source)))

    @cached_property
    def program(self) -> Text:
        """The program that the cells make."""
        return Text(self._joined)

    @cached_property
    def _joined(self) -> str:
        parts = [self._masked(number, source) for number, source in enumerate(self.sources)]
        return _GAP.join(parts) + ("\n" if parts and not parts[-1].endswith("\n") else "")

    def _masked(self, number: int, source: str) -> str:
        return commented(source) if number in self.hidden else masked(source)

    @cached_property
    def _offsets(self) -> tuple[int, ...]:
        """Where each cell begins in the program, and its end."""
        offsets = [0]
        for source in self.sources[:-1]:
            offsets.append(offsets[-1] + len(source) + len(_GAP))
        return (*offsets, len(self._joined))

    @cached_property
    def first_lines(self) -> tuple[int, ...]:
        """The 1-based line of the program that each cell begins at."""
        return tuple(self.program.position(offset).line for offset in self._offsets[:-1])

    def cell_at(self, line: int) -> int:
        """The number of the cell that a line of the program lies in, 0-based; the line after a cell is the cell's."""
        return max(bisect_right(self.first_lines, line) - 1, 0)

    def told(self, words: str, number: int) -> str:
        """Words about the program with its lines as lines of cells: "line 9" is "line 2", or "line 2 of code cell 3" when that
        is not the cell (0-based) that the words are read at."""

        def moved(found: re.Match[str]) -> str:
            lines = [int(line) for line in found.groups()[1:] if line is not None]
            cell = self.cell_at(lines[0])
            if self.cell_at(lines[-1]) != cell or lines[-1] > self.program.line_count:
                return found[0]
            own = " to ".join(str(line - self.first_lines[cell] + 1) for line in lines)
            return f"{found[1]} {own}" + (f" of code cell {cell + 1}" if cell != number else "")

        return _LINES.sub(moved, words) if self.sources else words

    def told_mend(self, mend: Mend, number: int) -> Mend:
        """A mend whose words name lines as `told` does."""

        def told(words: Iterable[str]) -> tuple[str, ...]:
            return tuple(self.told(one, number) for one in words)

        title = self.told(mend.title, number)
        return replace(mend, title=title, changes=told(mend.changes), cautions=told(mend.cautions))

    def split(self, edits: Iterable[TextEdit]) -> dict[int, list[TextEdit]]:
        """The edits of the program (all of one path) as edits of cells, by number; positions are the cell's own.

        Raises:
            UnsplitEditError: an edit touches two cells, or what is a comment in the program only.
        """
        edits = tuple(edits)
        found: dict[int, list[TextEdit]] = {}
        for edit in map(self._with_imports, edits):
            start, end = self.program.offset(edit.span.start), self.program.offset(edit.span.end)
            number = max(bisect_right(self._offsets[:-1], start) - 1, 0)
            if end > self._offsets[number + 1]:
                raise UnsplitEditError(CROSSES)
            found.setdefault(number, []).append(edit)
        return {number: self._of_cell(number, those) for number, those in found.items()}

    def why_not(self, edits: Iterable[TextEdit]) -> str:
        """Why these edits are no edits of single cells, for the user; empty when they are."""
        try:
            self.split(edits)
        except UnsplitEditError as error:
            return str(error)
        return ""

    def after(self, edits: Iterable[TextEdit]) -> tuple[str, ...]:
        """The sources of all cells after edits of the program.

        Raises:
            UnsplitEditError: as `split`.
        """
        split = self.split(edits)
        return tuple(
            apply_edits(source, split[number]) if number in split else source
            for number, source in enumerate(self.sources)
        )

    def _with_imports(self, edit: TextEdit) -> TextEdit:
        """An edit that makes the same program; imports that it adds before a cell go to those that end the cell before."""
        begin = self.program.offset(edit.span.start)
        if edit.span.start != edit.span.end or begin not in self._offsets[1:-1] or not _IMPORTS.fullmatch(edit.text):
            return edit
        above = self.sources[self._offsets.index(begin) - 1].splitlines() or [""]
        if not above[-1].startswith(("import ", "from ")):
            return edit
        place = self.program.position(begin - 1)
        return TextEdit(edit.path, Span(place, place), f"\n{edit.text[:-1]}")

    def _of_cell(self, number: int, edits: list[TextEdit]) -> list[TextEdit]:
        source, begin, end = self.sources[number], self._offsets[number], self._offsets[number + 1]
        region = Text(self._joined[begin:end])
        cell = Text(source)
        placed: list[tuple[int, int, str]] = []
        moved: list[TextEdit] = []
        for edit in edits:
            start, stop = self.program.offset(edit.span.start) - begin, self.program.offset(edit.span.end) - begin
            moved.append(TextEdit(edit.path, Span(region.position(start), region.position(stop)), edit.text))
            if _changed(source, region.value, start, stop):
                raise UnsplitEditError(MAGIC)
            placed.append(_within(source, start, stop, edit.text))
        path = edits[0].path
        own = [TextEdit(path, Span(cell.position(a), cell.position(b)), text) for a, b, text in placed]
        try:
            wanted, after = apply_edits(region.value, moved), apply_edits(source, own)
        except OverlappingEditsError as error:
            raise UnsplitEditError(CROSSES) from error
        if wanted and wanted[-1] not in "\r\n" and number + 1 < len(self.sources):
            raise UnsplitEditError(CROSSES)  # what follows in the next cell would go on with the last line
        if wanted.rstrip("\r\n") != self._masked(number, after).rstrip("\r\n") or _magic(source) != _magic(after):
            raise UnsplitEditError(MAGIC)
        return own


def _magic(source: str) -> str:
    """The cell magic, which only the first line can be; empty where there is none."""
    first = source.lstrip().split("\n", 1)[0]
    return first if first.startswith("%%") else ""


def _changed(source: str, program: str, start: int, stop: int) -> bool:
    """Whether what lies between two offsets, or the line that an insertion falls into, reads otherwise in the program."""
    first = max(source.rfind("\n", 0, start), source.rfind("\r", 0, start)) + 1
    if start == stop == first:
        return False
    return source[first:stop] != program[first : min(stop, len(source))]


def _within(source: str, start: int, stop: int, text: str) -> tuple[int, int, str]:
    """An edit of a cell's lines in the program (offsets from the cell's begin) as one of the cell, which has no line end
    after its last line."""
    last = len(source)
    if stop <= last:
        return start, stop, text
    text = re.sub(r"(\r\n|\n|\r)\Z", "", text) if start <= last else text
    if start > last:  # after the last line
        text = "\n" * (start - last) + text
        return last, last, text.rstrip("\r\n") if text.strip() else ""
    if not text and (ending := re.search(r"(\r\n|\n|\r)\Z", source[:start])):
        return ending.start(), last, ""  # the last lines go, with the line end before them
    return start, last, text


@lru_cache(maxsize=512)
def masked(source: str) -> str:
    """A cell's source with what is no Python made comments; as long as the source, line by line."""
    if len(source) > _LARGEST or not re.search(r"[%!?]|^[ \t]*[,;/]", source, re.MULTILINE):
        return source
    lines = _LINE.findall(source)
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].startswith("%%") and not _BODY_IS_PYTHON.match(lines[first]):
        return commented(source)
    state = _Scanner()
    parts: list[str] = []
    continued = False
    for line in lines:
        if continued:
            parts.append(_commented(line, at_start=True))
            continued = _goes_on(line)
        elif state.is_fresh and _is_magic(line):
            timed = _timed(line)
            parts.append(timed or _commented(line, at_start=False))
            continued = timed is None and _goes_on(line)
        else:
            state.read(line)
            parts.append(line)
    return "".join(parts)


def commented(source: str) -> str:
    """A cell's source with each line made a comment; as long as the source."""
    return "".join(_commented(line, at_start=True) for line in _LINE.findall(source))


@lru_cache(maxsize=512)
def is_broken(source: str) -> bool:
    """Whether a cell is no Python by itself, magics left out of it."""
    if len(source) > _LARGEST // 5:  # to parse it takes too long for an event loop
        return False
    return _parsed(masked(source)) is None


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _goes_on(line: str) -> bool:
    return line.rstrip("\r\n").endswith("\\")


def _is_magic(line: str) -> bool:
    """Whether a line, at which a statement begins, is one that only IPython understands."""
    words = line.strip()
    if words.startswith(("%", "!", "?", ",", ";", "/")):
        return True
    if _ASSIGNED.match(words):
        return True
    return words.endswith("?") and re.fullmatch(r"[%\w.*]+\?{1,2}", words) is not None


def _timed(line: str) -> str | None:
    """``%time y = model(x)`` as ``if 1: y = model(x)``: IPython runs the statement, and what it binds stays."""
    if not _TIME.match(line):
        return None
    changed = _TIME.sub("if 1:", line)
    return None if _parsed(changed.strip()) is None else changed


def _commented(line: str, *, at_start: bool) -> str:
    """A line that does nothing. Where a block may need a statement, it is one: ``0``, and a comment."""
    indent = len(line) - len(line.lstrip(" \t"))
    if indent == 0 or at_start:
        return line if line[:1] in "\r\n" else "#" + line[1:]
    rest = line[indent:]
    ending = len(rest) - len(rest.rstrip("\r\n"))
    return line[:indent] + ("0" if len(rest) - ending < 2 else "0#") + rest[min(2, len(rest) - ending) :]


class _Scanner:
    """Whether a line of Python begins a statement: nothing is open before it, neither a bracket nor a string."""

    _token = re.compile(r"\"\"\"|'''|\"|'|#|\\(?:\r\n|.)?|[()\[\]{}]", re.DOTALL)

    def __init__(self) -> None:
        self._string = ""
        self._depth = 0
        self._continued = False

    @property
    def is_fresh(self) -> bool:
        return not (self._string or self._depth or self._continued)

    def read(self, line: str) -> None:
        """Read one line with its line end."""
        self._continued = False
        at = 0
        while found := self._token.search(line, at):
            token, at = found[0], found.end()
            if token[0] == "\\":
                self._continued = token.endswith(("\r", "\n")) and at >= len(line)
            elif self._string:
                if token == self._string:
                    self._string = ""
                elif token.startswith(self._string):
                    self._string, at = "", found.start() + 1
            elif token == "#":
                break
            elif token in "([{":
                self._depth += 1
            elif token in ")]}":
                self._depth = max(0, self._depth - 1)
            else:
                self._string = token
        if len(self._string) == 1 and not self._continued:
            self._string = ""  # a string that was never closed ends with its line
