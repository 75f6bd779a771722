"""The graph map's data, the lenses and the inlay hints, over the real server process."""

from __future__ import annotations

import json
import re
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.lsp.conftest import Start
from tests.lsp.test_features import ENTRY, ready, shown_words, uri
from tests.lsp.wire import NEOVIM, Client

__all__ = ["uri"]

SCHEMA = json.loads((files("graphmend_lsp.report") / "graph_map.schema.json").read_text("utf-8"))
TEXT = f"x = foo\ny = foo\n{ENTRY}"
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


def data(client: Client, uri: str) -> Any:
    told = client.result("workspace/executeCommand", {"command": "graphmend.mapData", "arguments": [uri]})
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    return told


def lenses(client: Client, uri: str) -> list[tuple[int, str, str]]:
    found = client.result("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [(one["range"]["start"]["line"], one["command"]["title"], one["command"]["command"]) for one in found]


def lines(told: Any) -> list[tuple[int, bool]]:
    return [(place["line"], bool(place["mends"])) for place in told["places"]]


def test_the_map_follows_the_text_and_has_the_verdicts(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT)
    told = data(client, uri)
    [strip] = told["programs"][0]["strips"]
    assert [piece["kind"] for piece in strip["pieces"]] == ["graph", "break", "graph", "break", "graph"]
    assert (strip["state"], strip["note"], lines(told)) == ("now", "", [(1, True), (2, True)])
    assert {mend["safety"] for place in told["places"] for mend in place["mends"]} == {"safe"}
    client.change(uri, 2, [{"text": f"\n{TEXT}"}])
    assert [line for line, _ in lines(data(client, uri))] == [2, 3]
    client.change(uri, 3, [{"text": TEXT.replace("y = foo", "y = 1")}])
    assert data(client, uri)["programs"][0]["strips"][0]["note"] == "The source has changed since this run."


def test_a_mend_is_shown_before_beside_after_until_the_text_is_another(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT)
    edits: list[Any] = []
    client.answers["workspace/applyEdit"] = lambda params: edits.append(params) or {"applied": True}
    client.result("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [uri]})
    client.change(uri, 2, [{"text": TEXT.replace("foo", "bar")}])
    told = data(client, uri)
    assert [(one["state"], one["graphs"]) for one in told["programs"][0]["strips"]] == [("before", 2), ("after", 1)]
    assert told["mended"]["safety"] == "safe"
    assert [place["linked"] for place in told["places"]] == [False, False]  # those lines are no longer there
    assert lenses(client, uri)[0][1] == "1 graph, no graph breaks"
    client.change(uri, 3, [{"text": TEXT.replace("foo", "baz")}])
    assert data(client, uri)["mended"] is None


def test_before_any_run_there_is_nothing_to_show(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, TEXT)
    client.published(uri)
    assert (data(client, uri)["programs"], lenses(client, uri)) == ([], [])
    client.result("workspace/executeCommand", {"command": "graphmend.graphMap", "arguments": [uri]})
    assert "No entry of this file has run yet" in shown_words(client)[-1]


@pytest.mark.parametrize("shows", [True, False])
def test_an_editor_without_a_view_opens_a_page(start: Start, uri: str, shows: bool) -> None:
    client = ready(start, uri, TEXT, {**NEOVIM, "window": {"showDocument": {"support": shows}}})
    asked: list[Any] = []
    client.answers["window/showDocument"] = lambda params: asked.append(params) or {"success": True}
    client.result("workspace/executeCommand", {"command": "graphmend.graphMap", "arguments": [uri]})
    if shows:
        assert asked[0]["external"] is True
        path = Path(asked[0]["uri"].removeprefix("file://"))
    else:
        said = shown_words(client)[-1]
        assert said.startswith("GraphMend: the graph map is in ") and not asked
        path = Path(said.rpartition(" in ")[2])
    found = re.search(r'id="graph-map-data">(.*?)</script>', path.read_text("ascii"))
    assert found is not None and json.loads(found[1]) == (told := data(client, uri))
    assert shares(told) == [0.25, 0.25, 0.25]


def test_lenses_say_how_an_entry_is_cut(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT)
    assert lenses(client, uri) == [
        (2, "2 graphs, 2 graph breaks: Mend all", "graphmend.mendAll"),
        (2, "Graph map", "graphmend.graphMap"),
        (2, "Measure", "graphmend.measure"),
    ]
    client.notify("workspace/didChangeConfiguration", {"settings": {"graphmend": {"codeLens": False}}})
    assert lenses(client, uri) == []


def test_a_lens_of_what_does_not_break(start: Start, uri: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(uri, f"x = 1\n{ENTRY}")
    client.save(uri)
    client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    assert lenses(client, uri) == [(1, "2 graphs, no graph breaks", "graphmend.graphMap")]


def test_inlay_hints_mark_where_graphs_begin(start: Start, uri: str) -> None:
    def hints() -> list[tuple[int, int, str]]:
        found = client.result("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": WHOLE})
        return [(one["position"]["line"], one["position"]["character"], one["label"]) for one in found]

    client = ready(start, uri, TEXT)
    assert hints() == []
    client.notify("workspace/didChangeConfiguration", {"settings": {"graphmend": {"inlayHints": True}}})
    assert hints() == [
        (0, 7, "graph 1 of 3: 3 operators, graph 2 of 3: 4 operators"),
        (1, 7, "graph 3 of 3: 4 operators"),
    ]


def test_a_view_of_the_editors_own_is_told_when_the_map_is_another(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT, initializationOptions={"graphMap": True})
    assert any(message.get("method") == "graphmend/mapChanged" for message in client.seen)
    silent = ready(start, uri, TEXT)
    assert not any(message.get("method") == "graphmend/mapChanged" for message in silent.seen)


def shares(told: Any) -> list[float | None]:
    pieces = [piece for program in told["programs"] for strip in program["strips"] for piece in strip["pieces"]]
    return [piece["share"] for piece in pieces if piece["kind"] == "graph"]


def redrawn(client: Client, uri: str) -> list[float | None]:
    """The shares once a view was told to draw the map anew, after it has asked for it."""

    def told() -> int:
        return sum(message.get("method") == "graphmend/mapChanged" for message in client.seen)

    before = told()
    data(client, uri)
    while told() == before:
        client.result("textDocument/codeLens", {"textDocument": {"uri": uri}})
        time.sleep(0.02)
    return shares(data(client, uri))


def test_a_view_has_its_graphs_timed_once(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT, initializationOptions={"graphMap": True})
    assert redrawn(client, uri) == [0.25, 0.25, 0.25]
    client.change(uri, 2, [{"text": f"\n{TEXT}"}])
    client.save(uri)  # a new run: what was measured of the last one says nothing of it
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    client.until_note("graphmend/status", lambda params: params["state"] == "ready")
    assert redrawn(client, uri) == [0.25, 0.25, 0.25]


@pytest.mark.parametrize("other", [TEXT.replace("y = foo", "y = 1"), f"# fake: crash timed\n{TEXT}"])
def test_a_program_that_is_another_by_then_or_fails_is_not_timed(start: Start, uri: str, other: str) -> None:
    client = ready(start, uri, TEXT, initializationOptions={"graphMap": True})
    client.change(uri, 2, [{"text": other}])
    for _ in range(10):
        assert shares(data(client, uri)) == [None, None, None]
        time.sleep(0.02)


def test_an_editor_without_a_view_has_nothing_timed(start: Start, uri: str) -> None:
    client = ready(start, uri, TEXT)
    for _ in range(5):
        assert shares(data(client, uri)) == [None, None, None]
        time.sleep(0.02)
