"""Every model of a package under Dynamo, with inputs that GraphMend makes up, and what mending leaves of their breaks.

    python bench/sweep [--package NAME | --folder DIR] [--python PY] [--half odd|even] [--shard I/N] [--match WORD]
                       [--keep FILE [--again]] [--seconds S] [--check] [--page FILE]

A row is a file: every ``modeling_*.py`` of transformers; of another package, each entry of ``bench/sweep/NAME_models.py``; of a
folder, each Python file in it: programs of your own, or such as people have published. A file's entries are those that `graphmend-lsp` finds itself; the first that runs is mended as `graphmend-lsp mend --overlay` does, by safe mends, and nothing is
written. `--check` only counts breaks. With --keep each row is added to FILE (JSON, one row a line) when it is made, so a sweep that was
stopped goes on where it was; the files of shards are merged by writing them one after the other.

Rules are judged by models that nobody looked at: files are numbered in order of their names, and the page shows kinds and reasons
of the odd-numbered half only; of the even half it gives counts. The exit status is 1 when a safe mend was found to differ.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import runpy
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mended import row_of  # noqa: E402
from sweep_page import page, totals  # noqa: E402
from swept import Swept, append, read  # noqa: E402

from graphmend_lsp.analysis.entry_guesses import guess_entries  # noqa: E402
from graphmend_lsp.engine.config import CheckRequest, WorkerConfig  # noqa: E402
from graphmend_lsp.engine.session import Session  # noqa: E402
from graphmend_lsp.engine.shard import BadShardError, Shard, parse_shard  # noqa: E402
from graphmend_lsp.model import Entry, Plan  # noqa: E402

_OWN = "graphmend_entry"
_NOT_PYTORCH = re.compile(r"modeling_(tf|flax)_")
_WHERE = """
import sys
from importlib import metadata, util
print(util.find_spec(sys.argv[1]).submodule_search_locations[0])
print(metadata.version(sys.argv[1]))
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A file to sweep. `number` counts from 1 over all files of the package, before any are chosen."""

    number: int
    name: str
    entries: tuple[Entry, ...]

    @property
    def half(self) -> str:
        """``odd``: looked at while rules are written; ``even``: only its counts are."""
        return "odd" if self.number % 2 else "even"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", default="transformers", metavar="NAME")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the programs in a folder, not a package")
    parser.add_argument("--python", default=sys.executable, metavar="PY", help="the interpreter that has the package")
    parser.add_argument("--half", choices=("odd", "even"))
    parser.add_argument("--shard", metavar="I/N", help="sweep part I of N")
    parser.add_argument("--match", default="", metavar="WORD", help="only files with WORD in their path")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="a sample: of each half, the first of every N files"
    )
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--again", action="store_true", help="make kept rows again, too")
    parser.add_argument("--seconds", type=float, default=600.0, metavar="S", help="for one model (default 600)")
    parser.add_argument("--check", action="store_true", help="count the breaks, mend nothing")
    parser.add_argument("--page", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    try:
        shard = None if arguments.shard is None else parse_shard(arguments.shard)
    except BadShardError as error:
        parser.error(str(error))
    every, version = programs(arguments.folder) if arguments.folder else targets(arguments.package, arguments.python)
    chosen = share(every, shard, arguments.half, arguments.match, arguments.every)
    if not chosen:
        parser.error("there is nothing to run")
    kept = {row.name: row for row in read(arguments.keep) if row.version == version}
    todo = [one for one in chosen if arguments.again or one.name not in kept]

    def keep(row: Swept) -> None:
        kept[row.name] = row
        if arguments.keep:
            append(arguments.keep, row)
        print(row.line, file=sys.stderr, flush=True)

    asyncio.run(sweep(arguments.python, todo, version, arguments.seconds, arguments.check, keep))
    rows = [kept[one.name] for one in chosen if one.name in kept]
    name = arguments.package if arguments.folder is None else arguments.folder.name
    if arguments.page:
        arguments.page.write_text(page(name, version, rows, len(every), arguments.seconds))
    print(totals(rows))
    return 1 if any(row.row.differs for row in rows) else 0


def programs(folder: Path) -> tuple[list[Target], str]:
    """The Python files of a folder that have an entry, in order, and what tells their texts from others: a checksum."""
    files = sorted(folder.resolve().glob("*.py"))
    texts = [path.read_text("utf-8") for path in files]
    named = [(path.name, guess_entries(text, str(path))) for path, text in zip(files, texts, strict=True)]
    own = [(name, (Entry(str(folder.resolve() / name), _OWN),) if f"def {_OWN}(" in text else found)
           for (name, found), text in zip(named, texts, strict=True)]  # fmt: skip
    version = f"{zlib.crc32(''.join(texts).encode()):08x}"
    return [Target(number, name, entries) for number, (name, entries) in enumerate(own, 1)], version


def targets(package: str, python: str) -> tuple[list[Target], str]:
    """What there is to sweep in a package, in order, and the package's version."""
    found = subprocess.run([python, "-c", _WHERE, package], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"{package} is not installed in {python}")
    folder, version = found.stdout.split("\n")[:2]
    if package == "transformers":
        files = sorted(path for path in Path(folder).rglob("modeling_*.py") if not _NOT_PYTORCH.search(path.name))
        named = [
            (path.relative_to(folder).as_posix(), guess_entries(path.read_text("utf-8"), str(path))) for path in files
        ]
        return [Target(number, name, entries) for number, (name, entries) in enumerate(named, 1)], version
    own = HERE / f"{package}_models.py"
    if not own.exists():
        sys.exit(f"there is no bench/sweep/{own.name}")
    names = [name for name in runpy.run_path(str(own)) if name.startswith("graphmend_entry_")]
    return [Target(number, name, (Entry(str(own), name),)) for number, name in enumerate(names, 1)], version


