"""Indices that stay tensors: every place of an index, negative ones, ones out of range, and views that are written to."""

from __future__ import annotations

import pytest

from .conftest import function_of, mended, unmark

_PLACES = [
    "i",
    "i, :",
    ":, i",
    ":, :, i",
    "..., i",
    "..., i, :",
    "0, i",
    "0, :, i",
    ":, 1, i",
    "1:, i",
    "-1, i, 0",
    "i, 1, 2",
]


def _mended(source: str, gb_id: str = "GB0033") -> str:
    return mended("index", *unmark(source, None, gb_id))


@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("number", [0, 1, -1])
def test_every_place(place: str, number: int) -> None:
    import torch

    source = f"def fn(x, i):\n    i = i.argmax() - {1 if number < 0 else 0}\n    return ⟦x[{place}]⟧ * 2\n"
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    x = torch.arange(27.0).reshape(3, 3, 3)
    i = torch.tensor([number == 0 or number == -1, number == 1, False]).float()
    assert torch.equal(after(x, i), before(x, i))
    assert after(x, i).shape == before(x, i).shape


@pytest.mark.parametrize("place", ["i", ":, i", "..., i", "0, i", "i, 1"])
def test_every_place_that_is_set(place: str) -> None:
    import torch

    source = f"def fn(x, i):\n    i = i.argmax()\n    x = x.clone()\n    ⟦x[{place}]⟧ = 7.0\n    return x\n"
    before, after = function_of(unmark(source)[0]), function_of(_mended(source))
    for number in range(3):
        i = torch.nn.functional.one_hot(torch.tensor(number), 3).float()
        assert torch.equal(after(torch.zeros(3, 3), i), before(torch.zeros(3, 3), i))


def test_out_of_range_raises_as_before() -> None:
    import torch

    source = "def fn(x):\n    return ⟦x[x.argmax() + 1]⟧ * 2\n"
    for fn in (function_of(unmark(source)[0]), function_of(_mended(source))):
        with pytest.raises(IndexError, match=r"out of bounds|out of range"):
            fn(torch.arange(3.0))
