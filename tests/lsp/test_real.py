"""The real server over the real engine and a real torch: see, prove, mend, save again; nothing is replaced."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.notebook_client import CAPABILITIES, Notebook
from tests.lsp.test_features import apply_changes
from tests.lsp.wire import NEOVIM, REAL, VSCODE, Client
from tests.worker.worker_pipes import PYTHON

pytestmark = pytest.mark.slow
LONG = 120.0

SOURCE = '''"""𝒜"""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x)  # a comment that stays
        if y.sum() > 0:
            y = y * 2
        else:
            y = y - 1
        return y + 1


def graphmend_entry():
    return Net(), (torch.randn(4, 8),)
'''
MENDED = SOURCE.replace(
    """        if y.sum() > 0:
            y = y * 2
        else:
            y = y - 1
""",
    "        y = torch.where(y.sum() > 0, y * 2, y - 1)\n",
)
OPTIONS = {"trusted": True, "settings": {"interpreter": [PYTHON], "device": "cpu"}}


def shown_until(client: Client, word: str) -> list[Any]:
    """The diagnostics of the publication in which every finding says `word`."""
    return client.until(
        lambda message: (
            message.get("method") == "textDocument/publishDiagnostics"
            and bool(message["params"]["diagnostics"])
            and all(word in shown["message"] for shown in message["params"]["diagnostics"])
        ),
        LONG,
    )["params"]["diagnostics"]


def test_a_break_is_seen_proven_and_mended(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(SOURCE, encoding="utf-8")
    uri = path.as_uri()
    client = start(REAL)
    client.initialize(NEOVIM, initializationOptions=OPTIONS, rootUri=tmp_path.as_uri())
    client.open(uri, SOURCE)
    [static] = client.published(uri)
    assert static["code"] == "GB0170"
    client.save(uri)
    [settled] = shown_until(client, "verified safe")
    assert settled["range"] == static["range"]
    assert settled["severity"] == 2
    mend = client.actions(uri, (12, 12))[0]
    assert apply_changes(SOURCE, mend["edit"]["changes"][uri]) == MENDED
    path.write_text(MENDED, encoding="utf-8")
    client.change(uri, 2, [{"text": MENDED}])
    client.save(uri)
    client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "ready", LONG)
    client.ask("shutdown")
    client.notify("exit")
    assert client.code() == 0
    last = [m for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"][-1]
    assert last["params"]["diagnostics"] == []


def test_mend_all_through_resolve(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(SOURCE, encoding="utf-8")
    uri = path.as_uri()
    client = start(REAL)
    client.initialize(VSCODE, initializationOptions=OPTIONS)
    client.open(uri, SOURCE)
    client.result("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    [action] = client.actions(uri, (0, 0), only=["source.fixAll.graphmend"])
    number = client.begin("codeAction/resolve", action)
    answer = client.until(lambda m: m.get("id") == number and "method" not in m, LONG)
    [change] = answer["result"]["edit"]["documentChanges"]
    assert apply_changes(SOURCE, change["edits"]) == MENDED


def test_a_broken_entry_is_told_with_a_remedy(start: Start, tmp_path: Path) -> None:
    source = SOURCE.replace("return Net(), (torch.randn(4, 8),)", "raise ValueError('no data here')")
    path = tmp_path / "model.py"
    path.write_text(source, encoding="utf-8")
    client = start(REAL)
    client.initialize(NEOVIM, initializationOptions=OPTIONS)
    client.open(path.as_uri(), source)
    client.save(path.as_uri())
    shown = client.until(
        lambda m: m.get("method") == "textDocument/publishDiagnostics" and "no data here" in str(m["params"]), LONG
    )["params"]["diagnostics"]
    [failure] = [one for one in shown if "no data here" in one["message"]]
    assert failure["severity"] == 2
    assert failure["range"]["start"]["line"] == source[: source.index("raise")].count("\n")


def test_a_break_on_the_side_that_is_not_taken_is_information(start: Start, tmp_path: Path) -> None:
    source = SOURCE.replace("            y = y * 2\n", "            y = y * 2\n            print('large')\n")
    source = source.replace("y.sum() > 0", "y.sum() > 1000")
    path = tmp_path / "model.py"
    path.write_text(source, encoding="utf-8")
    client = start(REAL)
    client.initialize(NEOVIM, initializationOptions=OPTIONS)
    client.open(path.as_uri(), source)
    client.save(path.as_uri())
    line = source[: source.index("print(")].count("\n")
    shown = client.until(
        lambda m: m.get("method") == "textDocument/publishDiagnostics" and "is true" in str(m["params"]), LONG
    )["params"]["diagnostics"]
    [other] = [one for one in shown if one["range"]["start"]["line"] == line]
    assert other["severity"] == 3
    assert "only when `y.sum() > 1000`" in other["message"].replace("Only", "only")
    assert [one["severity"] for one in shown if one["range"]["start"]["line"] == line - 2] == [2]


GATE = """import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1
"""
USER = """import torch
from gate import Gate


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x):
        return self.gate(x)


def graphmend_entry():
    return Net(), (torch.randn(4),)