def share(every: Iterable[Target], shard: Shard | None, half: str | None, match: str, step: int) -> list[Target]:
    """The files that were asked for. Shards are cut after all else, so that those of one command never share a file."""
    chosen = [
        one
        for one in every
        if (half is None or one.half == half) and match in one.name and (one.number - 1) // 2 % step == 0
    ]
    return chosen if shard is None else chosen[shard.number - 1 :: shard.count]


async def sweep(
    python: str, todo: list[Target], version: str, seconds: float, only_check: bool, keep: Callable[[Swept], None]
) -> None:
    """Make the row of every file; each is kept as it is made."""
    session = Session(WorkerConfig(python=python, cwd=str(HERE), env={"HF_HUB_OFFLINE": "1"}))
    try:
        for one in todo:
            keep(await row(session, one, version, seconds, only_check))
    finally:
        await session.close()


async def row(session: Session, target: Target, version: str, seconds: float, only_check: bool) -> Swept:
    """What mending shows of one file: of its first entry that runs, or of the first where none does."""
    first: Swept | None = None
    for entry in target.entries:
        begin = time.perf_counter()
        request = CheckRequest((), entries=(entry,), device="cpu", packages=True)
        plan = None
        if not only_check:
            with contextlib.suppress(
                TimeoutError
            ):  # of its own accord it ends in time, with what it has proven by then
                plan = await asyncio.wait_for(session.mend(request, seconds=seconds), 2 * seconds)
        late = not only_check and (plan is None or plan.stopped_after is not None)
        if plan is None:
            report = await session.check(request)
            plan = Plan(before=report, after=report, applied=(), texts={}, verdict=None)
        made = Swept(
            name=target.name, half=target.half, version=version, entry=entry.function, late=late,
            seconds=round(time.perf_counter() - begin, 1), row=row_of(target.half, target.name, version, plan),
        )  # fmt: skip
        if not made.row.failure:
            return made
        first = first or made
    return first or Swept.nothing(target.name, target.half, version)


if __name__ == "__main__":
    sys.exit(main())
