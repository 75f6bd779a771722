"""Notebooks as files: the program that their cells make, that program's places as places of cells, and how it is written
back: only the sources of changed cells are others in the JSON, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from graphmend_lsp import notebook
from graphmend_lsp.model import Break, Candidate, Failure, Finding, Frame, Mend, Plan, Position, Report, Span
from graphmend_lsp.notebook import Cells
from graphmend_lsp.text import Text, smallest_edits

_Placed = TypeVar("_Placed", Break, Frame, Mend)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FIRST = re.compile(r'\[[ \t\r\n]*"(?:[^"\\]|\\.)*",([ \t\r\n]*)')
_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"[^\s,\]}]+")


class NotNotebookError(ValueError):
    """The file is no notebook of Python; the message is for the user."""


@dataclass(frozen=True)
class NotebookFile:
    """A notebook's JSON and its Python cells; `places` are the offsets at which the sources of these are written."""

    path: str
    raw: str
    cells: Cells
    places: tuple[tuple[int, int], ...]

    @cached_property
    def text(self) -> str:
        """The program that the cells make."""
        return self.cells.program.value

    def written(self, text: str) -> str:
        """The JSON with the cells of another program.

        Raises:
            UnsplitEditError: what differs is not within single cells.
        """
        new = self.cells.after(smallest_edits(self.path, self.cells.program, text))
        parts: list[str] = []
        at = 0
        for (start, end), old, source in zip(self.places, self.cells.sources, new, strict=True):
            if source != old:
                parts += (self.raw[at:start], _as_json(source, self.raw[start:end], self.raw.isascii()))
                at = end
        return "".join([*parts, self.raw[at:]])

    def cell(self, place: Position) -> tuple[int, Position]:
        """The 1-based number of the code cell that a place of the program lies in, and the place in it."""
        number = self.cells.cell_at(place.line)
        return number + 1, Position(place.line - self.cells.first_lines[number] + 1, place.column)


def parse(path: str, raw: str) -> NotebookFile | None:
    """The notebook that a file's text is; None for another text (an editor may keep a notebook's program in such a file).

    Raises:
        NotNotebookError: it is JSON and no notebook of Python.
    """
    if not raw.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    try:
        data = json.loads(raw)
        sources, places = _python_cells(data, raw)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotNotebookError(
            f"{path} is not a notebook of format 4. Open it in Jupyter, and save it again."
        ) from error
    language = _language(data.get("metadata") or {})
    if language not in ("", "python", "ipython"):
        raise NotNotebookError(f"{path} is a notebook of {language}, not of Python.")
    return NotebookFile(path, raw, Cells.readable(sources), tuple(places))


def _language(metadata: Any) -> str:
    told = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language")
    return str(told or "").lower()


def _python_cells(data: Any, raw: str) -> tuple[list[str], list[tuple[int, int]]]:
    sources: list[str] = []
    places: list[tuple[int, int]] = []
    cells = dict(_members(raw, _SPACE.match(raw).end()))["cells"]  # type: ignore[union-attr]
    for cell, (start, _) in zip(data["cells"], _items(raw, cells[0]), strict=True):
        told = (cell.get("metadata") or {}).get("vscode") or {}
        if cell["cell_type"] != "code" or told.get("languageId", "python") != "python":
            continue
        source = cell["source"]
        sources.append(source if isinstance(source, str) else "".join(source))
        places.append(dict(_members(raw, start))["source"])
    return sources, places


def _as_json(source: str, old: str, ascii_only: bool) -> str:
    """A cell's source as its JSON was written: one string, or a list of lines laid out like the old one."""
    if old.startswith('"'):
        return json.dumps(source, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in re.findall(r"[^\n]*\n|[^\n]+", source)]
    lead = re.match(r"\[([ \t\r\n]*)", old)
    tail = re.search(r"([ \t\r\n]*)\]$", old)
    before, behind = lead[1] if lead else "", tail[1] if tail else ""
    second = _FIRST.match(old)
    between = second[1] if second else before if "\n" in before else " "
    return f"[{before}{f',{between}'.join(lines)}{behind}]" if lines else "[]"


