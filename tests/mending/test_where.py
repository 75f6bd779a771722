"""The where rule beyond its examples: conditions, places, layouts, imports, gradients, what it reports."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.rules.where import unasked_examples
from graphmend_lsp.model import Mend
from graphmend_lsp.text import Text, apply_edits

from .conftest import PATH, unmark

_IF = (
    "import torch\n\n\ndef fn(x, y, n: int, flag: bool, mask=None):\n    if {test}:\n        x = x + 1\n    return x\n"
)


def _mends(source: str, gb_id: str = "GB0170") -> tuple[str, tuple[Mend, ...]]:
    value, site = unmark(source, None, gb_id)
    answer = propose(site, {PATH: value}, ["where"])
    assert answer.mends, [one.reason for one in answer.declined]
    return value, answer.mends


def _after(source: str, gb_id: str = "GB0170") -> str:
    value, mends = _mends(source, gb_id)
    return apply_edits(value, mends[0].edits)


@pytest.mark.parametrize(
    ("test", "predicate"),
    [
        ("⟦x.sum() > 0⟧", "x.sum() > 0"),
        ("⟦x.sum()⟧", "x.sum() != 0"),
        ("⟦x.any()⟧", "x.any()"),
        ("not ⟦x.any()⟧", "~x.any()"),
        ("not ⟦x.sum()⟧", "~(x.sum() != 0)"),
        ("not (⟦x.any()⟧ or x.sum() > 3)", "~(x.any() | (x.sum() > 3))"),
        ("⟦x.any()⟧ and x.sum() > 3", "x.any() & (x.sum() > 3)"),
        ("⟦x.any()⟧ and (x.sum() > 3 or not x.all())", "x.any() & ((x.sum() > 3) | ~x.all())"),
        ("flag or ⟦x.any()⟧", "flag | x.any()"),
        ("⟦bool(x.any())⟧", "x.any()"),
        ("⟦x.any().item()⟧", "x.any()"),
        ("⟦x.max().item()⟧ > 3", "x.max() > 3"),
        ("⟦x.max().item()⟧ > 0.1", "x.max().double() > 0.1"),
        ("⟦x.max().item()⟧ > n", "x.max().double() > n"),
        ("⟦float(x.max())⟧ >= 0.5", "x.max() >= 0.5"),
        ("⟦int(x.max())⟧ == 3", "x.max().long() == 3"),
        ("⟦x.max().item()⟧ > y.max().item()", "x.max().double() > y.max().double()"),
        ("⟦torch.allclose(x, y, atol=1e-3)⟧", "torch.isclose(x, y, atol=1e-3).all()"),
        ("⟦x.max() + 1⟧ > y.min() * n", "x.max() + 1 > y.min() * n"),
        ("(\n        ⟦x.isnan().any()  # why\n        or x.isinf().any()⟧\n    )", "x.isnan().any() | x.isinf().any()"),
    ],
)
def test_condition(test: str, predicate: str) -> None:
    new = _after(_IF.format(test=test))
    assert f"x = torch.where({predicate}, x + 1, x)" in new
    assert ("# why" in test) == ("    # why\n" in new)


@pytest.mark.parametrize(
    ("test", "static", "predicate"),
    [
        ("n > 3 and ⟦x.any()⟧", "n > 3", "x.any()"),
        ("x.shape[0] > 3 and ⟦x.any()⟧", "x.shape[0] > 3", "x.any()"),
        ("⟦x.any()⟧ and n > 3", "n > 3", "x.any()"),
        ("mask is not None and ⟦mask.any()⟧ and y.any()", "mask is not None", "mask.any() & y.any()"),
        ("(flag or n) and ⟦x.any()⟧", "(flag or n)", "x.any()"),
        ("torch.is_tensor(x) and ⟦torch.equal(x, y)⟧", "torch.is_tensor(x) and x.shape == y.shape", "(x == y).all()"),
    ],
)
def test_python_part_stays_python(test: str, static: str, predicate: str) -> None:
    new = _after(_IF.format(test=test))
    assert f"    if {static}:\n        x = torch.where({predicate}, x + 1, x)\n    return x\n" in new


@pytest.mark.parametrize(
    ("imports", "spelled", "added"),
    [
        ("import torch", "torch.where", ""),
        ("import torch as th", "th.where", ""),
        ("from torch import where", "where", ""),
        ("from torch import where as choose, nn", "choose", ""),
        ("import torch.nn as nn", "torch.where", "import torch\n"),
        ("from torch import nn\nif True:\n    import torch as t", "t.where", ""),
        ("'''Doc.'''\nfrom __future__ import annotations", "torch.where", "import torch\n"),
        ("# -*- coding: utf-8 -*-", "torch.where", "import torch\n"),
    ],
)
def test_torch_is_spelled_as_the_file_does(imports: str, spelled: str, added: str) -> None:
    new = _after(f"{imports}\n\n\ndef fn(x):\n    if ⟦x.sum() > 0⟧:\n        x = x + 1\n    return x\n")
    assert f"    x = {spelled}(x.sum() > 0, x + 1, x)\n" in new
    assert new.count("import torch\n") == (1 if added or imports == "import torch" else 0)
    compile(new, PATH, "exec")


def test_lines_are_broken_like_black_in_the_files_own_line_ends_and_tabs() -> None:
    source = _IF.format(test="⟦torch.isinf(x).any()⟧").replace(
        "x + 1", "torch.clamp(x, min=torch.finfo(x.dtype).min, max=3)"
    )
    new = _after(source.replace("    ", "\t").replace("\n", "\r\n"))
    assert (
        "\tx = torch.where(\r\n"
        "\t\ttorch.isinf(x).any(), torch.clamp(x, min=torch.finfo(x.dtype).min, max=3), x\r\n"
        "\t)\r\n"
        "\treturn x\r\n"
    ) in new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def fn(x): return ⟦x + 1 if x.sum() > 0 else x⟧\n", "def fn(x): return torch.where(x.sum() > 0, x + 1, x)\n"),
        (
            "def fn(x):\n    y = x; z = (x + 1 if ⟦x.any()⟧ else y) * 2; return z\n",
            "def fn(x):\n    y = x; z = torch.where(x.any(), x + 1, y) * 2; return z\n",
        ),
        (
            "def fn(x):\n    return [\n        x,  # one\n        x + 1 if ⟦x.any()⟧ else x,\n    ]\n",
            "def fn(x):\n    return [\n        x,  # one\n        torch.where(x.any(), x + 1, x),\n    ]\n",
        ),
        (
            "def fn(x):\n    if ⟦x.any()⟧: x = x + 1  # up\n    return x\n",
            "def fn(x):\n    x = torch.where(x.any(), x + 1, x)  # up\n    return x\n",
        ),
        (
            "def fn(x):\n    ok = 0 < ⟦x.sum()⟧ < 9\n    return x * ok\n",
            "def fn(x):\n    x_sum = x.sum()\n    ok = (0 < x_sum) & (x_sum < 9)\n    return x * ok\n",
        ),
        (
            "def fn(x, y):\n    a, b = x, y\n    if ⟦x.any()⟧:\n        a, b = b + 0, b\n    return a - b\n",
            "def fn(x, y):\n    a, b = x, y\n    a = torch.where(x.any(), b + 0, a)\n    return a - b\n",
        ),
    ],
)  # fmt: skip
def test_place(before: str, after: str) -> None:
    assert _after("import torch\n\n\n" + before) == "import torch\n\n\n" + after


def test_conditions_are_reported_in_the_original_text() -> None:
    source = _IF.format(test="n > 3 and ⟦x.any()⟧").replace("x = x + 1", "x = x + 1 if x.sum() > 0 else x")
    value, mends = _mends(source)
    assert [Text(value).slice(span) for _path, span in mends[0].conditions] == ["x.any()", "x.sum() > 0"]


def test_what_costs_more_is_told() -> None:
    source = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        if ⟦x.any()⟧:\n"
        "            x = self.big(x)\n        else:\n            x = self.small(x)\n        return x\n"
    )
    _, mends = _mends(source)
    assert mends[0].changes == (
        "Every call computes `self.big(x)`, also when its side is not taken.",
        "Every call computes `self.small(x)`, also when its side is not taken.",
    )


@pytest.mark.parametrize(
    ("then", "other", "finite_without"),
    [
        ("torch.sqrt(x)", "x * 2", False),
        ("x.log() + x.rsqrt()", "x", False),
        ("(1 / x).sum() + x", "x", False),
        ("x * 2", "torch.sqrt(-x)", False),
        ("torch.sqrt(torch.log(x))", "x", False),
        ("x ** 0.5", "x", False),
        ("torch.pow(x, 0.5)", "x", False),
        ("x.pow(-0.5) + x", "x", False),
        ("torch.exp(-500 * x)", "x", False),
        ("torch.sin(x)", "x", True),
    ],
)
def test_gradients_stay_finite(then: str, other: str, finite_without: bool) -> None:
    """The first mend has the original's gradients; the plain one has not where an operand leaves its domain."""
    import torch

    source = "import torch\n\n\ndef fn(x):\n    if ⟦x.min() > 0⟧:\n        y = THEN\n"
    source += "    else:\n        y = OTHER\n    return y\n"
    source = source.replace("THEN", then).replace("OTHER", other)
    value, mends = _mends(source)
    assert len(mends) == (1 if finite_without else 2)
    expected = _gradients(value)
    torch.testing.assert_close(_gradients(apply_edits(value, mends[0].edits)), expected, rtol=0, atol=0, equal_nan=True)
    if not finite_without:
        assert any(bool(one.isnan().any()) for one in _gradients(apply_edits(value, mends[1].edits)))


