"""What recording costs: python bench/record.py [--rounds N]

Two programs, each with and without the recorder in turn: a bare `python -c pass`, and one that compiles a function that
breaks and then calls it many times. Prints medians and their ratio; the recorder must cost nothing that is not compiled.
The processor's time is what a busy machine does not change.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graphmend_lsp.engine.recording import environment

LOOP = """
import json, time
import torch

@torch.compile(backend="eager")
def step(x):
    y = x * 2
    print(end="")
    return y + 1

x = torch.ones(8)
begun = time.perf_counter()
step(x)
compiled = time.perf_counter() - begun
begun = time.perf_counter()
for _ in range(2000):
    step(x)
print(json.dumps({"first call": compiled, "2000 calls": time.perf_counter() - begun}))
"""


def bare(env: dict[str, str]) -> dict[str, float]:
    begun = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], env)
    used = os.wait4(child, 0)[2]
    seconds = time.perf_counter() - begun
    return {"python -c pass": seconds, "its processor": used.ru_utime + used.ru_stime}


def loop(env: dict[str, str]) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", LOOP], env=env, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    plain: dict[str, list[float]] = {}
    recorded: dict[str, list[float]] = {}
    own = {**os.environ, "OMP_NUM_THREADS": "1"}
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # with it Python compiles the recorder's start anew each time: 2 ms
    for program, times in ((bare, 10 * rounds), (loop, rounds)):
        for _ in range(times):
            for name, seconds in program(own).items():
                plain.setdefault(name, []).append(seconds)
            with tempfile.TemporaryDirectory() as folder:
                for name, seconds in program(environment(own, Path(folder))).items():
                    recorded.setdefault(name, []).append(seconds)
    print(f"{'':16} {'without':>10} {'recorded':>10} {'ratio':>6}")
    for name, seconds in plain.items():
        before, after = statistics.median(seconds), statistics.median(recorded[name])
        print(f"{name:16} {before * 1000:8.1f}ms {after * 1000:8.1f}ms {after / before:6.2f}")


if __name__ == "__main__":
    main()
