"""What a keystroke costs the static tier, beside parsing the file once with `ast.parse`.

    python bench/static.py [FILE] [--keys N] [--seed N]

Types and deletes characters at places spread over FILE (default: transformers' modeling_grounding_dino.py of 2,658
lines) and finds the breaks of the text after every one, half-typed as it is. Prints p50 and p95 in milliseconds of CPU
time (and of the clock, which other work on the machine lengthens) and as a ratio to `ast.parse` of the file; exits with
1 when p95 of the CPU time is above the budget.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from graphmend_lsp.analysis import find_breaks

T = TypeVar("T")

TYPED = (
    "if h.sum() > 0:\n            h = h + 1\n",
    "foo(x, y)",
    "# why",
    "self.scale = nn.Parameter(torch.ones(3))",
    '"""text"""',
)


def default_file() -> Path:
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("transformers is not installed here; name a FILE.")
    return Path(spec.submodule_search_locations[0], "models", "grounding_dino", "modeling_grounding_dino.py")


def keystrokes(source: str, count: int, seed: int) -> Iterator[str]:
    """Texts as an author makes them: words typed letter by letter at ends of lines, sometimes a character deleted."""
    chance = random.Random(seed)
    text = source
    made = 0
    while made < count:
        ends = [at for at, char in enumerate(text) if char == "\n"]
        at = chance.choice(ends)
        for letter in "\n        " + chance.choice(TYPED):
            text = text[:at] + letter + text[at:]
            at += 1
            made += 1
            yield text
        if chance.random() < 0.5:
            at = chance.randrange(len(text) - 1)
            text = text[:at] + text[at + 1 :]
            made += 1
            yield text
            text = source


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """The result with the milliseconds of CPU time and of the clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--keys", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=35.0, help="milliseconds that p95 may take")
    options = parser.parse_args()
    path = options.file or default_file()
    source = path.read_text(encoding="utf-8")
    findings, cold, _ = timed(lambda: find_breaks(source, str(path)))
    ours: list[float] = []
    clock: list[float] = []
    parsing: list[float] = []
    for number, text in enumerate(keystrokes(source, options.keys, options.seed)):
        _, cpu, wall = timed(lambda text=text: find_breaks(text, str(path)))
        ours.append(cpu)
        clock.append(wall)
        if number % 8 == 0:
            parsing.append(timed(lambda: ast.parse(source))[1])
    parse = percentile(parsing, 0.5)
    print(f"{path.name}: {source.count(chr(10))} lines, {len(findings)} findings, first time {cold:.1f} ms")
    print(f"ast.parse alone: p50 {parse:.1f} ms, p95 {percentile(parsing, 0.95):.1f} ms")
    for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
        cpu, wall = percentile(ours, share), percentile(clock, share)
        print(f"a keystroke, {name}: {cpu:.1f} ms ({cpu / parse:.2f} x ast.parse); {wall:.1f} ms by the clock")
    return 0 if percentile(ours, 0.95) <= options.budget else 1


if __name__ == "__main__":
    sys.exit(main())