def _gradients(source: str) -> list[Any]:
    import torch

    space: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), space)
    found = []
    for values in ([1.5, 2.0], [-1.0, -2.0], [0.0, -1.0]):
        x = torch.tensor(values, requires_grad=True)
        space["fn"](x).sum().backward()
        found.append(x.grad)
    return found


@pytest.mark.parametrize(
    "source",
    [
        "def fn(x):\n    if ⟦x.isnan().any()⟧:\n        raise ValueError('nan')\n    return x\n",
        "def fn(x):\n    assert ⟦x.sum()⟧ > 0\n    return x\n",
        "def fn(x):\n    if x.shape[0] > 3:\n        ⟦print(x)⟧\n    return x\n",
        "def fn(x):\n    return x * ⟦x.sum().item()⟧\n",
        "def fn(x):\n    ⟦if x.dtype == torch.float16:\n        x = x + 1⟧\n    return x\n",
    ],
)
def test_other_breaks_are_not_this_rules(source: str) -> None:
    value, site = unmark("import torch\n\n\n" + source)
    assert propose(site, {PATH: value}, ["where"]) == type(propose(site, {PATH: value}, ["where"]))()


def test_a_logger_in_a_condition_is_no_tensor() -> None:
    value, site = unmark(
        "def fn(x, log):\n    if ⟦log.isEnabledFor(10)⟧:\n        x = x + 1\n    return x\n", None, "GB0291"
    )
    answer = propose(site, {PATH: value}, ["where"])
    assert answer.mends == () and answer.declined == ()


