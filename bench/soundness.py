#!/usr/bin/env python3
"""Programs with an ordinary entry (NAME.py) and a use that the entry does not show (NAME.nasty): a safe mend changes neither.

usage: bench/soundness.py [--jobs N] [NAME...]

Each program of tests/soundness/programs is mended as `mend --write` does it, with safe mends alone, and used as its .nasty
file uses it, before and after. Prints a line for each and a count; ends with 1 where one differs. Runs with the Python that
has graphmend-lsp and torch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "tests" / "soundness" / "programs"
HARNESS = """
import importlib.util, os, sys
def load(path, name=None):
    name = name or os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path); m = importlib.util.module_from_spec(spec)
    sys.modules[name] = m; spec.loader.exec_module(m); return m
m = load(sys.argv[1])
spec = importlib.util.spec_from_file_location("nasty_module", sys.argv[2]); n = importlib.util.module_from_spec(spec)
n.m = m; n.path = sys.argv[1]; n.load = load; sys.modules["nasty_module"] = n; spec.loader.exec_module(n)
"""
SECONDS = 600


def names() -> list[str]:
    """The programs, in order."""
    return sorted(path.stem for path in PROGRAMS.glob("*.nasty"))


def used(program: Path, nasty: Path) -> str:
    """What the use prints, and the last line of what it raises."""
    command = [sys.executable, "-c", HARNESS, str(program), str(nasty)]
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environ, check=False)
    last = ran.stderr.strip().splitlines()[-1:] if ran.returncode else []
    return "\n".join([ran.stdout.strip(), *last])


def outcome(name: str) -> str:
    """``unchanged`` where no mend is safe, ``same`` or ``DIFFERS`` where one was made."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (Path(folder, part, f"{name}.py") for part in "ab")
        nasty = Path(folder, "nasty.py")  # what is loaded has to end in .py
        for path in (first, second):
            path.parent.mkdir()
            shutil.copy(PROGRAMS / f"{name}.py", path)
        shutil.copy(PROGRAMS / f"{name}.nasty", nasty)
        command = [sys.executable, "-m", "graphmend_lsp", "mend", str(second), "--entry", f"{second}:graphmend_entry"]
        command += ["--python", sys.executable, "--write", "--quiet"]
        subprocess.run(command, cwd=second.parent, capture_output=True, timeout=SECONDS, check=False)
        if first.read_bytes() == second.read_bytes():
            return "unchanged"
        return "same" if used(first, nasty) == used(second, nasty) else "DIFFERS"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the programs of these names, or all; returns what the process ends with."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args(argv)
    chosen = arguments.names or names()
    found: list[str] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, told in zip(chosen, pool.map(outcome, chosen), strict=True):
            print(name, told, flush=True)
            found.append(told)
    print(f"{found.count('DIFFERS')} of {len(found)} differ, {len(found) - found.count('unchanged')} mended as safe")
    return int("DIFFERS" in found)


if __name__ == "__main__":
    sys.exit(main())
