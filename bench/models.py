"""Mend-all of real models of transformers on a scratch copy of the package: breaks before and after, verdict and seconds.

    python bench/models.py [t5 biogpt phi3 bart_fp16]

Whole processes are timed, `graphmend-lsp mend --write` from its start to its end, so imports and the worker's start are in it.
Beside it runs a fresh process that does nothing but compile the same original with the same calls and the cheapest backend, as one
would to see its breaks (`torch._dynamo.explain` takes as long): `ratio` is how many of those the whole mend with its proof takes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

os.environ["GRAPHMEND_CACHE_DIR"] = ""  # what is measured is run, not kept from an earlier run

ENTRIES = Path(__file__).resolve().parent.parent / "examples" / "transformers_models.py"
FILES = {
    "t5": ["models/t5/modeling_t5.py"],
    "biogpt": ["models/biogpt/modeling_biogpt.py"],
    "phi3": ["modeling_rope_utils.py"],
    "bart_fp16": ["models/bart/modeling_bart.py"],
}

PEER = """
import runpy, sys
import torch
model, calls = runpy.run_path(sys.argv[1])[sys.argv[2]]()
model.eval()
compiled = torch.compile(model, backend="eager")
for call in calls:
    compiled(**call)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(FILES)} (default: all)")
    models = parser.parse_args().models or list(FILES)
    if unknown := sorted(set(models) - set(FILES)):
        parser.error(f"there is no model {unknown[0]!r}")
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        sys.exit("transformers is not installed; run `make setup`")
    print(
        f"{'model':<12}{'graphs-1':>9}{'after':>7}{'outputs':>11}{'effects':>9}{'calls':>7}{'safety':>9}"
        f"{'seconds':>9}{'peer':>7}{'ratio':>7}"
    )
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        shutil.copytree(Path(spec.origin).parent, scratch / "transformers")  # with its bytecode, as it is installed
        shutil.copy(ENTRIES, scratch)
        for model in models:
            files = [str(scratch / "transformers" / file) for file in FILES[model]]
            words = ["mend", *files, "--entry", f"{scratch / ENTRIES.name}:{model}", "--json", "--quiet", "--write"]
            peer, _ = timed("-c", PEER, str(scratch / ENTRIES.name), model)
            seconds, done = timed("-m", "graphmend_lsp", *words)
            if not done.stdout.startswith("{"):
                print(f"{model:<12} failed: {done.stderr.strip()[-200:]}")
                continue
            record = json.loads(done.stdout)
            verified = record["verified"] or dict.fromkeys(("outputs", "effects", "calls", "safety"), "-")
            print(
                f"{model:<12}{record['before']['graphs'] - 1:>9}{record['after']['graphs'] - 1:>7}{verified['outputs']:>11}"
                f"{verified['effects']:>9}{verified['calls']:>7}{verified['safety']:>9}"
                f"{seconds:>9.1f}{peer:>7.1f}{seconds / peer:>7.1f}"
            )


def timed(*words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Seconds of a whole run of this Python, and what it printed."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    return time.perf_counter() - begin, done


if __name__ == "__main__":
    main()
