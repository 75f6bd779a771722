"""The graph map's data, and the page that holds it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    Declined,
    Entry,
    EntryResult,
    Finding,
    Frame,
    Graph,
    Mend,
    Plan,
    Report,
    Span,
    Stop,
    Verdict,
)
from graphmend_lsp.report.graph_map import graph_map, plan_map
from graphmend_lsp.report.page import page
from graphmend_lsp.report.read import _report as read_record
from graphmend_lsp.report.record import check_record

SCHEMA = json.loads((files("graphmend_lsp.report") / "graph_map.schema.json").read_text("utf-8"))
PATH, LIBRARY = "/p/net.py", "/env/lib/python3.11/site-packages/lib/layers.py"
HERE, THERE, ASKED = Span.of(7, 8, 7, 19), Span.of(12, 5, 12, 20), Span.of(15, 5, 15, 30)
CHAIN = (
    Frame(PATH, "forward", HERE),
    Frame(LIBRARY, "run", Span.of(3, 1, 3, 9)),
    Frame(LIBRARY, "step", Span.of(9, 1, 9, 9)),
    Frame("/usr/lib/python3.11/functools.py", "wrapper", Span.of(2, 1, 2, 9), "stdlib"),
    Frame(PATH, "hook", THERE),
)
SITE = Break(
    PATH, HERE, "GB0170", "Data-dependent branching", "it depends on `x`", "dynamo", graphs=2, outcome="resumed",
    entries=("net.py:f",), modes=("eval", "train"), chain=CHAIN,
)  # fmt: skip
SKIPPED = replace(SITE, span=THERE, outcome="frame skipped", modes=("eval",), chain=())
STATIC = Break(PATH, Span.of(40, 1, 40, 5), "GB0059", "print", "prints", "static")
MEND = Mend("where", "Mend graph break: choose with torch.where", PATH, HERE, ())
SAFE = Candidate(MEND, Verdict("safe", (), Counts(3, 2, 1), Counts(1, 0, 1)))
STOP = Stop(PATH, HERE, "GB0170", "Data-dependent branching", "resumed", "x > 0", chain=CHAIN)
STRIP = (
    Graph(3, "forward", PATH, 5),
    STOP,
    Graph(20, "forward", PATH, 5, 0.25),
    replace(STOP, span=THERE, outcome="frame skipped", text="y.item()", outside=("helper", PATH, 10, 14)),
    Stop(PATH, ASKED, "GB0025", "graph_break", "resumed", "torch._dynamo.graph_break()", intended=True),
    Graph(1, "last", PATH, 20),
)
ENTRY = Entry(PATH, "f")
EVAL = EntryResult(ENTRY, "eval", 3, 1, (3, 20, 1), strip=STRIP)
TRAIN = EntryResult(
    ENTRY, "train", 2, 0, (3, 21), strip=(Graph(3, "forward", PATH, 5), STOP, Graph(21, "forward", PATH, 5))
)
REPORT = Report(
    "2.13.0", "3.11.7", "cpu", (EVAL, TRAIN),
    (Finding(SITE, (SAFE,), (Declined("guard", "nothing raises"),)), Finding(SKIPPED), Finding(STATIC)),
)  # fmt: skip
MENDED = Report(
    "2.13.0", "3.11.7", "cpu", (EntryResult(ENTRY, "eval", 1, 0, (25,), strip=(Graph(25, "forward", PATH, 5),)),), ()
)
PLAN = Plan(replace(REPORT, entries=(EVAL,)), MENDED, (SAFE,), {PATH: "new"}, SAFE.verdict, {PATH: "old"})
RECORDED = replace(REPORT, entries=(EntryResult(ENTRY, "eval", 2, 0, (3, 4), run="recorded"),))


@pytest.mark.parametrize(
    "told", [graph_map(REPORT), graph_map(Report(None, None, None, (), ())), plan_map(PLAN), graph_map(RECORDED)]
)
def test_maps_keep_the_shape(told: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(told)))


def kinds(strip: dict[str, Any]) -> list[Any]:
    return [one.get("ops") or (one["kind"], one["place"]) for one in strip["pieces"]]


def test_eval_stands_beside_train_and_a_place_is_told_once() -> None:
    told = graph_map(REPORT)
    evaluated, trained = told["programs"][0]["strips"]
    assert (evaluated["mode"], trained["mode"]) == ("eval", "train")
    assert kinds(evaluated) == [3, ("break", 0), 20, ("break", 1), ("outside", 1), ("break", 2), 1]
    assert kinds(trained) == [3, ("break", 0), 21]
    assert (evaluated["graphs"], evaluated["ops"], evaluated["breaks"], evaluated["skipped_frames"]) == (3, 24, 2, 1)
    assert trained["places"] == [0]
    assert [place["line"] for place in told["places"]] == [7, 12, 15, 40]
    assert evaluated["pieces"][4] == {
        "kind": "outside", "place": 1, "function": "helper", "path": PATH, "line": 10, "end_line": 14,
    }  # fmt: skip


def test_a_place_says_its_cause_its_source_and_its_mends() -> None:
    first, _, asked, static = graph_map(REPORT)["places"]
    assert (first["code"], first["text"], first["reason"], first["cost"]) == (
        "GB0170", "x > 0", "it depends on `x`", "costs 2 more graphs",
    )  # fmt: skip
    assert first["mends"][0] == {
        "title": "choose with torch.where", "safety": "safe", "why": "",
        "before": {"graphs": 3, "breaks": 2, "skipped_frames": 1}, "after": {"graphs": 1, "breaks": 0, "skipped_frames": 1},
    }  # fmt: skip
    assert first["declined"] == ["nothing raises"]
    assert (asked["asked_for"], asked["reason"]) == (True, "The program asks for this graph break.")
    assert (static["evidence"], static["asked_for"]) == ("static", False)


def test_calls_through_one_package_are_together() -> None:
    chain = graph_map(REPORT)["places"][0]["chain"]
    assert [(group["package"], len(group["frames"])) for group in chain] == [
        ("", 1),
        ("lib", 2),
        ("Python", 1),
        ("", 1),
    ]


def test_a_mend_is_told_before_beside_after() -> None:
    told = plan_map(PLAN)
    before, after = told["programs"][0]["strips"]
    assert [(one["state"], one["graphs"]) for one in (before, after)] == [("before", 3), ("after", 1)]
    assert told["mended"]["safety"] == "safe"
    assert told["places"][0]["linked"] and not plan_map(PLAN, written=True)["places"][0]["linked"]


def test_without_an_order_the_breaks_are_told_beside_the_graphs() -> None:
    strip = graph_map(RECORDED)["programs"][0]["strips"][0]
    assert (strip["in_order"], strip["mode"], kinds(strip), strip["places"]) == (False, None, [3, 4], [0, 1])


def test_a_record_keeps_the_map() -> None:
    again = graph_map(read_record(json.loads(json.dumps(check_record(REPORT)))))
    assert again["programs"] == graph_map(REPORT)["programs"]


def test_the_page_runs_nothing_but_its_own_script() -> None:
    names = replace(REPORT, entries=(replace(EVAL, entry=Entry("/p/</script><script>alert(1)//ü.py", "f")),))
    text = page(graph_map(names), "<ü>")
    assert text.isascii()
    assert re.findall(r"<(script[^>]*)>", text) == ['script type="application/json" id="graph-map-data"', "script"]
    assert "<title>&lt;&#252;&gt;</title>" in text
    data = re.search(r'id="graph-map-data">(.*?)</script>', text)
    assert data is not None and json.loads(data[1]) == json.loads(json.dumps(graph_map(names)))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1] and "http" not in policy[1]
    assert not re.search(r'(?:src|href)="?https?:', text.replace(data[0], ""))
