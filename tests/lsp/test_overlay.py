"""The quick fix for a break inside an installed package: copies in the project, written by the editor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.engine.overlay import IMPORT
from graphmend_lsp.lsp.uris import path_of
from tests.kit import MAIN, MODEL, install
from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, apply_changes, ready
from tests.lsp.wire import NEOVIM, REAL, VSCODE, Client

KIT = "def forward(x):\n    return foo(x)\n"
TITLE = "Mend graph break in kit (project overlay)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    install(tmp_path, KIT)
    return tmp_path


def text_of(project: Path, orders: str = "package") -> str:
    text = f"# fake: {orders}\nimport torch\nfoo\n{ENTRY}"
    (project / "main.py").write_text(text)
    return text


def overlay_action(client: Client, project: Path) -> Any:
    actions = client.actions((project / "main.py").as_uri(), (2, 1))
    return next((action for action in actions if action["title"] == TITLE), None)


def carried_out(edit: Any, project: Path) -> dict[str, str]:
    """The texts of all files after an edit, as an editor that applies it makes them, by path from the project."""
    created: set[str] = set()
    texts: dict[str, str] = {}
    for change in edit["documentChanges"]:
        if change.get("kind") == "create":
            created.add(change["uri"])
            continue
        uri = change["textDocument"]["uri"]
        path = Path(path_of(uri) or "")
        old = "" if uri in created else path.read_bytes().decode()
        assert uri in created or path.exists()
        texts[path.relative_to(project).as_posix()] = apply_changes(old, change["edits"])
    return texts


def test_the_overlay_is_written_by_the_editor(start: Start, project: Path) -> None:
    text = text_of(project)
    uri = (project / "main.py").as_uri()
    client = ready(start, uri, text)
    action = overlay_action(client, project)
    assert action["command"]["command"] == "graphmend.apply"  # this client cannot resolve
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    client.result("workspace/executeCommand", action["command"])
    texts = carried_out(applied[0]["edit"], project)
    assert sorted(texts) == ["graphmend_overlay/__init__.py", "graphmend_overlay/kit/model.py", "main.py"]
    assert texts["main.py"] == text.replace("import torch", f"{IMPORT}\nimport torch")
    assert texts["graphmend_overlay/kit/model.py"] == KIT.replace("foo", "bar")
    assert (project / "site-packages" / "kit" / "model.py").read_text() == KIT


def test_unsaved_text_of_the_file_stays(start: Start, project: Path) -> None:
    text = text_of(project)
    client = start()
    client.initialize(VSCODE)
    uri = (project / "main.py").as_uri()
    client.open(uri, text + "unsaved = 1\n")
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    client.until(lambda message: message.get("method") == "workspace/diagnostic/refresh")
    client.result("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    action = overlay_action(client, project)
    changes = client.result("codeAction/resolve", action)["edit"]["documentChanges"]
    [own] = [change for change in changes if change.get("textDocument", {}).get("uri") == uri]
    assert own["textDocument"]["version"] == 1
    assert apply_changes(text + "unsaved = 1\n", own["edits"]).endswith("unsaved = 1\n")


@pytest.mark.parametrize(
    ("orders", "told"),
    [
        ("changed", "changed during mending"),
        ("nothing", "no mend of kit is verified safe: it raises"),
    ],
)
def test_why_there_is_none_is_told(start: Start, project: Path, orders: str, told: str) -> None:
    text = text_of(project, f"package\n# fake: {orders}")
    uri = (project / "main.py").as_uri()
    client = ready(start, uri, text)
    data = client.actions(uri, (3, 1))
    action = next(one for one in data if one["title"] == TITLE)
    answer = client.ask("workspace/executeCommand", action["command"])
    assert told in answer["error"]["message"]
    assert not [message for message in client.seen if message.get("method") == "workspace/applyEdit"]


def test_it_stands_first_and_nothing_says_that_there_is_no_mend(start: Start, project: Path) -> None:
    capabilities = {**VSCODE, "workspace": {**VSCODE["workspace"], "diagnostics": {}}}
    edit = {**capabilities["workspace"]["workspaceEdit"], "changeAnnotationSupport": {}}
    capabilities["workspace"]["workspaceEdit"] = edit
    uri = (project / "main.py").as_uri()
    client = ready(start, uri, text_of(project), capabilities)
    actions = client.actions(uri, (2, 1))
    assert (actions[0]["title"], actions[-1]["title"]) == (TITLE, "Ignore this break (GB0170)")
    assert not [action for action in actions if "disabled" in action and action["title"] == "Mend graph break"]
    place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 1}}
    last = [m["params"] for m in client.seen if m.get("method") == "textDocument/publishDiagnostics"][-1]
    message = last["diagnostics"][0]["message"]
    assert message.startswith("Graph break inside kit, model.py:1, reached from here.")
    for words in (message, client.result("textDocument/hover", place)["contents"]["value"]):
        assert "a copy of kit" in words
        assert "Not mended" not in words
    edit = client.result("codeAction/resolve", actions[0])["edit"]
    [asked] = edit["changeAnnotations"].values()
    assert asked["needsConfirmation"] is True
    assert all("annotationId" in change for change in edit["documentChanges"] if change.get("kind") == "create")


def test_a_client_that_cannot_create_files_is_told_what_to_do(start: Start, project: Path) -> None:
    capabilities = {
        "workspace": {"applyEdit": True},
        "textDocument": {**NEOVIM["textDocument"], "codeAction": VSCODE["textDocument"]["codeAction"]},
    }
    client = ready(start, (project / "main.py").as_uri(), text_of(project), capabilities)
    assert "mend FILE --overlay --write" in overlay_action(client, project)["disabled"]["reason"]


def test_a_break_of_the_user_s_own_has_no_overlay(start: Start, project: Path) -> None:
    client = ready(start, (project / "main.py").as_uri(), text_of(project, "nothing of it"))
    assert overlay_action(client, project) is None


@pytest.mark.slow
def test_a_package_is_mended_in_the_project_with_the_real_engine(start: Start, project: Path) -> None:
    (project / "site-packages" / "kit" / "model.py").write_text(MODEL)
    path = project / "main.py"
    path.write_text(MAIN)
    options = {"trusted": True, "settings": {"interpreter": [sys.executable], "device": "cpu"}}
    client = start(REAL, PYTHONPATH=str(project / "site-packages"))
    client.initialize(NEOVIM, initializationOptions=options, rootUri=project.as_uri())
    client.open(path.as_uri(), MAIN)
    client.save(path.as_uri())
    shown = client.until(
        lambda m: m.get("method") == "textDocument/publishDiagnostics" and "Costs" in str(m["params"]), 120
    )["params"]["diagnostics"]
    line = shown[0]["range"]["start"]["line"]
    assert "self.gate(x)" in MAIN.splitlines()[line]
    actions = client.actions(path.as_uri(), (line, 20))
    action = next(one for one in actions if one["title"] == TITLE)
    applied: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: applied.append(params) or {"applied": True}
    number = client.begin("workspace/executeCommand", action["command"])
    answer = client.until(lambda m: m.get("id") == number and "method" not in m, 120)
    assert "error" not in answer, answer
    for name, text in carried_out(applied[0]["edit"], project).items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    assert "torch.where(x.sum() > 0, x * 2, x)" in (project / "graphmend_overlay" / "kit" / "model.py").read_text()
    check = [sys.executable, "-m", "graphmend_lsp", "check", "main.py", "--quiet", "--device", "cpu"]
    done = subprocess.run(
        check, capture_output=True, text=True, cwd=project, check=False, timeout=200,
        env={**os.environ, "PYTHONPATH": str(project / "site-packages")},
    )  # fmt: skip
    assert (done.returncode, "0 graph breaks" in done.stdout) == (0, True), done.stdout + done.stderr
