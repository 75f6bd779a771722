"""A probe discharges an assumption only at the places that it ran: programs in which the old way, kind by kind, was deceived."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphmend_lsp.engine.assumed import standing_of
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.verdicts import judge, worst
from graphmend_lsp.model import Assumption, Mend, Span, Verdict
from graphmend_lsp.worker.exercised import Exercised
from graphmend_lsp.worker.judged import assumed_places
from graphmend_lsp.worker.wire import AssumedPlace, Candidate, CandidateResult, CountsData, Place

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x, kind):
        if kind == {kind}:
            return self.scale * (2.0 if x.max() > 1 else 0.5)
        return x.sin()


def graphmend_entry():
    x = torch.tensor([0.1, 2.0])
    return Net(), [(x, 1), (x.cos(), 2), (-x, 2), (x, 3)]
"""
CHOICE = "(2.0 if x.max() > 1 else 0.5)"
WHERE = "torch.where(x.max() > 1, 2.0, 0.5)"
JUDGE = """
import json, sys
sys.path[:0] = sys.argv[1:3]
from graphmend_lsp.model import Assumption, Entry, Mend, Span, TextEdit
from tests.attack import inside
path, kind, choice, mended = sys.argv[3:]
text = open(path).read()
line = next(number for number, one in enumerate(text.split("\\n"), 1) if choice in one)
column = text.split("\\n")[line - 1].index(choice) + 1
span = Span.of(line, column, line, column + len(choice))
mend = Mend("where", "", path, span, (TextEdit(path, span, mended),), assumes=(Assumption(kind, places=((path, span),)),))
inside.prepare()
((verdict,),) = [inside.uncompiled_verdicts(Entry(path, "graphmend_entry"), text, "eval", [(mend,)])]
json.dump([verdict.safety, [one.kind for one in verdict.assumes], [one.kind for one in verdict.discharged]], sys.stdout)
"""
ROOT = Path(__file__).parents[2]


def judged(tmp_path: Path, kind: int, mended: str) -> list[object]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(kind=kind))
    words = [sys.executable, "-c", JUDGE, str(ROOT), str(ROOT / "server"), str(path), "dtype", CHOICE, mended]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: list[object] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", [1, 3])
def test_a_place_that_a_later_call_alone_runs_is_probed_there(tmp_path: Path, kind: int) -> None:
    assert judged(tmp_path, kind, WHERE)[:2] == ["unsafe", ["dtype"]]
    right = CHOICE  # what is left as it is, is right in every dtype
    assert judged(tmp_path, kind, f"({right})") == ["safe", [], ["dtype"]]


def place(line: int, last: int | None = None) -> Place:
    return Place(file=__file__, line=line, column=0, end_line=last or line, end_column=1)


def either(first: bool) -> int:
    if first:
        return 1
    return 2


def test_a_watched_call_tells_the_places_that_it_ran() -> None:
    start = either.__code__.co_firstlineno
    watch = Exercised([place(start + 1), place(start + 2), place(start + 3), place(start + 2, start + 3), place(1)])
    with watch.watched() as ran:
        either(True)
    assert ran == {0, 1, 3}
    with watch.watched() as again:
        either(False)
    assert again == {0, 2, 3} and ran == {0, 1, 3}
    with watch.watched(wanted=False) as nothing:
        either(False)
    assert nothing == set()


A = Assumption("dtype", places=(("/a.py", Span.of(1, 1, 1, 5)), ("/a.py", Span.of(9, 1, 9, 5))))
B = Assumption("dtype", "another")


def result(exercised: list[int], unmet: list[int]) -> CandidateResult:
    cut = CountsData(graphs=2, breaks=1, skipped_frames=0, skipped_rests=0, recompiles=0, refused=0)
    return CandidateResult(
        id="0", before=cut, after={**cut, "graphs": 1, "breaks": 0}, outputs="bit-equal", gradients="bit-equal",
        state="bit-equal", effects="equal", rounded=[], differences=[], unlike_sides=[], sides=[], events=[], graphs=[], calls=4,
        seconds=1.0, failure=None, probed=["dtype"], untried=[], exercised=exercised, unmet=unmet,
    )  # fmt: skip


def mend(*assumes: Assumption) -> Mend:
    return Mend("where", "", "/a.py", Span.of(3, 1, 3, 2), (), assumes=assumes)


@pytest.mark.parametrize(
    ("exercised", "unmet", "becomes"),
    [
        ([0, 1, 2], [], ([], [A, B], [])),
        ([0, 2], [], ([A], [B], [])),
        ([0], [1, 2], ([A], [], [B])),
        ([], [0, 1, 2], ([], [], [A, B])),
    ],
)
def test_each_place_is_discharged_by_itself(
    exercised: list[int], unmet: list[int], becomes: tuple[list[Assumption], ...]
) -> None:
    standing = standing_of(result(exercised, unmet), [mend(A, B)])
    assert (list(standing.open), list(standing.discharged), list(standing.unmet)) == becomes


def verdict(exercised: list[int], unmet: list[int]) -> Verdict:
    return judge(result(exercised, unmet), [mend(A)], Sources({}))


def test_what_no_entry_runs_is_open_and_what_another_ran_is_not() -> None:
    nowhere, there = verdict([], [0, 1]), verdict([0, 1], [])
    alone = worst([nowhere])
    assert (alone.safety, alone.results, alone.assumes) == ("unsafe", "unsafe", (A,))
    assert (
        alone.reasons[0]
        == "assumes that the dtype of the model and its inputs stays the same (no call runs that place)"
    )
    assert alone.assuming and worst([there]).safety == "safe"
    assert worst([nowhere, there]).safety == worst([there, nowhere]).safety == "safe"
    assert worst([nowhere, verdict([0], [])]).safety == "unsafe"


def test_the_places_of_all_candidates_are_watched_once() -> None:
    one = AssumedPlace(kind="dtype", **place(1))
    other = AssumedPlace(kind="identity", **place(1))
    candidates = [
        Candidate(id=str(number), texts={}, conditions=[], changed={}, assumed=[one, other, AssumedPlace(kind="dtype", **place(number))])
        for number in (2, 3)
    ]  # fmt: skip
    assert [each["line"] for each in assumed_places(candidates)] == [1, 2, 3]
