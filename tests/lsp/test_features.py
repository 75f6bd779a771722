"""What a user sees and does, over the real server process, for clients that differ in what they can."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.wire import NEOVIM, VSCODE, Client

ENTRY = "def graphmend_entry(): ...\n"
WARNING, INFORMATION = 2, 3


@pytest.fixture
def uri(tmp_path: Path) -> Iterator[str]:
    yield (tmp_path / "model.py").as_uri()


def proven(diagnostics: list[Any]) -> bool:
    return bool(diagnostics) and all("verified safe" in shown["message"] for shown in diagnostics)


def typed(diagnostics: list[Any]) -> bool:
    return bool(diagnostics) and all(shown["severity"] == INFORMATION for shown in diagnostics)


def ready(start: Start, uri: str, text: str, capabilities: Any = NEOVIM, **more: Any) -> Client:
    """A server that has run and proven what the text holds (a pushing client's view)."""
    client = start()
    client.initialize(capabilities, **more)
    client.open(uri, text)
    client.save(uri)
    client.published(uri, lambda shown: any("Costs" in one["message"] for one in shown))
    client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    return client


def apply_changes(text: str, edits: list[Any], encoding: str = "utf-16") -> str:
    """Apply LSP edits as a client does, in its encoding."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]

    def offset(place: Any) -> int:
        line = lines[place["line"]]
        units = line.encode(encoding if encoding == "utf-8" else encoding + "-le")
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        part = units[: place["character"] * width].decode(encoding if encoding == "utf-8" else encoding + "-le")
        return starts[place["line"]] + len(part)

    placed = [(offset(edit["range"]["start"]), offset(edit["range"]["end"]), edit["newText"]) for edit in edits]
    for begin, end, new in sorted(placed, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


@pytest.mark.parametrize(
    ("offered", "chosen", "character"),
    [
        (None, "utf-16", 10),
        (["utf-16"], "utf-16", 10),
        (["utf-8", "utf-16", "utf-32"], "utf-8", 12),
        (["utf-32", "utf-8", "utf-16"], "utf-32", 9),
        (["utf-7", "utf-32"], "utf-32", 9),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_places_are_in_the_encoding_that_the_client_prefers(
    start: Start, uri: str, offered: list[str] | None, chosen: str, character: int, end: str
) -> None:
    capabilities = {**NEOVIM, "general": {"positionEncodings": offered}}
    text = f'# 𝒜\nx = "𝒜"; foo = 1\n{ENTRY}'.replace("\n", end)
    client = start()
    assert client.initialize(capabilities)["capabilities"]["positionEncoding"] == chosen
    client.open(uri, text)
    client.save(uri)
    shown = client.published(uri, proven)[0]
    assert shown["range"]["start"] == {"line": 1, "character": character}
    [mend, *_] = client.actions(uri, (1, character))
    edits = mend["edit"]["changes"][uri]
    assert apply_changes(text, edits, chosen) == text.replace("foo", "bar")
    client.change(uri, 2, [{"range": shown["range"], "text": "𝒜 foo"}])
    moved = client.published(uri, typed)[0]["range"]["start"]["character"]
    assert moved == character + {"utf-8": 5, "utf-16": 3, "utf-32": 2}[chosen]


def test_while_typing_and_after_a_save(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"x = foo\n{ENTRY}")
    [early] = client.published(uri)
    assert (early["severity"], early["code"], early["source"]) == (INFORMATION, "GB0170", "graphmend")
    assert "No run has reached it" in early["message"]
    client.save(uri)
    [run] = client.published(uri, lambda shown: shown and shown[0]["severity"] == WARNING)
    assert "Costs 1 more graph." in run["message"]
    [settled] = client.published(uri, proven)
    assert "Quick fix, verified safe: write bar." in settled["message"]
    assert settled["relatedInformation"][-1]["message"] == "the graph breaks here, in inner"
    assert "codeDescription" not in settled  # this client does not know it
    assert "data" not in settled


def test_findings_of_a_run_follow_edits(start: Start, uri: str) -> None:
    text = f"def forward(x):\n    y = 1\n    z = foo\n    return z\n\n\n{ENTRY}"
    versions = {"publishDiagnostics": {"versionSupport": True}}
    client = ready(start, uri, text, {**NEOVIM, "textDocument": {**NEOVIM["textDocument"], **versions}})

    def insert(version: int, line: int, new: str) -> list[Any]:
        place = {"line": line, "character": 0}
        client.change(uri, version, [{"range": {"start": place, "end": place}, "text": new}])
        told = client.until_note("textDocument/publishDiagnostics", lambda params: params["version"] == version)
        diagnostics: list[Any] = told["diagnostics"]
        return diagnostics

    [shown] = insert(2, 0, "# above\n\n")
    assert shown["range"]["start"] == {"line": 4, "character": 8}
    assert shown["severity"] == WARNING
    assert "before your edits" not in shown["message"]
    assert "not verified yet" in shown["message"]  # the text is not the one that was proven
    [mend, *_] = client.actions(uri, (4, 9))
    assert mend["title"] == "Mend graph break: write bar (not verified yet)"
    assert not mend.get("isPreferred")
    [shown] = insert(3, 3, "    w = 2\n")
    assert "(Seen before your edits.)" in shown["message"]
    assert shown["range"]["start"] == {"line": 5, "character": 8}
    [shown] = insert(4, 5, "  ")  # its own line: the static tier takes over
    assert shown["severity"] == INFORMATION
    assert "No run has reached it" in shown["message"]


def test_a_break_is_shown_when_it_is_met(start: Start, uri: str) -> None:
    text, more = f"def f():\n    x = foo\n{ENTRY}", "y = foo\nz = foo\n"
    client = ready(start, uri, text)

    def insert(version: int, line: int, inserted: str) -> None:
        place = {"line": line, "character": 0}
        client.change(uri, version, [{"range": {"start": place, "end": place}, "text": inserted}])
        client.published(uri, lambda shown: len(shown) == 3)

    insert(2, 3, more)
    insert(3, 0, "# fake: meets\n")
    client.save(uri)
    first, second, third = client.published(uri, lambda shown: len(shown) == 3 and shown[2]["severity"] == WARNING)
    assert first["severity"] == WARNING  # of the run before, which still stands
    assert second["severity"] == INFORMATION  # not met yet
    assert "No run has reached it" not in third["message"] and "Costs 1 more graph" in third["message"]
    assert "Quick fix" not in third["message"]
    insert(4, 0, "\n\n")
    *_, moved = client.published(uri, lambda shown: len(shown) == 3 and shown[1]["severity"] == INFORMATION)
    assert (moved["severity"], moved["range"]["start"]["line"]) == (WARNING, 7)
    client.change(uri, 5, [{"text": text + more}])
    client.save(uri)
    shown = client.published(uri, lambda shown: len(shown) == 3 and proven(shown))
    assert all(one["severity"] == WARNING for one in shown)


def test_a_run_that_ends_after_more_typing_is_mapped_to_the_text_now(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: slow check\nx = foo\n{ENTRY}")
    client.published(uri)
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    start_of_text = {"line": 0, "character": 0}
    client.change(uri, 2, [{"range": {"start": start_of_text, "end": start_of_text}, "text": "\n\n\n"}])
    [shown] = client.published(uri, lambda shown: shown and shown[0]["severity"] == WARNING)
    assert shown["range"]["start"] == {"line": 4, "character": 4}
    assert "not verified yet" in shown["message"]


def test_the_quick_fix_is_inline_where_it_cannot_be_resolved(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}")
    mend, fix_all, ignore = client.actions(uri, (0, 5))
    assert mend["title"] == "Mend graph break: write bar"
    assert mend["kind"] == "quickfix"
    assert "data" not in mend
    assert list(mend["edit"]) == ["changes"]
    assert ignore["title"] == "Ignore this break (GB0170)"
    assert ignore["edit"]["changes"][uri][0]["newText"] == "  # graphmend: ignore[GB0170]"
    assert fix_all["command"]["command"] == "graphmend.mendAll"


def test_a_client_that_applies_all_that_it_gets_gets_one_verified_mend(start: Start, uri: str) -> None:
    """Kate 22.12 asks about the whole document for the diagnostic at the cursor, and makes every edit of the answer."""
    text = f"x = foo\ny = foo\n{ENTRY}"
    client = ready(start, uri, text)
    published = [m["params"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"]
    first, second = published[-1]["diagnostics"]
    end = (text.count("\n"), 0)
    [mend] = client.actions(uri, (0, 0), end, diagnostics=[second])
    assert mend["title"] == "Mend graph break: write bar"
    assert mend["edit"]["changes"][uri][0]["range"] == second["range"]
    assert "data" not in mend
    assert len(client.actions(uri, (0, 0), end, diagnostics=[first, second])) > 2
    assert len(client.actions(uri, (0, 0), (1, 0), diagnostics=[first])) > 2
    elsewhere = {**second, "range": {**second["range"], "end": first["range"]["end"]}}
    assert client.actions(uri, (0, 0), end, diagnostics=[elsewhere]) == []
    client.change(uri, 2, [{"text": f"x = 1; y = foo\n{ENTRY}"}])
    [unproven] = client.published(uri, lambda shown: len(shown) == 1)
    assert client.actions(uri, (0, 0), (9, 0), diagnostics=[unproven]) == []


def test_the_quick_fix_is_resolved_where_that_is_known(start: Start, uri: str) -> None:
    client = start()
    client.initialize(VSCODE)
    client.open(uri, f"x = foo\n{ENTRY}")
    pull = {"textDocument": {"uri": uri}}
    assert client.result("textDocument/diagnostic", pull)["items"][0]["severity"] == INFORMATION
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    client.until(lambda message: message.get("method") == "workspace/diagnostic/refresh")
    report = client.result("textDocument/diagnostic", pull)
    [shown] = report["items"]
    assert shown["severity"] == WARNING
    assert shown["codeDescription"]["href"].endswith("/pages/GB0170.md")
    assert shown["data"]["id"]
    again = client.result("textDocument/diagnostic", {**pull, "previousResultId": report["resultId"]})
    assert again == {"kind": "unchanged", "resultId": report["resultId"]}
    mend = client.actions(uri, (0, 4), (0, 7))[0]
    assert mend["isPreferred"] is True
    assert "edit" not in mend
    resolved = client.result("codeAction/resolve", mend)
    [change] = resolved["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert [edit["newText"] for edit in change["edits"]] == ["bar"]
    # Text added above: the edit is computed for the text as it is now, and is no longer proven: refused.
    place = {"line": 0, "character": 0}
    client.change(uri, 2, [{"range": {"start": place, "end": place}, "text": "\n"}])
    assert client.ask("codeAction/resolve", mend)["error"]["code"] == -32801
    fresh = client.actions(uri, (1, 4))[0]
    assert fresh["title"].endswith("(not verified yet)")
    [change] = client.result("codeAction/resolve", fresh)["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 2
    assert change["edits"][0]["range"]["start"] == {"line": 1, "character": 4}
    assert not [message for message in client.seen if message.get("method") == "textDocument/publishDiagnostics"]


SAFETY = [
    ("unsafe", "Mend graph break: write bar (unsafe: outputs differ by 1e-6)"),
    ("wrong", None),
]


def test_a_break_with_another_behind_it_is_left_to_mending_all(start: Start, uri: str) -> None:
    text = f"# fake: behind\nx = foo\n{ENTRY}"
    client = ready(start, uri, text)
    actions = {action["title"]: action for action in client.actions(uri, (1, 4))}
    assert list(actions) == ["Mend all graph breaks in file", "Ignore this break (GB0170)"]
    last = [m["params"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"][-1]
    assert "another break stands behind this one" in last["diagnostics"][0]["message"]
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    client.result("workspace/executeCommand", actions["Mend all graph breaks in file"]["command"])
    assert apply_changes(text, applied[0]["edit"]["changes"][uri]) == text.replace("foo", "bar")


@pytest.mark.parametrize(("safety", "title"), SAFETY)
def test_what_is_not_safe_says_so_or_is_not_offered(start: Start, uri: str, safety: str, title: str | None) -> None:
    client = ready(start, uri, f"# fake: {safety}\nx = foo\n{ENTRY}", {**NEOVIM, "textDocument": {
        **NEOVIM["textDocument"],
        "codeAction": {**VSCODE["textDocument"]["codeAction"], "resolveSupport": {"properties": []}},
    }})  # fmt: skip
    actions = client.actions(uri, (1, 4))
    mends = [action for action in actions if action["title"].startswith("Mend graph break")]
    assert len(mends) == 1
    assert "isPreferred" not in mends[0]
    if title is None:
        assert "edit" not in mends[0]
        assert "outputs differ by 1e-6" in mends[0]["disabled"]["reason"]
    else:
        assert mends[0]["title"] == title
        assert "edit" in mends[0]
    fix_all = client.actions(uri, (1, 4), only=["source.fixAll"])
    assert fix_all[0]["disabled"]["reason"] == "No mend of this file is verified safe."


@pytest.mark.parametrize("disabled", [False, True])
def test_why_nothing_is_offered_is_said_in_the_message(start: Start, uri: str, disabled: bool) -> None:
    """Also to a client that knows disabled actions: VS Code's menu leaves them out."""
    client = start()
    action = {**NEOVIM["textDocument"]["codeAction"], "disabledSupport": disabled}
    client.initialize({**NEOVIM, "textDocument": {**NEOVIM["textDocument"], "codeAction": action}})
    client.open(uri, "# fake: decline\nx = foo\n")
    [shown] = client.published(uri, lambda shown: shown and "Not mended" in shown[0]["message"])
    assert "Not mended: The value is None." in shown["message"]
    mends = [a for a in client.actions(uri, (1, 4)) if a["title"].startswith("Mend graph break")]
    assert all("disabled" in mend for mend in mends)
    assert bool(mends) == disabled


def test_only_what_was_asked_for(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\ny = foo\n{ENTRY}")
    kinds = {None: {"quickfix"}, "source": {"source.fixAll.graphmend"}, "quickfix": {"quickfix"}, "refactor": set()}
    for only, expected in kinds.items():
        actions = client.actions(uri, (0, 5), **({"only": [only]} if only else {}))
        assert {action["kind"] for action in actions} == expected, only
    assert [a["title"] for a in client.actions(uri, (0, 5))].count("Mend all graph breaks in file") == 1
    assert {action["kind"] for action in client.actions(uri, (2, 0))} == {"source.fixAll.graphmend"}


def test_a_client_without_action_literals_gets_commands(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}", {"workspace": {"applyEdit": True}})
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    mend = client.actions(uri, (0, 5))[0]
    assert set(mend) == {"title", "command", "arguments"}
    client.result("workspace/executeCommand", {"command": mend["command"], "arguments": mend["arguments"]})
    assert applied[0]["edit"]["changes"][uri][0]["newText"] == "bar"


def test_mend_all_by_command_with_progress(start: Start, uri: str) -> None:
    text = f"# fake: slow mend\nx = foo\ny = foo\n{ENTRY}"
    capabilities = {**NEOVIM, "window": {"workDoneProgress": True}}
    client = ready(start, uri, text, capabilities)
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    assert apply_changes(text, applied[0]["edit"]["changes"][uri]) == text.replace("foo", "bar")
    told = [m["params"]["value"]["kind"] for m in client.seen if m.get("method") == "$/progress"]
    assert told[0] == "begin"
    assert told[-1] == "end"


@pytest.mark.parametrize("token", ["the client's own", None])
def test_mend_all_tells_each_round_and_a_cancelled_one_changes_nothing(
    start: Start, uri: str, token: str | None
) -> None:
    client = start()
    client.initialize({**NEOVIM, "window": {"workDoneProgress": True}})
    client.open(uri, f"# fake: hang mend\nx = foo\n{ENTRY}")
    client.published(uri)
    params = {"command": "graphmend.mendAll", "arguments": [uri], **({"workDoneToken": token} if token else {})}
    number = client.begin("workspace/executeCommand", params)
    told = client.until_note("$/progress", lambda one: one["value"].get("message") == "round 2")
    assert token in (told["token"], None)
    begun = next(m["params"]["value"] for m in client.seen if m.get("method") == "$/progress")
    assert (begun["kind"], begun["title"], begun["cancellable"]) == ("begin", "Mending graph breaks", True)
    client.notify("window/workDoneProgress/cancel", {"token": told["token"]})
    answer = client.until(lambda message: message.get("id") == number and "method" not in message)
    assert answer["error"]["code"] == -32800
    ended = [m["params"]["value"]["kind"] for m in client.seen if m.get("method") == "$/progress"]
    assert ended.count("end") == 1
    client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    assert not [m for m in client.seen if m.get("method") == "workspace/applyEdit"]


def test_progress_says_how_long_a_step_takes_and_an_edit_ends_it(start: Start, uri: str) -> None:
    client = start()
    client.initialize({**NEOVIM, "window": {"workDoneProgress": True}})
    client.open(uri, f"# fake: hang mend\nx = foo\n{ENTRY}")
    client.published(uri)
    number = client.begin("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    client.until_note("$/progress", lambda told: re.fullmatch(r"round 2 \(\d s\)", told["value"].get("message") or ""))
    client.change(uri, 2, [{"text": f"x = foo\n{ENTRY}"}])
    answer = client.until(lambda message: message.get("id") == number and "method" not in message)
    assert answer["error"]["code"] == -32801
    assert "changed while GraphMend verified the mends" in answer["error"]["message"]
    assert [m["params"]["value"]["kind"] for m in client.seen if m.get("method") == "$/progress"][-1] == "end"


def test_mending_all_closes_with_counts(start: Start, uri: str) -> None:
    client = start()
    client.initialize({**NEOVIM, "window": {"workDoneProgress": True}})
    client.open(uri, f"# fake: slow mend\nx = foo\ny = foo\n{ENTRY}")
    client.answers["workspace/applyEdit"] = lambda _params: {"applied": True}
    client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    words = "2 graphs, now 1; 2 graph breaks, now 0."
    assert shown_words(client)[-1] == f"GraphMend: {words}"
    ended = [m["params"]["value"] for m in client.seen if m.get("method") == "$/progress"][-1]
    assert (ended["kind"], ended["message"]) == ("end", words)


def measured(client: Client, *arguments: Any) -> Any:
    return client.result("workspace/executeCommand", {"command": "graphmend.measure", "arguments": list(arguments)})


def shown_words(client: Client) -> list[str]:
    return [m["params"]["message"] for m in client.seen if m.get("method") == "window/showMessage"]


def test_the_speed_up_is_measured_by_command(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}")
    [one] = measured(client, {"uri": uri, "backend": "aot_eager"})["measured"]
    assert (one["ratio"], one["first_ratio"], one["backend"], one["noisy"]) == (1.5, 0.5, "aot_eager", False)
    [words] = shown_words(client)
    assert words.startswith(
        "GraphMend: model.py:graphmend_entry (eval): 1.50 times as fast warm (1.49 to 1.51 in 9 samples"
    )
    assert "first call 0.50 times as fast" in words
    assert not [m for m in client.seen if m.get("method") == "workspace/applyEdit"]


def test_what_is_measured_says_when_it_is_noisy_or_nothing(start: Start, uri: str) -> None:
    client = ready(start, uri, f"# fake: noise\nx = foo\n{ENTRY}")
    assert measured(client, uri)["measured"][0]["noisy"] is True
    assert "vary too much" in shown_words(client)[-1]
    client.change(uri, 2, [{"text": f"x = 1\n{ENTRY}"}])
    assert measured(client, uri) == {"measured": []}
    assert "no verified mend to measure" in shown_words(client)[-1]
    answer = client.ask(
        "workspace/executeCommand", {"command": "graphmend.measure", "arguments": [{"uri": uri, "backend": 3}]}
    )
    assert answer["error"]["code"] == -32602


def test_a_measurement_can_be_cancelled(start: Start, uri: str) -> None:
    client = start()
    client.initialize({**NEOVIM, "window": {"workDoneProgress": True}})
    client.open(uri, f"# fake: hang measure\nx = foo\n{ENTRY}")
    client.published(uri)
    params = {"command": "graphmend.measure", "arguments": [uri], "workDoneToken": "mine"}
    number = client.begin("workspace/executeCommand", params)
    client.until_note("$/progress", lambda told: told["value"].get("message") == "measuring")
    client.notify("window/workDoneProgress/cancel", {"token": "mine"})
    answer = client.until(lambda message: message.get("id") == number and "method" not in message)
    assert answer["error"]["code"] == -32800


def test_mend_all_resolved_and_refused_when_the_text_changes_meanwhile(start: Start, uri: str) -> None:
    client = start()
    client.initialize(VSCODE)
    client.open(uri, f"# fake: slow mend\nx = foo\n{ENTRY}")
    client.result("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    [action] = client.actions(uri, (0, 0), only=["source.fixAll.graphmend"])
    resolved = client.result("codeAction/resolve", action)
    assert resolved["edit"]["documentChanges"][0]["edits"][0]["newText"] == "bar"
    number = client.begin("codeAction/resolve", action)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    place = {"line": 0, "character": 0}
    client.change(uri, 2, [{"range": {"start": place, "end": place}, "text": "\n"}])
    answer = client.until(lambda message: message.get("id") == number and "method" not in message)
    assert answer["error"]["code"] == -32801


def test_mend_all_can_create_a_file(start: Start, uri: str) -> None:
    client = start()
    client.initialize(VSCODE)
    client.open(uri, f"# fake: create file\nx = foo\n{ENTRY}")
    client.result("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    [action] = client.actions(uri, (0, 0), only=["source.fixAll.graphmend"])
    changes = client.result("codeAction/resolve", action)["edit"]["documentChanges"]
    assert [change.get("kind") for change in changes] == [None, "create", None]
    assert changes[2]["edits"][0]["newText"] == "made = 1\n"


def test_progress_can_be_cancelled(start: Start, uri: str) -> None:
    client = start()
    client.initialize({**NEOVIM, "window": {"workDoneProgress": True}})
    client.open(uri, f"# fake: hang check\nx = foo\n{ENTRY}")
    client.save(uri)
    begun = client.until_note("$/progress", lambda params: params["value"]["kind"] == "begin")
    assert begun["value"]["cancellable"] is True
    client.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
    ended = client.until_note("$/progress", lambda params: params["value"]["kind"] == "end")
    assert ended["token"] == begun["token"]
    client.change(uri, 2, [{"text": f"x = foo\n{ENTRY}"}])
    client.save(uri)
    assert client.published(uri, proven)


def test_hover_tells_all(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}")
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    hover = client.result("textDocument/hover", place)
    words = hover["contents"]["value"]
    for part in (
        "foo breaks the graph.",
        "Costs 1 more graph",
        "write bar (verified safe)",
        "less foo",
        "Graphs 2 → 1",
        "Predicated control flow",
    ):
        assert part in words
    assert hover["range"] == {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}


def test_hover_leaves_out_what_the_editor_shows_beside_it(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}", clientInfo={"name": "Visual Studio Code"})
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 5}}
    words = client.result("textDocument/hover", place)["contents"]["value"]
    last = [m["params"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"][-1]
    for line in last["diagnostics"][0]["message"].split("\n"):
        assert line not in words
    assert "```diff\n-x = foo\n+x = bar\n" in words


def test_without_an_entry_a_lens_says_so_and_a_stub_is_written(start: Start, uri: str) -> None:
    text = "class Net(M):\n  def __init__(self, width):\n    ...\n  def forward(self, x, mask=None):\n    foo\n"
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, text)
    client.published(uri)
    [lens] = client.result("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == "GraphMend has nothing to run here. Add an example call"
    assert lens["range"]["start"]["line"] == 0
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    client.result("workspace/executeCommand", lens["command"])
    after = apply_changes(text, applied[0]["edit"]["changes"][uri])
    assert after.startswith(text + "\n\ndef graphmend_entry():\n")
    assert "model = Net(width=...)" in after
    assert after.endswith("    return model, (x,)\n")
    compile(after, "after", "exec")
    titles = [action["title"] for action in client.actions(uri, (4, 5))]
    assert "Write a graphmend_entry to run this file's model" in titles
    client.change(uri, 2, [{"text": after}])
    client.published(uri)
    assert client.result("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []


def test_a_large_file_is_not_analysed_and_says_so(start: Start, uri: str) -> None:
    large = f"# fake: slow static\nx = foo\n{ENTRY}" + "# a line\n" * 555_000
    client = start()
    client.initialize(NEOVIM)
    began = time.monotonic()
    client.open(uri, large)
    [said] = client.published(uri)
    assert "it has 5.0 MB, and the limit is 1 MB" in said["message"]
    assert said["severity"] == INFORMATION
    assert client.actions(uri, (1, 4)) == []
    assert (
        client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 4}})
        is None
    )
    place = {"line": 0, "character": 0}
    client.change(uri, 2, [{"range": {"start": place, "end": place}, "text": "#"}])
    client.published(uri)
    assert time.monotonic() - began < 8  # 23 s when it was parsed
    client.change(uri, 3, [{"text": f"x = foo\n{ENTRY}"}])
    assert client.published(uri, typed)
    client.save(uri)
    assert client.published(uri, proven)


def test_settings_are_asked_for_and_change(start: Start, uri: str) -> None:
    client = start()
    client.answers["workspace/configuration"] = lambda _params: [{"enable": False}]
    client.initialize(
        {**NEOVIM, "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}}
    )
    client.until(lambda message: message.get("method") == "client/registerCapability")
    client.open(uri, "foo\n")
    client.published(uri, lambda shown: not shown)
    client.notify("workspace/didChangeConfiguration", {"settings": {"graphmend": {"enable": True, "device": "abacus"}}})
    assert client.published(uri)
    assert any("graphmend.device must be auto or cpu or cuda" in str(message) for message in client.seen)


def test_a_closed_document_leaves_nothing(start: Start, uri: str) -> None:
    client = ready(start, uri, f"x = foo\n{ENTRY}")
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.published(uri, lambda shown: not shown) == []
    assert client.actions(uri, (0, 5)) == []
    client.open(uri, "x = foo\n")
    assert client.published(uri)[0]["severity"] == INFORMATION


def test_ignored_breaks_disappear(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, "x = foo\n")
    client.published(uri)
    [ignore] = [a for a in client.actions(uri, (0, 5)) if a["title"].startswith("Ignore")]
    client.change(uri, 2, [{"text": apply_changes("x = foo\n", ignore["edit"]["changes"][uri])}])
    client.published(uri, lambda shown: not shown)


def test_line_ends_of_unicode_do_not_shift_findings(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, "a = 1\x0cb = 2\u2028\nfoo\n")
    assert client.published(uri)[0]["range"]["start"] == {"line": 1, "character": 0}
    place = {"line": 1, "character": 0}
    client.change(uri, 2, [{"range": {"start": place, "end": place}, "text": "x = "}])
    assert client.published(uri)[0]["range"]["start"] == {"line": 1, "character": 4}
