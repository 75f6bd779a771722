"""Times as ratios, and in words."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.engine.measuring import measurement, ratios
from graphmend_lsp.model import Entry, Measurement
from graphmend_lsp.report.words import speed

KEY = (Entry("/p/m.py", "graphmend_entry"), "eval")


def timed(warm: list[float], first: float = 1.0, launches: Any = None) -> Any:
    return {"first": first, "warm": warm, "launches": launches}


def result(**more: Any) -> Any:
    steady = {"original": timed([0.004] * 8, 1.0), "mended": timed([0.002] * 8, 1.25)}
    return {"backend": "inductor", "device": "cpu", **steady, "failure": None, **more}


def made(**more: Any) -> Measurement:
    return measurement(KEY, result(**more))  # type: ignore[arg-type]


def test_the_ratio_is_that_of_neighbouring_samples() -> None:
    disturbed = [0.004, 0.04, 0.4, 0.004, 0.008]  # another program had the machine, for both
    low, middle, high = ratios(disturbed, [one / 2 for one in disturbed])
    assert (low, middle, high) == pytest.approx((2.0, 2.0, 2.0))
    assert ratios([3.0], [1.0]) == (3.0, 3.0, 3.0)


def test_words_say_the_ratio_first() -> None:
    assert speed(made()) == (
        "m.py:graphmend_entry (eval): 2.00 times as fast warm (2.00 to 2.00 in 8 samples side by side); "
        "first call 0.80 times as fast; a call 4 ms → 2 ms, the first 1 s → 1.25 s (inductor on cpu)"
    )


def test_what_is_too_noisy_says_so() -> None:
    one = made(original=timed([1.0, 2.0, 1.0, 3.0, 1.0]), mended=timed([1.0, 1.0, 2.0, 1.0, 1.5]))
    assert one.is_noisy
    assert "the samples vary too much" in speed(one)
    assert "measure again" in speed(one)
    assert not made().is_noisy


def test_too_few_turns_are_told() -> None:
    one = made(original=timed([2.0]), mended=timed([1.0]))
    assert one.is_noisy
    assert (
        "about 2.0 times as fast warm, but the time limit allowed too few samples (2.00 to 2.00 in 1 sample "
        in speed(one)
    )


def test_launches_are_told_where_there_is_a_device() -> None:
    old, new = {"kernels": 12, "cuda_graphs": 0}, {"kernels": 3, "cuda_graphs": 0}
    one = made(device="cuda", original=timed([2.0] * 5, 1, old), mended=timed([1.0] * 5, 1, new))
    assert (one.kernels, one.cuda_graphs) == ((12, 3), (0, 0))
    assert "12 → 3 kernels launched" in speed(one)
    assert "CUDA graphs" not in speed(one)


def test_a_failure_has_no_ratio() -> None:
    failure = {
        "stage": "call", "kind": "exception", "message": "the mended program: no", "remedy": "Do.", "path": None,
        "line": None, "detail": "",
    }  # fmt: skip
    one = made(original=None, mended=None, failure=failure)
    assert (one.ratio, one.first_ratio, one.is_noisy) == (None, None, False)
    assert speed(one) == "m.py:graphmend_entry (eval): not measured: the mended program: no. Do."