def _members(raw: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The members of the JSON object that begins at an offset: names, and where the values lie."""
    at = _behind(raw, at + 1)
    while raw[at] != "}":
        name = _STRING.match(raw, at)
        assert name is not None
        start = _behind(raw, _behind(raw, name.end()) + 1)
        end = _end(raw, start)
        yield json.loads(name[0]), (start, end)
        at = _behind(raw, end)
        at = _behind(raw, at + 1) if raw[at] == "," else at


def _items(raw: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the items of the JSON array that begins at an offset lie."""
    at = _behind(raw, at + 1)
    while raw[at] != "]":
        end = _end(raw, at)
        yield at, end
        at = _behind(raw, end)
        at = _behind(raw, at + 1) if raw[at] == "," else at


def _end(raw: str, at: int) -> int:
    """The end of the JSON value that begins at an offset."""
    depth = 0
    while True:
        at = _behind(raw, at)
        letter = raw[at]
        if letter == '"':
            found = _STRING.match(raw, at)
            at = found.end() if found else len(raw)
        elif letter in "{[":
            depth, at = depth + 1, at + 1
        elif letter in "}]":
            depth, at = depth - 1, at + 1
        elif letter in ",:":
            at += 1
        else:
            found = _PLAIN.match(raw, at)
            at = found.end() if found else len(raw)
        if depth == 0:
            return at


def _behind(raw: str, at: int) -> int:
    found = _SPACE.match(raw, at)
    return found.end() if found else at


# Places

Where = Callable[[NotebookFile, Position], tuple[str, Position]]


def by_cell(file: NotebookFile, place: Position) -> tuple[str, Position]:
    """A place of the program as a person finds it: ``nb.ipynb:cell 2`` is the file, the line is the cell's."""
    number, own = file.cell(place)
    return f"{file.path}:cell {number}", own


def by_line(file: NotebookFile, place: Position) -> tuple[str, Position]:
    """A place of the program as one of the file, for tools that show its JSON."""
    number, own = file.cell(place)
    start, end = file.places[number - 1]
    lines = [found for found in _STRING.finditer(file.raw, start, end) if found[0] != '""']
    text = Text(file.raw)
    if len(lines) < own.line or not file.raw.startswith("[", start):
        return file.path, text.position(start)  # all of the cell in one line
    line = lines[own.line - 1]
    before = json.loads(line[0])[: own.column - 1]
    written = json.dumps(before, ensure_ascii=file.raw.isascii())
    return file.path, text.position(line.start() + len(written) - 1)


def in_program(file: NotebookFile, place: Position) -> tuple[str, Position]:
    """A place of the program as it is."""
    return file.path, place


def map_by_cell(data: dict[str, Any], files: Mapping[str, NotebookFile]) -> dict[str, Any]:
    """A graph map's data with places in notebooks `by_cell`."""
    moved: dict[str, Any] = notebook.by_cell(data, {path: file.cells for path, file in files.items()})
    return moved


def placed(report: Report, files: Mapping[str, NotebookFile], where: Where) -> Report:
    """The report with the places of findings and failures in notebooks as told; edits stay those of the programs."""
    if not files:
        return report
    return replace(
        report,
        findings=tuple(_finding(one, files, where) for one in report.findings),
        failures=tuple(_failure(one, files, where) for one in report.failures),
    )


def plan_by_cell(plan: Plan, files: Mapping[str, NotebookFile]) -> Plan:
    """The plan with places `by_cell`; its texts stay those of the programs."""
    applied = tuple(_candidate(one, files, by_cell) for one in plan.applied)
    before, after = placed(plan.before, files, by_cell), placed(plan.after, files, by_cell)
    return replace(plan, before=before, after=after, applied=applied)


def _finding(one: Finding, files: Mapping[str, NotebookFile], where: Where) -> Finding:
    file = files.get(one.site.path)
    number = 0 if file is None else file.cells.cell_at(one.site.span.start.line)
    declined = one.declined
    if file is not None:
        declined = tuple(replace(told, reason=file.cells.told(told.reason, number)) for told in declined)
    chain = tuple(_moved(frame, files, where) for frame in one.site.chain)
    candidates = tuple(_candidate(candidate, files, where) for candidate in one.candidates)
    site = _moved(replace(one.site, chain=chain), files, where)
    return replace(one, site=site, candidates=candidates, declined=declined)


def _candidate(one: Candidate, files: Mapping[str, NotebookFile], where: Where) -> Candidate:
    file, mend = files.get(one.mend.path), one.mend
    if file is None:
        return one
    told = file.cells.told_mend(mend, file.cells.cell_at(mend.span.start.line))
    return replace(one, mend=_moved(told, files, where))


def _moved(one: _Placed, files: Mapping[str, NotebookFile], where: Where) -> _Placed:
    file = files.get(one.path)
    if file is None:
        return one
    path, start = where(file, one.span.start)
    return replace(one, path=path, span=Span(start, max(start, where(file, one.span.end)[1])))


def _failure(one: Failure, files: Mapping[str, NotebookFile], where: Where) -> Failure:
    file = files.get(one.path or "")
    if file is None or one.line is None or one.line > file.cells.program.line_count:
        return one
    path, place = where(file, Position(one.line, 1))
    return replace(one, path=path, line=place.line)
