"""Checks of tensor values: every candidate of every example run with arguments that pass and that fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rule import Example
from graphmend_lsp.mending.rules.guard import rule as guard
from graphmend_lsp.mending.rules.guard import truth as guard_truth
from graphmend_lsp.text import apply_edits

from .conftest import PATH, mended, seen_in, unmark
from .test_defer import candidates, outcome


def _failing(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Arguments that checks do not like, and the first that they do once more."""
    return [
        *(tuple(-9 * one for one in call) for call in calls),
        *(tuple(3e38 * one for one in call) for call in calls),
        *(tuple(one * float("inf") for one in call) for call in calls),
        *(tuple(0 * one for one in c) for c in calls),
        calls[0],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", guard.EXAMPLES, ids=lambda case: case.title)
def test_every_candidate_fails_where_the_original_fails(case: Example) -> None:
    before, _ = unmark(case.before)
    mends = candidates("guard", case.before, case.outermost, case.gb_id, case.seen)
    expected, _ = outcome(before, case.run or "", extra=_failing)
    _, graphs_before = outcome(before, case.run or "", "eager")
    failed = [isinstance(result, tuple) for result, _ in expected]
    assert mends and True in failed and False in failed
    for mend in mends:
        after = apply_edits(before, mend.edits)
        told = any("RuntimeError" in change for change in mend.changes)
        for backend in (None, "eager", "aot_eager"):
            got, _ = outcome(after, case.run or "", backend, extra=_failing)
            if told:
                assert [isinstance(result, tuple) for result, _ in got] == failed, (mend.title, backend)
                passed = [one for one, bad in zip(got, failed, strict=True) if not bad]
                assert passed == [one for one, bad in zip(expected, failed, strict=True) if not bad]
            else:
                assert got == expected, (mend.title, backend)
        _, graphs = outcome(after, case.run or "", "eager")
        assert graphs < graphs_before or graphs_before == 0, mend.title


_DATA = [
    case for case in guard.EXAMPLES if case.gb_id not in guard_truth.GB_IDS
]  # of the others Python knows the truth


@pytest.mark.parametrize("case", _DATA, ids=lambda case: case.title)
def test_the_condition_is_told(case: Example) -> None:
    mends = candidates("guard", case.before, case.outermost, case.gb_id, case.seen)
    for mend in mends:
        ((path, span),) = mend.conditions
        assert path == mend.path
        assert span.contains(mend.span) or mend.span.contains(span)


def test_what_leaves_no_break_is_offered_first() -> None:
    source = """\
import torch


def f(x):
    ⟦if torch.isnan(x).any():
        raise ValueError("nan")⟧
    return x + 1
"""
    first, second, third = candidates("guard", source, gb_id="GB0170")
    assert first.title == "Mend graph break: raise ValueError in the graph"
    assert second.title == "Mend graph break: raise ValueError at the end of f"
    assert third.title == "Mend graph break: check in the graph"
    assert any("RuntimeError" in change for change in third.changes)
    assert not any("RuntimeError" in change for change in (*first.changes, *second.changes))


def test_a_check_in_the_graph_that_stays_in_front_is_told() -> None:
    """Where both fail, the one that stands behind now raises first."""
    source = """\
import torch


def f(x):
    if ⟦(x < 0).any()⟧:
        raise ValueError(f"negative: {x}")
    torch._assert_async((x < 9).all(), "large")
    return x + 1
"""
    ended = candidates("guard", source)[0]
    assert ended.title.endswith("at the end of f")
    assert "When the check in line 7 fails too, its exception is the one that is raised." in ended.changes


_INLINED = """\
import torch

NAME = "x"


class Odd(ValueError):
    pass


class Part(torch.nn.Module):
    def forward(self, x, names=None):
        {before}if ⟦(x < 0).any()⟧:
            {error}
        return x.sin()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.seen = 0

    def forward(self, x):
        return self.part(x + 1) * 2
"""


def _titles(error: str, before: str = "") -> list[str]:
    source = _INLINED.format(error=error, before=before)
    return [one.title.removeprefix("Mend graph break: ") for one in candidates("guard", source, "Net.forward")]


def test_an_operator_raises_what_needs_nothing_of_the_function() -> None:
    assert _titles("raise Odd") == ["raise Odd in the graph"]
    assert _titles('raise Odd("negative", 3) from None') == ["raise Odd in the graph"]
    assert _titles('raise Odd(f"negative {NAME!r}")')[0] == "raise Odd in the graph"
    for error in ("raise Odd(x)", "raise Odd(names)", "raise Odd(self)", "raise Missing", "raise Odd(__class__, 1)"):
        assert _titles(error) == [], error


@pytest.mark.parametrize(
    "before",
    [
        "self.seen = 1", "x[0] = 1", "x += 1", "x.add_(1)", "names.append(x)", "print(x)", "global NAME",
        "y = names.pop()", "self.seen += 1",
    ],
)  # fmt: skip
def test_an_operator_stands_behind_nothing_that_is_stored(before: str) -> None:
    """Where an operator of the graph raises, what Python stored in front of it is lost."""
    assert _titles('raise Odd("negative")', before + "\n        ") == ["check in the graph"]
    assert _titles('raise Odd("negative")', "y = x.cos()\n        ")[0] == "raise Odd in the graph"


@pytest.mark.parametrize(
    ("around", "behind"),
    [
        ("try:", "\n    except ValueError:\n        y = x"),
        ("with contextlib.suppress(ValueError):", ""),
        ("try:\n      with torch.no_grad():", "\n    except (KeyError, ValueError):\n        y = x"),
    ],
)
def test_an_operator_raises_past_no_caller_that_may_catch(around: str, behind: str) -> None:
    start = "import contextlib\n\nimport torch\n\n\ndef check(x):\n    if ⟦(x < 0).any()⟧:\n        raise ValueError('negative')\n"
    source = (
        start
        + f"    return x\n\n\ndef f(x):\n    y = x\n    {around}\n        y = check(x) + 1{behind}\n    return y\n"
    )
    assert [one.title for one in candidates("guard", source, "f")] == ["Mend graph break: check in the graph"]
    assert len(candidates("guard", source.replace(around, "if True:").replace(behind, ""), "f")) == 2
    others = source.replace("ValueError)", "OSError)").replace("except ValueError", "except TypeError")
    if "suppress" not in around:  # what catches others lets it pass
        assert len(candidates("guard", others, "f")) == 2


def test_a_caller_that_cannot_be_read_is_looked_at_when_the_check_is_traced() -> None:
    value, site = unmark(_INLINED.format(error="raise Odd", before=""), "Net.forward", "GB0059")
    titles = {}
    for kind in ("torch", "code", "stdlib"):
        frame = replace(site.chain[0], path="/elsewhere/calls.py", kind=kind)
        found = propose(replace(site, chain=(frame, *site.chain)), {site.path: value}, ["guard"])
        titles[kind] = [one.title for one in found.mends]
    assert set(map(tuple, titles.values())) == {("Mend graph break: raise Odd in the graph",)}


def test_an_operator_stands_in_no_loop_that_stores() -> None:
    source = """\
import torch


def check(xs, seen):
    for x in xs:
        if ⟦(x < 0).any()⟧:
            raise ValueError("negative")
        seen[0] = x
    return xs[0]


def f(x):
    return check([x, x + 1], {}) + 1
"""
    assert [one.title for one in candidates("guard", source, "f")] == ["Mend graph break: check in the graph"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("error", ["raise Odd", 'raise Odd("negative", NAME) from None'])
def test_an_operator_raises_the_same_under_every_compiler(error: str, backend: str) -> None:
    """Also where gradients are asked for, and where another operator behind the check would raise an error of its own."""
    import torch

    source = _INLINED.format(error=error, before="").replace("x.sin()", "self.rows(x.long()).sin()")
    source = source.replace(
        "    def forward(self, x, names", "    rows = torch.nn.Embedding(3, 2)\n\n    def forward(self, x, names"
    )
    (mend,) = candidates("guard", source, "Net.forward")
    raised: list[list[Any]] = []
    for text in (unmark(source)[0], apply_edits(unmark(source)[0], mend.edits)):
        torch._dynamo.reset()
        space: dict[str, Any] = {"__name__": "model", "__file__": "model.py"}
        exec(compile(text, "model.py", "exec"), space)
        net = torch.compile(space["Net"](), backend=backend)
        net(torch.ones(3)).sum().backward()
        raised.append([])
        for asked in (True, False, True):
            with torch.set_grad_enabled(asked), pytest.raises(ValueError) as caught:
                net(torch.full((3,), -9.0))
            raised[-1].append((type(caught.value).__name__, caught.value.args, caught.value.__cause__))
    assert raised[0] == raised[1]


_THERE = """\
{head}import torch


class Net(torch.nn.Module):
    def forward(self, parts{more}):
        assert ⟦{test}⟧, "no parts"
        return parts[0] + 1
"""


@pytest.mark.parametrize(
    ("test", "gb_id", "head", "more", "asked"),
    [
        ("parts", "GB0112", "", "", True),
        ("parts", "GB0055", "from math import *\n", "", True),
        ("self.parts", "GB0112", "", "", True),
        ("parts[0]", "GB0112", "", "", True),
        ("bool(parts)", "GB0112", "", "", False),  # it is asked already
        ("parts.sum()", "GB0112", "", "", False),  # what is called may be what breaks
        ("parts", "GB0170", "", "", False),  # a tensor: that is in the graph already
        ("parts", "GB0112", "", ", bool", False),  # another `bool`
        ("parts", "GB0112", "from torch import *\n", "", False),
        ("parts", "GB0112", "bool = len\n", "", False),
    ],
)
def test_what_is_there_is_asked_of_python(test: str, gb_id: str, head: str, more: str, asked: bool) -> None:
    value, site = unmark(_THERE.format(test=test, head=head, more=more), "forward", gb_id)
    mends = [one for one in propose(site, {PATH: value}, ["guard"]).mends if "bool(" in one.title]
    assert bool(mends) is asked
    for mend in mends:
        assert apply_edits(value, mend.edits) == value.replace(f"assert {test},", f"assert bool({test}),")
        assert mend.conditions == mend.changes == mend.cautions == ()


def test_checks_of_one_function_raise_at_its_end_in_their_order() -> None:
    source, site = unmark(
        "import torch\n\n\ndef f(x):\n    ⟦if (x < -5).any():\n        raise ValueError(f'far too small {x}')⟧\n"
        "    y = x.exp()\n    if (x < 0).any():\n        raise KeyError('too small')\n"
        "    assert (y > 0).all(), f'never {y.shape}'\n    return y + x\n"
    )
    assert mended("guard", source, site).partition("result = y + x\n")[2] == (
        "    if failed:\n        raise ValueError(f'far too small {x}')\n"
        "    if failed_2:\n        raise KeyError('too small')\n    assert holds, f'never {y.shape}'\n    return result\n"
    )


_GIVEN = """\
import torch


class Model(torch.nn.Module):
    def get_input_embeddings(self):
        return self.embed

    def forward(self, ids, features):
        x = self.get_input_embeddings()(ids)
        n = (ids == 3).sum()
        many = features.shape[0]
        if ⟦n != many⟧:
            raise ValueError(f"{n} places for {many} features")
        return x.masked_scatter((ids == 3).unsqueeze(-1), features)
"""


@pytest.mark.parametrize(("kind", "raises"), [("module", True), ("other", False)])
def test_a_module_that_a_method_gave_stores_nothing_before_the_check(kind: str, raises: bool) -> None:
    """What else a method may give, and what calling it does, is not known."""
    source, site = unmark(_GIVEN)
    mends = propose(site, {PATH: source}, ["guard"], seen_in(source, [("self.get_input_embeddings()", kind)])).mends
    found = [one for one in mends if "ValueError in the graph" in one.title]
    assert bool(found) is raises
    assert not raises or 'ValueError(f"{n} places for {many} features")' in apply_edits(source, found[0].edits)
