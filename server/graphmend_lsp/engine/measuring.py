"""From times to ratios: how many times as fast a mended program is, and whether that can be told. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from graphmend_lsp.engine.client import failure_of
from graphmend_lsp.engine.runs import Key
from graphmend_lsp.model import Measurement
from graphmend_lsp.worker.wire import MeasureResult, Timed


def measurement(key: Key, result: MeasureResult) -> Measurement:
    """What the worker timed, as ratios of samples that were made one after the other."""
    entry, mode = key
    old, new = result["original"], result["mended"]
    if result["failure"] is not None or old is None or new is None:
        why = failure_of(result["failure"]) if result["failure"] is not None else None
        return Measurement(entry, mode, result["backend"], result["device"], error=why)
    low, ratio, high = ratios(old["warm"], new["warm"])
    kernels, graphs = _launches(old, new)
    return Measurement(
        entry, mode, result["backend"], result["device"],
        first=(old["first"], new["first"]), warm=(statistics.median(old["warm"]), statistics.median(new["warm"])),
        ratio=ratio, low=low, high=high, samples=min(len(old["warm"]), len(new["warm"])), kernels=kernels, cuda_graphs=graphs,
    )  # fmt: skip


def ratios(old: Sequence[float], new: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile of the ratios of neighbouring samples.

    What slows the machine down for a while slows both programs' samples, and leaves their ratio.
    """
    each = sorted(one / max(other, 1e-12) for one, other in zip(old, new, strict=False))
    if len(each) < 2:
        return each[0], each[0], each[0]
    low, middle, high = statistics.quantiles(each, n=4, method="inclusive")
    return low, middle, high


def _launches(old: Timed, new: Timed) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    one, other = old["launches"], new["launches"]
    if one is None or other is None:
        return None, None
    return (one["kernels"], other["kernels"]), (one["cuda_graphs"], other["cuda_graphs"])
