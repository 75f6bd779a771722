"""Numbers that a tensor chooses: dtype and bits beside tensors of every dtype, with and without dimensions."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose

from .conftest import PATH, function_of, mended, unmark

_PROGRAM = """\
import torch


def fn(x: torch.Tensor, loud):
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
    """Operand and condition of every dtype, with and without dimensions, both sides; nothing is assumed of the operand."""
    import torch

    before, site = unmark(_PROGRAM.format(then=then, other=other, use=use, tensor=""))
    original, changed = function_of(before), function_of(mended("where", before, site))
    torch.manual_seed(0)
    values = torch.randn(7, dtype=torch.float64) * 20
    operands = [values.to(getattr(torch, name)) for name in _DTYPES]
    assert propose(site, {PATH: before}, ["where"]).mends[0].assumes == ()
    for x in (*operands, *(one[0] for one in operands)):
        for loud in (torch.tensor(1.5), torch.zeros(1), torch.tensor([[True]]), torch.tensor(0)):
            try:
                expected = original(x, loud)
            except (RuntimeError, TypeError) as error:
                with pytest.raises(type(error)):
                    changed(x, loud)
                continue
            got = changed(x, loud)
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape), (x, loud)
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


@pytest.mark.parametrize("number", ["True", "1j", "'a'", "None"])
def test_what_is_no_plain_number_is_refused(number: str) -> None:
    before, site = unmark(_PROGRAM.format(then=number, other=number, use="x * number", tensor=""))
    assert not propose(site, {PATH: before}, ["where"]).mends


@pytest.mark.parametrize("use", ["x * number", "number - x", "x / number", "x + number"])
@pytest.mark.parametrize(("then", "other"), [("0.1", "-3.0"), ("257", "1000"), ("1e-8", "2.0"), ("1e10", "0.3")])
def test_both_are_computed_with_numbers_that_a_dtype_rounds(then: str, other: str, use: str) -> None:
    """Operand of every dtype with and without dimensions; gradients, too."""
    import torch

    before, site = unmark(_PROGRAM.format(then=then, other=other, use=use, tensor=""))
    original, changed = function_of(before), function_of(mended("where", before, site))
    torch.manual_seed(0)
    for name in _DTYPES:
        for shape in ((7,), ()):
            x = (torch.randn(shape, dtype=torch.float64) * 20).to(getattr(torch, name))
            for loud in (torch.tensor(1.5), torch.zeros(1), torch.tensor([[True]])):
                leaves = [x.clone().requires_grad_(x.is_floating_point()) for _ in range(2)]
                try:
                    expected = original(leaves[0], loud)
                except (RuntimeError, TypeError) as error:
                    with pytest.raises(type(error)):
                        changed(leaves[1], loud)
                    continue
                got = changed(leaves[1], loud)
                assert (got.dtype, got.shape) == (expected.dtype, expected.shape), (name, loud)
                torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
                if x.is_floating_point():
                    expected.sum().backward()
                    got.sum().backward()
                    torch.testing.assert_close(leaves[1].grad, leaves[0].grad, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("number", ["0.1", "257.0"])
def test_they_are_refused_in_statements(number: str) -> None:
    source = (
        f"import torch\n\n\ndef fn(x):\n    s = 1.0\n    if ⟦x.sum() > 0⟧:\n        s = {number}\n    return x * s\n"
    )
    before, site = unmark(source)
    answer = propose(site, {PATH: before}, ["where"])
    assert not answer.mends and "rounded in some dtypes" in answer.declined[0].reason


def test_two_mends_of_one_function_share_no_name() -> None:
    source = """\
import torch


def fn(x):
    one = 1.0 if {} else 0.1
    two = 0.3 if {} else 3.0
    return (x * one).sin() + (two * x).cos()
"""
    texts = []
    for marks in (("⟦x.sum() > 0⟧", "x.max() > 1"), ("x.sum() > 0", "⟦x.max() > 1⟧")):
        before, site = unmark(source.format(*marks))
        texts.append(mended("where", before, site))
    assert "return torch.where(one_condition, x * 1.0, x * 0.1).sin() + (two * x).cos()" in texts[0]
    assert "return (x * one).sin() + torch.where(two_condition, 0.3 * x, 3.0 * x).cos()" in texts[1]
