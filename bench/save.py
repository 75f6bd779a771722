"""How long from a save to what TorchDynamo says of it: ``python bench/save.py`` (needs torch; T5 also transformers).

Drives ``graphmend-lsp --stdio`` over pipes as an editor does: open a model, then again and again change the line that
breaks, save, and wait for the diagnostic of that break, which the run confirms as soon as TorchDynamo meets it, and for the diagnostics
at the end of the run. Beside each model, in the same run, what people do today: a fresh process with TORCH_LOGS=graph_breaks, and one
that calls torch._dynamo.explain (`peers`); and what torch.compile takes by itself in a process that has done it before. Prints
p50 / p95, budgets and ratios (peer's p50 over ours, shown and at the end); the first save, which also starts the worker, stands apart.
Exit code 1 when a budget is missed. With ``--json FILE`` the figures are written there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from peers import PEERS, timed

SERVER = [sys.executable, "-m", "graphmend_lsp", "--stdio"]
OPTIONS = {"trusted": True, "settings": {"interpreter": [sys.executable], "device": "cpu"}}
CONFIRMED = 2  # severity Warning: what a run of TorchDynamo confirmed
PATIENCE = 120.0
PROOF = 8.0  # seconds between two saves at most

SMALL = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x)
        if y.sum() > 0:  # saved
            y = y * 2
        else:
            y = y - 1
        return y + 1


def graphmend_entry():
    return Net(), (torch.randn(4, 8),)
"""
GPT = """import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.before, self.behind = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.behind(x))))


class GPT(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, words=8192):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if x.abs().max() > 1e4:  # saved
            x = x.clamp(-1e4, 1e4)
        return self.head(x)


def graphmend_entry():
    return GPT(), (torch.randint(0, 8192, (1, 64)),)
"""
T5 = """import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = T5ForConditionalGeneration(
            T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=128, decoder_start_token_id=0)
        )

    def forward(self, ids):
        return self.model(input_ids=ids, decoder_input_ids=ids)  # saved


def graphmend_entry():
    return Wrapped(), (torch.randint(0, 128, (1, 8)),)
"""


@dataclass(frozen=True)
class Model:
    """A file to save. `budget` in milliseconds at p95, None where none is set."""

    name: str
    source: str
    budget: int | None


MODELS = {
    "small": Model("a small model", SMALL, 150),
    "gpt": Model("a transformer, 12 layers of 768", GPT, 1500),
    "t5": Model("T5 of transformers", T5, None),
}


