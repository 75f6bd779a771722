"""Several workspace folders in one server: each has its own settings, its own project and its own worker."""

from __future__ import annotations

import copy
import os
import time
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.lsp.uris import uri_of
from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY
from tests.lsp.test_several_files import NOTE
from tests.lsp.wire import NEOVIM, VSCODE, Client

WHICH = f"# fake: which\nfoo\n{ENTRY}"
MAIN = f"import helper\nhelper()  # fake call\n{ENTRY}"
Told = dict[str, Any]


def capable(capabilities: Any) -> Any:
    """The client, when it answers `workspace/configuration`."""
    told = copy.deepcopy(capabilities)
    told["workspace"]["configuration"] = True
    return told


class Editor:
    """A client with folders, each with its settings; it pushes or pulls diagnostics as its capabilities say."""

    def __init__(self, start: Start, root: Path, folders: dict[str, Told | None], capabilities: Any = NEOVIM) -> None:
        self.root, self.folders = root, folders
        self.client: Client = start()
        self.client.answers["workspace/configuration"] = self._configuration
        self.asked: list[list[str | None]] = []
        for name in folders:
            (root / name).mkdir()
        self.client.initialize(
            capable(capabilities),
            workspaceFolders=[self._folder(name) for name in folders if folders[name] is not None],
        )

    def _folder(self, name: str) -> Told:
        return {"uri": (self.root / name).as_uri(), "name": name}

    def _configuration(self, params: Any) -> list[Any]:
        self.asked.append([item.get("scopeUri") for item in params["items"]])
        by_uri = {(self.root / name).as_uri(): settings for name, settings in self.folders.items()}
        return [by_uri.get(item.get("scopeUri"), {}) for item in params["items"]]

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def opens(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)
        self.client.open(self.uri(name), text)

    def change_folders(self, added: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> None:
        event = {"added": [*map(self._folder, added)], "removed": [*map(self._folder, removed)]}
        self.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def which(self, name: str) -> str:
        """How the run of a file was started, as the stand-in engine tells it."""
        self.client.save(self.uri(name))
        told = self.client.until_note("graphmend/status", lambda params: " in /" in params["message"])
        assert told["folder"] == uri_of(told["message"].split(" in ")[1].split(":")[0])
        return str(told["message"]).replace(str(self.root), "")

    def shown(self) -> dict[str, list[str]]:
        """What is shown in each file now, by its name."""
        self.client.result(
            "textDocument/hover", {"textDocument": {"uri": "none:"}, "position": {"line": 0, "character": 0}}
        )
        found: dict[str, list[str]] = {}
        for message in self.client.seen:
            if message.get("method") == "textDocument/publishDiagnostics":
                name = message["params"]["uri"].removeprefix(self.root.as_uri() + "/")
                found[name] = [one["message"] for one in message["params"]["diagnostics"]]
        return {name: messages for name, messages in found.items() if messages}

    def waits(self, wanted: Any) -> None:
        end = time.monotonic() + 10
        while not wanted(seen := self.shown()):
            assert time.monotonic() < end, seen
            time.sleep(0.05)

    def ends(self, pid: int) -> None:
        """Wait until a worker has ended."""

        def is_gone(_seen: Any) -> bool:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            return False

        self.waits(is_gone)


TWO: dict[str, Told | None] = {
    "one": {"interpreter": ["/envs/one"], "mode": "train", "worker": {"timeout": 7}},
    "two": {"interpreter": ["/envs/two"]},
}


@pytest.mark.parametrize("capabilities", [NEOVIM, VSCODE], ids=["pushes", "pulls"])
def test_each_folder_has_its_own_settings_project_and_worker(start: Start, tmp_path: Path, capabilities: Any) -> None:
    editor = Editor(start, tmp_path, TWO, capabilities)
    (tmp_path / "two" / "pyproject.toml").write_text('[tool.graphmend]\nmode = "both"\ntimeout = 9\n')
    editor.opens("one/a.py", WHICH)
    editor.opens("two/b.py", WHICH)
    assert editor.which("one/a.py") == "/envs/one in /one: train, 7 s, ('/one',)"
    assert editor.which("two/b.py") == "/envs/two in /two: eval+train, 9 s, ('/two',)"
    assert editor.asked == [[None, editor.uri("one"), editor.uri("two")]]
    if capabilities is NEOVIM:
        editor.waits(
            lambda seen: all("verified safe" in "".join(seen.get(one, [])) for one in ("one/a.py", "two/b.py"))
        )


def test_one_folder_is_run_while_the_other_is(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, TWO)
    editor.opens("one/a.py", f"# fake: hang check\nfoo\n{ENTRY}")
    editor.client.save(editor.uri("one/a.py"))
    busy = editor.client.until_note("graphmend/status", lambda told: told["state"] == "busy")
    assert busy["folder"] == editor.uri("one")
    editor.client.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri("one/a.py")}})
    editor.opens("two/b.py", f"foo\n{ENTRY}")
    editor.client.save(editor.uri("two/b.py"))
    ready = editor.client.until_note("graphmend/status", lambda told: told["state"] == "ready")
    assert ready["folder"] == editor.uri("two")


