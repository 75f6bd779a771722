"""When programs are run and what is told of it, over the real server process: saves, commands, workers, failures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, INFORMATION, WARNING, proven, shown_words, uri
from tests.lsp.wire import NEOVIM

__all__ = ["uri"]


def test_the_newest_save_wins(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: hang check\nx = foo\n{ENTRY}")
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    client.change(uri, 2, [{"text": f"x = 1\ny = foo\n{ENTRY}"}])
    for _ in range(5):
        client.save(uri)
    [shown] = client.published(uri, proven)
    assert shown["range"]["start"]["line"] == 1


@pytest.mark.parametrize("scheme", ["untitled:Untitled-1", "vscode-notebook-cell:/a/b.ipynb#W0sZ"])
def test_what_is_no_file_is_analysed_and_never_run(start: Start, scheme: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(scheme, f"# fake: worker\nfoo\n{ENTRY}")
    assert client.published(scheme)[0]["severity"] == INFORMATION
    client.save(scheme)
    client.published(scheme, lambda shown: "Quick fix (not verified yet)" in shown[0]["message"])
    mend, *_, ignore = client.actions(scheme, (1, 0))
    assert mend["edit"]["changes"][scheme][0]["newText"] == "bar"
    assert ignore["title"].startswith("Ignore")
    assert "pid" not in str(client.seen)


NOT_RUN: list[tuple[str, dict[str, Any]]] = [
    ("untrusted", {"trusted": False}),
    ("trust that is no boolean", {"trusted": "yes"}),
    ("manual", {"settings": {"run": "manual"}}),
    ("off", {"settings": {"graphmend.run": "off"}}),
]


@pytest.mark.parametrize(("name", "options"), NOT_RUN, ids=[name for name, _ in NOT_RUN])
def test_nothing_runs_that_the_user_has_not_allowed(start: Start, uri: str, name: str, options: Any) -> None:
    client = start()
    client.initialize(NEOVIM, initializationOptions=options)
    client.open(uri, f"# fake: worker\nx = foo\n{ENTRY}")
    client.published(uri)
    client.save(uri)
    [fix_all] = client.actions(uri, (0, 0), only=["source.fixAll"]) or [None]
    if name != "manual":
        assert fix_all is None
        client.result("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
        client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    assert "pid " not in str(client.seen)
    assert not [m for m in client.seen if m.get("method") == "graphmend/status" and m["params"]["state"] == "busy"]


def test_run_now_runs_when_saving_does_not(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM, initializationOptions={"settings": {"run": "manual"}})
    client.open(uri, f"x = foo\n{ENTRY}")
    client.result("workspace/executeCommand", {"command": "graphmend.runNow"})
    assert any(proven(m["params"]["diagnostics"]) for m in client.seen if m.get("method", "").endswith("Diagnostics"))


RUN_NOW: dict[str, tuple[str, str, dict[str, Any], str]] = {  # the text, its language, settings, what is answered
    "breaks": (f"x = foo\n{ENTRY}", "python", {}, "1 graph break in 2 graphs; 1 of them can be mended safely."),
    "none": (f"x = 1\n{ENTRY}", "python", {}, "No graph breaks in 2 graphs."),
    "a failure": (f"# fake: failure\nx = foo\n{ENTRY}", "python", {}, "ValueError: boom. Mend the entry."),
    "a defect": (f"# fake: crash check\nx = foo\n{ENTRY}", "python", {}, "The run failed inside GraphMend. See its log"),
    "nothing to run": ("x = foo\n", "python", {}, "Write a graphmend_entry function in this file"),
    "no Python": ("x = foo\n", "markdown", {}, "This is not a Python file."),
    "running is off": (f"x = foo\n{ENTRY}", "python", {"run": "off"}, "Nothing runs: running is off"),
    "too large": (f"x = foo\n{ENTRY}" + "#\n" * 500_000, "python", {}, "This file is too large to check."),
}  # fmt: skip


@pytest.mark.parametrize("name", RUN_NOW)
def test_run_now_always_answers(start: Start, uri: str, name: str) -> None:
    text, language, settings, words = RUN_NOW[name]
    client = start()
    client.initialize(NEOVIM, initializationOptions={"settings": settings})
    document = {"uri": uri, "languageId": language, "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.result("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
    assert shown_words(client)[-1].startswith(f"GraphMend: {words}")


def test_mend_all_mends_what_a_run_under_way_has_met(start: Start, uri: str) -> None:
    """No rule was asked about it yet, which is no reason to say that no mend is safe."""
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: meets\nx = foo\n{ENTRY}")
    client.save(uri)
    client.published(uri, lambda shown: shown and shown[0]["severity"] == WARNING)
    [fix_all] = client.actions(uri, (1, 4), only=["source.fixAll"])
    assert "disabled" not in fix_all
    client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    assert any(message.get("method") == "workspace/applyEdit" for message in client.seen)


def test_run_now_answers_when_a_save_takes_its_place(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: slow check\nx = foo\n{ENTRY}")
    number = client.begin("workspace/executeCommand", {"command": "graphmend.runNow", "arguments": [uri]})
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    client.save(uri)
    client.until(lambda message: message.get("id") == number and "method" not in message)
    assert "1 graph break in 2 graphs" in shown_words(client)[-1]


def test_saves_without_a_change_leave_the_run_to_its_end(start: Start, uri: str, tmp_path: Path) -> None:
    """Who saves more often than a proof takes would never get one. Another file may have changed: it is run once more."""
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: gate\nx = foo\n{ENTRY}")
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    for _ in range(3):
        client.save(uri)
        client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    (tmp_path / "open").touch()
    client.published(uri, proven)
    end = time.monotonic() + 60
    while (told := (tmp_path / "log").read_text().split()) == ["began"] and time.monotonic() < end:
        time.sleep(0.02)
    assert told == ["began", "began"]


def test_a_worker_that_is_started_again_is_told(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: died\nx = foo\n{ENTRY}")
    client.save(uri)
    client.published(uri, proven)
    assert shown_words(client) == ["GraphMend: The worker ended unexpectedly; GraphMend starts it again."]


@pytest.mark.parametrize("order", ["crash check", "lie", "flood", "raise static", "slow static"])
@pytest.mark.slow
def test_a_session_that_misbehaves_does_not_take_the_server_along(start: Start, uri: str, order: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: {order}\nx = foo\n{ENTRY}")
    client.published(uri, lambda _shown: True)
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    if order != "crash check":
        client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    client.change(uri, 2, [{"text": f"x = foo\n{ENTRY}"}])
    client.save(uri)
    client.published(uri, lambda shown: proven(shown) and len(shown) == 1)  # the first run's own may come before
    client.ask("shutdown")
    client.notify("exit")
    assert client.code() == 0


def test_a_failure_of_the_program_is_a_diagnostic_with_a_remedy(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: failure\nx = foo\n{ENTRY}")
    client.save(uri)
    shown = client.published(uri, lambda shown: any("boom" in one["message"] for one in shown))
    [failure] = [one for one in shown if "boom" in one["message"]]
    assert failure["message"] == "ValueError: boom. Mend the entry."
    assert (failure["range"]["start"]["line"], failure["severity"]) == (1, WARNING)


HELPING = {"pythonProblem": True}
ELSEWHERE = {"settings": {"worker": {"command": ["ssh", "box", "python"]}}}


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, "window/showMessage"),
        (HELPING, "graphmend/pythonProblem"),
        ({**HELPING, **ELSEWHERE}, "window/showMessage"),  # what would help is on another machine
    ],
)
def test_a_python_without_torch_is_told_once(start: Start, uri: str, options: Any, method: str) -> None:
    client = start()
    client.initialize(NEOVIM, initializationOptions={"trusted": True, **options})
    client.open(uri, f"# fake: no torch\nx = foo\n{ENTRY}")
    client.save(uri)
    told = client.until(lambda message: message.get("method") == method)["params"]
    assert told["message"].removeprefix("GraphMend: ") == "/py has no torch. Install torch."
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    both = ("window/showMessage", "graphmend/pythonProblem")
    assert [message["method"] for message in client.seen if message.get("method") in both] == [method]


def test_restart_ends_the_worker(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"# fake: worker\n# fake: hang check\nx = foo\n{ENTRY}")
    client.save(uri)
    status = client.until_note("graphmend/status", lambda params: params["message"].startswith("pid "))
    client.result("workspace/executeCommand", {"command": "graphmend.restart"})
    from tests.lsp.test_transport import is_gone

    assert is_gone(int(status["message"].split()[1]))


MANUAL, AFTER_DELAY, FOCUS_OUT = 1, 2, 3
SAVES = {
    "by hand": ({}, MANUAL, True),
    "after a delay": ({}, AFTER_DELAY, False),
    "when the focus goes": ({}, FOCUS_OUT, False),
    "after a delay, as asked for": ({"run": "onEverySave"}, AFTER_DELAY, True),
    "by hand, where every save runs": ({"run": "onEverySave"}, MANUAL, True),
}


@pytest.mark.parametrize("name", SAVES)
def test_a_save_by_the_editor_itself_runs_only_where_asked_for(start: Start, uri: str, name: str) -> None:
    settings, reason, runs = SAVES[name]
    client = start()
    client.initialize(NEOVIM, initializationOptions={"settings": settings})
    client.open(uri, f"x = foo\n{ENTRY}")
    client.published(uri)
    client.notify("textDocument/willSave", {"textDocument": {"uri": uri}, "reason": reason})
    client.save(uri)
    if not runs:
        time.sleep(0.5)
        client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
        states = [m["params"]["state"] for m in client.seen if m.get("method") == "graphmend/status"]
        assert "busy" not in states
        client.save(uri)  # this one is not announced: it is the user's
    client.published(uri, lambda shown: shown and shown[0]["severity"] == WARNING)


STARTED = {
    "edited": ({}, True, True),
    "no entry": ({}, False, False),
    "run by hand": ({"run": "manual"}, True, False),
    "run off": ({"run": "off"}, True, False),
    "a worker elsewhere": ({"worker": {"command": ["ssh", "box", "python"]}}, True, False),
}


@pytest.mark.parametrize("name", STARTED)
def test_the_worker_is_started_when_a_save_is_to_be_expected(start: Start, uri: str, name: str) -> None:
    settings, has_entry, started = STARTED[name]
    client = start()
    client.initialize(NEOVIM, initializationOptions={"trusted": True, "settings": settings})
    text = f"x = foo\n{ENTRY if has_entry else ''}"
    client.open(uri, text)
    client.published(uri)

    def was_started() -> bool:
        notes = [m["params"] for m in client.seen if m.get("method") == "graphmend/status"]
        return any(params["message"] == "started" for params in notes)

    assert not was_started()  # nothing on open
    client.change(uri, 2, [{"text": text + "# edited\n"}])
    if started:
        client.until_note("graphmend/status", lambda params: params["message"] == "started")
    client.save(uri)
    client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    assert was_started() == started
