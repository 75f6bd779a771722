"""What a run noted reaches the rules: through the wire, the finding and the process that mends, with what it says of memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphmend_lsp.engine.config import CheckRequest
from graphmend_lsp.engine.files import Sources
from graphmend_lsp.engine.findings import findings_of
from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.engine.noted import facts_of
from graphmend_lsp.engine.runs import Run, run_of
from graphmend_lsp.mending.facts.kinds import Kinds
from graphmend_lsp.mending.facts.seen import Seen
from graphmend_lsp.mending.rule import Request
from graphmend_lsp.mending.syntax.break_site import place_of
from graphmend_lsp.model import Belief, Break, Declined, Entry, Mend, Span
from graphmend_lsp.values import NOTHING, Facts
from graphmend_lsp.worker.wire import NotedFunction

PATH = "/p/gate.py"
TEXT = """import torch


def fn(x, é, options):
    wide, _ = options
    if x.sum() > 0 and wide:
        x = x * é
    return x
"""
FLAG: Any = {"kinds": ["bool"], "constant": [True]}
TENSOR: Any = {
    "kinds": ["tensor"],
    "classes": ["torch.Tensor"],
    "tensor": {
        "dtypes": ["float32"], "ranks": [1], "shape": [3], "gradients": [False], "devices": ["cpu"],
        "layouts": ["strided"], "contiguous": [True],
    },
    "storages": [0],
}  # fmt: skip


def noted(wide: Any = FLAG) -> NotedFunction:
    return NotedFunction(
        file=PATH, function="fn", line=4, entered=1, raised=0, callers=[],
        values=[
            {"at": [6, 23, 6, 27], "name": "", "value": wide},
            {"at": [7, 16, 7, 18], "name": "", "value": TENSOR},
            {"at": [6, 4, 7, 18], "name": "x", "value": TENSOR},
        ],
    )  # fmt: skip


def facts(*runs: Sequence[NotedFunction]) -> Facts:
    return facts_of(runs, Sources({PATH: TEXT}))


SITE = Break(PATH, Span.of(6, 8, 6, 19), "GB0170", "", "", "dynamo", root_gb_id="GB0170")


def asked(given: Facts, text: str = TEXT) -> tuple[Any, Any, Seen]:
    """The break's condition and the branch around it, and what is seen of the file, as a rule has them."""
    place = place_of(Request(SITE, {PATH: text}, given))
    assert place is not None
    branch = place.source.tree.body[1].body[1]  # type: ignore[attr-defined]
    return branch.test.values[1], branch, Seen(place.source)


def test_a_request_tells_what_an_expression_was() -> None:
    node, branch, seen = asked(facts([noted()]))
    fact = seen.of(node)
    assert fact is not None
    assert fact.constant == (True,)
    before = seen.before(branch, "x")
    assert before is not None
    assert before.dtype == "float32"
    factor = seen.of(branch.body[0].value.right)  # behind a name of two bytes
    assert factor is not None
    assert factor.shares_storage_with(before) is True


def test_a_text_that_was_changed_since_has_no_facts() -> None:
    node, _, seen = asked(facts([noted()]), TEXT.replace("x * é", "x + é"))
    assert seen.of(node) is None


def test_runs_that_differ_are_joined() -> None:
    node, branch, seen = asked(facts([noted()], [noted(TENSOR)]))
    fact = seen.of(node)
    assert fact is not None
    assert fact.kinds == ("bool", "tensor")
    assert Kinds(seen.source).of(node) == "unknown"
    one, two = seen.of(branch.body[0].value.right), seen.before(branch, "x")
    assert one is not None
    assert two is not None
    assert one.shares_storage_with(two) is True


@pytest.mark.parametrize("broken", [{"values": [{"at": [1]}]}, {"values": None}, {"callers": [{}]}])
def test_data_of_another_version_gives_no_facts(broken: Mapping[str, Any]) -> None:
    assert facts([{**noted(), **broken}]) == NOTHING  # type: ignore[typeddict-item]


def test_a_fact_makes_a_mend_possible_which_says_so() -> None:
    """Through the process that mends, as from a kept or a new result of the worker."""
    event: Any = json.loads(json.dumps(EVENT))
    result: Any = {
        "events": [event],
        "graphs": [],
        "skipped": [],
        "calls": 1,
        "device": "cpu",
        "seconds": 0.1,
        "failure": None,
    }
    mender = Mender()
    try:
        without = proposed(run_of(result), mender)
        known = proposed(run_of({**result, "noted": json.loads(json.dumps([noted()]))}), mender)
    finally:
        mender.close()
    assert without[0] == ()
    assert "`wide` is a tensor or a Python value" in " ".join(one.reason for one in without[1])
    assert known[0][0].rule == "where"
    assert known[0][0].rests_on == (Belief("wide", "a Python value"),)


CAUSE = {"gb_id": "GB0170", "gb_type": "", "context": "", "explanation": "", "hints": []}
EVENT = {
    "cause": CAUSE, "root": CAUSE, "outcome": "resumed", "compiled": "fn", "call": 0,
    "frames": [
        {"file": PATH, "line": 6, "column": 7, "end_line": 6, "end_column": 18, "function": "fn", "kind": "code"}
    ],
}  # fmt: skip


def proposed(run: Run, mender: Mender) -> tuple[tuple[Mend, ...], tuple[Declined, ...]]:
    request = CheckRequest(paths=(PATH,), texts={PATH: TEXT}, rules=("where",))
    entry = Entry(PATH, "graphmend_entry")
    (finding,) = findings_of({(entry, "eval"): run}, [], request, Sources(request.texts), mender)
    return tuple(one.mend for one in finding.candidates), finding.declined
