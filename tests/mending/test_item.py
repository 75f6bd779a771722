"""The rules on numbers, indices and masks beyond their examples: dtypes, gradients, names, places, what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import propose, rules_by_name
from graphmend_lsp.mending.rule import Example
from graphmend_lsp.text import apply_edits

from .conftest import PATH, function_of, unmark

_FN = "import math\nimport torch\n\n\ndef fn(x, y):\n    return {expression}\n"
_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32")


def _after(rule: str, source: str, gb_id: str = "GB0124") -> str:
    value, site = unmark(source, None, gb_id)
    answer = propose(site, {PATH: value}, [rule])
    assert answer.mends, [one.reason for one in answer.declined]
    return apply_edits(value, answer.mends[0].edits)


def _reasons(rule: str, source: str, gb_id: str = "GB0124") -> list[str]:
    value, site = unmark(source, None, gb_id)
    answer = propose(site, {PATH: value}, [rule])
    assert not answer.mends, apply_edits(value, answer.mends[0].edits)
    return [one.reason for one in answer.declined]


_DIRECT = [
    "x * ⟦x.sum().item()⟧", "x + ⟦x.max().item()⟧", "x - ⟦x[0].item()⟧", "x / ⟦x.abs().sum().item()⟧",
    "x * ⟦float(x.sum())⟧", "x * ⟦int(x.sum())⟧", "x * ⟦bool(x.sum() > 0)⟧", "x * (⟦x.sum().item()⟧ * 2)",
    "x * (⟦x.max().item()⟧ > 1)", "(x > ⟦x.min().item()⟧) * x", "torch.where(x > 0, x, ⟦x.min().item()⟧)",
    "x.clamp(max=⟦x.min().item()⟧)", "x.masked_fill(x > 1, ⟦x.min().item()⟧)", "-⟦x.sum().item()⟧ + x",
    "x * abs(⟦x.min().item()⟧)", "x + ⟦x.argmax().item()⟧", "x ** ⟦x[0].item()⟧",
]  # fmt: skip


@pytest.mark.parametrize("expression", _DIRECT)
def test_result_is_the_same_in_every_dtype(expression: str) -> None:
    """Values, bit for bit, and dtypes: a number does not change the dtype of the tensor that it meets."""
    import torch

    source = _FN.format(expression=expression)
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    for name in _DTYPES:
        x = torch.tensor([2, 1, 3], dtype=getattr(torch, name))
        expected, got = before(x, x), after(x, x)
        assert got.dtype == expected.dtype, name
        assert torch.equal(got, expected), name


def test_a_number_in_front_of_a_name_comes_second() -> None:
    """In front, torch would round a tensor to float16 or bfloat16 before it multiplies, and a number it does not."""
    import torch

    source = _FN.format(expression="⟦y.item()⟧ * x")
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    assert "x * y" in _after("item", source)
    torch.manual_seed(0)
    for name in ("float32", "float64", "float16", "bfloat16"):
        for other in ("float32", "float64", "float16", "bfloat16"):
            x, y = torch.randn(40).to(getattr(torch, name)), torch.randn(()).to(getattr(torch, other))
            assert torch.equal(before(x, y), after(x, y)), (name, other)
    kept = "def fn(x):\n    return ⟦x.sum().item()⟧ * x\n"  # of one dtype, whatever it is
    assert "x.sum().detach()" in _after("item", kept).split(" * ", 1)[0]


def test_a_number_that_a_name_divides_comes_behind_its_reciprocal() -> None:
    """As torch divides a number; two tensors it divides in one step, which rounds once."""
    import torch

    source = _FN.format(expression="⟦y.item()⟧ / x")
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    assert "x.reciprocal() * y" in _after("item", source)
    torch.manual_seed(0)
    for name in ("float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"):
        for other in ("float32", "float64", "float16", "bfloat16", "int64"):
            x, y = (torch.randn(40) * 5).to(getattr(torch, name)), (torch.randn(()) * 9).to(getattr(torch, other))
            expected, got = before(x, y), after(x, y)
            assert got.dtype == expected.dtype, (name, other)
            assert torch.equal(got.nan_to_num(), expected.nan_to_num()), (name, other)
    x = torch.randn(9, requires_grad=True)
    gradients = [torch.autograd.grad(fn(x, torch.tensor(0.3)).sum(), x)[0] for fn in (before, after)]
    assert torch.equal(*gradients)
    alike = "def fn(x):\n    return ⟦x.sum().item()⟧ / x\n"  # also of one dtype
    assert "x.reciprocal() * x.sum().detach()" in _after("item", alike)


@pytest.mark.parametrize(
    ("expression", "differs"),
    [
        ("x ** ⟦x.max().item()⟧", True),
        ("x.pow(⟦x.max().item()⟧)", True),
        ("torch.pow(x, ⟦x.max().item()⟧)", True),
        ("torch.float_power(x, ⟦x.max().round().item()⟧)", True),
        ("⟦x.max().item()⟧ ** x", False),
        ("x * ⟦x.max().item()⟧", False),
    ],
)
def test_an_exponent_may_change_the_last_bit(expression: str, differs: bool) -> None:
    """A few results in ten thousand, where few elements are left for the end of a vectorized loop; more for 3.0."""
    import torch

    source = _FN.format(expression=expression)
    text, site = unmark(source, None, "GB0124")
    (mend,) = propose(site, {PATH: text}, ["item"]).mends
    assert any("A power may differ in its last bit" in one for one in mend.cautions) == differs
    before, after = function_of(text), function_of(apply_edits(text, mend.edits))
    torch.manual_seed(0)
    calls = [torch.rand(4) * 4 for _ in range(3000)]
    assert all(torch.equal(before(x, x), after(x, x)) for x in calls) != differs


def test_what_is_kept_does_not_follow_the_tensor() -> None:
    import torch

    source = "def fn(x):\n    s = ⟦int(x[0])⟧\n    x += 1\n    return x * s\n"
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    for dtype in (torch.int64, torch.float64, torch.int32):
        x = torch.tensor([3, 4], dtype=dtype)
        assert torch.equal(after(x.clone()), before(x.clone()))


def test_a_float_makes_floats_of_integers() -> None:
    import torch

    source = _FN.format(expression="x.clamp(max=math.tanh(⟦float(x[0])⟧) * 2)")
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    for dtype in (torch.int64, torch.float32, torch.float64):
        x = torch.tensor([3, -4], dtype=dtype)
        expected = before(x, x)
        assert after(x, x).dtype == expected.dtype
        assert torch.equal(after(x, x), expected)


_EXACT = [
    "x * (⟦x.mean().item()⟧ * 0.9 + 0.1)", "x * math.sqrt(⟦x.abs().sum().item()⟧)", "x / (⟦x.std().item()⟧ * 3 - 0.7)",
    "x * math.log(⟦x.norm().clamp(min=0.1).item()⟧)", "x * (⟦x.mean().item()⟧ > 0.1)",
]  # fmt: skip


@pytest.mark.parametrize("expression", _EXACT)
def test_arithmetic_is_that_of_python(expression: str) -> None:
    import torch

    source = _FN.format(expression=expression)
    before, after = function_of(unmark(source)[0]), function_of(_after("item", source))
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        x = torch.randn(7, generator=generator) * 100
        assert torch.equal(after(x, x), before(x, x))


def _examples() -> list[tuple[str, Example]]:
    rules = rules_by_name()
    examples = [(name, one) for name in ("item", "index", "mask") for one in rules[name].examples if one.run]
    return [
        (name, one) for name, one in examples if "layout" not in one.assumes
    ]  # which write to an argument, a leaf here


@pytest.mark.parametrize(("name", "case"), _examples(), ids=lambda one: getattr(one, "title", one))
def test_gradients_are_the_same(name: str, case: Example) -> None:
    """No gradient goes through a number; none of what a mask leaves out reaches the sum."""
    import torch

    space: dict[str, Any] = {}
    exec(case.run or "", {"torch": torch}, space)
    for arguments in space["calls"]:
        seen = []
        for source in (unmark(case.before)[0], case.after):
            inputs = [one.clone().requires_grad_(one.is_floating_point()) for one in map(torch.as_tensor, arguments)]
            output = function_of(source)(*inputs)
            if output.requires_grad:
                output.sum().backward()
            seen.append([one.grad for one in inputs])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-6, atol=0, equal_nan=True)


def test_two_numbers_with_names_are_mended_one_after_the_other() -> None:
    source = "def fn(x):\n    a = ⟦x.max().item()⟧\n    b = x.min().item()\n    return x * a - x * b\n"
    once = _after("item", source)
    assert "a = x.max().detach()\n    b = x.min().item()" in once
    twice = _after("item", once.replace("x.min().item()", "⟦x.min().item()⟧"))
    assert "b = x.min().detach()" in twice


def test_branches_that_both_read_are_taken_together() -> None:
    source = (
        "def fn(x, n: int):\n    if n > 1:\n        s = ⟦x.max().item()⟧\n    else:\n        s = x.min().item()\n"
        "    return x * s\n"
    )
    new = _after("item", source)
    assert "s = x.max().detach()" in new
    assert "s = x.min().detach()" in new


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "def fn(x):\n    d = {}\n    d['a'] = ⟦x.sum().item()⟧\n    return x\n",
            "stored where other code may need a number",
        ),
        ("def fn(x):\n    s = ⟦x.sum().item()⟧\n    return [x * s for _ in range(3)]\n", "comprehension of its own"),
        ("def fn(x):\n    global s\n    s = ⟦x.sum().item()⟧\n    return x * s\n", "is not bound here only"),
        ("def fn(x):\n    print(⟦x.sum().item()⟧)\n    return x\n", "is passed to `print`"),
        ("def fn(x):\n    return x.reshape(⟦int(x[0])⟧, -1)\n", "is passed to `x.reshape`"),
    ],
)
def test_numbers_that_stay(source: str, reason: str) -> None:
    assert any(reason in one for one in _reasons("item", source))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_expressions_change(newline: str) -> None:
    source = "def fn(x):  # über\n    s = ⟦x.max().item()⟧  # the largest\n\n    return x * s  # scaled\n".replace(
        "\n", newline
    )
    new = _after("item", source)
    assert new == unmark(source)[0].replace(".item()", ".detach()")


def test_an_index_is_not_a_number_for_the_item_rule() -> None:
    value, site = unmark("def fn(x):\n    i = ⟦x.argmax().item()⟧\n    return x[i] + 1\n", None, "GB0124")
    assert propose(site, {PATH: value}, ["item"]).mends == ()
    assert propose(site, {PATH: value}, ["index"]).mends
