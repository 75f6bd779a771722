"""What runs find in all files of the workspace, open or not: shown where it is, and gone when it is no more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, INFORMATION, WARNING
from tests.lsp.wire import NEOVIM, VSCODE, Client

MAIN = f"import helper\nhelper()  # fake call\n{ENTRY}"
TWICE = f"import helper\nhelper()  # fake call\nhelper()  # fake call\n{ENTRY}"
HELPER = "def inner():\n    foo\n"
MENDED = HELPER.replace("foo", "bar")
NOTE = "This call leads to a graph break in helper.py:2: foo breaks the graph."
Shown = list[tuple[int, int, str]]  # severity, line (from 0), first words


class Editor:
    """An editor with a project of two files, which sees diagnostics the way its client does."""

    def __init__(self, start: Start, folder: Path, capabilities: Any) -> None:
        self.folder, self.pulls = folder, capabilities is VSCODE
        self.client: Client = start()
        self.open: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.write("main.py", MAIN)
        self.write("helper.py", HELPER)
        self.client.initialize(capabilities, rootUri=folder.as_uri())

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def opens(self, name: str) -> None:
        self.open[name] = (self.folder / name).read_text()
        self.versions[name] = 1
        self.client.open(self.uri(name), self.open[name])

    def types(self, name: str, text: str) -> None:
        self.open[name] = text
        self.versions[name] += 1
        self.client.change(self.uri(name), self.versions[name], [{"text": text}])

    def saves(self, name: str) -> None:
        self.write(name, self.open[name])
        self.client.save(self.uri(name))

    def closes(self, name: str) -> None:
        del self.open[name]
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def shows(self, wanted: dict[str, Shown]) -> None:
        """Wait until exactly that is shown in all files."""
        wanted = {name: shown for name, shown in wanted.items() if shown}
        end = time.monotonic() + 10
        while (seen := self.seen()) != wanted:
            assert time.monotonic() < end, seen
            time.sleep(0.05)

    def seen(self) -> dict[str, Shown]:
        shown: dict[str, list[Any]] = {}
        if self.pulls:
            for name in self.open:
                asked = self.client.result("textDocument/diagnostic", {"textDocument": {"uri": self.uri(name)}})
                shown[self.uri(name)] = asked["items"]
            asked = self.client.result("workspace/diagnostic", {"previousResultIds": []})
            shown |= {one["uri"]: one["items"] for one in asked["items"]}
        else:
            self.client.result(
                "textDocument/hover",
                {"textDocument": {"uri": self.uri("none")}, "position": {"line": 0, "character": 0}},
            )
            for message in self.client.seen:
                if message.get("method") == "textDocument/publishDiagnostics":
                    shown[message["params"]["uri"]] = message["params"]["diagnostics"]
        return {
            uri.rsplit("/", 1)[1]: sorted(
                (one["severity"], one["range"]["start"]["line"], one["message"].split("\n")[0]) for one in items
            )
            for uri, items in shown.items()
            if items
        }


@pytest.fixture(params=[NEOVIM, VSCODE], ids=["push", "pull"])
def editor(start: Start, tmp_path: Path, request: pytest.FixtureRequest) -> Editor:
    return Editor(start, tmp_path, request.param)


BROKEN: dict[str, Shown] = {
    "helper.py": [(WARNING, 1, "foo breaks the graph.")],
    "main.py": [(INFORMATION, 1, NOTE)],
}


def test_a_break_is_shown_in_its_file_which_is_not_open(editor: Editor) -> None:
    editor.opens("main.py")
    editor.saves("main.py")
    editor.shows(BROKEN)


def test_it_stays_when_its_file_is_opened_edited_and_closed(editor: Editor) -> None:
    editor.opens("main.py")
    editor.saves("main.py")
    editor.shows(BROKEN)
    editor.opens("helper.py")
    editor.shows(BROKEN)
    editor.types("helper.py", "\n\n" + HELPER)
    note = NOTE.replace(":2", ":4")
    moved: dict[str, Shown] = {
        "helper.py": [(WARNING, 3, "foo breaks the graph.")],
        "main.py": [(INFORMATION, 1, note)],
    }
    editor.shows(moved)
    [mend, *_] = editor.client.actions(editor.uri("helper.py"), (3, 5))
    assert mend["title"].startswith("Mend graph break: write bar")
    editor.closes("helper.py")  # unsaved
    editor.shows(BROKEN)
    editor.closes("main.py")
    editor.shows(BROKEN)


@pytest.mark.parametrize("open_too", [True, False], ids=["main open", "main closed"])
def test_mending_the_helper_takes_the_note_away(editor: Editor, open_too: bool) -> None:
    editor.opens("main.py")
    editor.saves("main.py")
    editor.shows(BROKEN)
    if not open_too:
        editor.closes("main.py")
    editor.opens("helper.py")
    editor.types("helper.py", MENDED)
    editor.shows({})
    editor.saves("helper.py")
    editor.shows({})
    editor.types("helper.py", HELPER)
    editor.saves("helper.py")
    editor.shows(BROKEN)


def test_dropping_the_call_takes_the_break_away(editor: Editor) -> None:
    editor.opens("main.py")
    editor.opens("helper.py")
    editor.saves("main.py")
    editor.shows(BROKEN)
    editor.closes("helper.py")
    editor.types("main.py", f"import helper\n{ENTRY}")
    editor.saves("main.py")
    editor.shows({})


def test_an_entry_that_is_gone_leaves_nothing(editor: Editor) -> None:
    editor.opens("main.py")
    editor.saves("main.py")
    editor.shows(BROKEN)
    editor.types("main.py", MAIN.replace("graphmend_entry", "graphmend_entry_other"))
    editor.saves("main.py")
    editor.shows(BROKEN)


def test_a_file_that_changes_on_disk_is_no_longer_what_was_run(editor: Editor) -> None:
    editor.opens("main.py")
    editor.saves("main.py")
    editor.shows(BROKEN)
    editor.write("helper.py", "# another\n" + HELPER)
    editor.types("main.py", "\n" + MAIN)
    editor.saves("main.py")
    note = NOTE.replace(":2", ":3")
    editor.shows({"helper.py": [(WARNING, 2, "foo breaks the graph.")], "main.py": [(INFORMATION, 2, note)]})


def test_each_call_has_its_note_and_breaks_count(editor: Editor) -> None:
    editor.write("helper.py", HELPER + "    foo\n")
    editor.write("main.py", TWICE)
    editor.opens("main.py")
    editor.saves("main.py")
    two = NOTE.replace("a graph break in", "2 graph breaks, the first in")
    seen: dict[str, Shown] = {
        "helper.py": [(WARNING, 1, "foo breaks the graph."), (WARNING, 2, "foo breaks the graph.")],
        "main.py": [(INFORMATION, 1, two), (INFORMATION, 2, two)],
    }
    found = time.monotonic() + 10
    while {name: sorted(set(shown)) for name, shown in editor.seen().items()} != seen:
        assert time.monotonic() < found, editor.seen()
        time.sleep(0.05)


def test_a_pull_of_the_workspace_waits_for_news(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, VSCODE)
    editor.opens("main.py")
    editor.saves("main.py")
    editor.client.until_note("graphmend/status", lambda params: params["state"] == "ready" and not params["message"])
    editor.shows(BROKEN)
    [first] = editor.client.result("workspace/diagnostic", {"previousResultIds": []})["items"]
    editor.types("main.py", f"import helper\n{ENTRY}")
    editor.saves("main.py")
    report = first
    for _ in range(5):  # an edit voids the proof, which is news too
        known = [{"uri": report["uri"], "value": report["resultId"]}]
        [report] = editor.client.result("workspace/diagnostic", {"previousResultIds": known})["items"]
        assert report["kind"] == "full"
        if not report["items"]:
            return
    raise AssertionError(report)
