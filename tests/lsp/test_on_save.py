"""Mending all on save: at once from proofs that are there, and never a save that waits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, apply_changes, proven
from tests.lsp.wire import NEOVIM, VSCODE, Client

FIX_ALL: dict[str, Any] = {"only": ["source.fixAll.graphmend"], "triggerKind": 2}
TWO = f"x = foo\ny = foo\n{ENTRY}"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "model.py").as_uri()


def opened(start: Start, uri: str, text: str, capabilities: Any = NEOVIM) -> Client:
    client = start()
    client.initialize(capabilities)
    client.open(uri, text)
    return client


def asked_before_save(client: Client, uri: str) -> list[Any]:
    began = time.monotonic()
    actions: list[Any] = client.actions(uri, (0, 0), (2, 0), **FIX_ALL)
    assert time.monotonic() - began < 1
    return actions


def edits_of(action: Any, uri: str) -> list[Any]:
    edit = action["edit"]
    edits: list[Any] = edit["changes"][uri] if "changes" in edit else edit["documentChanges"][0]["edits"]
    return edits


@pytest.mark.parametrize("order", ["hang mend", "hang check", "slow mend", "hang prove"])
def test_a_save_never_waits(start: Start, uri: str, order: str) -> None:
    client = opened(start, uri, f"# fake: {order}\n{TWO}")
    assert asked_before_save(client, uri) == []
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    assert asked_before_save(client, uri) == []


def test_what_is_proven_alone_is_made_at_once(start: Start, uri: str) -> None:
    text = f"x = foo\n{ENTRY}"
    client = opened(start, uri, text)
    client.save(uri)
    client.published(uri, proven)
    [action] = asked_before_save(client, uri)
    assert apply_changes(text, edits_of(action, uri)) == text.replace("foo", "bar")


@pytest.mark.parametrize("capabilities", [NEOVIM, VSCODE], ids=["edits inline", "edits resolved"])
def test_several_are_made_when_they_were_proven_together(start: Start, uri: str, capabilities: Any) -> None:
    client = opened(start, uri, TWO, capabilities)
    assert asked_before_save(client, uri) == []
    client.answers["window/showMessageRequest"] = lambda _params: None
    client.save(uri)
    told = client.until(lambda message: message.get("method") == "window/showMessageRequest")["params"]
    assert told["message"] == "GraphMend: verified mends for model.py. 2 graphs, now 1; 2 graph breaks, now 0."
    assert [one["title"] for one in told["actions"]] == ["Mend"]
    [action] = asked_before_save(client, uri)
    assert apply_changes(TWO, edits_of(action, uri)) == TWO.replace("foo", "bar")
    place = {"line": 2, "character": 0}
    client.change(uri, 2, [{"range": {"start": place, "end": place}, "text": "# typed on\n"}])
    assert asked_before_save(client, uri) == []  # that text was not proven


def test_the_notification_makes_what_it_offers_and_comes_once(start: Start, uri: str) -> None:
    client = opened(start, uri, TWO)
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    client.answers["window/showMessageRequest"] = lambda params: params["actions"][0]
    asked_before_save(client, uri)
    client.save(uri)
    client.until(lambda message: message.get("method") == "workspace/applyEdit")
    assert apply_changes(TWO, applied[0]["edit"]["changes"][uri]) == TWO.replace("foo", "bar")
    for _ in range(2):
        client.save(uri)
        client.until_note("window/logMessage", lambda params: "2 graph breaks in 2 graphs" in params["message"])
    client.result("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
    assert [message.get("method") for message in client.seen].count("window/showMessageRequest") == 1


@pytest.mark.parametrize("order", ["unsafe", "wrong"])
def test_what_is_not_safe_is_neither_made_nor_offered(start: Start, uri: str, order: str) -> None:
    client = opened(start, uri, f"# fake: {order}\n{TWO}")
    asked_before_save(client, uri)
    client.result("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
    assert asked_before_save(client, uri) == []
    assert not [message for message in client.seen if message.get("method") == "window/showMessageRequest"]


def test_a_user_who_does_not_mend_on_save_is_not_asked(start: Start, uri: str) -> None:
    client = opened(start, uri, TWO)
    client.result("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
    assert not [message for message in client.seen if message.get("method") == "window/showMessageRequest"]
