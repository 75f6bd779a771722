"""For how many files of a folder something is run although nobody wrote an entry: one line a file, then the total.

    python bench/entries.py FOLDER [--again] [--match WORD]

Each attempt is a request of its own to the worker (`engine.client.WorkerClient`), which runs it in a child process with
limits. Outcomes are kept in ``.cache/entries.json``; without ``--again`` only
files that failed are run once more. A file counts when one of its entries was analysed to its end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path

from graphmend_lsp.analysis.entry_guesses import guess_entries
from graphmend_lsp.engine.client import WorkerClient, WorkerFailedError
from graphmend_lsp.model import Entry

KEPT = Path(__file__).parent.parent / ".cache" / "entries.json"
NOT_PYTORCH = re.compile(r"modeling_(tf|flax)_")
SECONDS, MEMORY_MB, AT_ONCE = 150.0, 8000, 2


def files_of(folder: str, match: str) -> list[str]:
    """The PyTorch modeling files below a folder; every Python file where it has none of those."""
    every = sorted(str(path) for path in Path(folder).rglob("*.py"))
    models = [path for path in every if os.path.basename(path).startswith("modeling_") and not NOT_PYTORCH.search(path)]
    return [path for path in models or every if match in path]


async def analysed(client: WorkerClient, entry: Entry) -> dict[str, object]:
    """What one entry gave, as it is kept."""
    params = {
        "entry": {"file": entry.file, "function": entry.function, "kind": entry.kind},
        "texts": {}, "roots": [], "device": "cpu", "mode": "eval",
        "limits": {"seconds": SECONDS, "memory_mb": MEMORY_MB},
    }  # fmt: skip
    begun = time.perf_counter()
    try:
        result = await client.request("analyse", params, SECONDS)
    except WorkerFailedError as error:
        return {"entry": entry.function, "why": error.failure.message}
    failure = result["failure"]
    return {
        "entry": entry.function,
        "kind": entry.kind,
        "why": None if failure is None else f"{failure['kind']}: {failure['message']}",
        "graphs": len(result["graphs"]),
        "events": len(result["events"]),
        "seconds": round(time.perf_counter() - begun, 1),
    }


async def one_file(client: WorkerClient, path: str, at_once: asyncio.Semaphore) -> list[dict[str, object]]:
    """The outcomes of a file's entries, up to the first that works."""
    outcomes: list[dict[str, object]] = []
    async with at_once:
        for entry in guess_entries(Path(path).read_text("utf-8"), path):
            outcomes.append(await analysed(client, entry))
            if outcomes[-1]["why"] is None:
                break
    return outcomes


def line(path: str, outcomes: list[dict[str, object]], folder: str) -> str:
    """A file's outcome in a line."""
    name = os.path.relpath(path, folder)
    good = next((one for one in outcomes if one["why"] is None), None)
    if good is not None:
        return f"ok    {name}  {good['entry']}: {good['graphs']} graphs, {good['events']} breaks, {good['seconds']} s"
    if not outcomes:
        return f"none  {name}  no model, compiled function or module to run"
    return f"FAIL  {name}  {outcomes[0]['entry']}: {outcomes[0]['why']}"


async def main() -> int:
    """Run what is to be run, print every line and the total."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--again", action="store_true", help="run the files that worked, too")
    parser.add_argument("--match", default="", help="only files with this in their path")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.folder)
    files = files_of(folder, arguments.match)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    client = WorkerClient(sys.executable, (), folder, {"HF_HUB_OFFLINE": "1"})
    at_once = asyncio.Semaphore(AT_ONCE)

    async def run(path: str) -> None:
        known = kept.get(path, [])
        if arguments.again or not any(one["why"] is None for one in known):
            kept[path] = await one_file(client, path, at_once)
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept))
            print(line(path, kept[path], folder), file=sys.stderr, flush=True)

    try:
        await asyncio.gather(*map(run, files))
    finally:
        await client.kill()
    good = sum(any(one["why"] is None for one in kept[path]) for path in files)
    for path in files:
        print(line(path, kept[path], folder))
    print(f"{good} of {len(files)} files ({100 * good / max(len(files), 1):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
