"""One report in every format."""

import io
import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from graphmend_lsp.model import (
    Break,
    Candidate,
    Counts,
    Declined,
    Entry,
    EntryResult,
    Failure,
    Finding,
    Frame,
    Measurement,
    Mend,
    Plan,
    Report,
    Span,
    TextEdit,
    Verdict,
)
from graphmend_lsp.report.formats import github, sarif
from graphmend_lsp.report.record import check_record, diff, mend_record
from graphmend_lsp.report.text import print_plan, print_report, print_speed

PATH = "/p/a,b.py"
SPAN = Span.of(3, 8, 3, 19)
SITE = Break(
    PATH, SPAN, "GB7000", "graph break in loop", "the branch depends on a tensor's value", "dynamo", root_gb_id="GB0170",
    root_gb_type="Data-dependent branching", events=3, graphs=2, outcome="frame skipped", entries=("a.py:f",), modes=("eval",),
    chain=(Frame(PATH, "forward", SPAN),),
)  # fmt: skip
MEND = Mend("where", "compute both sides", PATH, SPAN, (TextEdit(PATH, SPAN, "True"),))
VERDICT = Verdict(
    "unsafe", ("close\nonly",), Counts(3, 1, 0), Counts(1, 0, 0), "close", "bit-equal", "bit-equal", "equal", 7
)
STATIC = Break(PATH, Span.of(9, 1, 9, 5), "GB0059", "print", "prints", "static")
FAILURE = Failure("call", "exception", "ValueError: 100% wrong", "Fix it.", PATH, 4)
REPORT = Report(
    "2.13.0", "3.11.7", "cpu",
    (EntryResult(Entry(PATH, "f"), "eval", 3, 1, (1, 2, 0)), EntryResult(Entry(PATH, "g"), "train", 0, 0, (), FAILURE)),
    (Finding(SITE, (Candidate(MEND, VERDICT),), (Declined("guard", "nothing raises here"),)), Finding(STATIC)),
    (FAILURE,),
)  # fmt: skip
EMPTY = Report(None, None, None, (), ())
SCHEMA = json.loads((files("graphmend_lsp.report") / "schema.json").read_text("utf-8"))
PLAN = Plan(REPORT, EMPTY, (Candidate(MEND, VERDICT),), {PATH: "new\n"}, VERDICT, {PATH: "old\n"})


FAST = Measurement(
    Entry(PATH, "f"), "eval", "inductor", "cuda", (2.0, 1.0), (0.3, 0.2), 1.5, 1.48, 1.52, 9, (40, 12), (0, 1)
)
FAILED = Measurement(Entry(PATH, "g"), "train", "", "auto", error=FAILURE)


@pytest.mark.parametrize(
    "record", [check_record(REPORT), check_record(EMPTY), mend_record(PLAN), mend_record(PLAN, [FAST, FAILED])]
)
def test_records_keep_the_contract(record: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(record)))


def test_a_break_says_its_cause_and_place() -> None:
    one = check_record(REPORT)["breaks"][0]
    assert (one["line"], one["column"], one["end_column"], one["gb_id"]) == (3, 8, 19, "GB0170")
    assert one["mends"][0]["safety"] == "unsafe"
    assert (one["mends"][0]["before"]["graphs"], one["mends"][0]["after"]["graphs"]) == (3, 1)


def test_mend_counts_before_and_after() -> None:
    record = mend_record(PLAN)
    assert record["before"] == {"graphs": 3, "breaks": 1, "skipped_frames": 1}
    assert record["after"] == {"graphs": 0, "breaks": 0, "skipped_frames": 0}
    assert record["edits"][0]["diff"].splitlines()[-2:] == ["-old", "+new"]


def shown(write: Any) -> str:
    stream = io.StringIO()
    write(Console(file=stream, width=200, highlight=False, markup=False, color_system=None))
    return stream.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        "a,b.py:3:8: GB0170 the branch depends on a tensor's value",
        "costs 2 more graphs, its whole function runs uncompiled in a.py:f",
        "unsafe compute both sides (3 → 1 graphs, 1 → 0 breaks; close\nonly)",
        "not mended by guard: nothing raises here",
        "error ValueError: 100% wrong. Fix it.",
        "1 graph break, 1 more in the source that no run reached (torch 2.13.0 on cpu)",
        "a,b.py:f (eval): 3 graphs (1 + 2 + 0 operators), 1 skipped frames",
    ],
)
def test_text(words: str) -> None:
    assert words in shown(lambda console: print_report(console, REPORT))


def test_text_of_a_plan() -> None:
    words = shown(lambda console: print_plan(console, PLAN, diffs=True, written=False))
    assert "-old" in words
    assert "1 → 0 breaks, 3 → 0 graphs" in words
    assert "compared over 7 calls: outputs close" in words
    assert "Nothing was written" in words


def test_speed_is_a_ratio() -> None:
    words = shown(lambda console: print_speed(console, [FAST, FAILED]))
    assert "a,b.py:f (eval): 1.50 times as fast warm" in words
    assert "40 → 12 kernels launched; 0 → 1 CUDA graphs launched" in words
    assert "a,b.py:g (train): not measured: ValueError: 100% wrong. Fix it." in words
    assert "nothing to measure" in shown(lambda console: print_speed(console, []))
    one, other = mend_record(PLAN, [FAST, FAILED])["measured"]
    assert (one["ratio"], one["first_ratio"], one["noisy"]) == (1.5, 2.0, False)
    assert other["error"]["message"] == FAILURE.message


def test_text_when_nothing_could_be_run() -> None:
    failed = Report(
        "2.13.0", "3.11.7", None, (EntryResult(Entry(PATH, "g"), "eval", 0, 0, (), FAILURE),), (), (FAILURE,)
    )
    words = shown(lambda console: print_report(console, failed))
    assert "no entry could be run" in words
    assert "0 graph breaks" not in words


def test_text_without_a_run() -> None:
    assert "static analysis only" in shown(lambda console: print_report(console, EMPTY))


def test_github_escapes_what_would_end_a_command() -> None:
    lines = github(REPORT).splitlines()
    assert lines[0].startswith("::warning file=")
    assert "a%2Cb.py,line=3,endLine=3,col=8,endColumn=19" in lines[0]
    assert lines[1].startswith("::notice ")
    assert lines[2] == "::error ::ValueError: 100%25 wrong. Fix it."


def test_sarif() -> None:
    run = sarif(REPORT)["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["GB0170", "GB0059"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["endColumn"] == 19
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"GB0170", "GB0059"}


def test_a_diff_keeps_a_missing_last_line_end_visible() -> None:
    assert "\\ No newline at end of file" in diff("a.py", "a\nb", "a\nc")
