"""Every construct of `programs/` under Dynamo: which break, which rules mend the breaks, and why others stay.

    python bench/constructs [--only NAME,...] [--half odd|even] [--keep FILE [--again]] [--page FILE]

Each construct is mended as far as that is verified safe; what is left is told with the mends that change something and the reasons.
What the safe mends made is run once more by `other_calls.py`, which knows nothing of the worker, over values and
lengths that the verdict did not choose. The exit status is 1 when a construct does not run, a safe mend differs there, or a
break has neither a mend nor a reason. With --keep, rows are kept in FILE, and those of unchanged programs are not made
again without --again. --page writes the table that is `docs/constructs.md`. With --half, what stays of the constructs with odd
(or even) numbers in the catalogue is shown, and of both halves the counts: what is improved by looking at one half is measured on the other.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from catalogue import Construct, constructs  # noqa: E402
from constructs_page import left, page, totals  # noqa: E402
from mended import Row, problems, read_rows, row_of, write_rows  # noqa: E402

from graphmend_lsp import support  # noqa: E402
from graphmend_lsp.engine.config import CheckRequest, WorkerConfig  # noqa: E402
from graphmend_lsp.engine.session import Session  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="", metavar="NAME,...", help="topics, constructs; of kept rows ids and outcomes"
    )
    parser.add_argument("--half", choices=("odd", "even"), help="show what stays of this half; the counts are of both")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--again", action="store_true", help="make kept rows again, too")
    parser.add_argument("--page", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    every = constructs()
    kept = {row.name: row for row in read_rows(arguments.keep)}
    only = set(filter(None, arguments.only.split(",")))
    chosen = [one for one in every if not only or {one.name, one.topic, *_words(kept.get(one.name))} & only]
    if not chosen:
        parser.error("no construct has such a name")
    digests = {one.name: digest_of(one) for one in every}
    kept = {name: row for name, row in kept.items() if digests.get(name) == row.digest}
    todo = [one for one in chosen if arguments.again or one.name not in kept]

    def keep(row: Row) -> None:
        kept[row.name] = row
        if arguments.keep:
            write_rows(arguments.keep, [kept[one.name] for one in every if one.name in kept])

    if todo:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(todo, Path(folder), keep))
    if arguments.page:
        arguments.page.write_text(page([kept[one.name] for one in every if one.name in kept]))
    rows = [kept[one.name] for one in chosen]
    print(totals(rows))
    if arguments.half:
        odd = {one.name for one in every[::2]}
        halves = {half: [row for row in rows if (row.name in odd) == (half == "odd")] for half in ("odd", "even")}
        print(*(f"{half}: {totals(of_half)}" for half, of_half in halves.items()), sep="\n")
        print(*map(left, halves[arguments.half]), sep="")
    wrong = [problem for row in rows for problem in problems(row)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def digest_of(construct: Construct) -> str:
    """What a kept row of this very program has as its digest; the topic's other constructs do not count."""
    others = {one.name for one in constructs(construct.topic)} - {construct.name}
    parts = [ast.dump(node) for node in ast.parse(construct.source).body if getattr(node, "name", "") not in others]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _words(row: Row | None) -> set[str]:
    return {row.outcome, *row.rules, *(site.gb_id for site in (*row.sites, *row.left))} if row else set()


async def measure(chosen: list[Construct], folder: Path, keep: Callable[[Row], None]) -> None:
    """Make the row of every construct; each is kept and told on stderr as it is made."""
    session = Session(WorkerConfig(cwd=str(folder), env={"PYTHONBREAKPOINT": "0"}))
    mended: list[tuple[Row, Path, Path]] = []
    try:
        for construct in chosen:
            file = folder / f"{construct.topic}_{construct.name}.py"
            file.write_text(construct.source)
            plan = await session.mend(CheckRequest((str(file),), device="cpu"))
            row = row_of(construct.topic, construct.name, digest_of(construct), plan)
            keep(row)
            print(f"{row.name:<34}{row.kind:<8}{row.outcome:<9} {' '.join(row.rules)}", file=sys.stderr, flush=True)
            if str(file) in plan.texts:
                other = file.with_name(f"mended_{file.name}")
                other.write_text(plan.texts[str(file)])
                mended.append((row, file, other))
    finally:
        await session.close()
    found = compared([(file, other) for _, file, other in mended], folder)
    for (row, _, _), differs in zip(mended, found):
        keep(replace(row, differs=tuple(differs)))


def compared(pairs: list[tuple[Path, Path]], folder: Path) -> list[list[str]]:
    """What other calls show of the mended texts."""
    told = json.dumps([(str(file), str(other)) for file, other in pairs])
    words = [sys.executable, str(HERE / "other_calls.py")]
    places = os.pathsep.join(support.__path__)  # what mended programs import is there
    environment = {**os.environ, "PYTHONPATH": places}
    done = subprocess.run(words, input=told, capture_output=True, text=True, cwd=folder, env=environment)
    if done.returncode:
        return [[f"the comparison failed: {done.stderr.strip()[-300:]}"] for _ in pairs]
    found: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
