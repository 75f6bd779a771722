"""The bound between rounding and another result: sums in two orders, in float32 and in float64, with a share more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from graphmend_lsp.worker.children import Request
from graphmend_lsp.worker.compare import Comparison, Side
from graphmend_lsp.worker.compare_trials import Pair, Programs, compare_trial
from graphmend_lsp.worker.judged import Ran
from graphmend_lsp.worker.observe import Observation
from graphmend_lsp.worker.plan import Plan
from graphmend_lsp.worker.recipes import Recipe
from graphmend_lsp.worker.rounding import _made_up_and_equal, reason
from graphmend_lsp.worker.snapshot import Store, take
from graphmend_lsp.worker.trials import Planned
from graphmend_lsp.worker.verify import _again
from tests.worker.test_compare_trials import trial

Results = tuple[Any, dict[str, torch.Tensor]]
Change = Callable[[Any, dict[str, torch.Tensor]], Results]
ROWS = 3000


def program(dtype: torch.dtype, turned: bool, change: Change | None) -> Side:
    """The product of two matrices, its sums from one end or from the other, and what `change` makes of the results."""
    generator = torch.Generator().manual_seed(3)
    x, w = (torch.randn(shape, generator=generator).to(dtype) for shape in ((5, ROWS), (ROWS, 7)))
    x, w = x.requires_grad_(), w.requires_grad_()
    order = torch.arange(ROWS - 1, -1, -1) if turned else torch.arange(ROWS)
    y = x[:, order] @ w[order]
    (y.tanh() * 100).sum().backward()
    assert x.grad is not None and w.grad is not None
    output, gradients = (change or (lambda *both: both))(y.detach(), {"x": x.grad, "w": w.grad})
    store = Store()
    parts = {
        "output": take(output, store),
        "gradient": {path: leaf for path, leaf in take(gradients, store).items() if path},
        "random state": {},
    }
    return Side(Observation("call 1", parts, (), None), store.blobs)


def told(
    original: Change | None = None, mended: Change | None = None, strays: bool = False, *, coarse: bool = False
) -> str:
    """What float64 shows; in float32 they must differ by more than the bound."""
    plain, double = (
        Pair(Recipe(0), "call 1", program(dtype, False, original), program(dtype, True, mended), compiled=False)
        for dtype in (torch.float32, torch.float64)
    )
    assert "different" in {one["severity"] for one in plain.compare(Comparison()).differences}
    return reason(plain, double, strays, coarse=coarse)


def larger(share: float, name: str) -> Change:
    """One result, or one gradient, larger by that share."""

    def change(y: Any, gradients: dict[str, torch.Tensor]) -> Results:
        if name == "y":
            return y * (1 + share), gradients
        return y, {**gradients, name: gradients[name] * (1 + share)}

    return change


def one_row(share: float, small: float) -> Change:
    """A row that is much smaller than the others, and larger by that share."""

    def change(y: Any, gradients: dict[str, torch.Tensor]) -> Results:
        factors = torch.ones(len(y), 1, dtype=y.dtype)
        factors[2] = small * (1 + share)
        return y * factors, gradients

    return change


def test_sums_in_another_order_are_rounding() -> None:
    assert told() == ""


@pytest.mark.parametrize("name", ["y", "x", "w"])
@pytest.mark.parametrize("share", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 2e-8, 5e-9])
@pytest.mark.slow
def test_a_share_is_told_also_one_that_float32_cannot_hold(name: str, share: float) -> None:
    assert told(mended=larger(share, name)) != ""
    assert told(mended=larger(-share, name)) != ""
    assert told(original=larger(share, name)) != ""


@pytest.mark.parametrize("share", [2e-14, 1e-14])
def test_what_float64_itself_rounds_is_no_share(share: float) -> None:
    assert told(mended=larger(share, "y")) == ""


@pytest.mark.parametrize("small", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("share", [1e-4, 1e-6, 1e-7])
def test_it_is_told_of_small_numbers_beside_large_ones(share: float, small: float) -> None:
    assert told(one_row(0.0, small), one_row(0.0, small)) == ""
    assert "they differ too" in told(one_row(0.0, small), one_row(share, small))


def only_in(dtype: torch.dtype, share: float) -> Change:
    """Larger in that dtype alone."""
    return lambda y, gradients: larger(share, "y")(y, gradients) if y.dtype == dtype else (y, gradients)


def with_more(value: Callable[[Any], Any]) -> Change:
    return lambda y, gradients: ((y, value(y)), gradients)


REFUSED = {
    "more in float32 only": (only_in(torch.float32, 5e-5), "away, the other"),
    "much more in float32 only": (only_in(torch.float32, 1e-2), "too coarse"),
    "more in float64 only": (only_in(torch.float64, 2e-6), "they differ too"),
    "other numbers": (with_more(lambda y: (y * 2**16).long()), "something else"),
    "other truth": (with_more(lambda y: y.dtype == torch.float32), "something else"),
    "other text": (with_more(lambda y: f"{y.element_size()} bytes"), "something else"),
    "results in float32": (lambda y, gradients: (y.float(), gradients), "computes in float32"),
    "rounded to float32": (lambda y, gradients: (y.float().to(y.dtype), gradients), "they differ too"),
    "much rounding": (lambda y, gradients: ((y * 30).sin(), gradients), "apart, of"),
    "infinite in float32": (lambda y, gradients: (y * 1e37, gradients), "other elements"),
    "a gradient less": (lambda y, g: (y, g if y.dtype == torch.float32 else {"x": g["x"]}), "another form"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_shown_says_why(change: Change, words: str) -> None:
    both = words not in ("away, the other", "they differ too") or "rounded" in words
    said = told(change if both else None, change)
    assert words in said, said


@pytest.mark.parametrize("name", ["much more in float32 only", "much rounding", "more in float32 only"])
def test_values_that_float32_is_too_coarse_for_are_rounding_where_float64_gives_the_same(name: str) -> None:
    change, words = REFUSED[name]
    both = change if "only" not in name else None
    assert words in told(both, change) and told(both, change, coarse=True) == ""


@pytest.mark.parametrize("name", [one for one in REFUSED if "float32 only" not in one and one != "much rounding"])
def test_what_differs_in_float64_is_told_of_coarse_values_too(name: str) -> None:
    change, words = REFUSED[name]
    both = words != "they differ too"
    assert words in told(change if both else None, change, coarse=True)


def test_only_made_up_calls_that_are_equal_uncompiled_may_be_coarse() -> None:
    own, mixed, other, raising = Recipe(0, own=True), Recipe(0, "mixed"), Recipe(0, "zero"), Recipe(0, "one")
    calls = (own, replace(mixed, gradients=True), other)
    old, new = (trial(output=torch.ones(2), recipes=calls), trial(output=torch.ones(2), recipes=calls))
    assert _made_up_and_equal(Programs([old], [new])) == {mixed, replace(mixed, gradients=True), other}
    again = trial(output=torch.ones(2), recipes=(own, Recipe(0, again=True), Recipe(0, gradients=True)))
    assert _made_up_and_equal(Programs([again], [again])) == frozenset()  # the entry's own values
    changed = trial(output=torch.zeros(2), recipes=calls[1:])
    assert _made_up_and_equal(Programs([old], [changed])) == frozenset()
    assert _made_up_and_equal(Programs([old], [trial(recipes=(raising,))])) == frozenset()
    assert _made_up_and_equal(Programs([old], [])) == frozenset()


def test_other_lines_prove_nothing() -> None:
    assert "other lines" in told(strays=True)


def test_a_gradient_that_is_nothing_but_rounding_may_be_anything_small() -> None:
    def with_noise(y: Any, gradients: dict[str, torch.Tensor]) -> Results:
        rows = gradients["x"] * 1e3
        return y, {"rows": rows, "nothing": rows[:, :80].sum(1) - rows[:, :80].flip(1).sum(1)}

    assert told(with_noise, with_noise) == ""


@pytest.mark.parametrize(
    ("single", "old", "new", "words"),
    [
        (0.0, 6e-16, 1.3e-15, ""),  # float32 gives 0, which is what it would be without rounding
        (4e-8, 6e-16, -1.3e-15, ""),  # float32 rounds otherwise
        (1e-15, 1e-15, 1.001e-15, "differ too"),  # float32 gives the same as float64: it is no rounding
        (0.0, 6e-9, 1.3e-8, "differ too"),  # more than float64 rounds
    ],
)
def test_in_float64_too_a_gradient_may_be_nothing_but_rounding(
    single: float, old: float, new: float, words: str
) -> None:
    def with_noise(exact: float) -> Change:
        def change(y: Any, gradients: dict[str, torch.Tensor]) -> Results:
            value = exact if y.dtype == torch.float64 else single
            return y, {"rows": gradients["x"] * 1e3, "nothing": torch.full((4,), value, dtype=y.dtype)}

        return change

    said = told(with_noise(old), with_noise(new))
    assert words in said and bool(words) == bool(said)


def test_without_time_it_stays_different_and_says_so() -> None:
    call = Recipe(0, own=True)
    old, new = (trial(output=torch.ones(2) + more, recipes=(call,)) for more in (0.0, 1e-3))
    original = Ran((old,), Planned(Plan((call,), frozenset()), old))
    params: Any = {"limits": {"seconds": 60.0, "memory_mb": None}}
    request = Request(params, (), "", deadline=time.monotonic() + 15, watch=None)
    candidate: Any = {"texts": {}}
    shown = _again(request, candidate, original, Ran((new,)), {}, lambda _: None, time.monotonic() - 30)
    assert shown == {("uncompiled", call): "the time limit left no time for float64"}
    comparison, _ = compare_trial(Programs([old], [new]), new, shown)
    assert [one["severity"] for one in comparison.differences] == ["different"]
    assert "the time limit left no time" in comparison.differences[0]["detail"]
    assert comparison.differences[0].get("undecided") is True
