"""Proposals from the process of their own: what the rules say, a word when none speaks, and a fresh child when one died."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graphmend_lsp.engine.mender import Mender
from graphmend_lsp.model import Break, Frame, Span

SOURCE = "import torch\n\n\ndef fn(x):\n    if x.sum() > 0:\n        y = x + 1\n    else:\n        y = x - 1\n    return y * y.max().item()\n"


@pytest.fixture
def mender() -> Iterator[Mender]:
    one = Mender()
    yield one
    one.close()


def site(span: Span, gb_id: str) -> Break:
    return Break("m.py", span, gb_id, gb_id, "", "dynamo", root_gb_id=gb_id, chain=(Frame("m.py", "fn", span),))


BRANCH = site(Span.of(5, 8, 5, 19), "GB0170")
ITEM = site(Span.of(9, 16, 9, 30), "GB0124")


def test_a_rule_proposes(mender: Mender) -> None:
    mends, _ = mender.propose(BRANCH, {"m.py": SOURCE})
    assert [mend.rule for mend in mends] == ["where"]
    assert mender.propose(BRANCH, {"m.py": SOURCE}, ["guard"])[0] == ()


def test_a_break_that_no_rule_is_about_has_a_reason(mender: Mender) -> None:
    mends, (declined, behind) = mender.propose(replace(ITEM, gb_id="GB0264", root_gb_id="GB0264"), {"m.py": SOURCE})
    assert mends == ()
    assert (declined.rule, behind.rule) == ("rules", "opaque")
    assert declined.reason.startswith("No rule mends this kind of graph break. Make it once in __init__")


def test_a_child_that_died_is_replaced(mender: Mender) -> None:
    mender.propose(BRANCH, {"m.py": SOURCE})
    assert mender._process is not None
    os.kill(mender._process.pid, signal.SIGKILL)
    mender._process.wait()
    assert mender.propose(BRANCH, {"m.py": SOURCE})[0]
