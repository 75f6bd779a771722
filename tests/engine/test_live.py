"""What is told of runs under way: the newest state, one at a time, nothing once the whole is known."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from graphmend_lsp.engine import live as live_module
from graphmend_lsp.engine.live import Live
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.model import Entry
from graphmend_lsp.worker.wire import BreakData

KEY: Key = (Entry("/m.py", "graphmend_entry"), "eval")
OTHER: Key = (Entry("/n.py", "graphmend_entry"), "train")


def event(outcome: Any = "resumed", call: int = 0) -> BreakData:
    cause: Any = {
        "gb_id": "GB0170",
        "gb_type": "Data-dependent branching",
        "context": "",
        "explanation": "",
        "hints": [],
    }
    return BreakData(cause=cause, root=cause, outcome=outcome, frames=[], compiled="forward", call=call)


class Told:
    """Takes its time to hear, as the editor does; keeps what it heard to the end."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.heard: list[dict[Key, int]] = []

    async def __call__(self, runs: Mapping[Key, Run]) -> None:
        assert all(not run.ended for run in runs.values())
        await asyncio.sleep(self.seconds)
        self.heard.append({key: len(run.events) for key, run in runs.items()})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "PAUSE", 0.001)


async def test_what_comes_together_is_told_together() -> None:
    told = Told()
    live = Live(told)
    live.met(KEY, event())
    live.met(OTHER, event())
    await asyncio.sleep(0.05)
    live.met(KEY, event(call=1))
    await asyncio.sleep(0.05)
    await live.end()
    assert told.heard == [{KEY: 1, OTHER: 1}, {KEY: 2, OTHER: 1}]


async def test_what_is_met_while_one_state_is_told_is_told_after_it() -> None:
    told = Told(0.05)
    live = Live(told)
    for call in range(5):
        live.met(KEY, event(call=call))
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.2)
    await live.end()
    assert told.heard == [{KEY: 1}, {KEY: 5}]


async def test_what_a_look_ahead_has_met_and_the_run_meets_again_is_one() -> None:
    told = Told()
    live = Live(told)
    for number in (0, 0, 1):
        live.met(KEY, event(call=number))
    await asyncio.sleep(0.02)
    await live.end()
    assert told.heard[-1] == {KEY: 2}


async def test_nothing_is_told_once_the_whole_is_known() -> None:
    told = Told(0.05)
    live = Live(told)
    live.met(KEY, event())
    await asyncio.sleep(0.01)
    await live.end()
    await asyncio.sleep(0.1)
    assert told.heard == []


async def test_what_ends_the_program_waits_for_the_end() -> None:
    told = Told()
    live = Live(told)
    live.met(KEY, event("raised"))
    await asyncio.sleep(0.02)
    await live.end()
    assert told.heard == []
