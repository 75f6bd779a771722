"""How quick the language server is: ``python bench/server.py``.

Prints the latency of `initialize` from the start of the process, of a keystroke to its diagnostics (also while a run of
another file is on, where this Python has torch) and of a code-action list on a 2,658-line model file, and the server's
resident memory; beside each its budget, and the processor time that the server took (which a busy machine does not
change). Exit code 1 when a budget is missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["GRAPHMEND_CACHE_DIR"] = ""  # what is measured is run, not kept from an earlier run

SERVER = [sys.executable, "-m", "graphmend_lsp", "--stdio"]
ORIGIN = "transformers"
LIBRARY = "pygls"  # what the server is built on; it is imported while the client reads the answer to `initialize`
FILE = "models/grounding_dino/modeling_grounding_dino.py"
OPTIONS = {"initializationOptions": {"trusted": True, "settings": {"interpreter": [sys.executable]}}}
CAPABILITIES = {
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}}}
}


class Server:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = int(self.process.stdout.readline().split(b":")[1])
        self.process.stdout.readline()
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def ask(self, method: str, params: Any) -> Any:
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        while (message := self.receive()).get("id") != self._id:
            pass
        return message["result"]

    def diagnostics(self, version: int, uri: str | None = None) -> list[Any]:
        while True:
            message = self.receive()
            if uri is not None and message.get("params", {}).get("uri") != uri:
                continue
            if message.get("method") == "textDocument/publishDiagnostics":
                shown: list[Any] = message["params"]["diagnostics"]
                if message["params"].get("version", version) == version:
                    return shown

    def memory(self) -> float:
        """Resident MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.ask("shutdown", None)
        self.send({"method": "exit"})
        self.process.wait(10)


def started() -> tuple[Server, float]:
    begin = time.perf_counter()
    server = Server()
    capabilities = {
        **CAPABILITIES,
        "textDocument": {**CAPABILITIES["textDocument"], "publishDiagnostics": {"versionSupport": True}},
    }
    server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities, **OPTIONS})
    return server, time.perf_counter() - begin


