"""Constructs under Dynamo twice, with data and without: the breaks that both runs find, and the rows that differ.

    python bench/constructs_fake.py CONSTRUCTS.py [--only NAME,...] [--explore N]

CONSTRUCTS.py has a list `C` of (name, function, what makes its arguments, tag); tag "mod": the function makes the module.
Agreement: the ids (of root causes) that the real run finds are those that the explored fake runs find on the real run's side.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.client import WorkerClient

ENTRIES = """\
import sys; sys.path.insert(0, {folder!r})
import os, pdb; os.environ["PYTHONBREAKPOINT"] = "0"; pdb.set_trace = lambda *_, **__: None
import {module} as constructs
def _entry(number):
    def entry():
        _, function, arguments, tag = constructs.C[number]
        return (function() if tag == "mod" else function), tuple(arguments())
    return entry
NAMES = [row[0] for row in constructs.C]
for number in range(len(constructs.C)):
    globals()["entry_%d" % number] = _entry(number)
"""


def ids(result: dict[str, Any], default_only: bool = False) -> set[str]:
    events = [event for event in result["events"] if not (default_only and event.get("answers"))]
    return {event["root"]["gb_id"] or event["root"]["gb_type"] for event in events}


async def compare(path: Path, only: set[str], explore: int) -> int:
    client = WorkerClient(sys.executable, (), None, {})
    seconds = {"real": 0.0, "fake": 0.0}
    same = covered = first = total = 0
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "constructs_entries.py")
        text = ENTRIES.format(folder=str(path.parent), module=path.stem)
        sys.path.insert(0, str(path.parent))
        names = [row[0] for row in __import__(path.stem).C]
        await client.start()
        for number, name in enumerate(names):
            if only and name not in only:
                continue
            total += 1
            found: dict[str, Any] = {}
            for run in ("real", "fake"):
                begin = time.perf_counter()
                params = {
                    "entry": {"file": file, "function": f"entry_{number}", "kind": "function"},
                    "texts": {file: text}, "roots": [], "device": "auto", "mode": "eval", "run": run, "explore": explore,
                    "limits": {"seconds": 60, "memory_mb": None},
                }  # fmt: skip
                found[run] = await client.request("analyse", params, 60)
                seconds[run] += time.perf_counter() - begin
            real, fake, default = ids(found["real"]), ids(found["fake"]), ids(found["fake"], True)
            same += real == fake
            covered += real <= fake
            first += real == default
            if real != fake or only:
                print(f"{'differs' if real - fake else 'more   '} {name}: real {sorted(real)}, fake {sorted(fake)}")
                for run in ("real", "fake"):
                    why = found[run]["failure"]
                    if why:
                        print(f"        {run}: {why['message'][:150]} {why['detail'][-800:] if only else ''}")
        await client.kill()
    print(f"{total} constructs: the same ids in {same}, all ids of the real run found in {covered}")
    print(f"seconds: real {seconds['real']:.1f}, fake {seconds['fake']:.1f}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constructs", type=Path)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--explore", type=int, default=8)
    options = parser.parse_args()
    return asyncio.run(
        compare(options.constructs.resolve(), set(filter(None, options.only.split(","))), options.explore)
    )


if __name__ == "__main__":
    sys.exit(main())
