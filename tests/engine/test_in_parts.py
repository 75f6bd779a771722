"""A verdict in two parts: every way but inductor, and inductor alone."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.engine.in_parts import is_first_part, joined

CUT = {"graphs": 1, "breaks": 0, "skipped_frames": 0, "skipped_rests": 0, "recompiles": 0, "refused": 0}
BROKEN = {**CUT, "graphs": 3, "breaks": 2}
MOVED = {"what": "log", "where": "", "call": "call 1", "detail": "later", "severity": "moved"}
CLOSE = {"what": "output", "where": "", "call": "call 1 compiled with inductor", "detail": "1e-7", "severity": "close"}


def result(**more: Any) -> Any:
    return {
        "id": "3", "before": BROKEN, "after": CUT, "outputs": "bit-equal", "gradients": "bit-equal", "state": "bit-equal",
        "effects": "equal", "differences": [], "unlike_sides": [], "sides": [], "events": ["e"], "graphs": ["g"],
        "calls": 60, "seconds": 4.0, "failure": None, "probed": ["dtype"], "untried": [], "rounded": ["gradients"], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({}, True),
        ({"differences": [MOVED]}, True),
        ({"differences": [CLOSE]}, False),
        ({"differences": [{**MOVED, "assumes": "dtype"}]}, False),
        ({"after": BROKEN}, False),  # it was not run in every way: it gains nothing
        ({"untried": ["a call"]}, False),
        ({"unlike_sides": ["float32 and float64"]}, False),
        ({"failure": {"kind": "timeout"}}, False),
    ],
)
def test_a_result_stands_for_all_ways_but_inductors_where_nothing_in_it_is_open(more: Any, holds: bool) -> None:
    assert is_first_part(result(**more)) is holds


def test_both_parts_are_one_result() -> None:
    first = result(differences=[MOVED], effects="moved", exercised=[0])
    second = result(
        id="0", after={**CUT, "graphs": 0}, events=[], graphs=[], calls=9, seconds=30.0, probed=[],
        differences=[CLOSE, MOVED], outputs="close", rounded=["gradients", "state"],
    )  # fmt: skip
    found = joined(first, second)
    assert found["id"] == "0" and found["after"] == CUT and found["before"] == BROKEN
    assert (found["events"], found["graphs"], found["probed"]) == (["e"], ["g"], ["dtype"]) and "exercised" not in found
    assert found["differences"] == [MOVED, CLOSE]
    assert (found["outputs"], found["gradients"], found["effects"]) == ("close", "bit-equal", "moved")
    assert (found["calls"], found["seconds"], found["rounded"]) == (69, 34.0, ["gradients", "state"])


def test_what_stops_inductor_stops_the_whole() -> None:
    stopped = {"stage": "call", "kind": "timeout", "message": "m", "remedy": "r"}
    assert joined(result(), result(failure=stopped, outputs="not compared"))["failure"] == stopped
    assert joined(result(), result(outputs="different"))["outputs"] == "different"