def keystrokes(server: Server, uri: str, lines: list[str], count: int, pause: float, version: int = 2) -> list[float]:
    """Type in the middle of the file, a letter at a time, in a comment and in code; `lines` follow."""
    line = next(number for number in range(len(lines) // 2, len(lines)) if lines[number].startswith("        hidden"))
    times = []
    for number in range(count):
        place = {"line": line, "character": len(lines[line])}
        new = "  # " if number == 0 and version == 2 else "x"
        lines[line] += new
        begin = time.perf_counter()
        params: dict[str, Any] = {"textDocument": {"uri": uri, "version": number + version}}
        params["contentChanges"] = [{"range": {"start": place, "end": place}, "text": new}]
        server.send({"method": "textDocument/didChange", "params": params})
        server.diagnostics(number + version, uri)
        times.append(time.perf_counter() - begin)
        time.sleep(pause)
    return times


BUSY = """import torch

def f(x):
    while True:
        x = torch.compile(lambda y, k=x.numel(): y * k + 1, backend="eager")(x)

def graphmend_entry():
    return f, (torch.ones(3),)
"""


def busy(server: Server, folder: Path) -> str:
    """Start a run that does not end; the state of the worker once it is at it."""
    path = folder / "busy.py"
    path.write_text(BUSY)
    named = {"uri": path.as_uri()}
    document = {**named, "languageId": "python", "version": 1, "text": BUSY}
    server.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    server.diagnostics(1)
    state = ""
    for version, now in enumerate((BUSY.replace("while True", "for _ in range(1)"), BUSY), 2):  # first one that ends
        change = {"textDocument": {**named, "version": version}, "contentChanges": [{"text": now}]}
        server.send({"method": "textDocument/didChange", "params": change})
        server.send({"method": "textDocument/didSave", "params": {"textDocument": named}})
        wanted = ("ready", "failed") if version == 2 else ("busy", "failed")
        while state not in wanted:
            message = server.receive()
            if message.get("method") == "graphmend/status" and message["params"]["message"] != "started":
                state = message["params"]["state"]
    return state


def actions(server: Server, uri: str, shown: list[Any], count: int) -> list[float]:
    times = []
    for number in range(count):
        place = shown[number % len(shown)]["range"]
        params = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
        begin = time.perf_counter()
        found = server.ask("textDocument/codeAction", params)
        times.append(time.perf_counter() - begin)
        assert found, "a finding without an action"
    return times


def milliseconds(times: list[float]) -> tuple[float, float]:
    ordered = sorted(1000 * each for each in times)
    return statistics.median(ordered), ordered[max(0, round(0.95 * len(ordered)) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help=f"the file to type in (default: {FILE} of the installed {ORIGIN})")
    parser.add_argument("--keystrokes", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between keystrokes")
    options = parser.parse_args()
    path = options.file
    if path is None:
        spec = importlib.util.find_spec(ORIGIN)
        if spec is None or spec.origin is None:
            print(f"{ORIGIN} is not installed; name a file with --file", file=sys.stderr)
            return 2
        path = Path(spec.origin).parent / FILE
    text = path.read_text(encoding="utf-8")
    uri = path.resolve().as_uri()

    starts, alone, start_cpu = [], [], 0.0
    for _ in range(7):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {LIBRARY}.lsp.server"], stderr=subprocess.DEVNULL, check=False)
        alone.append(time.perf_counter() - begin)
        server, seconds = started()
        starts.append(seconds)
        start_cpu += server.processor() / 7
        server.end()
    server, _ = started()
    begin = time.perf_counter()
    server.send({"method": "initialized", "params": {}})
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    server.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    shown = server.diagnostics(1)
    opened = time.perf_counter() - begin
    memory = server.memory()
    before = server.processor()
    lines = text.split("\n")
    typed = keystrokes(server, uri, lines, options.keystrokes, options.pause)
    typed_cpu = (server.processor() - before) / len(typed)
    time.sleep(2)  # the mends of what is found are looked for now
    before = server.processor()
    listed = actions(server, uri, shown, 60) if shown else []
    listed_cpu = (server.processor() - before) / max(1, len(listed))
    memory_later = server.memory()
    beside, beside_cpu = [], 0.0
    if importlib.util.find_spec("torch") is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(f"beside a run: the worker is {busy(server, Path(folder))}")
            before = server.processor()
            beside = keystrokes(server, uri, lines, options.keystrokes, options.pause, options.keystrokes + 2)
            beside_cpu = (server.processor() - before) / len(beside)
            server.end()
    else:
        server.end()

    print(f"{path.name}, {text.count(chr(10)) + 1} lines, {len(shown)} findings; p50 / p95")
    rows = [
        ("initialize reply, from process start (ms)", milliseconds(starts), 400, start_cpu),
        ("keystroke to diagnostics (ms)", milliseconds(typed), 60, typed_cpu),
        *([("the same while a run is on (ms)", milliseconds(beside), 60, beside_cpu)] if beside else []),
        ("code-action list (ms)", milliseconds(listed) if listed else (0.0, 0.0), 30, listed_cpu),
        ("memory (MiB)", (memory, memory), 120, None),
    ]
    missed = False
    for name, (middle, high), budget, cpu in rows:
        missed = missed or high > budget
        ending = "" if cpu is None else f"   processor {1000 * cpu:6.1f}"
        ending += "   MISSED" if high > budget else ""
        print(f"{name:45} {middle:7.1f} / {high:7.1f}   budget {budget:4}{ending}")
    if importlib.util.find_spec(LIBRARY) is not None:
        middle, high = milliseconds(alone)
        print(f"{'beside it: importing ' + LIBRARY + ' alone (ms)':45} {middle:7.1f} / {high:7.1f}")
    print(f"{'load of the machine (processes per core)':45} {os.getloadavg()[0] / (os.cpu_count() or 1):7.1f}")
    print(f"{'initialize reply to first diagnostics (ms)':45} {1000 * opened:7.1f}")
    print(f"{'memory at the end (MiB)':45} {memory_later:7.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
