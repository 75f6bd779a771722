"""Open notebooks: the one document that the Python cells of each make, and places of that document as places of cells.

A notebook is in the store of documents under its own URI. A line of it is a line of one cell, and columns are the same, so
that what handlers say of the document is said of a cell by another line (`in_cells`). Pure but for the dicts.
"""

from __future__ import annotations

import copy
import inspect
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lsprotocol import types

from graphmend_lsp.lsp.documents import Document, changed
from graphmend_lsp.lsp.units import length
from graphmend_lsp.lsp.uris import Encoding, path_of
from graphmend_lsp.notebook import Cells, is_broken
from graphmend_lsp.text import Text

if TYPE_CHECKING:
    from graphmend_lsp.lsp.workspace import Workspace

_Handler = TypeVar("_Handler", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell, as the client has its text."""

    uri: str
    language: str
    version: int
    text: Text


@dataclass(frozen=True)
class Notebook:
    """A version of an open notebook: its cells in order, those among them that are Python, and which of these are hidden."""

    uri: str
    version: int
    order: tuple[str, ...]
    texts: dict[str, Cell]
    hidden: frozenset[str] = frozenset()

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The Python cells."""
        return tuple(
            cell for uri in self.order if (cell := self.texts.get(uri)) is not None and cell.language == "python"
        )

    @cached_property
    def program(self) -> Cells:
        """The program that they make."""
        hidden = frozenset(number for number, cell in enumerate(self.cells) if cell.uri in self.hidden)
        return Cells(tuple(cell.text.value for cell in self.cells), hidden)

    @cached_property
    def document(self) -> Document:
        """The notebook as the document that analysis and runs know."""
        return Document(self.uri, path_of(self.uri), "python", self.version, self.program.program, self)

    @property
    def readable(self) -> Notebook:
        """The notebook with those cells hidden that are no Python as they stand."""
        return replace(self, hidden=frozenset(cell.uri for cell in self.cells if is_broken(cell.text.value)))

    @property
    def still_hidden(self) -> Notebook:
        """The notebook with those hidden cells shown that have become Python."""
        hidden = frozenset(cell.uri for cell in self.cells if cell.uri in self.hidden and is_broken(cell.text.value))
        return replace(self, hidden=hidden)

    def number(self, uri: str) -> int | None:
        """Which Python cell this is, 0-based."""
        return next((number for number, cell in enumerate(self.cells) if cell.uri == uri), None)

    def inward(self, number: int, place: types.Position) -> types.Position:
        """A place in a cell as one of the document; one behind the cell's last line is at its end."""
        first, count = self.program.first_lines[number], self.cells[number].text.line_count
        if place.line >= count:
            return types.Position(first + count - 2, 2**31 - 1)
        return types.Position(place.line + first - 1, place.character)

    def outward(self, place: types.Range, encoding: Encoding) -> tuple[int, types.Range]:
        """A range of the document as one of the cell that it begins in; what is behind the cell is cut off."""
        number = max(bisect_right(self.program.first_lines, place.start.line + 1) - 1, 0)
        if not self.cells:
            return 0, place
        first, text = self.program.first_lines[number], self.cells[number].text

        def moved(position: types.Position) -> types.Position:
            line = position.line - first + 1
            if line < text.line_count:
                return types.Position(line, position.character)
            return types.Position(text.line_count - 1, length(text.line(text.line_count), encoding))

        return number, types.Range(moved(place.start), moved(place.end))


class Notebooks:
    """The open notebooks, by URI and by those of their cells."""

    def __init__(self) -> None:
        self._open: dict[str, Notebook] = {}
        self._owner: dict[str, str] = {}

    def get(self, uri: str) -> Notebook | None:
        """The notebook of this URI as it is now."""
        return self._open.get(uri)

    def owner(self, uri: str) -> str:
        """The URI of the document that a URI stands for: its notebook's, where it is a cell's."""
        return self._owner.get(uri, uri)

    def put(self, notebook: Notebook) -> None:
        """A notebook as it is now."""
        self.close(notebook.uri)
        self._open[notebook.uri] = notebook
        self._owner.update(dict.fromkeys((cell.uri for cell in notebook.cells), notebook.uri))

    def close(self, uri: str) -> None:
        """Forget a notebook."""
        if self._open.pop(uri, None) is not None:
            self._owner = {cell: owner for cell, owner in self._owner.items() if owner != uri}

    def relocated(self, found: types.Location, encoding: Encoding) -> types.Location:
        """A location, in a cell where it is in a notebook."""
        notebook = self._open.get(found.uri)
        if notebook is None or not notebook.cells:
            return found
        number, place = notebook.outward(found.range, encoding)
        return types.Location(notebook.cells[number].uri, place)

    def shown(
        self, items: Iterable[types.Diagnostic], notebook: Notebook | None, encoding: Encoding
    ) -> dict[str, list[types.Diagnostic]]:
        """Diagnostics of a document by the URI under which they are shown: of a notebook, each cell's."""
        found: dict[str, list[types.Diagnostic]] = {cell.uri: [] for cell in notebook.cells} if notebook else {}
        for item in items:
            uri, told = notebook.uri if notebook else "", self._told(item, encoding)
            if notebook is not None and notebook.cells:
                number, told.range = notebook.outward(item.range, encoding)
                uri = notebook.cells[number].uri
            found.setdefault(uri, []).append(told)
        return found

    def _told(self, item: types.Diagnostic, encoding: Encoding) -> types.Diagnostic:
        told = copy.copy(item)
        if item.related_information:
            told.related_information = [
                types.DiagnosticRelatedInformation(self.relocated(one.location, encoding), one.message)
                for one in item.related_information
            ]
        return told


def opened(params: types.DidOpenNotebookDocumentParams) -> Notebook:
    """The notebook that a client opened; cells that are no Python as they stand are hidden."""
    told = params.notebook_document
    texts = {one.uri: Cell(one.uri, one.language_id, one.version, Text(one.text)) for one in params.cell_text_documents}
    return Notebook(told.uri, told.version, _order(told.cells), texts).readable


def after(notebook: Notebook, params: types.DidChangeNotebookDocumentParams, encoding: Encoding) -> Notebook:
    """The notebook after a client's change."""
    order, texts = list(notebook.order), dict(notebook.texts)
    cells = params.change.cells
    if cells is not None and (structure := cells.structure) is not None:
        array = structure.array
        order[array.start : array.start + array.delete_count] = _order(array.cells or ())
        for opened_now in structure.did_open or ():
            text = Text(opened_now.text)
            texts[opened_now.uri] = Cell(opened_now.uri, opened_now.language_id, opened_now.version, text)
        for closed in structure.did_close or ():
            texts.pop(closed.uri, None)
    for content in (cells.text_content if cells is not None else None) or ():
        cell = texts.get(content.document.uri)
        if cell is None:
            continue
        text = cell.text
        for change in content.changes:
            text = changed(text, change, encoding)
        texts[cell.uri] = replace(cell, version=content.document.version, text=text)
    version = params.notebook_document.version
    return Notebook(notebook.uri, version, tuple(order), texts, notebook.hidden).still_hidden


def _order(cells: Sequence[types.NotebookCell]) -> tuple[str, ...]:
    return tuple(cell.document for cell in cells)


def in_cells(handler: _Handler) -> _Handler:
    """A handler of questions about documents that answers those about a cell, too: from the notebook's document."""

    def inside(state: Workspace, params: Any) -> tuple[Any, tuple[Notebook, int] | None]:
        uri = params.text_document.uri
        notebook = state.notebooks.get(state.notebooks.owner(uri))
        number = notebook.number(uri) if notebook is not None else None
        if notebook is None or number is None:
            return params, None
        params = copy.copy(params)
        params.text_document = types.TextDocumentIdentifier(notebook.uri)
        if hasattr(params, "position"):
            params.position = notebook.inward(number, params.position)
        if hasattr(params, "range"):
            ends = (notebook.inward(number, params.range.start), notebook.inward(number, params.range.end))
            params.range = types.Range(*ends)
        return params, (notebook, number)

    if inspect.iscoroutinefunction(handler):

        @wraps(handler)
        async def later(ls: Any, params: Any) -> Any:
            within, here = inside(ls.state, params)
            answer = await handler(ls, within)
            return answer if here is None else _outside(answer, *here, ls.state.client.encoding)

        return cast("_Handler", later)

    @wraps(handler)
    def at_once(ls: Any, params: Any) -> Any:
        within, here = inside(ls.state, params)
        answer = handler(ls, within)
        return answer if here is None else _outside(answer, *here, ls.state.client.encoding)

    return cast("_Handler", at_once)


def _outside(answer: Any, notebook: Notebook, number: int, encoding: Encoding) -> Any:
    """An answer about a notebook's document as one about a cell; what lies in other cells is left out of it."""
    if isinstance(answer, list):
        return [told for one in answer if (told := _outside(one, notebook, number, encoding)) is not None]
    if isinstance(answer, types.CodeAction):
        told = [_outside(one, notebook, number, encoding) for one in answer.diagnostics or ()]
        answer.diagnostics = [one for one in told if one is not None] or None
    elif isinstance(answer, types.InlayHint):
        cell, place = notebook.outward(types.Range(answer.position, answer.position), encoding)
        answer.position = place.start
        return answer if cell == number else None
    elif isinstance(answer, (types.Hover, types.CodeLens, types.Diagnostic)) and answer.range is not None:
        cell, answer.range = notebook.outward(answer.range, encoding)
        return answer if cell == number else None
    return answer
