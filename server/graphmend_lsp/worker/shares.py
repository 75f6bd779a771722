"""The share of a call's time that each graph takes: the calls again, with what was compiled, under a clock.

Runs after an analysis, in its child process. The backend is the analysis' own, which compiles to eager operators: shares say
where the time of the model goes, not how long compiled code takes. Of train mode, the forward alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .backward import backward
from .program import Program, seed
from .recorder import Recorder
from .wire import GraphData

PASSES = 3
SECONDS = 1.0  # after which no further pass begins


class Clock:
    """Seconds that each graph took, by its number, since the clock was started. Off until then."""

    def __init__(self) -> None:
        self.running = False
        self.on_cuda = False
        self.graphs: dict[int, float] = {}

    def timed(self, number: int, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """What the backend made of graph `number`, under this clock."""

        def run(*args: Any, **kwargs: Any) -> Any:
            if not self.running:
                return compiled(*args, **kwargs)
            begun = self.now()
            try:
                return compiled(*args, **kwargs)
            finally:
                self.graphs[number] = self.graphs.get(number, 0.0) + self.now() - begun

        return run

    def now(self) -> float:
        """Seconds, when the device has done what it was given."""
        if self.on_cuda:
            import torch

            torch.cuda.synchronize()
        return time.perf_counter()


def add_shares(program: Program, function: Callable[..., Any], mode: str, recorder: Recorder) -> None:
    """Give the recorded graphs their `share` of their call; none where the calls do not run again as they did."""
    clock = recorder.clock
    if clock is None:
        return
    clock.on_cuda = program.device == "cuda"
    known, begun = len(recorder.graphs), time.perf_counter()
    fastest: dict[
        int, tuple[float, dict[int, float]]
    ] = {}  # of each call: what delays a pass is no part of the program
    for _ in range(PASSES):
        try:
            for number, call in enumerate(program.calls):
                seed()
                clock.graphs, clock.running = {}, True
                started = clock.now()
                output = function(*call.args, **call.kwargs)
                took = clock.now() - started
                clock.running = False
                if number not in fastest or took < fastest[number][0]:
                    fastest[number] = took, clock.graphs
                if mode == "train":
                    backward(output)
        except Exception:
            return
        finally:
            clock.running = False
        if len(recorder.graphs) != known:  # something was compiled anew: these are not the graphs that are told
            del recorder.graphs[known:]
            return
        if time.perf_counter() - begun > SECONDS:
            break
    for number, graph in enumerate(recorder.graphs):
        took, graphs = fastest.get(graph["call"], (0.0, {}))
        seconds = _seconds(number, graphs, recorder.graphs)
        if took > 0 and seconds is not None:
            recorder.graphs[number] = GraphData(**{**graph, "share": round(min(seconds / took, 1.0), 4)})


def _seconds(number: int, ran: Mapping[int, float], graphs: Sequence[GraphData]) -> float | None:
    """What a graph took, or that which a later call compiled of the same code (for other shapes) and which ran in its place."""
    if number in ran:
        return ran[number]
    call, place = graphs[number]["call"], _place(graphs[number])
    others = [ran[one] for one in ran if _place(graphs[one]) == place and graphs[one]["call"] != call]
    return sum(others) if others else None


def _place(graph: GraphData) -> tuple[str, int, str]:
    return graph["file"], graph["line"], graph["function"]
