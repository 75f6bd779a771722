"""One report in every format."""

import io
import json
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from graphmend_lsp.model import (
    Assumption,
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
from graphmend_lsp.report.words import compared, cost

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
    assert record["before"] == {"graphs": 3, "breaks": 1, "skipped_frames": 1, "refused": 0}
    assert record["after"] == {"graphs": 0, "breaks": 0, "skipped_frames": 0, "refused": 0}
    assert record["edits"][0]["diff"].splitlines()[-2:] == ["-old", "+new"]


def shown(write: Any, terminal: bool = False) -> str:
    stream = io.StringIO()
    write(Console(file=stream, force_terminal=terminal, width=200, highlight=False, markup=False, color_system=None))
    return stream.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        "a,b.py:3:8: GB0170 the branch depends on a tensor's value",
        "costs 2 more graphs, its whole function runs uncompiled in a.py:f",
        "unsafe: compute both sides (3 → 1 graphs, 1 → 0 breaks; close\nonly)",
        "not mended (guard): nothing raises here",
        "error ValueError: 100% wrong. Fix it.",
        "1 graph break, 1 more in the source that no run reached (--all lists them) (torch 2.13.0 on cpu)",
        "a,b.py:f (eval): 3 graphs (1 + 2 + 0 operators), 1 skipped frames",
    ],
)
def test_text(words: str) -> None:
    assert words in shown(lambda console: print_report(console, REPORT))


def test_text_of_a_plan() -> None:
    words = shown(lambda console: print_plan(console, PLAN, diffs=True, written=False))
    assert "-old" in words
    assert "1 → 0 breaks, 3 → 0 graphs" in words
    assert "In the 7 calls of the entry itself: outputs close; gradients and state bit-equal; effects equal." in words
    assert "No file was changed" in words


@pytest.mark.parametrize(("old", "word"), [("", "creates"), ("VERSION = 0\n", "updates")])
@pytest.mark.parametrize(
    ("path", "use"),
    [
        ("/a/graphmend_support.py", "from which mended files import"),
        ("/a/graphmend_overlay/__init__.py", "which imports the mended copies"),
    ],
)
def test_what_graphmend_writes_for_itself_is_one_line_behind_the_users_files(
    path: str, use: str, old: str, word: str
) -> None:
    plan = replace(PLAN, texts={path: "VERSION = 1\n", **PLAN.texts}, old={**PLAN.old, path: old})
    words = shown(lambda console: print_plan(console, plan, diffs=True, written=False), terminal=True)
    assert f"--write {word} this file, {use} (lines: 1)" in words and "VERSION" not in words
    assert 0 <= words.index("-old") < words.index("--write")


@pytest.mark.parametrize("below", ["", "pkg"])
def test_a_diff_that_is_no_terminals_can_be_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    root = tmp_path / below
    root.mkdir(exist_ok=True)
    old = {"m.py": "a = 1\r\n\tb = 2\x0c\r\n", "n.py": "x = [1]  # long" + " and longer" * 20 + "\ny = 2"}
    new = {"m.py": "a = 2\r\n\tb = 2\x0c\r\n", "n.py": old["n.py"] + "\n", "graphmend_support.py": "VERSION = 1\n"}
    for name, text in old.items():
        (root / name).write_text(text, "utf-8", newline="")
    monkeypatch.chdir(root)
    plan = replace(
        PLAN,
        texts={str(root / name): text for name, text in new.items()},
        old={str(root / name): text for name, text in old.items()},
    )
    (tmp_path / "patch").write_text(
        shown(lambda console: print_plan(console, plan, diffs=True, written=False)), "utf-8", newline=""
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", str(tmp_path / "patch")], cwd=root, check=True)
    for name, text in new.items():
        assert (root / name).read_bytes() == text.encode()


def test_speed_is_a_ratio() -> None:
    words = shown(lambda console: print_speed(console, [FAST, FAILED]))
    assert "a,b.py:f (eval): 1.50 times as fast warm" in words
    assert "40 → 12 kernels launched; 0 → 1 CUDA graphs launched" in words
    assert "a,b.py:g (train): not measured: ValueError: 100% wrong. Fix it." in words
    assert "no mend to measure" in shown(lambda console: print_speed(console, []))
    one, other = mend_record(PLAN, [FAST, FAILED])["measured"]
    assert (one["ratio"], one["first_ratio"], one["noisy"]) == (1.5, 2.0, False)
    assert other["error"]["message"] == FAILURE.message


def test_text_when_nothing_could_be_run() -> None:
    failed = Report(
        "2.13.0", "3.11.7", None, (EntryResult(Entry(PATH, "g"), "eval", 0, 0, (), FAILURE),), (), (FAILURE,)
    )
    words = shown(lambda console: print_report(console, failed))
    assert "No entry ran to its end" in words
    assert "0 graph breaks" not in words
    words = shown(lambda console: print_plan(console, Plan(failed, failed, (), {}, None), diffs=True, written=False))
    assert words.endswith("GraphMend could not run a,b.py:g, so it mended nothing.\n") and "→" not in words
    assert FAILURE.message in words


def test_a_boundary_says_why_no_rule_mends_what_it_holds() -> None:
    inside = tuple(Declined("loop", f"reason {number}") for number in range(4))
    plan = replace(PLAN, applied=(replace(PLAN.applied[0], inside=inside),))
    words = shown(lambda console: print_plan(console, plan, diffs=False, written=False))
    assert words.count("    inside, not mended (loop): reason") == 3 and "reason 3" not in words
    record = mend_record(plan)
    assert record["applied"][0]["inside"][3] == {"rule": "loop", "reason": "reason 3"}
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(record)))
    assert "inside" not in mend_record(PLAN)["applied"][0]


