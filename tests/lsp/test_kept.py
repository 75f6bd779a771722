"""What is kept of earlier runs is shown when a document is opened: by a stand-in engine, and by the real one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, INFORMATION, WARNING, proven
from tests.lsp.test_real import OPTIONS, SOURCE, shown_until
from tests.lsp.test_runs import NOT_RUN
from tests.lsp.wire import NEOVIM, REAL, Client


def settled(client: Client, uri: str) -> list[Any]:
    """The document's last diagnostics when all that was begun has been answered."""
    for _ in range(3):
        client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    shown = [m["params"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"]
    diagnostics: list[Any] = [params["diagnostics"] for params in shown if params["uri"] == uri][-1]
    return diagnostics


def test_a_kept_result_is_shown_on_open(start: Start, tmp_path: Path) -> None:
    uri = (tmp_path / "model.py").as_uri()
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: kept\nx = foo\n{ENTRY}")
    [shown] = client.published(uri, proven)
    assert shown["severity"] == WARNING
    assert client.actions(uri, (1, 4))[0]["title"] == "Mend graph break: write bar"  # proven: it says no more


@pytest.mark.parametrize(
    ("name", "options"),
    [one for one in NOT_RUN if one[0] != "manual"],
    ids=[name for name, _ in NOT_RUN if name != "manual"],
)
def test_nothing_kept_is_shown_where_nothing_may_run(start: Start, tmp_path: Path, name: str, options: Any) -> None:
    uri = (tmp_path / "model.py").as_uri()
    client = start()
    client.initialize(NEOVIM, initializationOptions=options)
    client.open(uri, f"# fake: kept\nx = foo\n{ENTRY}")
    client.published(uri)
    assert [one["severity"] for one in settled(client, uri)] == [INFORMATION]


@pytest.mark.parametrize("order", ["crash kept", "nothing"])
def test_without_a_kept_result_all_is_as_before(start: Start, tmp_path: Path, order: str) -> None:
    uri = (tmp_path / "model.py").as_uri()
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: {order}\nx = foo\n{ENTRY}")
    client.published(uri)
    assert [one["severity"] for one in settled(client, uri)] == [INFORMATION]
    client.save(uri)
    client.published(uri, proven)


def test_a_save_goes_before_what_is_kept(start: Start, tmp_path: Path) -> None:
    uri = (tmp_path / "model.py").as_uri()
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: kept\n# fake: slow check\nx = foo\n{ENTRY}")
    client.change(uri, 2, [{"text": f"y = 1\nx = foo\n{ENTRY}"}])
    client.save(uri)
    [shown] = client.published(uri, proven)
    assert shown["range"]["start"]["line"] == 1


@pytest.mark.slow
def test_reopening_shows_breaks_and_proven_mends_without_a_worker(start: Start, tmp_path: Path) -> None:
    path, kept = tmp_path / "model.py", tmp_path / "kept"
    path.write_text(SOURCE, encoding="utf-8")
    uri = path.as_uri()

    def opened() -> Client:
        client = start(REAL, GRAPHMEND_CACHE_DIR=str(kept))
        client.initialize(NEOVIM, initializationOptions=OPTIONS, rootUri=tmp_path.as_uri())
        client.open(uri, path.read_text(encoding="utf-8"))
        return client

    client = opened()
    client.save(uri)
    first = shown_until(client, "verified safe")
    end = time.monotonic() + 60
    while len(list(kept.glob("*.json.z"))) < 4:  # the real run, the one without data, the proof, and what they stand on
        assert time.monotonic() < end, list(kept.glob("*"))
        time.sleep(0.1)
    client.ask("shutdown")
    client.notify("exit")
    assert client.code() == 0
    client = opened()
    assert shown_until(client, "verified safe") == first
    states = [m["params"] for m in client.seen if m.get("method") == "graphmend/status"]
    assert "starting" not in [state["state"] for state in states]
    last = states[-1]
    assert (last["state"], "cached" in last["message"], bool(last["torch"])) == ("stopped", True, True)
    client.stop()
    path.write_text(SOURCE.replace("y * 2", "y * 3"), encoding="utf-8")
    client = opened()
    client.published(uri)
    assert all("proven" not in one["message"] for one in settled(client, uri))
