"""What people do today to see the graph breaks of a program: a fresh process that runs it under TorchDynamo.

Run as a program, it *is* one of these processes: ``python bench/peers.py logs|explain|warm FILE`` compiles what the entry of
the file returns, with the cheapest backend, and calls it. Imported, it times them (`PEERS`, `timed`). The warm one does it
again and again in one process and tells how long that takes: TorchDynamo's own share of every save.
"""

from __future__ import annotations

import os
import runpy
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PEERS = {
    "logs": "a fresh process with TORCH_LOGS=graph_breaks",
    "explain": "a fresh process with torch._dynamo.explain",
    "warm": "torch.compile and a call, again in a running process",
}
AGAIN = 12  # how often the warm process compiles; the last half counts
ENTRY = "graphmend_entry"


def timed(peer: str, file: Path) -> float:
    """Seconds that a process of this interpreter needs until it has told the breaks of the file's entry.

    Raises:
        RuntimeError: it failed, or told no break.
    """
    command = [sys.executable, __file__, peer, str(file)]
    env = {**os.environ, "TORCH_LOGS": "graph_breaks"} if peer == "logs" else dict(os.environ)
    begin = time.perf_counter()
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if peer == "warm" and not ran.returncode:
        return float(ran.stdout.split()[-1])
    if ran.returncode or "graph break" not in (ran.stdout + ran.stderr).lower().replace("_", " "):
        raise RuntimeError(f"{PEERS[peer]} told nothing: {ran.stderr[-500:]}")
    return seconds


def told(peer: str, file: str) -> None:
    """In the fresh process: load, run, let torch tell."""
    function, args = runpy.run_path(file)[ENTRY]()
    import torch
    import torch._dynamo

    for part in (function,) if isinstance(function, torch.nn.Module) else ():
        part.eval()
    positional: tuple[Any, ...] = args if isinstance(args, tuple) else ()
    keywords: dict[str, Any] = args if isinstance(args, dict) else {}
    if peer == "explain":
        print(torch._dynamo.explain(function)(*positional, **keywords))
    elif peer == "warm":
        seconds = []
        for _ in range(AGAIN):
            torch._dynamo.reset()
            begin = time.perf_counter()
            torch.compile(function, backend="eager")(*positional, **keywords)
            seconds.append(time.perf_counter() - begin)
        print(statistics.median(seconds[AGAIN // 2 :]))
    else:
        torch.compile(function, backend="eager")(*positional, **keywords)


if __name__ == "__main__":
    told(sys.argv[1], sys.argv[2])
