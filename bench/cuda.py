"""Programs mended on CUDA and on the CPU of one machine, side by side: breaks, graphs, verdict and seconds of both.

    python bench/cuda.py [--jobs N] [--every N] [--seconds S] [--keep FILE] [--page PAGE] [NAME ...]

NAME is a part of a program's name. The programs are those below, the examples, the rows of the paper's table, and every Nth construct. The exit status is 1
where CUDA gives another outcome than the CPU: another number of breaks before or after, another safety, or an error.
With --keep the rows are written to FILE as JSON, and with --page as a page; --page with --kept FILE makes that
page of rows that were kept, and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "constructs"), str(HERE / "graphmend_table")]

from catalogue import constructs  # noqa: E402
from rows import HERE as TABLE  # noqa: E402
from rows import ROWS  # noqa: E402

DEVICES = ("cpu", "cuda")
EXAMPLES = ("gated_mlp.py", "training_step.py", "denoising_step.py", "whitening.py")
OWN = {
    "reads a number": """\
    def forward(self, x):
        h = self.linear(x)
        return h / h.abs().max().item()
""",
    "chooses under autocast": """\
    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            h = self.linear(x)
            if h.abs().max() > 1:
                h = h * 0.5
        return h.float()
""",
    "raises for a value": """\
    def forward(self, x):
        h = self.linear(x)
        if torch.isnan(h).any():
            raise ValueError("not a number")
        return h.relu()
""",
    "says something": """\
    def forward(self, x):
        h = self.linear(x)
        print("mean", h.mean())
        return torch.nn.functional.dropout(h, 0.5, self.training)
""",
    "moves to its device": """\
    def forward(self, x):
        h = self.linear(x)
        scale = torch.tensor([2.0, 0.5, 1.0, 3.0]).to(x.device)
        if (h > 0).all():
            scale = scale * 2
        return h * scale
""",
    "selects rows": """\
    def forward(self, x):
        h = self.linear(x)
        kept = h[h.sum(-1) > 0]
        return kept.sum() + kept.shape[0]
""",
    "waits for the device": """\
    def forward(self, x):
        h = self.linear(x)
        if x.is_cuda:
            torch.cuda.synchronize()
        return h.relu()
""",
}
HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

"""
TAIL = """\


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.randn(3, 4),), (torch.ones(5, 4),)]
"""


@dataclass(frozen=True)
class Program:
    """One program: what the command line is given behind ``mend``, in a folder of its own."""

    name: str
    words: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class Outcome:
    """What mending showed on one device. `before` and `after` are (graphs, breaks)."""

    device: str
    before: tuple[int, int]
    after: tuple[int, int]
    safety: str
    calls: int
    seconds: float
    reasons: tuple[str, ...]
    errors: tuple[str, ...]
    measured: str = ""
    left: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[Any, ...]:
        """What must be the same on both devices."""
        return self.before, self.after, self.safety, bool(self.errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--every", type=int, default=4, help="take every Nth construct; 0 for none")
    parser.add_argument("--seconds", type=float, default=120.0, help="stop verifying a program after that time")
    parser.add_argument("--devices", default="cpu,cuda")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--page", type=Path, metavar="PAGE")
    parser.add_argument("--kept", type=Path, metavar="FILE")
    parser.add_argument("--on", default="", metavar="WORDS", help="the machine, for the page")
    arguments = parser.parse_args()
    if arguments.kept:
        arguments.page.write_text(page(json.loads(arguments.kept.read_text()), arguments.on))
        return 0
    devices = arguments.devices.split(",")
    kept: dict[str, dict[str, Any]] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        chosen = programs(Path(folder), arguments.every, arguments.names)
        runs = {
            one: {device: pool.submit(mend, one, device, arguments.seconds) for device in devices} for one in chosen
        }
        told = {run: one for one, of in runs.items() for run in of.values()}
        for last in as_completed(told):
            one, of = told[last], runs[told[last]]
            if not all(run.done() for run in of.values()) or one.name in kept:
                continue
            found = {device: run.result() for device, run in of.items()}
            kept[one.name] = {device: asdict(outcome) for device, outcome in found.items()}
            if arguments.keep:
                arguments.keep.write_text(json.dumps(kept, indent=1))
            unlike = len({outcome.shown for outcome in found.values()}) > 1
            wrong += unlike
            show(one.name, [*found.values()], unlike)
    if arguments.page:
        arguments.page.write_text(page(kept, arguments.on))
    print(f"{len(kept)} programs, {wrong} with another outcome on CUDA than on the CPU")
    return 1 if wrong else 0


def programs(folder: Path, every: int, names: list[str]) -> list[Program]:
    """The programs with one of those names in theirs, each written into a folder of its own."""
    texts = {name: HEAD + text + TAIL for name, text in OWN.items()}
    texts |= {name.removesuffix(".py"): (HERE.parent / "examples" / name).read_text() for name in EXAMPLES}
    texts |= {f"{one.topic} {one.name}": one.source for one in (constructs()[::every] if every else ())}
    rows = {row.name: row for row in ROWS}

    def is_chosen(name: str) -> bool:
        return not names or any(word.lower() in name.lower() for word in names)

    return [
        *(_alone(folder, name, text) for name, text in texts.items() if is_chosen(name)),
        *(_of_table(folder / row.entry.removesuffix(".py"), row) for name, row in rows.items() if is_chosen(name)),
    ]


def _alone(folder: Path, name: str, text: str) -> Program:
    home = folder / name.replace(" ", "_")
    home.mkdir()
    (home / "program.py").write_text(text)
    return Program(name, ("program.py",), str(home))


def _of_table(home: Path, row: Any) -> Program:
    home.mkdir(exist_ok=True)
    if row.package:
        spec = find_spec("transformers")
        if spec is None or spec.origin is None:
            sys.exit("transformers is not installed; run `make setup`")
        if not (home / "transformers").exists():
            shutil.copytree(Path(spec.origin).parent, home / "transformers")
            shutil.copy(TABLE / "models.py", home)
    elif not (home / "standins").exists():
        shutil.copytree(TABLE / "standins", home / "standins", ignore=shutil.ignore_patterns("__pycache__"))
    return Program(row.name, (*row.files(home), "--entry", row.entry_in(home)), str(home))


def mend(program: Program, device: str, seconds: float) -> Outcome:
    """Mend one program on one device; nothing is written."""
    words = [*program.words, "--json", "--quiet", "--no-cache", "--device", device, "--timeout", "600"]
    words += ["--seconds", str(seconds), *(["--measure"] if program.name in ("gated_mlp", "reads a number") else [])]
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "graphmend_lsp", "mend", *words], capture_output=True, text=True, cwd=program.folder
    )
    spent = time.perf_counter() - begun
    if not done.stdout.startswith("{"):
        return Outcome(
            device, (0, 0), (0, 0), "", 0, spent, (), (done.stderr.strip()[-300:] or f"exit {done.returncode}",)
        )
    record: dict[str, Any] = json.loads(done.stdout)
    verified = record["verified"] or {}
    told = [entry["error"] for entry in record["entries"] if entry["error"]]
    return Outcome(
        device,
        (record["before"]["graphs"], record["before"]["breaks"]),
        (record["after"]["graphs"], record["after"]["breaks"]),
        verified.get("safety", "-"),
        verified.get("calls", 0),
        spent,
        tuple(verified.get("reasons", ())),
        tuple(dict.fromkeys(one["message"] for one in (*told, *record["errors"]))),
        "; ".join(one["words"].partition(": ")[2] for one in record.get("measured") or ()),
        tuple(_left(record)),
    )


