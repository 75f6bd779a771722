"""Models of installed packages under Dynamo, and what mending leaves of their breaks.

    python bench/packages [--python PY] [--only NAME,...] [--keep FILE [--again]] [--page FILE]

`entries/` has a file for each package, with an entry for each of its models; a package that the interpreter PY does not have is
left out, and told. Each entry is mended as `graphmend-lsp mend --overlay` does, by mends that are verified safe, in copies of
the package's modules that are not written. With --keep, rows are kept in FILE, and those of unchanged entries are not made
again without --again. --page writes the table that is `docs/packages.md`. The exit status is 1 when an entry does not run, or a
break has neither a mend nor a reason.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from mended import Row, problems, read_rows, row_of, write_rows  # noqa: E402
from packages_page import page, totals  # noqa: E402

from graphmend_lsp.engine.config import CheckRequest, WorkerConfig  # noqa: E402
from graphmend_lsp.engine.session import Session  # noqa: E402
from graphmend_lsp.model import Entry  # noqa: E402

VERSIONS = """
import json, sys
from importlib import metadata
found = {}
for name in json.loads(sys.argv[1]):
    try: found[name] = metadata.version(name)
    except metadata.PackageNotFoundError: pass
print(json.dumps(found))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, metavar="PY", help="the interpreter that has the packages")
    parser.add_argument("--only", default="", metavar="NAME,...", help="packages or entries")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--again", action="store_true", help="make kept rows again, too")
    parser.add_argument("--page", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    every = [(package, name) for package in packages() for name in entries_of(package)]
    have = versions(arguments.python, packages())
    only = set(filter(None, arguments.only.split(",")))
    chosen = [(package, name) for package, name in every if package in have and (not only or {package, name} & only)]
    for package in sorted(set(packages()) - have.keys()):
        print(f"{package} is not installed in {arguments.python}", file=sys.stderr)
    if not chosen:
        parser.error("there is nothing to run")
    kept = {(row.group, row.name): row for row in read_rows(arguments.keep)}
    kept = {
        key: row for key, row in kept.items() if key in every and row.digest == digest_of(*key, have.get(key[0], ""))
    }

    def keep(row: Row) -> None:
        kept[row.group, row.name] = row
        if arguments.keep:
            write_rows(arguments.keep, [kept[key] for key in every if key in kept])

    todo = [key for key in chosen if arguments.again or key not in kept]
    asyncio.run(measure(arguments.python, todo, have, keep))
    if arguments.page:
        arguments.page.write_text(page([kept[key] for key in every if key in kept], have, every))
    rows = [kept[key] for key in chosen]
    print(totals(rows))
    wrong = [problem for row in rows for problem in problems(row)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def packages() -> list[str]:
    """The packages that there are entries for, by the name they are imported by."""
    return [path.stem.removesuffix("_entries") for path in sorted((HERE / "entries").glob("*_entries.py"))]


def file_of(package: str) -> Path:
    """The file with a package's entries."""
    return HERE / "entries" / f"{package}_entries.py"


def entries_of(package: str) -> list[str]:
    """The names of a package's entries."""
    tree = ast.parse(file_of(package).read_text("utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name.removeprefix("graphmend_entry_") for name in names if name.startswith("graphmend_entry_")]


def versions(python: str, names: list[str]) -> dict[str, str]:
    """The version of each package that an interpreter has."""
    import json

    distributions = {name: {"pyro": "pyro-ppl"}.get(name, name.replace("_", "-")) for name in names}
    words = [python, "-c", VERSIONS, json.dumps(list(distributions.values()))]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return {name: found[distribution] for name, distribution in distributions.items() if distribution in found}


def digest_of(package: str, name: str, version: str) -> str:
    """What a kept row of this package and this entry has as its digest; the file's other entries do not count."""
    tree = ast.parse(file_of(package).read_text("utf-8"))
    others = {f"graphmend_entry_{other}" for other in entries_of(package) if other != name}
    parts = [ast.dump(node) for node in tree.body if getattr(node, "name", "") not in others]
    return hashlib.sha256("\n".join([version, *parts]).encode()).hexdigest()[:16]


async def measure(python: str, todo: list[tuple[str, str]], have: dict[str, str], keep: Callable[[Row], None]) -> None:
    """Make the row of every entry; each is kept and told on stderr as it is made."""
    session = Session(WorkerConfig(python=python, cwd=str(HERE), env={"HF_HUB_OFFLINE": "1"}))
    try:
        for package, name in todo:
            entry = Entry(str(file_of(package)), f"graphmend_entry_{name}")
            plan = await session.mend(CheckRequest((), entries=(entry,), device="cpu", packages=True))
            row = row_of(package, name, digest_of(package, name, have[package]), plan)
            keep(row)
            print(
                f"{package:<24}{name:<24}{row.outcome:<9}{row.before} {row.after} {' '.join(row.rules)}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        await session.close()


if __name__ == "__main__":
    sys.exit(main())
