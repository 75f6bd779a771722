"""Thousands of small programs, mended where the verdict says *safe*, compared by other means over other calls: is any mend wrong?

    python bench/attack.py [--programs mutants|random] [--rule RULE] [--example REGEX] [--from SEED] [--count N] [--whole N] [--inductor N] [--uses] [--log FILE] [--keep FOLDER]

A program is a mutant of a rule's example (`tests/attack/mutants.py`) or made at random (`tests/attack/programs.py`). What
the rules offer is judged by the worker's own code in this process (`tests/attack/inside.py`); what is safe is then run beside
the original by `tests/attack/differ.py`, which shares no code with the worker, over calls that the verdict did not see.

Of mutants every offer is judged and compared uncompiled, where a rewrite can be wrong; of one in N (--whole) the whole verdict
is made and the mend compared under eager and aot_eager as well, of one in M (--inductor) under inductor too. With --uses what is safe
is also put to some thirty uses that no call shows (`tests/attack/uses.py`: other dtypes, hooks, callees that raise, shared state, optimizer steps ...). Random programs
are run under Dynamo to find their breaks, and always judged as a whole. A difference of an offer that is safe uncompiled is
told as *unsound* only when the whole verdict is safe too. Prints a line of JSON for each difference, appends one for each
program to the log, with which a run that was cut off goes on, and the counts at the end; exit status 1 when any was unsound.
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BATCH = 60  # programs that one process runs
PATIENCE = 300.0  # seconds without a word from it
MOST = 8.0  # seconds of computing for one program; four times that where it is compiled
ROUNDS = 4  # how often the mended program is mended again


class TooLongError(BaseException):
    """A program computes without end. Passes through code that catches `Exception`."""


def batches(seeds: Iterable[int], options: argparse.Namespace, folder: str) -> Iterator[dict[str, Any]]:
    """What each program showed. Each batch runs in a fork of this process; one that dies is gone on behind its last program."""
    waiting = list(seeds)
    context = multiprocessing.get_context("fork")
    while waiting:
        now, waiting = waiting[:BATCH], waiting[BATCH:]
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_batch, args=(send, now, options, folder))
        child.start()
        send.close()
        try:
            while now:
                if not receive.poll(PATIENCE):
                    raise EOFError
                yield receive.recv()
                now.pop(0)
        except (EOFError, OSError):
            yield {"seed": now.pop(0), "state": "died"}
            waiting = now + waiting
        finally:
            child.kill()
            child.join()


def _batch(send: Any, seeds: list[int], options: argparse.Namespace, folder: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGVTALRM, _too_long)
    attack = mutant if options.programs == "mutants" else random_program
    for seed in seeds:
        signal.setitimer(
            signal.ITIMER_VIRTUAL,
            MOST * (4 if options.programs == "random" or _is_whole(seed, options) else 1),
            1.0,
        )
        begun = time.process_time()
        try:
            result = attack(seed, options, folder)
        except TooLongError:
            result = {"state": "too long"}
        except Exception as error:
            result = {"state": "failed", "error": f"{type(error).__name__}: {error}"[:300]}
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        send.send({"seed": seed, **result, "seconds": round(time.process_time() - begun, 3)})


def _too_long(_number: int, _frame: object) -> None:
    raise TooLongError


def mutant(seed: int, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Every offer for a mutant judged uncompiled, the safe ones compared."""
    from tests.attack import differ, inside, mutants, uses

    from graphmend_lsp.engine.files import Sources
    from graphmend_lsp.engine.programs import combine
    from graphmend_lsp.mending import propose
    from graphmend_lsp.model import Entry

    made = mutants.mutant(seed, options.rule, options.example)
    if made is None:
        return {"state": "no program"}
    path = f"{folder}/attacked{seed}.py"
    Path(path).write_text(made.text)
    entry = Entry(path, "graphmend_entry")
    mends = propose(made.site(path), {path: made.text}).mends
    if not mends:
        return {"state": "declined", "from": made.rule}
    judged = inside.uncompiled_verdicts(entry, made.text, "eval", [(mend,) for mend in mends])
    if judged is None:
        return {"state": "does not run", "from": made.rule}
    result: dict[str, Any] = {"state": "judged", "from": made.rule, "verdicts": [], "found": []}
    whole = _is_whole(seed, options)
    for mend, verdict in zip(mends, judged, strict=True):
        safety = verdict.safety
        if safety == "safe":
            mended = combine((mend,), Sources({path: made.text}))[1][path]
            backends: list[str] = []
            found = differ.differences(path, path, [], seed, (made.text, mended))
            if options.uses and not found:
                found = uses.differences(path, seed, (made.text, mended), whole)
                result["uses"] = True
            if found or whole:
                run = inside.run(entry, made.text, "eval")
                full = inside.verdicts(entry, made.text, "eval", [(mend,)], run)[0][0]
                safety = f"whole {full.safety}"
                if full.safety == "safe" and not found:
                    backends = ["eager", "aot_eager"]
                    backends += (
                        ["inductor"] if options.inductor and seed % (options.whole * options.inductor) == 0 else []
                    )
                    found = differ.differences(path, path, backends, seed, (made.text, mended))
            if found:
                result["found"].append(
                    {"rule": mend.rule, "safety": safety, "differences": found[:4], "mended": mended}
                )
            result.setdefault("backends", []).extend(backends)
        result["verdicts"].append((mend.rule, safety))
    return result


