"""How a run is cut, in order: graphs, and the breaks that Dynamo tells before the graph that they end."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graphmend_lsp.engine.breaks import Scope
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.runs import Run
from graphmend_lsp.engine.strip import Strips
from graphmend_lsp.model import Graph
from graphmend_lsp.worker.wire import BreakData, GraphData

PATH = "/p/net.py"
TEXT = """\
class Net:
    def forward(self, x):
        x = x + 1
        print(x)
        return x


def f(x):
    torch._dynamo.graph_break()
"""
PRINT = (4, 8, 4, 16)
ASKED = (9, 4, 9, 31)


def event(name: str, outcome: str = "resumed", place: tuple[int, int, int, int] = PRINT, call: int = 0) -> BreakData:
    cause = {"gb_id": name, "gb_type": name, "context": "", "explanation": "", "hints": []}
    line, column, end_line, end_column = place
    frame = {
        "file": PATH, "line": line, "column": column, "end_line": end_line, "end_column": end_column,
        "function": "forward", "kind": "code",
    }  # fmt: skip
    told = {
        "cause": cause,
        "root": cause,
        "outcome": outcome,
        "frames": [frame],
        "compiled": "Net.forward",
        "call": call,
    }
    return cast(BreakData, told)


def graph(ops: int, events: int, ends: int, call: int = 0) -> GraphData:
    return GraphData(ops=ops, function="Net.forward", file=PATH, line=2, call=call, events=events, ends=ends)


def strip(events: list[BreakData], graphs: list[GraphData], **more: Any) -> list[Any]:
    run = Run(events=tuple(events), graphs=tuple(graphs), **more)
    made = Strips(Scope(()), Sources({PATH: TEXT})).of(run)
    return [one.ops if isinstance(one, Graph) else one.code for one in made]


A, B, C = event("GB1"), event("GB2"), event("GB3", call=1)
CASES = {
    "a break is told before the graph that it ends": ([A, B], [graph(3, 1, 1), graph(4, 2, 1), graph(5, 2, 0)], [3, "GB1", 4, "GB2", 5]),
    "a break with no operator before it": ([A, B], [graph(3, 2, 1)], ["GB1", 3, "GB2"]),
    "what follows the last graph": ([A, B], [graph(3, 1, 1)], [3, "GB1", "GB2"]),
    "two breaks of one compilation": ([A, B], [graph(3, 2, 2)], [3, "GB1", "GB2"]),
    "the call that compiled most": ([A, C], [graph(3, 1, 1), graph(4, 2, 1, 1), graph(5, 2, 0, 1)], [4, "GB3", 5]),
    "no graph at all": ([A], [], ["GB1"]),
}  # fmt: skip


@pytest.mark.parametrize(("events", "graphs", "expected"), CASES.values(), ids=list(CASES))
def test_order(events: list[BreakData], graphs: list[GraphData], expected: list[Any]) -> None:
    assert strip(events, graphs) == expected


def test_a_run_that_tells_no_order_has_no_strip() -> None:
    old = cast(GraphData, {"ops": 3, "function": "f", "file": PATH, "line": 1, "call": 0})
    assert strip([A], [old]) == strip([A], [graph(3, 1, 1)], in_order=0) == []


def test_of_a_fake_run_what_other_sides_met_is_left_out() -> None:
    assert strip([A, B], [graph(3, 1, 1)], in_order=1) == [3, "GB1"]


@pytest.mark.parametrize(
    ("outcome", "outside"),
    [("resumed", None), ("rest skipped", (4, 5)), ("frame skipped", (2, 5)), ("refused", (2, 5))],
)
def test_what_runs_uncompiled(outcome: str, outside: tuple[int, int] | None) -> None:
    (stop,) = Strips(Scope(()), Sources({PATH: TEXT})).of(Run(events=(event("GB1", outcome),)))
    assert not isinstance(stop, Graph)
    assert (stop.text, stop.intended) == ("print(x)", False)
    assert stop.outside == (None if outside is None else ("Net.forward", PATH, *outside))


def test_of_a_function_that_was_resumed_its_rest_runs_uncompiled() -> None:
    rest: BreakData = {**event("GB2", "frame skipped", (5, 8, 5, 16)), "resuming": True}
    stop = Strips(Scope(()), Sources({PATH: TEXT})).of(Run(events=(event("GB1"), rest)))[-1]
    assert not isinstance(stop, Graph)
    assert stop.outside == ("Net.forward", PATH, 4, 5)


def test_a_break_that_the_program_asks_for() -> None:
    (stop,) = Strips(Scope(()), Sources({PATH: TEXT})).of(Run(events=(event("GB0025", place=ASKED),)))
    assert not isinstance(stop, Graph)
    assert (stop.intended, stop.text) == (True, "torch._dynamo.graph_break()")
