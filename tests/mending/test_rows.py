"""Chosen rows that go through one call: values and gradients under random masks, who is trusted, and the test that goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.model import Belief, Mend
from graphmend_lsp.text import apply_edits
from graphmend_lsp.values import Facts, FileFacts

from .conftest import PATH, seen_in, unmark

_SPLINE = """\
import torch
import torch.nn.functional as F


def bins(edges, x, eps=1e-6):
    edges[..., -1] += eps
    return torch.sum(x[..., None] >= edges, dim=-1) - 1


def spline(x, w, d, inverse=False, left=0.0, right=1.0):
    if torch.min(x) < left or torch.max(x) > right:
        raise ValueError("outside")
    n = w.shape[-1]
    if 0.001 * n > 1.0:
        raise ValueError("too many")
    widths = 0.001 + (1 - 0.001 * n) * F.softmax(w, dim=-1)
    edges = F.pad(torch.cumsum(widths, dim=-1), pad=(1, 0), mode="constant", value=0.0)
    edges = (right - left) * edges + left
    edges[..., 0] = left
    edges[..., -1] = right
    at = bins(edges, x)[..., None]
    start = edges.gather(-1, at)[..., 0]
    slope = (0.001 + F.softplus(d)).gather(-1, at)[..., 0]
    if inverse:
        y = (x - start) / slope
        return y, -torch.log(slope)
    return start + (x - start) * slope, torch.log(slope)


def fn(x, w, d, inverse=False, bound=1.0):
    inside = (x >= -bound) & (x <= bound)
    y = torch.zeros_like(x)
    lad = torch.zeros_like(x)
    if torch.any(inside):
        y[inside], lad[inside] = spline(
            x=⟦x[inside]⟧,
            w=w[inside, :],  # widths
            d=d[inside, :],
            inverse=inverse,
            left=-bound,
            right=bound,
        )
    return y, lad
"""


def _mend(source: str, gb_id: str = "GB0036") -> tuple[str, Mend]:
    value, site = unmark(source, None, gb_id)
    answer = propose(site, {PATH: value}, ["rows"])
    assert answer.mends, [one.reason for one in answer.declined]
    return apply_edits(value, answer.mends[0].edits), answer.mends[0]


def _fn(source: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), space)
    return space["fn"]


def _marked(text: str) -> str:
    return _SPLINE.replace("⟦", "").replace("⟧", "").replace(text, f"⟦{text}⟧")


@pytest.mark.parametrize("inverse", [False, True])
def test_a_spline_has_the_same_values_and_gradients(inverse: bool) -> None:
    """What is left out is far outside, NaN or infinite, also all of it; widths of elements left out are NaN."""
    import torch

    before, after = _fn(unmark(_SPLINE)[0]), _fn(_mend(_SPLINE)[0])
    generator = torch.Generator().manual_seed(0)
    for turn, (scale, shift) in enumerate(((1.0, 0.0), (0.1, 0.0), (3.0, 0.0), (1.0, 9.0), (2.0, float("nan")))):
        x = torch.randn(6, 3, generator=generator) * scale
        x = torch.where(torch.rand(6, 3, generator=generator) > 0.5, x + shift, x) if turn != 3 else x + shift
        w, d = torch.randn(6, 3, 4, generator=generator), torch.randn(6, 3, 4, generator=generator)
        if turn == 2:
            w = torch.where((x.abs() <= 1)[..., None], w, float("nan"))
        seen = []
        for fn in (before, after):
            inputs = [one.clone().requires_grad_() for one in (x, w, d)]
            outputs = fn(*inputs, inverse)
            if outputs[0].requires_grad:  # not of the original where nothing is chosen
                sum(one.sum() for one in outputs).backward()
            seen.append([*outputs, *(torch.zeros_like(one) if one.grad is None else one.grad for one in inputs)])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-6, atol=1e-7)


def test_the_mended_spline_has_no_dynamic_shapes() -> None:
    """The only break that is left is the check on the values, which `guard` mends."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(sizes, generator=generator) for sizes in ((6, 3), (6, 3, 4), (6, 3, 4))]
    new = _mend(_SPLINE)[0].replace("torch.min(x) < left or torch.max(x) > right", "left > right")
    expected = _fn(unmark(_SPLINE)[0])(*given)
    torch.testing.assert_close(torch.compile(_fn(new), backend="eager", fullgraph=True)(*given), expected)
    assert not counters["graph_break"]


