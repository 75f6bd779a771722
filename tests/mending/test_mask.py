"""Masks at full size beyond the examples: values under random masks, shapes, gradients, and who holds the tensor."""

from __future__ import annotations

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.mending.facts.operators import METHODS

from .conftest import PATH, function_of, mended, seen_in, unmark

_FN = "import torch\nimport torch.nn.functional as F\n\n\ndef fn(x, y, m):\n    return {expression}\n"
_REDUCED = [
    "⟦x[m]⟧.sum()", "⟦x[m]⟧.mean()", "torch.sum(⟦x[m]⟧)", "⟦x[m]⟧.norm()", "(⟦x[m]⟧ > 0).any()", "(⟦x[m]⟧ > 0).all()",
    "(⟦x[m]⟧ * 2 - 1).sum()", "(⟦x[m]⟧ - y[m]).pow(2).mean()", "(⟦x[m]⟧ / y[m]).sum()", "⟦x[m]⟧.abs().log().sum()",
    "(x.sum() * ⟦x[m]⟧).sum()", "F.l1_loss(⟦x[m]⟧, y[m])", "⟦x.masked_select(m)⟧.sum()", "x * len(⟦x[m]⟧)",
    "(⟦x[m]⟧ ** 2).sum() + 1", "(-⟦x[m]⟧).exp().sum()", "(⟦x[m]⟧ * y[m].tanh()).sum()", "(⟦x[m]⟧.abs() + y[m].abs().log()).sum()",
    "torch.minimum(⟦x[m]⟧, y[m] - 1).sum()", "torch.maximum(x[m] * 2, ⟦y[m]⟧).mean()",
]  # fmt: skip


def _mended(source: str) -> str:
    return mended("mask", *unmark(source, None, "GB0036"))


@pytest.mark.parametrize("expression", _REDUCED)
def test_reductions_under_random_masks(expression: str) -> None:
    """Values and gradients, with what must not count being NaN, 0 or infinite; masks of elements and of rows."""
    import torch

    source = _FN.format(expression=expression)
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    generator = torch.Generator().manual_seed(0)
    for turn in range(12):
        kept = torch.rand((5, 3) if turn % 2 or "masked_select" in expression else 5, generator=generator) > 0.4
        left_out = ~(kept if kept.dim() == 2 else kept[:, None].expand(5, 3))
        x, y = (torch.randn(5, 3, generator=generator).masked_fill(left_out, value) for value in _left_out(turn))
        if ("exp" in expression or "x.sum" in expression or "x *" in expression) and turn % 3:
            x = x.nan_to_num()
        seen = []
        for fn in (before, after):
            inputs = [x.clone().requires_grad_(), y.clone().requires_grad_()]
            output = fn(*inputs, kept)
            if output.is_floating_point():
                output.sum().backward()
            seen.append([output.detach(), *(torch.zeros_like(x) if one.grad is None else one.grad for one in inputs)])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-5, atol=1e-6, equal_nan=True)


def _left_out(turn: int) -> tuple[float, float]:
    return ((0.0, 0.0), (float("nan"), float("nan")), (float("inf"), 0.0))[turn % 3]


_WITHOUT_DERIVATIVE = ("igamma", "igammac", "heaviside")
"""Torch knows the derivative for no first operand of these: both programs raise."""


def _elementwise(of_two: bool) -> list[str]:
    """The elementwise methods of one tensor, or of two, which torch takes as floats and which give floats or flags."""
    import torch

    x = torch.full((3,), 0.5)
    found = []
    for name, one in METHODS.items():
        if one.form == "elementwise" and not (one.effect or one.random or one.raises or one.moves or one.wholes):
            try:
                result = getattr(x, name)(*([x] if of_two else []))
            except (TypeError, RuntimeError, AssertionError):
                continue
            if isinstance(result, torch.Tensor) and not result.is_complex() and one.dtype != "unknown":
                found.append(name)
    return found


@pytest.mark.parametrize("name", _elementwise(False))
def test_every_elementwise_operator(name: str) -> None:
    _compare(f"(⟦x[m]⟧.{name}() * 1).sum()", name)


@pytest.mark.parametrize("name", _elementwise(True))
def test_every_elementwise_operator_of_two(name: str) -> None:
    _compare(f"(⟦x[m]⟧.{name}(y[m]) * 1).sum()", name)


def _compare(expression: str, name: str) -> None:
    """Values and gradients where what the mask leaves out is NaN, infinite, 0, or outside of the operator's domain."""
    import torch

    source = _FN.format(expression=expression)
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    generator = torch.Generator().manual_seed(0)
    above = name in ("acosh", "arccosh")
    for value in (float("nan"), float("inf"), 0.0, -2.0):
        kept = torch.rand(5, 3, generator=generator) > 0.4
        x, y = ((torch.rand(5, 3, generator=generator) * 0.8 + 0.1 + above).masked_fill(~kept, value) for _ in range(2))
        seen = []
        for fn in (before, after):
            inputs = [x.clone().requires_grad_(), y.clone().requires_grad_()]
            output = fn(*inputs, kept)
            if output.requires_grad and name not in _WITHOUT_DERIVATIVE:
                output.backward()
            seen.append([output.detach(), *(torch.zeros_like(x) if one.grad is None else one.grad for one in inputs)])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-4, atol=1e-5, equal_nan=True)


