"""What noting values costs: analyses of programs with a break, with noting and without, turn by turn, each in a warm fork.

    python -m bench.noting [FILE.py[:ENTRY]...]        (default: the examples)

Prints the medians of an analysis both ways, of wall time and, for a busy machine, of processor time; the goal is at most a tenth (issue 12).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "server"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=[str(ROOT / "examples" / "gated_mlp.py")])
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    from graphmend_lsp.worker import tasks

    tasks.hello()
    tasks.warm_up()
    for program in options.programs:
        file, _, entry = program.partition(":")
        times: dict[bool, list[float]] = {True: [], False: []}
        work: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(options.turns + 1):
            for noting in (True, False):
                seconds, computing = _in_fork(os.path.abspath(file), entry or "graphmend_entry", noting)
                times[noting] += [seconds] if turn else []
                work[noting] += [computing] if turn else []
        name = os.path.basename(program)
        for what, measured in (("wall", times), ("processor", work)):
            on, off = statistics.median(measured[True]), statistics.median(measured[False])
            print(f"{name}: {what} {on:.3f} s with noting, {off:.3f} s without: {on - off:+.3f} s, {on / off - 1:+.1%}")


def _in_fork(file: str, entry: str, noting: bool) -> tuple[float, float]:
    """Wall seconds of the analysis, and processor seconds of its processes from their start to their end."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.write(writes, f"{_analysed(file, entry, noting):.6f}".encode())
        finally:
            os._exit(0)
    os.close(writes)
    _, _, used = os.wait4(pid, 0)
    with os.fdopen(reads) as pipe:
        return float(pipe.read()), used.ru_utime + used.ru_stime


def _analysed(file: str, entry: str, noting: bool) -> float:
    from graphmend_lsp.worker import analyse
    from graphmend_lsp.worker.wire import AnalyseParams, EntrySpec, Limits

    @contextlib.contextmanager
    def nothing(*_: Any) -> Iterator[None]:
        yield None

    if not noting:
        analyse.ready = nothing  # type: ignore[attr-defined]
    begun = time.perf_counter()
    result = analyse.analyse(
        AnalyseParams(
            entry=EntrySpec(file=file, function=entry, kind="function"),
            texts={},
            roots=[],
            device="auto",
            mode="eval",
            limits=Limits(seconds=600.0, memory_mb=None),
        )
    )
    seconds = time.perf_counter() - begun
    if result["failure"] is not None or (noting and not result.get("noted")):
        raise SystemExit(f"{file}: {result['failure'] or 'nothing was noted'}")
    return seconds


if __name__ == "__main__":
    main()
