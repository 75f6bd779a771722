"""Numbers that a tensor chooses: dtype and bits beside tensors of every dtype, with and without dimensions."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose

from .conftest import PATH, function_of, mended, unmark

_PROGRAM = """\
import torch


def fn(x, loud):
    {tensor}number = {then} if ⟦loud⟧ else {other}
    return {use}
"""
_PAIRS = [("2.0", "0.5"), ("4", "-1"), ("-0.0", "1024.0")]
_USES = [
    "x * number", "number * x", "x + number", "number - x", "x > number", "x.add(number)", "-number + x",
    "x / number", "number / x", "x.masked_fill(x == x, number)",
]  # fmt: skip
_DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "int64", "int32", "uint8", "bool"]


@pytest.mark.parametrize(
    ("then", "other", "use"),
    [(*pair, use) for pair in _PAIRS for use in _USES if "/" not in use or "-0.0" not in pair],
)
def test_dtype_and_bits_are_those_of_a_number(then: str, other: str, use: str) -> None:
    """Operand and condition of every dtype, both sides, conditions of one element with and without dimensions."""
    import torch

    before, site = unmark(_PROGRAM.format(then=then, other=other, use=use, tensor=""))
    original, changed = function_of(before), function_of(mended("where", before, site))
    torch.manual_seed(0)
    values = torch.randn(7, dtype=torch.float64) * 20
    for name in _DTYPES:
        x = values.to(getattr(torch, name))
        for loud in (torch.tensor(1.5), torch.zeros(1), torch.tensor([[True]]), torch.tensor(0)):
            try:
                expected = original(x, loud)
            except (RuntimeError, TypeError) as error:
                with pytest.raises(type(error)):
                    changed(x, loud)
                continue
            got = changed(x, loud)
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape), (name, loud)
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("make", ["x.mean()", "x.square().sum() / 3", "x.norm() + 1.0"])
@pytest.mark.parametrize("use", ["part * number", "number + part", "part - number"])
def test_a_tensor_without_dimensions_keeps_its_dtype(make: str, use: str) -> None:
    import torch

    source = _PROGRAM.format(then="2.0", other="0.5", use=use, tensor=f"part = {make}\n    ")
    before, site = unmark(source)
    original, changed = function_of(before), function_of(mended("where", before, site))
    for name in ("float32", "float64", "float16", "bfloat16"):
        x = torch.arange(1, 6, dtype=getattr(torch, name))
        for loud in (torch.tensor(1.5), torch.zeros(1)):
            expected, got = original(x, loud), changed(x, loud)
            assert got.dtype == expected.dtype and torch.equal(got, expected)


@pytest.mark.parametrize("number", ["0.1", "-1e9", "257.0", "True", "1j", "0.0000001", "100000"])
def test_numbers_that_some_dtype_rounds_are_refused(number: str) -> None:
    before, site = unmark(_PROGRAM.format(then=number, other=number, use="x * number", tensor=""))
    assert not propose(site, {PATH: before}, ["where"]).mends


@pytest.mark.parametrize("number", ["0.1", "257.0"])
def test_so_they_are_of_statements(number: str) -> None:
    source = (
        f"import torch\n\n\ndef fn(x):\n    s = 1.0\n    if ⟦x.sum() > 0⟧:\n        s = {number}\n    return x * s\n"
    )
    before, site = unmark(source)
    answer = propose(site, {PATH: before}, ["where"])
    assert not answer.mends and "rounded in some dtypes" in answer.declined[0].reason