def test_the_same_mend_answers_every_break_of_the_call() -> None:
    texts = {_mend(_marked(text), gb_id)[0] for text, gb_id in (
        ("x[inside]", "GB0036"), ("w[inside, :]", "GB0036"), ("d[inside, :]", "GB0036"), ("torch.any(inside)", "GB0170"),
    )}  # fmt: skip
    assert len(texts) == 1
    assert "# widths" in texts.pop()


def test_the_test_for_any_row_is_a_condition_and_nothing_is_safe() -> None:
    _, mend = _mend(_SPLINE)
    assert len(mend.conditions) == 1
    assert any("chooses nothing" in one for one in mend.cautions)
    assert not any("must treat each row" in one for one in mend.cautions)  # all of it was read


def test_a_second_mend_keeps_the_test() -> None:
    """Where nothing is chosen it does what the program did, with one break left."""
    import torch

    value, site = unmark(_SPLINE, None, "GB0036")
    mends = propose(site, {PATH: value}, ["rows"]).mends
    assert len(mends) == 2 and not mends[1].conditions
    assert not any("chooses nothing" in one for one in mends[1].cautions)
    before, after = _fn(value), _fn(apply_edits(value, mends[1].edits))
    generator = torch.Generator().manual_seed(4)
    for shift in (0.0, 9.0):
        given = [torch.randn(one, generator=generator).requires_grad_() for one in ((6, 3), (6, 3, 4), (6, 3, 4))]
        for old, new in zip(before(given[0] + shift, *given[1:]), after(given[0] + shift, *given[1:]), strict=True):
            assert torch.equal(old, new) and old.requires_grad == new.requires_grad


def test_a_function_of_another_file_is_taken_on_trust() -> None:
    source = "import torch\nfrom other import f\n\n\ndef fn(x, m):\n    y = x.clone()\n    y[m, :] = f(⟦x[m, :]⟧)\n    return y\n"
    _, mend = _mend(source)
    assert any(one.startswith("`f` must treat each row for itself") for one in mend.cautions)


def test_a_test_for_more_than_rows_stays() -> None:
    source = _SPLINE.replace("        y[inside], lad", "        bound = 2.0\n        y[inside], lad")
    new, mend = _mend(source)
    assert "if torch.any(inside):" in new and not mend.conditions
    value, site = unmark(
        _marked("torch.any(inside)").replace("        y[inside], lad", "        bound = 2.0\n        y[inside], lad")
    )
    assert not propose(site, {PATH: value}, ["rows"]).mends


_LOOKED_UP = """\
import torch

SCALE = torch.ones(3)
MOST = 2


def taken(x, low):
    at = x.long().clamp(low, MOST)
    return x.gather(-1, at){more}


def fn(x, m, low):
    y = x.clone()
    y[m] = taken(⟦x[m]⟧, low)
    return y
"""
_SEEN = [("x", "float32 4 3"), ("m", "bool 4"), ("y", "float32 4 3"), ("low", "int")]


@pytest.mark.parametrize(("value", "kinds"), [(None, ["cost", "layout", "raised-between"]), (0, ["cost", "layout"])])
def test_a_function_that_may_raise_for_filled_rows_rests_on_its_python_values(
    value: int | None, kinds: list[str]
) -> None:
    """Rows of zeros give the same in every call only where all else that the function gets is the same."""
    source, site = unmark(_LOOKED_UP.format(more=""), gb_id="GB0036")
    facts = seen_in(source, _SEEN)
    if value is not None:
        values = facts.files[PATH].values
        fixed = {
            span: replace(one, constant=(value,)) if one.kinds == ("int",) else one for span, one in values.items()
        }
        facts = Facts({PATH: FileFacts(source, fixed)})
    (mend,) = propose(site, {PATH: source}, ["rows"], facts).mends
    assert ([one.kind for one in mend.assumes], mend.cautions) == (kinds, ())
    assert (Belief("low", "0") in mend.rests_on) is (value is not None)


def test_a_tensor_of_the_file_gets_a_gradient_of_filled_rows() -> None:
    source, site = unmark(_LOOKED_UP.format(more=" * SCALE"), gb_id="GB0036")
    (mend,) = propose(site, {PATH: source}, ["rows"], seen_in(source, _SEEN)).mends
    assert mend.cautions == (
        "`taken` must not raise for rows of zeros beside any `SCALE`, and must have finite gradients there.",
    )
