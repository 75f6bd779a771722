"""Notebooks over the real server process: the cells are one program, and all that is shown is shown in them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from graphmend_lsp.lsp.uris import folder_of_virtual
from graphmend_lsp.notebook import CROSSES
from tests.lsp.conftest import Start
from tests.lsp.notebook_client import CAPABILITIES, Notebook
from tests.lsp.test_features import ENTRY, proven
from tests.lsp.wire import VSCODE, Client, action_params

MAGIC = "%matplotlib inline\n!pip install 𝒜 'x\n"


def made(start: Start, capabilities: Any = CAPABILITIES, **more: Any) -> Client:
    client = start()
    client.initialize(capabilities, **more)
    return client


def offered(client: Client, uri: str, place: tuple[int, int]) -> Any:
    """The quick fixes, once mends have been looked for."""
    for _ in range(100):
        actions = client.actions(uri, place, only=["quickfix"])
        looking = [one for one in actions if "still looking" in one.get("disabled", {}).get("reason", "")]
        if not looking and not all(one["title"].startswith("Ignore") for one in actions):
            return actions
        time.sleep(0.05)
    raise AssertionError(actions)


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def test_only_a_client_with_notebooks_is_offered_them(start: Start) -> None:
    assert "notebookDocumentSync" not in start().initialize({})["capabilities"]
    told = start().initialize(CAPABILITIES)["capabilities"]["notebookDocumentSync"]
    assert told["notebookSelector"][0]["cells"] == [{"language": "python"}]
    assert told["save"] is True


def test_a_break_is_seen_typed_run_and_mended_in_its_cell(start: Start, tmp_path: Path) -> None:
    client = made(start)
    book = Notebook(client, tmp_path / "nb.ipynb", a=MAGIC + "import torch", b="x = 1\ny = '𝒜', foo", c=ENTRY)
    cell = book.cell("b")
    [early] = client.published(cell)
    assert early["range"] == {"start": at(1, 10), "end": at(1, 13)}
    book.type("b", 0, 0, "# above\n")
    [early] = client.published(cell, lambda shown: shown and shown[0]["range"]["start"]["line"] == 2)
    book.save()
    [settled] = client.published(cell, proven)
    assert settled["range"] == {"start": at(2, 10), "end": at(2, 13)}
    ways = [one["location"] for one in settled["relatedInformation"]]
    assert ways == [{"uri": book.cell("a"), "range": {"start": at(0, 0), "end": at(0, 1)}}]
    hover = client.result("textDocument/hover", {"textDocument": {"uri": cell}, "position": at(2, 11)})
    assert hover["range"] == settled["range"]
    assert "write bar" in hover["contents"]["value"]
    nothing = client.result("textDocument/hover", {"textDocument": {"uri": book.cell("a")}, "position": at(2, 3)})
    assert nothing is None
    mend = client.actions(cell, (2, 11))[0]
    assert mend["diagnostics"][0]["range"] == settled["range"]
    assert book.after(mend["edit"]) == {**book.cells, "b": "# above\nx = 1\ny = '𝒜', bar"}
    assert client.actions(book.cell("a"), (2, 3), only=["quickfix"]) == []
    hints = client.actions(cell, (2, 11), only=["quickfix"])
    ignore = next(one for one in hints if one["title"].startswith("Ignore"))
    assert book.after(ignore["edit"])["b"].endswith("foo  # graphmend: ignore[GB0170]")


def test_a_notebook_that_the_editor_saves_by_itself_is_not_run(start: Start, tmp_path: Path) -> None:
    client = made(start)
    book = Notebook(client, tmp_path / "nb.ipynb", a="import torch", b="foo", c=ENTRY)
    client.published(book.cell("b"))
    book.save(reason=2)
    time.sleep(0.5)
    client.result("textDocument/hover", {"textDocument": {"uri": book.cell("b")}, "position": at(0, 1)})
    assert "busy" not in [m["params"]["state"] for m in client.seen if m.get("method") == "graphmend/status"]
    book.save(reason=1)
    client.published(book.cell("b"), proven)


def test_cells_come_go_and_move(start: Start, tmp_path: Path) -> None:
    client = made(start)
    book = Notebook(client, tmp_path / "nb.ipynb", a="import torch", b="foo")
    assert client.published(book.cell("b"))
    book.insert(0, "c", "\n\nfoo\n")
    [shown] = client.published(book.cell("c"))
    assert shown["range"]["start"] == at(2, 0)
    [shown] = client.published(book.cell("b"))
    assert shown["range"]["start"] == at(0, 0)
    book.remove(2, "b")
    assert client.published(book.cell("b"), lambda shown: shown == []) == []
    book.rewrite("c", "bar")
    assert client.published(book.cell("c"), lambda shown: shown == []) == []
    book.rewrite("c", "foo foo")
    assert len(client.published(book.cell("c"))) == 2
    book.close()
    assert client.published(book.cell("c"), lambda shown: shown == []) == []
    gone = client.ask("textDocument/codeAction", action_params(book.cell("c"), (0, 0)))
    assert gone["result"] == []


def test_a_cell_that_is_no_python_takes_no_part_until_it_is(start: Start, tmp_path: Path) -> None:
    client = made(start)
    book = Notebook(client, tmp_path / "nb.ipynb", a="foo (", b="foo", c=ENTRY)
    assert client.published(book.cell("b"))
    book.save()
    client.published(book.cell("b"), proven)
    assert client.actions(book.cell("a"), (0, 1), only=["quickfix"]) == []
    book.type("a", 0, 5, ")")
    assert client.published(book.cell("a"))


def test_a_client_that_pulls_asks_for_each_cell(start: Start, tmp_path: Path) -> None:
    client = made(start, {**VSCODE, "notebookDocument": {"synchronization": {}}})
    book = Notebook(client, tmp_path / "nb.ipynb", a="foo", b="1\nfoo")

    def pull(name: str, before: str | None = None) -> Any:
        told = {"textDocument": {"uri": book.cell(name)}, "previousResultId": before}
        return client.result("textDocument/diagnostic", told)

    first, second = pull("a"), pull("b")
    assert [one["range"]["start"] for one in first["items"]] == [at(0, 0)]
    assert [one["range"]["start"] for one in second["items"]] == [at(1, 0)]
    book.rewrite("a", "x\n\nfoo")
    assert pull("b", second["resultId"])["kind"] == "unchanged"
    assert [one["range"]["start"] for one in pull("a", first["resultId"])["items"]] == [at(2, 0)]
    [action, *_] = offered(client, book.cell("b"), (1, 1))
    assert action["title"].startswith("Mend graph break: write bar")
    edit = client.result("codeAction/resolve", action)["edit"]
    assert book.after(edit)["b"] == "1\nbar"


def test_all_is_mended_across_cells_and_commands_take_a_cell(start: Start, tmp_path: Path) -> None:
    client = made(start)
    book = Notebook(client, tmp_path / "nb.ipynb", a="foo\nfoo", b="x\nfoo", c=ENTRY)
    book.save()
    client.published(book.cell("b"), proven)
    given: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: given.append(params["edit"]) or {"applied": True}
    client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [book.cell("b")]})
    assert book.after(given[0]) == {"a": "bar\nbar", "b": "x\nbar", "c": ENTRY}
    command = {"command": "graphmend.mapData", "arguments": [book.cell("c")]}
    places = client.result("workspace/executeCommand", command)["places"]
    assert {(place["path"].rpartition("/")[2], place["line"]) for place in places} == {
        ("nb.ipynb:cell 1", 1),
        ("nb.ipynb:cell 1", 2),
        ("nb.ipynb:cell 2", 2),
    }
    lenses = [
        (name, lens["range"]["start"]["line"], lens["command"]["title"])
        for name in book.cells
        for lens in client.result("textDocument/codeLens", {"textDocument": {"uri": book.cell(name)}})
    ]
    assert [(name, line) for name, line, _ in lenses] == [("c", 0)] * len(lenses)
    assert "graphs" in lenses[0][2] or "graph," in lenses[0][2]


def test_an_entry_is_written_into_the_cell_of_the_model(start: Start, tmp_path: Path) -> None:
    client = made(start)
    model = "class Net(nn.Module):\n    def forward(self, x): foo"
    book = Notebook(client, tmp_path / "nb.ipynb", a="from torch import nn", b=model, c="print(1)\n")
    client.published(book.cell("b"))
    [lens] = client.result("textDocument/codeLens", {"textDocument": {"uri": book.cell("b")}})
    given: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: given.append(params["edit"]) or {"applied": True}
    client.result("workspace/executeCommand", lens["command"])
    after = book.after(given[0])
    assert after["b"].startswith(model + "\n\n\ndef graphmend_entry():")
    assert (after["a"], after["c"]) == ("from torch import nn", "print(1)\n")


def test_a_mend_that_crosses_cells_is_refused_with_the_reason(start: Start, tmp_path: Path) -> None:
    client = made(start, {**VSCODE, "notebookDocument": {"synchronization": {}}})
    book = Notebook(client, tmp_path / "nb.ipynb", a="# fake: cross\nfoo", b="x = 1")
    actions = offered(client, book.cell("a"), (1, 1))
    assert not any("write bar" in one["title"] for one in actions)
    assert CROSSES[:-1] in next(one["disabled"]["reason"] for one in actions if "disabled" in one)
    [shown] = client.result("textDocument/diagnostic", {"textDocument": {"uri": book.cell("a")}})["items"]
    assert f"Not mended: {CROSSES}" in shown["message"]


def test_a_notebook_of_jupyterlab_is_one_document_of_python(start: Start, tmp_path: Path) -> None:
    path = tmp_path / ".virtual_documents" / "nb.ipynb"
    text = f"import torch\n\n\nx = foo\n\n\n{ENTRY}"
    client = made(start)
    client.open(path.as_uri(), text)
    client.save(path.as_uri())
    [settled] = client.published(path.as_uri(), proven)
    assert settled["range"]["start"] == at(3, 4)
    [mend, *_] = client.actions(path.as_uri(), (3, 4))
    [change] = mend["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": path.as_uri(), "version": 1}
    assert change["edits"][0]["newText"] == "bar"


def test_the_folder_of_a_notebook_of_jupyterlab() -> None:
    assert folder_of_virtual("/root/.virtual_documents/a/b/nb.ipynb") == "/root/a/b"
    assert folder_of_virtual("/root/.virtual_documents/nb.ipynb") == "/root"
    assert folder_of_virtual("/root/nb.ipynb") is None


def test_a_break_in_a_file_leads_back_to_the_cell(start: Start, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("def helper():\n    foo\n")
    client = made(start, rootUri=tmp_path.as_uri())
    book = Notebook(client, tmp_path / "nb.ipynb", a="import helper", b="x\nhelper()  # fake call", c=ENTRY)
    book.save()
    [shown] = client.published(helper.as_uri(), proven)  # which is not open
    assert shown["relatedInformation"][0]["location"] == {
        "uri": book.cell("b"),
        "range": {"start": at(1, 0), "end": at(1, 8)},
    }
    client.open(helper.as_uri(), helper.read_text())
    [shown] = client.published(helper.as_uri(), proven)
    assert shown["relatedInformation"][0]["location"]["uri"] == book.cell("b")
    [note] = client.result("textDocument/codeLens", {"textDocument": {"uri": book.cell("c")}})[:1]
    assert note["range"]["start"] == at(0, 0)


def test_graphs_begin_in_cells(start: Start, tmp_path: Path) -> None:
    client = made(start, initializationOptions={"settings": {"inlayHints": True}})
    book = Notebook(client, tmp_path / "nb.ipynb", a="import torch", b="x\nfoo = 1", c=ENTRY)
    book.save()
    client.published(book.cell("b"), proven)
    whole = {"start": at(0, 0), "end": at(9, 0)}
    hints = {
        name: client.result("textDocument/inlayHint", {"textDocument": {"uri": book.cell(name)}, "range": whole})
        for name in book.cells
    }
    assert [hint["position"] for hint in hints["a"]] == [at(0, 12)]
    assert [(hint["position"], hint["label"]) for hint in hints["b"]] == [(at(1, 7), "graph 2 of 2: 4 operators")]
    assert hints["c"] == []
