"""How long it takes to know that a kept result still holds: a small project, and a model of transformers.

python bench/cache.py [--rounds N]; beside each figure, in the same process, what the run itself takes on a worker that is warm.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from graphmend_lsp.engine.cache import Cache
from graphmend_lsp.engine.cached_question import question_of
from graphmend_lsp.engine.client import WorkerClient
from graphmend_lsp.engine.config import WorkerConfig

SMALL = {
    "model.py": "import torch\nimport helper\ndef graphmend_entry():\n    return helper.f, (torch.ones(4),)\n",
    "helper.py": "def f(x):\n    if x.sum() > 0:\n        x = x + 1\n    return x\n",
}
LARGE = {
    "model.py": (
        "import torch\nfrom transformers import T5Config, T5ForConditionalGeneration\ndef graphmend_entry():\n"
        "    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0)\n"
        "    ids = torch.ones(1, 5, dtype=torch.long)\n"
        "    return T5ForConditionalGeneration(config), {'input_ids': ids, 'labels': ids}\n"
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    for name, files in (("small project", SMALL), ("transformers T5", LARGE)):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(name, files, Path(folder), rounds))


async def measure(name: str, files: dict[str, str], folder: Path, rounds: int) -> None:
    for file, text in files.items():
        (folder / file).write_text(text)
    await asyncio.sleep(2.5)  # files that were just written are hashed, not known by their times
    config = WorkerConfig(cwd=str(folder))
    client = WorkerClient(config.python, config.command, config.cwd, config.env)
    params: dict[str, Any] = {
        "entry": {"file": str(folder / "model.py"), "function": "graphmend_entry", "kind": "function"},
        "texts": {}, "roots": [str(folder)], "device": "cpu", "mode": "eval", "limits": {"seconds": 60, "memory_mb": None},
    }  # fmt: skip
    try:
        await client.request("analyse", params, 60)
        begun = time.perf_counter()
        hello = await client.start()
        result = await client.request("analyse", {**params, "standing": True}, 60)
        run = time.perf_counter() - begun
    finally:
        await client.kill()
    question = question_of("analyse", params, config)
    assert question is not None
    begun = time.perf_counter()
    assert Cache(folder / "kept").keep(question, result, hello)
    kept = time.perf_counter() - begun
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        asked = question_of("analyse", params, config)
        assert asked is not None and Cache(folder / "kept").find(asked) is not None
        times.append(time.perf_counter() - begun)
    count = len(result["needs"]["modules"]) + len((result["needs"]["before"] or {}).get("modules", []))
    size = sum(path.stat().st_size for path in (folder / "kept").iterdir())
    print(
        f"{name}: lookup {statistics.median(times) * 1000:.0f} ms median, {max(times) * 1000:.0f} ms most of {rounds}; "
        f"run on a warm worker {run * 1000:.0f} ms; kept in {kept * 1000:.0f} ms, {size / 1024:.0f} KiB; {count} modules of the program"
    )


if __name__ == "__main__":
    main()
