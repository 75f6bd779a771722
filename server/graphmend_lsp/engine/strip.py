"""How a run's program is cut, in order: its graphs, and what ends them, as places of the current text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from graphmend_lsp.analysis.reasons import is_boundary
from graphmend_lsp.analysis.sites import function_span, narrow
from graphmend_lsp.engine.breaks import Scope, shown_frame, span_of
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.runs import Run
from graphmend_lsp.model import Frame, Graph, Span, Stop
from graphmend_lsp.text import Text
from graphmend_lsp.worker.wire import BreakData, GraphData, is_intended

_LONGEST = 160  # characters of the source at a break

Strip = tuple[Graph | Stop, ...]


class Strips:
    """Makes the strips of the runs of one request; what it read of a file serves for all of them."""

    def __init__(self, scope: Scope, sources: Sources) -> None:
        self._scope, self._sources = scope, sources
        self._texts: dict[str, Text | None] = {}
        self._narrowed: dict[tuple[str, Span], Span] = {}
        self._resumed: dict[tuple[str, str], int] = {}  # the line after which a function goes on, by file and name

    def of(self, run: Run) -> Strip:
        """The strip of the call that compiled most graphs (the first, where none compiled any); empty where the run tells
        no order."""
        if any("events" not in graph for graph in run.graphs) or run.in_order == 0:
            return ()
        self._resumed.clear()
        call = run.most_cut or 0
        events = run.events if run.in_order is None else run.events[: run.in_order]
        return tuple(self._piece(one) for one in in_order(run.graphs, events) if one["call"] == call)

    def _piece(self, one: GraphData | BreakData) -> Graph | Stop:
        if "ops" in one:
            graph = cast(GraphData, one)
            return Graph(graph["ops"], graph["function"], graph["file"], graph["line"], graph.get("share"))
        return self._stop(one)

    def _stop(self, event: BreakData) -> Stop:
        chain = tuple(
            Frame(one["file"], one["function"], span_of(one, self._text(one["file"])), one["kind"])
            for one in event["frames"]
        )
        code = [frame for frame in chain if frame.kind == "code"]
        place = shown_frame(chain, self._scope) or (code[-1] if code else chain[-1] if chain else None)
        root = event["root"]
        known = root["gb_id"] or event["cause"]["gb_id"] or root["gb_type"]
        if place is None:
            return Stop("", Span.of(1, 1, 1, 1), known, root["gb_type"], event["outcome"])
        span = self._narrow(place.path, place.span)
        text = self._text(place.path)
        segment = "" if text is None else text.slice(span)
        return Stop(
            place.path,
            span,
            known,
            root["gb_type"],
            event["outcome"],
            _one_line(segment),
            intended=is_intended(event) and not is_boundary(segment),
            outside=self._outside(event, code),
            chain=chain,
        )

    def _outside(self, event: BreakData, code: Sequence[Frame]) -> tuple[str, str, int, int] | None:
        """Of the function that Dynamo was compiling: all of it, what comes after the break, or after the one before."""
        name = event["compiled"].rpartition(".")[2]
        frame = next((one for one in code if one.function.rpartition(".")[2] == name), None)
        text = self._text(frame.path) if frame is not None else None
        if frame is None or text is None:
            return None
        key, line = (frame.path, event["compiled"]), frame.span.start.line
        if event["outcome"] == "resumed":
            self._resumed[key] = line
        around = function_span(text, frame.span.start)
        if around is None or event["outcome"] not in ("frame skipped", "refused", "rest skipped"):
            return None
        first = self._resumed.get(key, line) if event.get("resuming") else around.start.line
        return (event["compiled"], frame.path, line if event["outcome"] == "rest skipped" else first, around.end.line)

    def _text(self, path: str) -> Text | None:
        if path not in self._texts:
            value = self._sources.get(path)
            self._texts[path] = None if value is None else Text(value)
        return self._texts[path]

    def _narrow(self, path: str, span: Span) -> Span:
        key = (path, span)
        if key not in self._narrowed:
            text = self._text(path)
            self._narrowed[key] = span if text is None else narrow(text, span)
        return self._narrowed[key]


def in_order(graphs: Sequence[GraphData], events: Sequence[BreakData]) -> Iterator[GraphData | BreakData]:
    """Graphs and break events as the program runs them.

    Dynamo commits a break before it compiles what comes before it: the events of a graph's own compilation come after it.
    """
    told = 0
    for graph in graphs:
        first = max(graph["events"] - graph["ends"], told)
        yield from events[told:first]
        yield graph
        yield from events[first : graph["events"]]
        told = max(graph["events"], told)
    yield from events[told:]


def _one_line(segment: str) -> str:
    first, *more = segment.strip().splitlines() or [""]
    return first[:_LONGEST] + (" …" if more or len(first) > _LONGEST else "")