@pytest.mark.slow
def test_settings_of_one_folder_change_its_own_worker_only(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, dict(TWO))
    pids = {}
    for name in ("one", "two"):
        editor.opens(f"{name}/a.py", f"# fake: worker\nfoo\n{ENTRY}")
        editor.client.save(editor.uri(f"{name}/a.py"))
        told = editor.client.until_note("graphmend/status", lambda told: told["message"].startswith("pid "))
        pids[name] = int(told["message"].split()[1])
    editor.folders["one"] = {"interpreter": ["/envs/other"]}
    editor.client.notify("workspace/didChangeConfiguration", {"settings": {"graphmend": {}}})
    editor.ends(pids["one"])
    os.kill(pids["two"], 0)
    editor.client.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri("two/a.py")}})
    editor.opens("one/c.py", WHICH)
    assert editor.which("one/c.py").startswith("/envs/other in /one")


def test_off_in_one_folder(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, {"one": {"enable": False}, "two": {"run": "manual"}, "three": {}})
    for name in ("one", "two", "three"):
        editor.opens(f"{name}/a.py", f"foo\n{ENTRY}")
        editor.client.save(editor.uri(f"{name}/a.py"))
    editor.waits(lambda seen: "verified safe" in "".join(seen.get("three/a.py", [])))
    assert editor.shown().keys() == {"two/a.py", "three/a.py"}
    assert "No run has reached it" in editor.shown()["two/a.py"][0]


@pytest.mark.slow
def test_a_folder_that_goes_takes_its_worker_and_its_findings_along(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, TWO)
    (tmp_path / "one" / "helper.py").write_text("def inner():\n    foo\n")
    editor.opens("one/main.py", f"# fake: worker\n{MAIN}")
    editor.client.save(editor.uri("one/main.py"))
    told = editor.client.until_note("graphmend/status", lambda told: told["message"].startswith("pid "))
    editor.waits(lambda seen: seen.get("one/main.py") == [NOTE] and "one/helper.py" in seen)
    editor.opens("two/b.py", f"foo\n{ENTRY}")
    editor.client.save(editor.uri("two/b.py"))
    editor.waits(lambda seen: "verified safe" in "".join(seen.get("two/b.py", [])))
    editor.change_folders(removed=("one",))
    editor.waits(lambda seen: seen.keys() == {"two/b.py"})
    editor.ends(int(told["message"].split()[1]))
    # The folder comes back: it is asked for its settings, and runs as before.
    editor.change_folders(added=("one",))
    editor.client.save(editor.uri("one/main.py"))
    editor.waits(lambda seen: seen.keys() == {"two/b.py", "one/main.py", "one/helper.py"})
    assert editor.asked[-1] == [None, editor.uri("two"), editor.uri("one")]


def test_a_folder_that_comes_later_is_run_with_its_own_settings(start: Start, tmp_path: Path) -> None:
    editor = Editor(start, tmp_path, {"one": TWO["one"], "two": None})
    editor.folders["two"] = TWO["two"]
    editor.opens("one/a.py", WHICH)
    assert editor.which("one/a.py").startswith("None in /one: eval")  # one folder alone has the settings of the whole
    editor.change_folders(added=("two",))
    editor.opens("two/b.py", WHICH)
    assert editor.which("two/b.py").startswith("/envs/two in /two: eval")
    assert editor.which("one/a.py").startswith("/envs/one in /one: train")


def test_what_one_folder_finds_in_another_is_shown_and_run_there(start: Start, tmp_path: Path) -> None:
    """An application and a library in two folders: saving the library runs the application, in its own worker."""
    editor = Editor(start, tmp_path, {"app": {"interpreter": ["/envs/app"]}, "library": {"interpreter": ["/envs/lib"]}})
    editor.opens("library/helper.py", "def inner():\n    foo\n")
    editor.opens("app/main.py", f"# fake: which\n{MAIN}".replace("helper()", "../library/helper()"))
    assert editor.which("app/main.py").startswith("/envs/app in /app")
    editor.waits(lambda seen: "verified safe" in "".join(seen.get("library/helper.py", [])))
    assert editor.which("library/helper.py").startswith("/envs/app in /app")
    editor.waits(lambda seen: "verified safe" in "".join(seen.get("library/helper.py", [])))
