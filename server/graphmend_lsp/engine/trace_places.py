"""From the frames of a trace to places in the files as they are here: whose code they are, and which expression is meant.

A trace quotes the line of every frame. A file is taken for the one that ran when every quoted line reads the same here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal

from graphmend_lsp.analysis import find_breaks
from graphmend_lsp.analysis.sites import narrow, statement_at
from graphmend_lsp.engine.breaks import place_of
from graphmend_lsp.engine.trace_messages import Link
from graphmend_lsp.model import Break, Position, Span
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import FrameData

Kind = Literal["code", "stdlib", "torch", "logger"]
_MODULE_CALL = frozenset({"_wrapped_call_impl", "_call_impl"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def kind_of(path: str) -> Kind:
    """Whose code a file of some machine is, by its path alone."""
    if path.startswith("<frozen "):
        return "stdlib"
    parts = (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).parts
    at = next((number for number, part in enumerate(parts) if part in _INSTALLED), None)
    if at is not None:
        return "torch" if parts[at + 1 : at + 2] == ("torch",) else "code"
    library = any(part.startswith("python3.") for part in parts[-4:-1]) and "lib" in parts
    return "stdlib" if library or parts[-3:-1] == ("Lib", "logging") else "code"


def chain_of(links: Sequence[Link]) -> list[Link]:
    """The frames without those by which torch calls a module."""
    return [link for link in links if not (link.function in _MODULE_CALL and kind_of(link.file) == "torch")]


def differs(links: Iterable[Link], path: str, text: Text) -> bool:
    """Whether a line that a trace quotes of the file reads otherwise in `text`."""
    return any(link.code and link.code != text.line(link.line).strip() for link in links if link.file == path)


def frame_of(link: Link, text: Text | None, gb_id: str | None, innermost: bool) -> FrameData:
    """A frame as the recorder would give it; without `text` the line alone is known."""
    span = _span(link, text, gb_id, innermost) if text is not None else None
    place = place_of(link.file, span, text) if span is not None and text is not None else None
    return FrameData(
        file=link.file,
        line=place["line"] if place else link.line,
        column=place["column"] if place else None,
        end_line=place["end_line"] if place else None,
        end_column=place["end_column"] if place else None,
        function=link.function,
        kind=kind_of(link.file),
    )


def _span(link: Link, text: Text, gb_id: str | None, innermost: bool) -> Span | None:
    """The expression that is meant; None: nothing is known but the line."""
    content = text.line(link.line)
    indent = len(content) - len(content.lstrip())
    if link.columns is not None:
        first, last = link.columns
        if last == len(link.code):  # torch 2.13 marks to the end of the line, whatever it means
            known = _suspect(find_breaks(text.value, ""), link.line, gb_id)
            if known is not None and known.start == Position(link.line, indent + first + 1):
                return known
            last = first + _expression(link.code[first:])
        return Span.of(link.line, indent + first + 1, link.line, indent + last + 1)
    return meant_on(text, link.line, gb_id) if innermost else None


def meant_on(text: Text, line: int, gb_id: str | None) -> Span | None:
    """The expression or statement of a line that a break is about, where nothing is told but the line."""
    content = text.line(line)
    if not content.strip():
        return None
    indent = len(content) - len(content.lstrip())
    return _suspect(find_breaks(text.value, ""), line, gb_id) or _statement(text, line, indent)


def _expression(code: str) -> int:
    """How long the longest expression is with which `code` begins; all of it when there is none."""
    for end in range(len(code), 0, -1):
        try:
            found = ast.parse(code[:end], mode="eval").body
        except (SyntaxError, ValueError):
            continue
        return len(code.encode()[: found.end_col_offset].decode("utf-8", "ignore"))
    return len(code)


def _suspect(sites: Iterable[Break], line: int, gb_id: str | None) -> Span | None:
    """The one place in the line of which the source alone says that the graph breaks so there."""
    here = [site.span for site in sites if site.span.start.line == line and gb_id in (site.gb_id, site.code)]
    return here[0] if len(here) == 1 else None


def _statement(text: Text, line: int, indent: int) -> Span | None:
    """The statement that begins in the line, or the condition that it tests."""
    statement = statement_at(text, Position(line, indent + 1))
    if statement is None or statement.start != Position(line, indent + 1):
        return None
    span = narrow(text, statement)
    return span if span != statement or statement.end.line == line else None