def _left(record: dict[str, Any]) -> Iterator[str]:
    """What is said of the breaks that are left: a line for each mend that was not made, and for each refusal."""
    for one in record["breaks"]:
        if one["evidence"] == "dynamo" and one.get("state") != "mended":
            place = f"{Path(one['path']).name}:{one['line']}"
            for mend in one["mends"]:
                yield f"{place}: {mend['rule']} {mend['safety']}: {'; '.join(mend['reasons'])}"
            for refusal in one["declined"]:
                yield f"{place}: {refusal['rule']} declined: {refusal['reason']}"


def show(name: str, outcomes: list[Outcome], unlike: bool) -> None:
    """The row of a program, and where the devices differ what each of them said."""
    cells = [
        f"{one.device} {one.before[1]}→{one.after[1]} breaks, {one.before[0]}→{one.after[0]} graphs, {one.safety}, "
        f"{one.calls} calls, {one.seconds:.1f} s"
        for one in outcomes
    ]
    print(f"{'DIFFERS ' if unlike else ''}{name}: {' | '.join(cells)}", flush=True)
    for one in outcomes:
        words = [*one.errors, *((*one.reasons, *one.left) if unlike else ())]
        print(
            *(f"    {one.device}: {word}" for word in (*words, *filter(None, [one.measured]))),
            sep="\n",
            end="\n" * bool(words or one.measured),
            flush=True,
        )


def page(rows: dict[str, dict[str, Any]], machine: str) -> str:
    """The page of rows, each an outcome (as a dict) for each device."""
    lines = [
        "# CUDA beside the CPU",
        "",
        "Programs that `graphmend-lsp mend` mends on CUDA and on the CPU of one machine. Made by",
        "",
        "```",
        "python bench/cuda.py --page docs/cuda.md",
        "```",
        "",
        "*Breaks* and *graphs* are before and after safe mends; *s* is the whole command, several of them side by side. Where CUDA and",
        f"the CPU differ, what is left on CUDA says why. {machine}".rstrip(),
        "",
        "| program | device | breaks | graphs | verdict | calls | s |",
        "|---|---|---|---|---|---|---|",
    ]
    notes = []
    for name, of in rows.items():
        for device, one in of.items():
            breaks, graphs = (f"{one['before'][at]} → {one['after'][at]}" for at in (1, 0))
            told = one["errors"][0] if one["errors"] else one["safety"]
            lines.append(
                f"| {name} | {device} | {breaks} | {graphs} | {told} | {one['calls'] or '-'} | {one['seconds']:.0f} |"
            )
            if one["measured"]:
                notes.append(f"* {name}, {device}: {one['measured']}")
        alike = len({json.dumps([one["before"], one["after"], one["safety"]]) for one in of.values()}) == 1
        notes += [] if alike else [f"* {name}, left on CUDA: {line}" for line in of.get("cuda", {}).get("left", ())[:1]]
    return "\n".join([*lines, "", *notes]).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
