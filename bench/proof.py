"""What a proof costs: ``python bench/proof.py [CASE ...]`` (torch; T5, BioGPT, Phi-3 and BART also need transformers).

Each case is a pair, one after the other in the same run: a process that imports torch and compiles and calls the original
once with the same backend, and `graphmend-lsp mend`, the whole process, without kept results. Told of both: CPU seconds of
all their processes, seconds on the clock, the ratios (ours over the pair's), and over how many calls the mend was compared.
`editor` is a save with a warm worker: seconds from ``didSave`` until the quick fix is told as proven. With ``--json FILE``
the figures are written there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from save import SMALL, Editor

HERE = Path(__file__).resolve().parent
BACKEND = "aot_eager"
PEER = "--compile-once"
PATIENCE = 300.0

EIGHT = """import copy
import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x):
        y = self.lin(x)
        if y.mean() > 0:
            y = y * 2
        else:
            y = y - 1
        return y


class Checked(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        if torch.isnan(x).any():
            raise ValueError("the input has a NaN")
        log.warning("normalising")
        return self.norm(x)


class Chosen(nn.Module):
    def forward(self, x):
        scale = x.abs().max().item()
        x = x / (scale + 1.0)
        kept = copy.deepcopy(x.detach())
        print("chosen", tuple(x.shape))
        return x + kept


class Masked(nn.Module):
    def forward(self, x):
        x = x.clone()
        x[x < 0] = 0.0
        if bool((x > 3).all()):
            x = x - 3
        return x


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.parts = nn.ModuleList([Gate(width), Checked(width), Chosen(), Masked()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return float(x.sum()), x


def graphmend_entry():
    return Net(), (torch.randn(4, 8),)
"""
NOTHING = """import os

import torch
from torch import nn


class Told(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with open(os.devnull, "w") as file:  # the whole function is left to Python
            if x.sum() > 0:
                x = x * 2
            largest = x.max().item()
            file.write(str(largest))
            if largest > 3:
                x = x - 3
        return x


def graphmend_entry():
    return Told(), (torch.randn(4, 8),)
"""


@dataclass(frozen=True)
class Case:
    """What is mended. `prepare` writes it into a folder; the entry, and the files that may be mended."""

    name: str
    prepare: Callable[[Path], tuple[str, list[str]]]


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a process with all that it started, and seconds on the clock."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Figures:
    """One pair. `calls` were compared; `said` is what came of it."""

    name: str
    peer: Cost
    ours: Cost
    calls: int
    said: str


def written(source: str) -> Callable[[Path], tuple[str, list[str]]]:
    def prepare(folder: Path) -> tuple[str, list[str]]:
        file = folder / "model.py"
        file.write_text(source)
        return f"{file}:graphmend_entry", [str(file)]

    return prepare


def of_table(entry: str) -> Callable[[Path], tuple[str, list[str]]]:
    def prepare(folder: Path) -> tuple[str, list[str]]:
        sys.path.insert(0, str(HERE / "graphmend_table"))
        from rows import ROWS

        row = next(one for one in ROWS if one.entry == entry)
        spec = find_spec("transformers")
        assert spec is not None and spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, folder / "transformers")
        shutil.copy(HERE / "graphmend_table" / "models.py", folder)
        return row.entry_in(folder), row.files(folder)

    return prepare


SMALL_CASES = {
    "small": Case("a small model, one break", written(SMALL)),
    "eight": Case("a file with eight breaks", written(EIGHT)),
    "nothing": Case("nothing to gain", written(NOTHING)),
}
MODELS = {
    "t5": Case("T5", of_table("t5")),
    "biogpt": Case("BioGPT", of_table("biogpt")),
    "phi3": Case("Phi-3", of_table("phi3")),
    "bart": Case("BART fp16", of_table("bart_fp16")),
}


def cost_of(command: list[str], cwd: Path) -> tuple[Cost, subprocess.CompletedProcess[str]]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall), done


def compile_once(entry: str) -> None:
    """In the peer's process: what the entry returns, compiled, and its calls."""
    import torch

    file, name = entry.rsplit(":", 1)
    sys.path.insert(0, str(Path(file).parent))
    function, calls = runpy.run_path(file)[name]()
    if isinstance(function, torch.nn.Module):
        function.eval()
    compiled = torch.compile(function, backend=BACKEND)
    for call in calls if isinstance(calls, list) else [calls]:
        compiled(**call) if isinstance(call, dict) else compiled(*call)


def pair(case: Case, more: list[str]) -> Figures:
    with tempfile.TemporaryDirectory(prefix="graphmend-bench-") as name:
        folder = Path(name).resolve()
        entry, files = case.prepare(folder)
        peer, done = cost_of([sys.executable, __file__, PEER, entry], folder)
        if done.returncode:
            raise RuntimeError(f"{case.name}: the original cannot be compiled: {done.stderr[-300:]}")
        words = ["mend", *files, "--entry", entry, "--json", "--quiet", "--no-cache", "--timeout", "600", *more]
        ours, done = cost_of([sys.executable, "-m", "graphmend_lsp", *words], folder)
    if not done.stdout.startswith("{"):
        raise RuntimeError(f"{case.name}: {done.stderr.strip()[-300:]}")
    record: dict[str, Any] = json.loads(done.stdout)
    verified = record["verified"] or {"calls": 0, "safety": "nothing mended"}
    said = f"{record['before']['breaks']} -> {record['after']['breaks']} breaks, {verified['safety']}"
    return Figures(case.name, peer, ours, verified["calls"], said)


def editor(saves: int) -> list[float]:
    """Seconds from each save to the proven quick fix; the first, which starts the worker, is left out."""
    times = []
    with tempfile.TemporaryDirectory(prefix="graphmend-bench-") as name:
        file = Path(name).resolve() / "model.py"
        file.write_text(SMALL)
        uri, one = file.as_uri(), Editor(file.parent)
        document = {"uri": uri, "languageId": "python", "version": 1, "text": SMALL}
        one.notify("textDocument/didOpen", {"textDocument": document})
        for number in range(saves + 1):
            text = SMALL.replace("# saved", f"# saved {number}")  # the function that breaks is another one
            file.write_text(text)
            version = {"uri": uri, "version": number + 2}
            one.notify("textDocument/didChange", {"textDocument": version, "contentChanges": [{"text": text}]})
            time.sleep(0.2)
            begun = time.perf_counter()
            one.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            times.append(proven(one, number + 2) - begun)
            one.quiet()
        one.end()
    return times[1:]


def proven(one: Any, version: int) -> float:
    """When the diagnostics of that version say that a mend of theirs is proven."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        moment, message = one.next(PATIENCE)
        params = message.get("params") or {}
        if message.get("method") != "textDocument/publishDiagnostics" or params.get("version") != version:
            continue
        if any("verified safe" in shown["message"] for shown in params["diagnostics"]):
            return float(moment)
    raise RuntimeError("no mend was proven")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*SMALL_CASES, "editor", *MODELS)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(names)} (default: all but the models)")
    parser.add_argument("--models", action="store_true", help="the models of transformers, too")
    parser.add_argument("--saves", type=int, default=5, help="saves of the editor's case (default 5)")
    parser.add_argument("--seconds", type=float, help="limit each mend, as `graphmend-lsp mend --seconds` does")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in names]:
        parser.error(f"there is no case {unknown[0]}")
    chosen = options.cases or [*SMALL_CASES, "editor", *(MODELS if options.models else ())]
    more = ["--seconds", str(options.seconds)] if options.seconds else []
    print(f"{'':28}{'compile once':>16}{'mend':>18}{'ratio':>14}{'calls':>7}")
    print(f"{'':28}{'CPU s   wall':>16}{'CPU s   wall':>18}{'CPU   wall':>14}")
    found: list[Figures] = []
    times: list[float] = []
    for name in chosen:
        if name == "editor":
            times = editor(options.saves)
            print(
                f"editor, save to proven: median {statistics.median(times):.2f} s, worst {max(times):.2f} s", flush=True
            )
            continue
        one = pair((SMALL_CASES | MODELS)[name], more)
        found.append(one)
        print(
            f"{one.name:28}{one.peer.cpu:8.1f}{one.peer.wall:8.1f}{one.ours.cpu:10.1f}{one.ours.wall:8.1f}"
            f"{one.ours.cpu / one.peer.cpu:8.2f}{one.ours.wall / one.peer.wall:6.2f}{one.calls:7}  {one.said}",
            flush=True,
        )
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"load of the machine at the end (processes per core) {load:.1f}")
    if options.json is not None:
        data = {"command": "python bench/proof.py " + " ".join(sys.argv[1:]), "load": load, "saves": times}
        options.json.write_text(json.dumps({**data, "pairs": [asdict(one) for one in found]}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == [PEER]:
        compile_once(sys.argv[2])
    else:
        sys.exit(main())