class Editor:
    """The server's process, and when each of its messages came."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._messages: queue.Queue[tuple[float, dict[str, Any]] | None] = queue.Queue()
        self._id = 0
        self.state = ""  # of the worker, as it was last told
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {
            "textDocument": {"publishDiagnostics": {"versionSupport": True, "relatedInformation": True}},
            "window": {"workDoneProgress": True},
        }
        params = {
            "processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": capabilities,
            "initializationOptions": OPTIONS,
        }  # fmt: skip
        self.ask("initialize", params)
        self.notify("initialized", {})

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        while (message := self.next()[1]).get("id") != self._id or "method" in message:
            pass
        return message["result"]

    def next(self, patience: float = PATIENCE) -> tuple[float, dict[str, Any]]:
        """When the next message came, and the message; requests of the server are answered on the way.

        Raises:
            queue.Empty: none came.
        """
        found = self._messages.get(timeout=patience)
        if found is None:
            raise RuntimeError("the server ended")
        if found[1].get("method") == "graphmend/status":
            self.state = found[1]["params"]["state"]
        if "method" in found[1] and "id" in found[1]:
            self._send({"id": found[1]["id"], "result": None})
        return found

    def confirmed(self, version: int, after: float) -> tuple[float, float]:
        """When diagnostics of that version came that hold what a run confirmed: first, and at the end of the run.

        Raises:
            RuntimeError: they were there before, which is `after` when they may come.
        """
        came: list[float] = []
        while len(came) < 2:
            try:
                moment, message = self.next(PROOF if came else PATIENCE)
            except queue.Empty:
                if not came:
                    raise
                break  # it was told once, at the end: the first run of an entry is not told as it goes
            params = message.get("params")
            if message.get("method") != "textDocument/publishDiagnostics" or params.get("version") != version:
                continue
            shown = [one for one in params["diagnostics"] if str(one.get("code", "")).startswith("GB")]
            if any(one["severity"] == CONFIRMED for one in shown):
                if moment < after:
                    raise RuntimeError("a change of the line that breaks left its confirmed diagnostic")
                came.append(moment)
        return came[0], came[-1]

    def quiet(self) -> None:
        """Wait until the mends are proven and nothing more is said; a long proof is left to the next save to end."""
        end = time.perf_counter() + PROOF
        while time.perf_counter() < end:
            if not self._more(0.4) and self.state not in ("starting", "busy"):
                return

    def _more(self, patience: float) -> bool:
        """Whether a message came in that time."""
        try:
            self.next(patience)
        except queue.Empty:
            return False
        return True

    def end(self) -> None:
        self.ask("shutdown", None)
        self.notify("exit", None)
        self.process.wait(20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            stream.readline()
            body = stream.read(int(header.split(b":")[1]))
            self._messages.put((time.perf_counter(), json.loads(body)))
        self._messages.put(None)


@dataclass(frozen=True)
class Figures:
    """Milliseconds. `whole` is the middle of what it took to the end of the run; `peers` has the middle of each."""

    model: str
    budget: int | None
    first: float
    p50: float
    p95: float
    saves: list[float]
    whole: float
    peers: dict[str, float]

    @property
    def missed(self) -> bool:
        """Whether p95 is over the budget."""
        return self.budget is not None and self.p95 > self.budget


def saves(model: Model, folder: Path, count: int) -> list[tuple[float, float]]:
    """Milliseconds from each save to its confirmed diagnostic, and to the end of the run; one more than `count`, the first
    starts the worker.
    """
    path = folder / "model.py"
    path.write_text(model.source)
    uri = path.as_uri()
    editor = Editor(folder)
    document = {"uri": uri, "languageId": "python", "version": 1, "text": model.source}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    times = []
    for number in range(count + 1):
        version = number + 2
        text = model.source.replace("# saved", f"# saved {number}")
        path.write_text(text)
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        editor.notify("textDocument/didChange", params)
        time.sleep(0.2)  # the static diagnostics of the change are out by then, as they are when a hand saves
        begin = time.perf_counter()
        editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        shown, ended = editor.confirmed(version, begin)
        times.append((1000 * (shown - begin), 1000 * (ended - begin)))
        editor.quiet()
    editor.end()
    return times


def figures(model: Model, count: int, peer_runs: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="graphmend-bench-") as name:
        folder = Path(name).resolve()
        (first, _), *warm = saves(model, folder, count)
        beside = {
            peer: 1000 * statistics.median(timed(peer, folder / "model.py") for _ in range(peer_runs))
            for peer in PEERS
            if peer_runs
        }
    ordered = sorted(shown for shown, _ in warm)
    high = ordered[max(0, -(-95 * len(ordered) // 100) - 1)]
    whole = statistics.median(ended for _, ended in warm)
    return Figures(model.name, model.budget, first, statistics.median(ordered), high, ordered, whole, beside)


def shown(one: Figures) -> str:
    budget = "" if one.budget is None else f"   budget {one.budget:5}" + ("   MISSED" if one.missed else "")
    head = f"{one.model:40} {one.p50:7.0f} / {one.p95:7.0f}{budget}   end of the run {one.whole:6.0f}   first save {one.first:6.0f}"
    lines = [head]
    for peer, middle in one.peers.items():
        ratios = f"{middle / one.p50:5.1f} and {middle / one.whole:5.1f} times ours"
        lines.append(f"    {PEERS[peer]:55} {middle:7.0f}   {ratios}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="which models (default: all there are)")
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--peer-runs", type=int, default=3, help="how often each peer is run; 0 leaves them out")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    options = parser.parse_args()
    known = [name for name in MODELS if name != "t5" or importlib.util.find_spec("transformers") is not None]
    print("save to confirmed diagnostics in ms, p50 / p95")
    found = []
    for name in options.model or known:
        found.append(figures(MODELS[name], options.saves, options.peer_runs))
        print(shown(found[-1]), flush=True)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"load of the machine at the end (processes per core) {load:.1f}")
    if options.json is not None:
        data = {"command": "python bench/save.py " + " ".join(sys.argv[1:]), "load": load}
        options.json.write_text(json.dumps({**data, "models": [asdict(one) for one in found]}, indent=2) + "\n")
    return 1 if any(one.missed for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
