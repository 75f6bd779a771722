"""Notebooks as files: read as the program of their cells, written back with no other byte changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.files import UnreadableSourceError, notebooks, read_source, write_source
from graphmend_lsp.engine.notebook_files import by_cell, by_line, parse, placed
from graphmend_lsp.model import Break, Declined, Failure, Finding, Frame, Position, Report, Span
from graphmend_lsp.notebook import CROSSES

CELLS = ["%m\nimport torch", 'x = "é𝒜"\ny = "\\t"\n', "z = 1"]


def code(source: Any, **more: Any) -> dict[str, Any]:
    outputs = [{"data": {"text/plain": ['{"source": ["]"]}']}}]
    return {"cell_type": "code", "execution_count": 3, "id": "1", **more, "outputs": outputs, "source": source}


def book(cells: list[dict[str, Any]], **metadata: Any) -> dict[str, Any]:
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


LINES = [cell.splitlines(keepends=True) for cell in CELLS]
TEXT = {"cell_type": "markdown", "metadata": {}, "source": ["# no\n", "code"]}
LAYOUTS = {
    "as Jupyter writes it": json.dumps(book([TEXT, *map(code, LINES)]), indent=1, ensure_ascii=False) + "\n",
    "in ASCII": json.dumps(book([TEXT, *map(code, LINES)]), indent=2),
    "in one line": json.dumps(book([TEXT, *map(code, LINES)]), ensure_ascii=False, separators=(",", ":")),
    "sources as strings": json.dumps(book([*map(code, CELLS), TEXT]), indent=1, ensure_ascii=False),
    "with CRLF": json.dumps(book([*map(code, LINES)], language_info={"name": "python"}), indent=1).replace(
        "\n", "\r\n"
    ),
    "a cell of another language": json.dumps(
        book([*map(code, LINES[:1]), code(["ls\n"], metadata={"vscode": {"languageId": "sh"}}), *map(code, LINES[1:])])
    ),
}


@pytest.mark.parametrize("raw", LAYOUTS.values(), ids=LAYOUTS)
def test_only_changed_cells_are_others(tmp_path: Path, raw: str) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(raw.encode())
    text = read_source(str(path)).text
    assert text == '#m\nimport torch\n\nx = "é𝒜"\ny = "\\t"\n\n\nz = 1\n'
    write_source(str(path), text)
    assert path.read_bytes() == raw.encode()
    write_source(str(path), text.replace('\ny = "\\t"', '\nπ = 3\ny = "\\t"').replace("torch", "torch\nimport math", 1))
    after = path.read_bytes().decode()
    wanted = ["%m\nimport torch\nimport math", 'x = "é𝒜"\nπ = 3\ny = "\\t"\n', "z = 1"]
    assert [cell for cell in sources(after) if "no" not in cell and "ls" not in cell] == wanted
    assert after.isascii() is raw.isascii()
    for kept in (TEXT, "outputs", "nbformat_minor"):
        part = kept if isinstance(kept, str) else "# no"
        assert after.count(part) == raw.count(part)
    assert after.count("\r\n") >= raw.count("\r\n")
    write_source(str(path), text)
    assert path.read_bytes() == raw.encode()


def sources(raw: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"]]


UNREADABLE = {
    "another language": (json.dumps(book([code("1")], kernelspec={"language": "julia"})), "notebook of julia"),
    "no notebook": ('{"a": 1}', "format 4"),
    "no cells": ('{"cells": 3}', "format 4"),
    "no JSON": ("{", "format 4"),
    "an old notebook": (json.dumps({"worksheets": [{"cells": []}]}), "format 4"),
}


@pytest.mark.parametrize(("raw", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_notebook_of_python_is_said(tmp_path: Path, raw: str, why: str) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text(raw)
    with pytest.raises(UnreadableSourceError, match=why):
        notebooks([str(path)])


def test_a_program_in_the_place_of_a_notebook_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text("import torch\n%x\n")
    assert read_source(str(path)).text == "import torch\n%x\n"
    assert notebooks([str(path)]) == {}


def test_a_change_of_two_cells_at_once_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text(raw := LAYOUTS["in ASCII"])
    with pytest.raises(UnreadableSourceError, match=CROSSES[:30]):
        write_source(str(path), "x = 2\n")
    assert path.read_text() == raw


def test_places_are_told_by_cell_and_by_line_of_the_file() -> None:
    raw = LAYOUTS["as Jupyter writes it"]
    file = parse("/w/nb.ipynb", raw)
    assert file is not None
    site = Span.of(5, 5, 5, 9)
    assert by_cell(file, site.start) == ("/w/nb.ipynb:cell 2", Position(2, 5))
    path, place = by_line(file, site.start)
    line = raw.split("\n")[place.line - 1]
    assert (path, line[place.column - 1 :]) == ("/w/nb.ipynb", '\\"\\\\t\\"\\n"')
    found = Break(
        "/w/nb.ipynb", site, None, "x", "x", "dynamo", chain=(Frame("/w/nb.ipynb", "f", Span.of(8, 1, 8, 2)),)
    )
    report = Report(None, None, None, (), (Finding(found, declined=(Declined("r", "See line 8."),)),))
    report = Report(*report_parts(report), (Failure("load", "exception", "no", "do", "/w/nb.ipynb", 8),))
    told = placed(report, {"/w/nb.ipynb": file}, by_cell)
    assert told.findings[0].site.chain[0].path == "/w/nb.ipynb:cell 3"
    assert told.findings[0].declined[0].reason == "See line 1 of code cell 3."
    assert (told.failures[0].path, told.failures[0].line) == ("/w/nb.ipynb:cell 3", 1)
    assert placed(report, {}, by_cell) is report


def report_parts(report: Report) -> tuple[Any, ...]:
    return report.torch, report.python, report.device, report.entries, report.findings