_UPDATES = [
    "y[m] = ⟦y[m]⟧ * 2", "⟦y[m]⟧ += 1", "⟦y[m]⟧ *= y[m]", "y[m] = ⟦x[m]⟧", "y[m] = ⟦x[m]⟧ / y[m]", "⟦y[m]⟧ -= x[m]",
    "y[m] = ⟦y[m]⟧.abs().sqrt()", "y[m] = -⟦y[m]⟧", "⟦y[m]⟧ /= 2",
]  # fmt: skip


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("statement", _UPDATES)
def test_updates_and_who_holds_the_tensor(statement: str, held: bool) -> None:
    import torch

    keep = "    other = y.view(-1)\n" if held else ""
    end = "y * 2 + other.reshape(x.shape)" if held else "y * 2"
    source = f"import torch\n\n\ndef fn(x, m):\n    y = x + 1\n{keep}    {statement}\n    return {end}\n"
    new = _mended(source)
    of_another_dtype = (
        "/" in statement or "sqrt" in statement
    )  # of integers: what is stored is converted, a new name not
    assert (".copy_(" in new) == (held or of_another_dtype)
    before, after = function_of(unmark(source)[0]), function_of(new)
    generator = torch.Generator().manual_seed(1)
    for turn in range(8):
        mask = torch.rand((5, 3) if turn % 2 else 5, generator=generator) > 0.4
        data = torch.randn(5, 3, generator=generator)
        seen = []
        for fn in (before, after):
            x = data.clone().requires_grad_()
            output = fn(x, mask)
            output.sum().backward()
            seen.append([output.detach(), x.grad])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-6, atol=1e-7, equal_nan=True)


_ROWS_OF = [
    "z = (⟦x[m, :]⟧ * y[m, :]).sum()", "z = (⟦x[m, ...]⟧ / y[m, ...].square()).mean()", "z = (⟦x[m, 0]⟧ * y[m, 1]).sum()",
    "z[m, :] = ⟦y[m, :]⟧ * 2", "z[m, :] = ⟦z[m, :]⟧ / y[m, :]", "⟦z[m, :]⟧ += y[m, :]", "⟦z[m, 0]⟧ *= x[m, 1]",
    "z[m, -1] = ⟦y[m, 0]⟧.abs().sqrt()", "z[m, ..., 1] = ⟦x[m, ..., 0]⟧", "z[m, 0] = ⟦w[m]⟧ * z[m, 2]",
    "z[m, :] = torch.maximum(⟦x[m, :]⟧, y[m, :])", "a = ⟦x[m, :]⟧; b = y[m, :]; z = (a - b).abs().sum()",
]  # fmt: skip


@pytest.mark.parametrize("statement", _ROWS_OF)
def test_rows_and_columns_under_random_masks(statement: str) -> None:
    """Values and gradients where ``:``, ``...`` and numbers stand behind the mask; what is left out is NaN, 0 or infinite."""
    import torch

    lines = "".join(f"    {one.strip()}\n" for one in statement.split(";"))
    source = f"import torch\n\n\ndef fn(x, y, w, m):\n    z = w[..., None] + torch.ones(5, 3)\n{lines}    return z\n"
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    generator = torch.Generator().manual_seed(2)
    for turn in range(9):
        mask = torch.rand(5, generator=generator) > (0.4, 0.4, 2.0)[turn // 3]
        data = [torch.randn(5, 3, generator=generator).masked_fill(~mask[:, None], value) for value in _left_out(turn)]
        seen = []
        for fn in (before, after):
            inputs = [one.clone().requires_grad_() for one in (*data, torch.ones(5))]
            output = fn(*inputs, mask)
            output.sum().backward()
            seen.append([output.detach(), *(torch.zeros_like(one) if one.grad is None else one.grad for one in inputs)])
        torch.testing.assert_close(seen[1], seen[0], rtol=1e-5, atol=1e-6, equal_nan=True)


def test_a_column_of_a_loop_and_of_a_mask_with_more_dimensions() -> None:
    import torch

    source = "def fn(x, m):\n    z = x + 1\n    for i in range(2):\n        z[m, i] = ⟦x[m, i]⟧ * 3\n    return z\n"
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    for shape in ((4, 2), (4, 3, 2), (4, 2, 3)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
        mask = x[..., 0] > 0 if shape != (4, 2, 3) else x[:, 0, 0] > 0
        torch.testing.assert_close(after(x, mask), before(x, mask), rtol=0, atol=0)


def test_a_name_is_not_bound_anew_when_an_index_by_a_number_may_be_a_view() -> None:
    source = "def fn(x, i):\n    y = x + 1\n    row = y[i]\n    ⟦y[y > 0]⟧ += 1\n    return row + y\n"
    assert "y.copy_(" in _mended(source)


def test_rows_that_would_be_listed_twice_raise() -> None:
    import torch

    source = "import torch\n\n\ndef fn(x):\n    y = x.clone()\n    i = ⟦torch.where(x > 0)⟧[0]\n    y[i] = y[i] * 2\n    return y\n"
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    for x in (torch.tensor([1.0, -1.0, 2.0]), torch.tensor([[1.0], [-1.0]])):
        assert torch.equal(after(x), before(x))
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        after(torch.ones(2, 2))


def test_an_argument_is_changed_in_place_as_before() -> None:
    import torch

    source = "import torch\n\n\ndef fn(x):\n    x[x > 0] = ⟦x[x > 0]⟧ * 2\n"
    x = torch.tensor([1.0, -1.0])
    function_of(_mended(source))(x)
    assert x.tolist() == [2.0, -1.0]


def test_a_look_up_tells_what_its_table_must_have() -> None:
    source, site = unmark("def fn(y, t, i, m):\n    y[m] = t[⟦i[m]⟧]\n    return y + 1\n", None, "GB0036")
    seen = (("i", "int64 3"), ("m", "bool 3"), ("t", "float32 4"), ("y", "float32 3"))
    (mend,) = propose(site, {PATH: source}, ["mask"], seen_in(source, seen)).mends
    assert mend.changes == ("`t` must have an entry even where the mask chooses nothing.",)