def _is_whole(seed: int, options: argparse.Namespace) -> bool:
    return bool(options.whole) and seed % options.whole == 0


def random_program(seed: int, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Every offer for a random program judged as a whole, the safe ones and the safe fixpoint compared."""
    from tests.attack import differ, inside, programs, uses

    from graphmend_lsp.engine.files import Sources
    from graphmend_lsp.engine.programs import combine
    from graphmend_lsp.model import Entry

    text = first = programs.program(seed)
    path = f"{folder}/attacked{seed}.py"
    Path(path).write_text(text)
    entry, run = Entry(path, "graphmend_entry"), None
    result: dict[str, Any] = {"state": "judged", "verdicts": [], "found": []}
    backends = ["eager", "aot_eager"] if not options.whole or seed % options.whole == 0 else []
    backends += ["inductor"] if options.inductor and seed % options.inductor == 0 else []
    for number in range(ROUNDS):
        judged = inside.judged(entry, text, before=run)
        if not judged.findings and not number:
            return {"state": "no break"}
        for mend, verdict in judged.alone:
            result["verdicts"].append((mend.rule, verdict.safety if verdict.safety != "safe" else "whole safe"))
            if verdict.safety == "safe":
                mended = combine((mend,), Sources({path: text}))[1][path]
                found = differ.differences(path, path, [], seed, (text, mended))
                if found:
                    told = {"rule": mend.rule, "safety": "whole safe", "differences": found[:4], "mended": mended}
                    result["found"].append(told)
        if judged.together is None or judged.together[1].safety != "safe":
            break
        text, run = judged.together[2], judged.together[3]
    if text != first:
        result["backends"] = backends
        found = differ.differences(path, path, backends, seed, (first, text))
        if options.uses and not found:
            found = uses.differences(path, seed, (first, text))
            result["uses"] = True
        if found and not options.uses and not differ.differences(path, path, backends, seed, (first, text)):
            result["once"], found = found[:4], []  # what torch says while it cleans up, at a moment of its own
        if found and not result["found"]:
            result["found"].append(
                {"rule": "together", "safety": "whole safe", "differences": found[:4], "mended": text}
            )
    return result


def count(results: Iterable[dict[str, Any]]) -> Counter[str]:
    """The results in numbers."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    for one in results:
        counts["programs"] += 1
        counts[f"state: {one['state']}"] += 1
        for rule, safety in one.get("verdicts", ()):
            counts[f"{rule}: {safety}"] += 1
            counts["safe offers compared"] += safety in ("safe", "whole safe")
            counts["judged as a whole"] += safety.startswith("whole")
        counts["programs with a safe offer"] += any(s in ("safe", "whole safe") for _, s in one.get("verdicts", ()))
        counts["programs put to uses"] += one.get("uses", False)
        for backend in sorted(set(one.get("backends", ()))):
            counts[f"compared under {backend}"] += 1
        counts["different once, equal when compared again"] += bool(one.get("once"))
        unsound = [each for each in one.get("found", ()) if each["safety"] == "whole safe"]
        counts["safe uncompiled, different, not safe as a whole"] += len(one.get("found", ())) - len(unsound)
        counts["UNSOUND"] += len(unsound)
        seconds += one.get("seconds", 0.0)
    counts["seconds of computing"] = round(seconds)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", choices=("mutants", "random"), default="mutants")
    parser.add_argument("--rule", help="mutants of this rule's examples only")
    parser.add_argument("--example", metavar="REGEX", help="of those, mutants of the examples whose titles match")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument(
        "--whole", type=int, default=50, metavar="N", help="judge and compare one of N as a whole, compiled"
    )
    parser.add_argument("--inductor", type=int, default=0, metavar="N", help="of those, one of N under inductor too")
    parser.add_argument(
        "--uses", action="store_true", help="safe offers are compared in the uses of tests/attack/uses.py, too"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="a line for each program; seeds that it has are left out"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the programs that differ, with their mends")
    options = parser.parse_args()
    known: dict[int, dict[str, Any]] = {}
    if options.log is not None and options.log.exists():
        known = {one["seed"]: one for one in map(json.loads, options.log.read_text().splitlines())}
    from tests.attack import inside

    inside.prepare()
    seeds = range(options.first, options.first + options.count)
    results = [known[seed] for seed in seeds if seed in known]
    with tempfile.TemporaryDirectory() as folder:
        for one in batches([seed for seed in seeds if seed not in known], options, folder):
            results.append(one)
            if one.get("found"):
                print(json.dumps({"seed": one["seed"], "found": one["found"]}), flush=True)
                _keep(one, folder, options.keep)
            if options.log is not None:
                with options.log.open("a") as log:
                    log.write(json.dumps(one) + "\n")
            Path(folder, f"attacked{one['seed']}.py").unlink(missing_ok=True)
    counts = count(results)
    for name, number in counts.items():
        print(f"{name:<50}{number:>9}")
    sys.exit(1 if counts["UNSOUND"] else 0)


def _keep(one: dict[str, Any], folder: str, kept: Path | None) -> None:
    if kept is None:
        return
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"{one['seed']}.py").write_text(Path(folder, f"attacked{one['seed']}.py").read_text())
    for number, each in enumerate(one["found"]):
        (kept / f"{one['seed']}_{each['rule']}{number}.txt").write_text(
            "\n".join([each["safety"], *each["differences"], each["mended"]])
        )


if __name__ == "__main__":
    main()