_FILLED = unasked_examples.EXAMPLES[0].before


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("(bad, 0)", "(bad, 0)", False), ("(bad, 0)", "(bad, -1.5)", False), ("(bad, 0)", "(bad, float('nan'))", False),
        ("bad.any()", "torch.any(bad)", False), ("y.masked_fill(bad", "torch.masked_fill(y, bad", False),
        ("(bad, 0)", "(bad.any(-1, True).expand_as(y), 0)", False), ("(bad, 0)", "(bad, torch.tensor(0.0, dtype=y.dtype))", False),
        ("(bad", "(x < 0", True), ("x > 2", "x.sum(0) > 2", True), ("(bad", "(~bad", True), ("(bad", "(bad.all()", True),
        ("(bad", "(bad.any(-1, True)", True), ("bad, 0)", "bad, x.sum())", True), ("(bad, 0)", "(bad, 0) * 2", True),
        ("bad.any()", "bad.all()", True), ("bad.any()", "bad.sum() > 1", True), ("bad.any()", "bad.any() and x.sum() > 0", True),
        ("    y = x.sin()", "    global seen\n    seen = y = x.sin()", True),
        ("bad, 0)", "bad, torch.tensor(0.0, requires_grad=True))", True), ("y = y.m", "y = x.m", True),
        ("masked_fill(bad, 0)", "masked_fill(bad, 0)\n    else:\n        y = y + 1", True),
    ],
)  # fmt: skip
def test_a_branch_that_changes_what_its_mask_chooses_is_not_asked_for(old: str, new: str, asked: bool) -> None:
    text = _FILLED.replace(old, new, 1)
    assert text != _FILLED or old == new
    value, mends = _mends(text)
    after = apply_edits(value, mends[0].edits)
    assert ("where" in after, bool(mends[0].conditions)) == (asked, asked)
    plain = next(one for one in value.split("\n") if "masked_fill(" in one).strip()
    assert asked or f"    {plain}\n    return" in after
