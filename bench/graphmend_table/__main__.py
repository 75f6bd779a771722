"""The paper's table, made again: breaks before, what the published artifact left, what we leave, verdict and seconds.

    python bench/graphmend_table [--markdown] [--unsafe] [ROW ...]      (ROW: part of a row's name; default: all)

Each model is mended by the whole command (`graphmend-lsp mend --write`) on a scratch copy of transformers, then the mended
copy is checked again by a command of its own: "after" is what that run saw. Breaks are graphs - 1 of the call that compiled
most, and distinct sites. With --unsafe, mends are allowed that change something which the verdict names.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rows import HERE, ROWS, Row

HEAD = ("model", "rows", "paper", "artifact", "graphs-1", "sites", "after", "sites", "outputs", "safety", "calls", "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--markdown", action="store_true", help="as a table for a page")
    parser.add_argument("--unsafe", action="store_true", help="also mends that change something, which is told")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the mended copies here")
    arguments = parser.parse_args()
    chosen = [
        row for row in ROWS if not arguments.rows or any(word.lower() in row.name.lower() for word in arguments.rows)
    ]
    if not chosen:
        parser.error("no row has such a name")
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        sys.exit("transformers is not installed; run `make setup`")
    show(HEAD, arguments.markdown)
    if arguments.markdown:
        show(tuple("---" for _ in HEAD), True)
    left: list[str] = []
    for row in chosen:
        with tempfile.TemporaryDirectory() as folder:
            scratch = arguments.keep / row.entry.removesuffix(".py") if arguments.keep else Path(folder)
            copy(Path(spec.origin).parent, scratch, row)
            cells, notes = measure(row, scratch, arguments.unsafe)
        show(cells, arguments.markdown)
        left += [f"{row.name}: {note}" for note in notes]
    print()
    for line in left:
        print(f"- {line}" if arguments.markdown else line)


def copy(package: Path, scratch: Path, row: Row) -> None:
    """The row's program as files of a user's own."""
    scratch.mkdir(parents=True, exist_ok=True)
    if row.package:  # with its bytecode, as it is installed
        shutil.copytree(package, scratch / "transformers", dirs_exist_ok=True)
        shutil.copy(HERE / "models.py", scratch)
    else:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(HERE / "standins", scratch / "standins", ignore=ignored, dirs_exist_ok=True)


def measure(row: Row, scratch: Path, unsafe: bool) -> tuple[tuple[str, ...], list[str]]:
    """The row's cells, and what is still broken with the reasons."""
    paper, artifact = map(str, row.published or ("", ""))
    head = (row.name, str(row.models), paper, artifact)
    words = [*row.files(scratch), "--entry", row.entry_in(scratch), "--json", "--quiet", "--timeout", "600"]
    begun = time.perf_counter()
    mended = command(["mend", *words, "--write", *(["--unsafe"] if unsafe else [])])
    seconds = time.perf_counter() - begun
    if isinstance(mended, str):
        return (*head, "failed", *("",) * 7), [mended]
    if not mended["before"]["graphs"]:
        return (*head, "failed", *("",) * 7), [f"while mending: {one}" for one in failures(mended)]
    again = command(["check", *words])
    if isinstance(again, str):
        return (*head, "failed", *("",) * 7), [again]
    before = mended["before"]
    verified = mended["verified"] or dict.fromkeys(("outputs", "safety", "calls"), "-")
    graphs = max((entry["graphs"] for entry in again["entries"]), default=0)
    sites = [site for site in again["breaks"] if site["evidence"] == "dynamo"]
    cells = (
        *head, str(before["graphs"] - 1), str(before["breaks"]), str(graphs - 1), str(len(sites)),
        str(verified["outputs"]), str(verified["safety"]), str(verified["calls"]), f"{seconds:.1f}",
    )  # fmt: skip
    word = "told" if verified.get("safety") == "safe" else "not safe"
    notes = [*failures(again), *(f"{word}: {reason}" for reason in verified.get("reasons", ()))]
    for site in sites:
        place = f"{Path(site['path']).name}:{site['line']} {site['gb_id']}"
        reasons = [f"{refusal['rule']}: {refusal['reason']}" for refusal in site["declined"]]
        reasons += [f"{mend['rule']}: offered, not taken ({mend['safety']})" for mend in site["mends"]]
        notes.append(f"{place}: {'; '.join(reasons)}")
    return cells, notes


def failures(record: dict[str, Any]) -> list[str]:
    """What went wrong in a command's runs, in its words."""
    told = [entry["error"] for entry in record["entries"] if entry["error"]]
    return list(dict.fromkeys(one["message"] for one in (*told, *record["errors"])))


def command(words: list[str]) -> dict[str, Any] | str:
    """What a command printed, or its last words."""
    done = subprocess.run([sys.executable, "-m", "graphmend_lsp", *words], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        return done.stderr.strip()[-300:] or f"exit {done.returncode}"
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def show(cells: tuple[str, ...], markdown: bool) -> None:
    """One line, at once."""
    if markdown:
        print("| " + " | ".join(cells) + " |", flush=True)
    else:
        widths = (46, 4, 5, 8, 8, 5, 5, 5, 9, 10, 5, 6)
        print(" ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    main()
