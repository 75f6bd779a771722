"""The same through the language server: a model's breaks are shown in the library's open file, and mended by quick fixes.

One of the models stands for all: its break is in a file that many models share.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.lsp.test_features import apply_changes
from tests.lsp.wire import NEOVIM, REAL, Client

from .conftest import ENTRIES

PATIENCE = 200.0
# model -> the file to open, the 1-based lines where it breaks
OPENED = {"biogpt": ("models/biogpt/modeling_biogpt.py", {685})}


@pytest.fixture
def client() -> Iterator[Client]:
    started = Client(REAL)
    yield started
    started.stop()


def confirmed(diagnostics: list[Any]) -> list[Any]:
    return [one for one in diagnostics if one["severity"] == 2]


def changes_of(edit: Any, uri: str) -> list[Any]:
    """The edits of that document; the files that the edit creates are written, as an editor does."""
    if "changes" in edit:
        return list(edit["changes"][uri])
    found: list[Any] = []
    for one in edit["documentChanges"]:
        if one.get("kind") == "create":
            continue
        if one["textDocument"]["uri"] == uri:
            found = one["edits"]
        else:
            target = Path(unquote(urlsplit(one["textDocument"]["uri"]).path))
            target.write_text(apply_changes("", one["edits"]), "utf-8")
    return found


def proven(client: Client, uri: str) -> list[Any]:
    """The next publication in which a mend is verified safe."""
    return client.until(
        lambda m: (
            m.get("method") == "textDocument/publishDiagnostics"
            and m["params"]["uri"] == uri
            and any("verified safe" in one["message"] for one in confirmed(m["params"]["diagnostics"]))
        ),
        PATIENCE,
    )["params"]["diagnostics"]


def quick_fix(client: Client, uri: str, shown: list[Any]) -> tuple[dict[str, int], dict[str, Any]]:
    """A proven mend as the light bulb offers it; what was proven before the last edit is no longer offered as such."""
    while True:
        place = next(one["range"]["start"] for one in confirmed(shown) if "verified safe" in one["message"])
        action = client.actions(uri, (place["line"], place["character"]))[0]
        if action["title"].startswith("Mend graph break: ") and "(" not in action["title"]:
            return place, action
        shown = proven(client, uri)


@pytest.mark.slow
@pytest.mark.parametrize("model", OPENED)
def test_breaks_are_shown_and_mended_in_the_editor(model: str, package: Path, client: Client) -> None:
    file, lines = OPENED[model]
    path = package / "transformers" / file
    original = text = path.read_text("utf-8")
    uri, version = path.as_uri(), 1
    settings = {
        "interpreter": [sys.executable],
        "entries": [f"{package / ENTRIES.name}:{model}"],
        "worker": {"timeout": 120},
    }
    client.initialize(NEOVIM, rootUri=package.as_uri(), initializationOptions={"trusted": True, "settings": settings})
    client.open(uri, text)
    try:
        mended: set[int] = set()
        while mended != lines:
            client.save(uri)
            shown = proven(client, uri)
            if not mended:
                assert {one["range"]["start"]["line"] + 1 for one in confirmed(shown)} == lines
            place, action = quick_fix(client, uri, shown)
            text = apply_changes(text, changes_of(action["edit"], uri))
            mended.add(min(lines - mended, key=lambda line: abs(line - 1 - place["line"])))
            version += 1
            path.write_text(text, "utf-8")
            client.change(uri, version, [{"text": text}])
        client.save(uri)
        client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "busy", PATIENCE)
        client.until(lambda m: m.get("method") == "graphmend/status" and m["params"]["state"] == "ready", PATIENCE)
        client.ask("shutdown")
        last = [
            m for m in client.seen if m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        ][-1]
        assert confirmed(last["params"]["diagnostics"]) == []
        client.notify("exit")
        assert client.code() == 0
    finally:
        path.write_text(original, "utf-8")
