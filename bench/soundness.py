#!/usr/bin/env python3
"""Programs with an ordinary entry (NAME.py) and a use that the entry does not show (NAME.nasty): a safe mend changes neither.

usage: bench/soundness.py [--inside] [--jobs N] [--of N/COUNT] [--seconds S] [NAME...]

Each program of tests/soundness/programs is mended as `mend --write` does it, with safe mends alone, and used as its .nasty
file uses it, before and after. Prints a line for each, with the mends that are offered and not made and what each assumes,
and a count; ends with 1 where one differs that is not `KNOWN`, 2 where one failed or took too long. Runs with the Python that has
graphmend-lsp and torch. With --inside rules and verdict run in forks of this process (`tests/attack/inside.py`), in a
tenth of the time: every mend that is safe uncompiled is used, each alone and all together; only where its use differs,
the whole verdict is made.
"""

from __future__ import annotations

import argparse
import json
import linecache
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
KNOWN: dict[str, str] = {}
"""Programs that differ, and why nothing tells of it yet. None may join them."""


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


@dataclass(frozen=True)
class Outcome:
    """What became of one program. `told` is `unchanged`, `same`, `DIFFERS` or `FAILED`; `offers` are mends that are not safe, with what each assumes."""

    told: str
    offers: tuple[str, ...] = ()
    detail: str = ""

    @property
    def is_mended(self) -> bool:
        """Whether a mend was made, or is offered with its assumption named."""
        return self.told in ("same", "DIFFERS") or bool(self.offers)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.told, "; ".join(self.offers), self.detail)))


def outcome(name: str, seconds: float = SECONDS) -> Outcome:
    """``unchanged`` where no mend is safe, ``same`` or ``DIFFERS`` where it was made, ``FAILED`` where none could be proven."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (Path(folder, part, f"{name}.py") for part in "ab")
        nasty = Path(folder, "nasty.py")  # what is loaded has to end in .py
        for path in (first, second):
            path.parent.mkdir()
            shutil.copy(PROGRAMS / f"{name}.py", path)
        shutil.copy(PROGRAMS / f"{name}.nasty", nasty)
        command = [sys.executable, "-m", "graphmend_lsp", "mend", str(second), "--entry", f"{second}:graphmend_entry"]
        command += ["--python", sys.executable, "--write", "--quiet", "--json", "--no-cache"]
        try:
            ran = subprocess.run(
                command, cwd=second.parent, capture_output=True, text=True, timeout=seconds, check=False
            )
            record = json.loads(ran.stdout)
        except subprocess.TimeoutExpired:
            return Outcome("FAILED", detail=f"no end within {seconds:g} s")
        except ValueError:
            return Outcome("FAILED", detail=(ran.stderr.strip().splitlines() or [f"status {ran.returncode}"])[-1])
        offers = offered(record)
        if failed := failures(record):
            return Outcome("FAILED", offers, "; ".join(failed))
        if first.read_bytes() == second.read_bytes():
            return Outcome("unchanged", offers)
        one, other = used(first, nasty), used(second, nasty)
        return Outcome("same", offers) if one == other else Outcome("DIFFERS", offers, f"{one!r} became {other!r}")


def inside(name: str, seconds: float = SECONDS) -> Outcome:
    """The same in a fork of this process, which has loaded torch; every safe mend is used."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_inside, args=(send, name, folder))
        child.start()
        send.close()
        try:
            if not receive.poll(seconds):
                return Outcome("FAILED", detail=f"no end within {seconds:g} s")
            found: Outcome = receive.recv()
            return found
        except EOFError:
            return Outcome("FAILED", detail="its process died")
        finally:
            child.kill()
            child.join()


def _inside(send: Any, name: str, folder: str) -> None:
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    try:
        send.send(_judged(name, Path(folder)))
    except Exception as error:
        send.send(Outcome("FAILED", detail=f"{type(error).__name__}: {error}"[:300]))


