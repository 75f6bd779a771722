"""A transformer of seven billion parameters under Dynamo without data or weights: seconds and memory of the fake run.

    python bench/fake.py [--layers 32] [--width 4096] [--train]

The analysis runs in a child of a warm worker, as in the editor. Memory is the worker's and the child's, at its highest.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from graphmend_lsp.engine.client import WorkerClient

MODEL = """
import torch
from torch import nn
from torch.nn import functional as F

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        hidden = 11008 * width // 4096
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

class Transformer(nn.Module):
    def __init__(self, layers, width, words=32000):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, width // 128) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        {between}
        return self.head(self.norm(x))

def graphmend_entry():
    return Transformer({layers}, {width}), (torch.randint(0, 32000, (1, 2048)),)
"""


PRINT = 'print("mean", x.mean())'
GUARD = 'if torch.isnan(x).any(): raise ValueError("not a number")'


def highest(pid: int, seen: dict[str, float], done: threading.Event) -> None:
    """Note the peak resident memory (MiB) and the processor seconds of the process's child."""
    while not done.wait(0.02):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(OSError, ValueError):  # it has ended
                status = Path(f"/proc/{child}/status").read_text().split()
                seen["MiB"] = int(status[status.index("VmHWM:") + 1]) / 1024
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                seen["cpu"] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--train", action="store_true")
    parser.add_argument(
        "--guard", action="store_true", help="with a check for NaN that raises: both sides are followed"
    )
    options = parser.parse_args()
    client = WorkerClient(sys.executable, (), None, {})
    await client.start()
    worker = int(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()[0])
    seen: dict[str, float] = {}
    done = threading.Event()
    watcher = threading.Thread(target=highest, args=(worker, seen, done))
    watcher.start()
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "transformer.py")
        text = MODEL.replace("{layers}", str(options.layers)).replace("{width}", str(options.width))
        text = text.replace("{between}", GUARD if options.guard else PRINT)
        params = {
            "entry": {"file": file, "function": "graphmend_entry", "kind": "function"},
            "texts": {file: text}, "roots": [], "device": "auto", "mode": "train" if options.train else "eval",
            "run": "fake", "explore": 8, "limits": {"seconds": 300, "memory_mb": None},
        }  # fmt: skip
        begin = time.perf_counter()
        result = await client.request("analyse", params, 300)
        seconds = time.perf_counter() - begin
    done.set()
    watcher.join()
    await client.kill()
    if result["failure"]:
        print(result["failure"])
        return 1
    ids = sorted({event["root"]["gb_id"] or event["root"]["gb_type"] for event in result["events"]})
    print(
        f"tensors that were not made: {result['tensor_bytes'] / 2**30:.1f} GiB; breaks {ids}, graphs {len(result['graphs'])}"
    )
    print(f"{seconds:.2f} s for {result['explored']} runs, {seen.get('cpu', 0):.2f} s of processor time")
    print(f"peak resident memory of the analysis: {seen.get('MiB', 0):.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
