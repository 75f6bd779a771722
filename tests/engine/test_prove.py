"""Which candidates of a break are judged: what costs most only where nothing before it is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.prove import Known, prove
from graphmend_lsp.engine.runs import Key, Run
from graphmend_lsp.model import Candidate, Counts, EntryResult, Failure, Finding, Mend, Report, Verdict

from .test_plan import ENTRY, PATH, mend, site

BROKEN, WHOLE = Counts(2, 1, 0), Counts(1, 0, 0)
FIRST, CAPTURE = mend(1, 1, "1"), mend(1, 1, "2", "capture", inductor=True)
OPERATOR, BOUNDARY, AT_END = mend(1, 1, "3", "opaque"), mend(1, 1, "4", "isolate"), mend(1, 1, "5", "guard")
SAFE = Verdict("safe", (), BROKEN, WHOLE, results="safe")
UNSAFE = replace(SAFE, safety="unsafe", results="unsafe")
WRONG = replace(SAFE, safety="wrong", results="wrong")
_CONDITION = ((PATH, site(1, 1).span),)
HALF, OTHER = mend(1, 1, "6", conditions=_CONDITION), mend(1, 1, "7", "capture", inductor=True, conditions=_CONDITION)
NEVER = replace(UNSAFE, unreached=((site(1, 1).span, True),))
STAYS = replace(SAFE, after=Counts(1, 1, 0))  # a graph less, and the break at its end


class Judge:
    """Says what it is given of each mend, and takes down what it is asked for."""

    jobs = 1

    def __init__(self, verdicts: dict[Mend, Verdict]) -> None:
        self.verdicts = verdicts
        self.asked: list[list[str]] = []

    async def verify(
        self, _request: CheckRequest, _key: Key, programs: Sequence[tuple[Mend, ...]], **_: Any
    ) -> tuple[list[tuple[Verdict, Run]], Failure | None]:
        self.asked.append([mends[0].rule for mends in programs])
        return [(self.verdicts[mends[0]], Run()) for mends in programs], None

    async def beside(self, *_: Any) -> list[tuple[Mend, Verdict]]:
        return []


def report(*mends: Mend) -> Report:
    found = Finding(site(1, 1), tuple(map(Candidate, mends)))
    return Report("2.13.0", "3.11", "cpu", (EntryResult(ENTRY, "eval", 2, 0, ()),), (found,))


@pytest.mark.parametrize(
    ("mends", "asked", "offered"),
    [
        ({FIRST: SAFE, CAPTURE: SAFE, OPERATOR: SAFE}, [["where"]], ["where"]),
        ({FIRST: UNSAFE, CAPTURE: SAFE, OPERATOR: SAFE}, [["where"], ["capture"]], ["capture", "where"]),
        ({FIRST: WRONG, CAPTURE: UNSAFE, OPERATOR: SAFE}, [["where"], ["capture"], ["opaque"]], ["opaque", "capture"]),
        ({AT_END: STAYS, CAPTURE: SAFE}, [["guard"], ["capture"]], ["guard", "capture"]),
        ({BOUNDARY: SAFE, CAPTURE: SAFE}, [["isolate"], ["capture"]], ["capture", "isolate"]),
        ({CAPTURE: SAFE}, [["capture"]], ["capture"]),
        ({CAPTURE: WRONG, OPERATOR: SAFE}, [["capture"], ["opaque"]], ["opaque"]),
        ({OPERATOR: SAFE}, [["opaque"]], ["opaque"]),
        (
            {HALF: NEVER, OTHER: SAFE, OPERATOR: SAFE},
            [["where"], ["opaque"]],
            ["opaque", "where"],
        ),  # as little of OTHER
    ],
)
async def test_what_costs_more_is_judged_where_nothing_else_is_safe(
    mends: dict[Mend, Verdict], asked: list[list[str]], offered: list[str]
) -> None:
    judge, said = Judge(mends), Known()
    told: list[Finding] = []
    proven = await prove(
        cast(Any, judge), CheckRequest((PATH,), {PATH: "a"}), report(*mends), told.append, None, {}, said
    )
    assert judge.asked == asked
    (finding,) = proven.findings
    assert told == [finding]
    assert [one.mend.rule for one in finding.candidates] == offered
    assert {one.rule for one in said} == {rule for those in asked for rule in those}