def _judged(name: str, folder: Path) -> Outcome:
    from tests.attack import inside

    from graphmend_lsp.engine.files import Sources
    from graphmend_lsp.engine.programs import combine
    from graphmend_lsp.model import Entry, Mend

    first, second, nasty = folder / "a" / f"{name}.py", folder / "b" / f"{name}.py", folder / "nasty.py"
    first.parent.mkdir()
    second.parent.mkdir()
    shutil.copy(PROGRAMS / f"{name}.nasty", nasty)
    text = (PROGRAMS / f"{name}.py").read_text("utf-8")
    first.write_text(text, "utf-8")
    second.write_text(text, "utf-8")
    entry = Entry(str(second), "graphmend_entry")
    inside.LIMITS["seconds"] = SECONDS
    run = inside.run(entry, text, "eval")
    if run.failure is not None:
        return Outcome("FAILED", detail=str(run.failure.message))
    _, mends, firsts, _texts = inside.offered(entry, text, "eval", run)
    programs = [(mend,) for mend in mends] + ([firsts] if len(firsts) > 1 else [])
    verdicts = inside.uncompiled_verdicts(entry, text, "eval", programs) if programs else []
    if verdicts is None:
        return Outcome("FAILED", detail="the program does not run uncompiled")
    offers: dict[str, None] = {}
    safe: dict[str, tuple[str, tuple[Mend, ...]]] = {}
    for program, verdict in zip(programs, verdicts, strict=True):
        rule = "together" if len(program) > 1 else program[0].rule
        if verdict.safety == "safe":
            safe.setdefault(combine(program, Sources({str(second): text}))[1][str(second)], (rule, program))
        elif verdict.safety == "unsafe" and verdict.assumes:
            offers[f"{rule} ({', '.join(sorted({one.kind for one in verdict.assumes}))})"] = None
        elif verdict.safety == "unverified":
            return Outcome("FAILED", tuple(offers), "; ".join(verdict.reasons))
    made: dict[str, None] = {}
    expected = _used_here(first, nasty) if safe else ""
    for mended, (rule, program) in safe.items():
        second.write_text(mended, "utf-8")
        if (seen := _used_here(second, nasty)) == expected:
            made[rule] = None
            continue
        second.write_text(text, "utf-8")
        ((whole, _),) = inside.verdicts(entry, text, "eval", [program], run)
        if whole.safety == "safe":
            return Outcome("DIFFERS", tuple(offers), f"{rule}: {expected!r} became {seen!r}")
        offers[f"{rule} ({', '.join(sorted({one.kind for one in whole.assumes}))})"] = None
    told = "made: " + ", ".join(made) if made else ""
    return Outcome("same" if made else "unchanged", tuple(offers), told)


def _used_here(program: Path, nasty: Path) -> str:
    """What the use prints, in a fork of this process."""
    with tempfile.TemporaryFile("w+") as file:
        child = os.fork()
        if child == 0:
            linecache.clearcache()  # it has the texts that were judged
            os.dup2(file.fileno(), 1)
            sys.stdout = os.fdopen(1, "w", buffering=1)
            sys.argv = ["-c", str(program), str(nasty)]
            try:
                exec(HARNESS, {"__name__": "__main__"})
            except BaseException as error:
                print(*traceback.format_exception_only(error), sep="")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        return file.read().replace(str(program), program.name).strip()


def offered(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The mends that are unsafe for what they assume: ``rule (kind, kind)``."""
    found = [
        f"{mend['rule']} ({', '.join(kinds)})"
        for one in record["breaks"]
        for mend in one["mends"]
        if (kinds := sorted({part["kind"] for part in mend.get("assumes", ())}))
    ]
    return tuple(dict.fromkeys(found))


def failures(record: Mapping[str, Any]) -> list[str]:
    """What kept a program or a mend from being run: a limit or an error is no reason against the mend."""
    found = [one["error"]["message"] for one in record["entries"] if one["error"]]
    found += [one["message"] for one in record["errors"]]
    found += [
        reason
        for one in record["breaks"]
        for mend in one["mends"]
        if mend["safety"] == "unverified"
        for reason in mend["reasons"] or ["a mend without a verdict"]
    ]
    return list(dict.fromkeys(found))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the programs of these names, or all; returns what the process ends with."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--inside", action="store_true", help="rules and verdict in this process")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--of", default="1/1", metavar="N/COUNT", help="every COUNT-th program, from the N-th")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the limit of one program")
    arguments = parser.parse_args(argv)
    prove = outcome
    if arguments.inside:
        sys.path.insert(0, str(PROGRAMS.parents[2]))
        from tests.attack import inside as engine

        engine.prepare()
        prove = inside
    number, count = map(int, arguments.of.split("/"))
    chosen = arguments.names or names()[number - 1 :: count]
    found: list[Outcome] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, one in zip(chosen, pool.map(lambda name: prove(name, arguments.seconds), chosen), strict=True):
            print(name, one, *([f"(known: {KNOWN[name]})"] if name in KNOWN else []), flush=True)
            found.append(one)
    told = [one.told for one in found]
    differ, failed = told.count("DIFFERS"), told.count("FAILED")
    print(
        f"{differ} of {len(found)} differ; {differ + told.count('same')} mended as safe; "
        f"{sum(one.is_mended for one in found)} have a mend, safe or with what it assumes; {failed} failed"
    )
    unknown = [name for name, one in zip(chosen, found, strict=True) if one.told == "DIFFERS" and name not in KNOWN]
    return 1 if unknown else 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