def test_text_without_a_run() -> None:
    assert "static analysis only" in shown(lambda console: print_report(console, EMPTY))
    nothing = Plan(EMPTY, EMPTY, (), {}, None)
    words = shown(lambda console: print_plan(console, nothing, diffs=True, written=False))
    assert words.startswith("GraphMend found no entry to run") and "→" not in words


def test_github_escapes_what_would_end_a_command() -> None:
    lines = github(REPORT, unreached=True).splitlines()
    assert lines[0].startswith("::warning file=")
    assert "a%2Cb.py,line=3,endLine=3,col=8,endColumn=19" in lines[0]
    assert lines[1].startswith("::notice ")
    assert lines[2] == "::error ::ValueError: 100%25 wrong. Fix it."
    assert github(REPORT).splitlines() == [lines[0], lines[2]]


def test_breaks_that_no_run_reached_are_a_number_until_they_are_asked_for() -> None:
    assert "GB0059" not in shown(lambda console: print_report(console, REPORT))
    words = shown(lambda console: print_report(console, REPORT, unreached=True))
    assert "a,b.py:9:1: GB0059 prints\n    found in the source; no run reached it" in words
    assert "--all" not in words
    unrun = replace(REPORT, entries=(), torch=None)
    assert "GB0059 prints" in shown(lambda console: print_report(console, unrun))


def test_check_counts_as_mend_does() -> None:
    faked = Finding(replace(SITE, evidence="fake", span=Span.of(5, 1, 5, 2)))
    report = replace(REPORT, findings=(*REPORT.findings, faked))
    words = shown(lambda console: print_report(console, report))
    assert "1 graph break, 1 more only in runs without data, 1 more in the source" in words
    assert mend_record(replace(PLAN, before=report))["before"]["breaks"] == 1


@pytest.mark.parametrize(
    ("outcome", "graphs", "words"),
    [
        ("resumed", 2, "costs 2 more graphs"),
        ("resumed", 0, "costs no graph: nothing compiled runs on both sides of it"),
        ("rest skipped", 1, "costs 1 more graph, the rest of its function runs uncompiled"),
        ("raised", 0, "raises an exception"),
        ("unknown", 0, ""),
    ],
)
def test_what_a_break_costs(outcome: Any, graphs: int, words: str) -> None:
    assert cost(replace(SITE, outcome=outcome, graphs=graphs)) == words


def test_what_differs_elsewhere_is_never_called_equal_alone() -> None:
    equal = replace(VERDICT, safety="safe", outputs="bit-equal", reasons=())
    assert compared(equal) == "Compared in 7 calls: outputs, gradients and state bit-equal; effects equal."
    rounded = replace(equal, rounded=("gradients",))
    assert compared(rounded) == (
        "Compared in 7 calls: outputs and state bit-equal; gradients bit-equal uncompiled and within rounding compiled; "
        "effects equal."
    )
    assuming = replace(equal, safety="unsafe", assumes=(Assumption("dtype"),))
    assert compared(assuming).startswith("In the 7 calls of the entry itself: ")
    assert compared(assuming).endswith("Other uses may differ, as said.")


def test_the_command_line_names_its_options() -> None:
    failure = replace(FAILURE, remedy="Raise the time limit (setting graphmend.worker.timeout).")
    words = shown(lambda console: print_report(console, replace(REPORT, failures=(failure,))))
    assert "Raise the time limit (option --timeout)." in words
    assert "setting" not in words


def test_sarif() -> None:
    run = sarif(REPORT)["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["GB0170", "GB0059"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["endColumn"] == 19
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"GB0170", "GB0059"}


def test_a_diff_keeps_a_missing_last_line_end_visible() -> None:
    assert "\\ No newline at end of file" in diff("a.py", "a\nb", "a\nc")
