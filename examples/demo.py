"""The demo: the breaks of a real model shown, mended and proven, on scratch copies; nothing of yours is changed.

    make demo                      a small model, one that torch.compile fails on, T5 of transformers
    python examples/demo.py small  all but T5
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from graphmend_lsp.report.mend_parts import verdict_of
from graphmend_lsp.report.words import compared

HERE = Path(__file__).resolve().parent


def run(*words: str, fine: tuple[int, ...] = (0, 1), show: bool = True) -> str:
    """Run graphmend-lsp, show what it prints, and stop the demo when it fails."""
    print(f"\n$ graphmend-lsp {' '.join(words)}", flush=True)
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "graphmend_lsp", *words], stdout=subprocess.PIPE, text=True)
    if show:
        print(folded(done.stdout), end="")
    print(f"[exit {done.returncode}, {time.monotonic() - begin:.1f} s]", flush=True)
    if done.returncode not in fine:
        sys.exit(f"demo: graphmend-lsp {words[0]} failed with exit code {done.returncode}")
    return done.stdout


def folded(output: str) -> str:
    """The output with the lines of new files in it counted only: a mend's support file is long, and always the same."""

    def count(match: re.Match[str]) -> str:
        return f"{match[1]}({match[2].count(chr(10))} lines, not shown here)\n"

    return re.sub(r"^(--- /dev/null\n\+\+\+ .*\n@@ .*\n)((?:\+.*\n)+)", count, output, flags=re.MULTILINE)


def small(scratch: Path) -> None:
    """See, mend, prove on ``gated_mlp.py``."""
    print("== A small model: see its graph breaks, mend them, verify the mend ==")
    file = scratch / "gated_mlp.py"
    shutil.copy(HERE / file.name, file)
    run("check", str(file), "--quiet", fine=(1,))
    run("mend", str(file), "--diff", "--quiet")
    record = json.loads(run("mend", str(file), "--write", "--quiet", "--json", show=False))
    tell(record, file)


def refused(scratch: Path) -> None:
    """The same on ``whitening.py``, which runs, but not when it is compiled."""
    print("\n== A program that torch.compile fails on: see why, mend it, verify that it runs compiled ==")
    file = scratch / "whitening.py"
    shutil.copy(HERE / file.name, file)
    run("check", str(file), "--quiet", fine=(1,))
    record = json.loads(run("mend", str(file), "--write", "--quiet", "--json", show=False))
    verified = record["verified"]
    if (
        not verified
        or verified["safety"] != "safe"
        or (record["before"]["refused"], record["after"]["refused"]) != (1, 0)
    ):
        sys.exit(f"demo: {file.name} was not mended: {json.dumps(record, indent=1)}")
    print(
        f"{file.name}: torch.compile failed before; now it runs as {record['after']['graphs']} graphs, with outputs "
        f"{verified['outputs']} to those without torch.compile over {verified['calls']} calls"
    )


def t5(scratch: Path) -> None:
    """The same for T5 of transformers, on a scratch copy of the package, with a small random model."""
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        sys.exit("demo: transformers is not installed; run `make setup`")
    print("\n== T5 of transformers 4.52.4: the same, on a scratch copy of the package ==")
    shutil.copytree(Path(spec.origin).parent, scratch / "transformers", ignore=shutil.ignore_patterns("__pycache__"))
    entries = scratch / "transformers_models.py"
    shutil.copy(HERE / entries.name, entries)
    file = scratch / "transformers" / "models" / "t5" / "modeling_t5.py"
    entry = f"{entries}:t5"
    run("check", str(file), "--entry", entry, "--quiet", fine=(1,))
    run("mend", str(file), "--entry", entry, "--diff", "--quiet")
    record = json.loads(run("mend", str(file), "--entry", entry, "--write", "--quiet", "--json", show=False))
    tell(record, file)


def tell(record: dict, file: Path) -> None:
    """Say what was reached, and fail when it was not."""
    before, after, verified = record["before"], record["after"], record["verified"]
    if not verified or verified["safety"] != "safe" or after["graphs"] >= before["graphs"]:
        sys.exit(f"demo: {file.name} was not mended: {json.dumps(record, indent=1)}")
    print(
        f"{file.name}: {before['graphs']} graphs before, {after['graphs']} after. {compared(verdict_of(verified))}"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="graphmend-demo-") as folder:
        small(Path(folder))
        refused(Path(folder))
        if sys.argv[1:] != ["small"]:
            t5(Path(folder))