"""


def test_a_break_of_a_helper_is_shown_mended_and_gone_in_both_files(start: Start, tmp_path: Path) -> None:
    main, gate = tmp_path / "main.py", tmp_path / "gate.py"
    main.write_text(USER)
    gate.write_text(GATE)
    client = start(REAL)
    client.initialize(NEOVIM, initializationOptions=OPTIONS, rootUri=tmp_path.as_uri())
    client.open(main.as_uri(), USER)
    client.save(main.as_uri())

    def shown(path: Path, words: str) -> list[Any]:
        def wanted(message: Any) -> bool:
            params = message.get("params")
            return (
                message.get("method") == "textDocument/publishDiagnostics"
                and params["uri"] == path.as_uri()
                and (words in str(params["diagnostics"]) if words else not params["diagnostics"])
            )

        found: list[Any] = client.until(wanted, LONG)["params"]["diagnostics"]
        return found

    [note] = shown(main, "This call leads to a graph break in gate.py:7")
    assert (note["severity"], note["range"]["start"]["line"]) == (3, 10)
    [there] = shown(gate, "verified safe")
    assert (there["severity"], there["range"]["start"]["line"]) == (2, 6)
    client.open(gate.as_uri(), GATE)
    shown(gate, "verified safe")
    mend = client.actions(gate.as_uri(), (6, 12))[0]
    mended = apply_changes(GATE, mend["edit"]["changes"][gate.as_uri()])
    assert "torch.where(x.sum() > 0, x * 2, x)" in mended
    gate.write_text(mended)
    client.change(gate.as_uri(), 2, [{"text": mended}])
    shown(main, "")
    client.save(gate.as_uri())
    client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "busy", LONG)
    client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "ready", LONG)
    client.result(
        "textDocument/hover", {"textDocument": {"uri": main.as_uri()}, "position": {"line": 0, "character": 0}}
    )
    last = {
        m["params"]["uri"]: m["params"]["diagnostics"]
        for m in client.seen
        if m.get("method") == "textDocument/publishDiagnostics"
    }
    assert last == {main.as_uri(): [], gate.as_uri(): []}


def test_an_endless_program_is_told_when_its_time_is_up(start: Start, tmp_path: Path) -> None:
    limit, good = (
        4.0,
        "import torch\n\ndef f(x):\n    return x\n\ndef graphmend_entry():\n    return f, (torch.ones(3),)\n",
    )
    path = tmp_path / "model.py"
    path.write_text(good)
    uri, client = path.as_uri(), start(REAL)
    options = {"trusted": True, "settings": {**OPTIONS["settings"], "worker": {"timeout": limit}}}
    client.initialize(NEOVIM, initializationOptions=options, rootUri=tmp_path.as_uri())
    client.open(uri, good)
    client.save(uri)
    client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "ready", LONG)
    endless = good.replace("    return x\n", "    while True:\n        pass\n")
    path.write_text(endless)
    client.change(uri, 2, [{"text": endless}])
    began = time.monotonic()
    client.save(uri)
    [shown] = shown_until(client, f"did not end within {limit:g} s")
    assert time.monotonic() - began < 2 * limit  # and not after a second and a third run
    assert shown["code"] == "run-timeout"


def test_what_torch_compile_fails_on_is_an_error_with_a_mend(start: Start, tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "examples" / "whitening.py").read_text("utf-8")
    path = tmp_path / "model.py"
    path.write_text(source, encoding="utf-8")
    uri = path.as_uri()
    client = start(REAL)
    client.initialize(NEOVIM, initializationOptions=OPTIONS, rootUri=tmp_path.as_uri())
    client.open(uri, source)
    client.save(uri)
    [shown] = shown_until(client, "verified safe")
    assert (shown["severity"], source.splitlines()[shown["range"]["start"]["line"]].split("=")[0].strip()) == (
        1,
        "factor",
    )
    assert "torch.compile fails at" in shown["message"] and "cholesky" in shown["message"]
    start_of = shown["range"]["start"]
    mend = client.actions(uri, (start_of["line"], start_of["character"]))[0]
    mended = apply_changes(source, mend["edit"]["changes"][uri])
    assert "factor = Whitening._forward_uncompiled(covariance)" in mended


CELLS = {
    "a": "%matplotlib inline\nimport torch\nfrom torch import nn\n\n!pip install torch",
    "b": "class Net(nn.Module):\n" + SOURCE.split("class Net(nn.Module):\n")[1].split("\n\n\ndef graphmend_entry")[0],
    "c": "model = torch.compile(Net())\nx = torch.randn(4, 8)",
    "d": "%%bash\necho 'not Python",
    "e": "y = model(x)\ny.shape",
    "f": "for step in range(3):\n    model(x).sum().backward()\nraise SystemExit('never run')",
}


def test_a_notebook_is_run_as_its_cells_call_it_and_mended_in_the_cell(start: Start, tmp_path: Path) -> None:
    client = start(REAL)
    client.initialize(CAPABILITIES, initializationOptions=OPTIONS, rootUri=tmp_path.as_uri())
    book = Notebook(client, tmp_path / "nb.ipynb", **CELLS)
    [static] = client.published(book.cell("b"))
    book.save()
    [settled] = shown_until(client, "verified safe")
    assert (settled["code"], settled["range"]) == ("GB0170", static["range"])
    assert settled["range"]["start"] == {"line": 7, "character": 11}
    mend = client.actions(book.cell("b"), (7, 12))[0]
    mended = "        y = torch.where(y.sum() > 0, y * 2, y - 1)\n"
    after = book.after(mend["edit"])
    assert after == {**CELLS, "b": after["b"]}
    assert mended in after["b"]
    titles = [
        lens["command"]["title"]
        for name in "bc"
        for lens in client.result("textDocument/codeLens", {"textDocument": {"uri": book.cell(name)}})
    ]
    assert any(title.startswith("2 graphs, 1 graph break: Mend all") for title in titles), titles
    book.rewrite("b", after["b"])
    book.save()
    assert client.until_note(
        "textDocument/publishDiagnostics", lambda told: told["uri"] == book.cell("b") and not told["diagnostics"]
    )
