"""Random programs mended as far as that is proven safe, then compared by other means over other calls: is any mend wrong?

    python bench/attack.py [--from SEED] [--count N] [--backends eager,aot_eager] [--keep FOLDER]

Each seed is one program (`tests/attack/programs.py`). The engine mends it with safe mends only; `tests/attack/differ.py`, which
shares no code with the worker, runs original and mended program uncompiled and compiled over calls that the verdict did not see.
Prints a line for each difference and the counts at the end; the exit status is 1 when there was any. With --keep the programs
that differ are left in a folder: each becomes a test.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ATTACK = Path(__file__).resolve().parent.parent / "tests" / "attack"
sys.path.insert(0, str(ATTACK))

import differ  # noqa: E402
import programs  # noqa: E402

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig  # noqa: E402
from graphmend_lsp.engine.session import Session  # noqa: E402

PATIENCE = 300.0  # seconds for one comparison


def compare(original: str, mended: str, backends: list[str], seed: int) -> list[str]:
    """The differences, found in a process of its own."""
    receive, send = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_compare, args=(send, original, mended, backends, seed))
    child.start()
    send.close()
    try:
        return receive.recv() if receive.poll(PATIENCE) else ["the comparison did not end in time"]
    except EOFError:
        return [f"the comparison died (exit status {child.exitcode})"]
    finally:
        child.kill()
        child.join()


def _compare(send: Any, original: str, mended: str, backends: list[str], seed: int) -> None:
    import torch

    torch.set_num_threads(1)
    torch._logging.set_logs(all=logging.ERROR)
    try:
        send.send(differ.differences(original, mended, backends, seed))
    except Exception as error:
        send.send([f"the comparison failed: {type(error).__name__}: {error}"])


async def attack(seeds: range, backends: list[str], folder: Path, keep: Path | None) -> Counter[str]:
    """Mend and compare every program."""
    counts: Counter[str] = Counter()
    session = Session(WorkerConfig(cwd=str(folder)))
    try:
        for seed in seeds:
            file, mended = folder / f"program{seed}.py", folder / f"mended{seed}.py"
            source = programs.program(seed)
            file.write_text(source)
            plan = await session.mend(CheckRequest((str(file),), device="cpu"))
            counts["programs"] += 1
            counts["failed"] += bool(plan.before.failures)
            counts["with breaks"] += bool(plan.before.findings)
            if not plan.texts:
                continue
            counts["mended"] += 1
            counts["mended entirely"] += not plan.after.findings
            for candidate in plan.applied:
                counts[f"mends by {candidate.mend.rule}"] += 1
            mended.write_text(plan.texts[str(file)])
            found = await asyncio.to_thread(compare, str(file), str(mended), backends, seed)
            if found:
                counts["different"] += 1
                print(
                    json.dumps(
                        {
                            "seed": seed,
                            "rules": sorted({one.mend.rule for one in plan.applied}),
                            "differences": found[:4],
                        }
                    ),
                    flush=True,
                )
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, keep)
                    shutil.copy(mended, keep)
    finally:
        await session.close()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--backends", default="eager,aot_eager", help="of eager, aot_eager, inductor")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(arguments.first, arguments.first + arguments.count)
        counts = asyncio.run(attack(seeds, arguments.backends.split(","), Path(folder), arguments.keep))
    for name, count in counts.items():
        print(f"{name:<20}{count:>7}")
    print(f"{'seconds':<20}{time.perf_counter() - begun:>7.0f}")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
