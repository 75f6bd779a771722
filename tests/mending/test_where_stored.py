"""A tensor that both sides change in place: what all who hold it see, uncompiled, for shared memory, dtypes and gradients."""

from __future__ import annotations

from typing import Any

import pytest

from graphmend_lsp.mending import propose
from graphmend_lsp.text import apply_edits

from .conftest import PATH, unmark

_PROGRAM = """\
import torch


def f(x, y, other, test):
    if ⟦{test}⟧:
        {then}
    else:
        {orelse}
    return x * 2
"""


def _mended(test: str, then: str, orelse: str) -> tuple[str, str, tuple[str, ...]]:
    value, site = unmark(_PROGRAM.format(test=test, then=then, orelse=orelse), None, "GB0170")
    answer = propose(site, {PATH: value}, ["where"])
    after = apply_edits(value, answer.mends[0].edits) if answer.mends else ""
    return value, after, tuple(one.reason for one in answer.declined)


def _run(text: str, x: Any, y: Any, other: Any, test: Any) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, PATH, "exec"), space)
    try:
        return space["f"](x, y, other, test)
    except RuntimeError as error:
        return type(error)


SIDES = [
    ("x.copy_(y)", "x.mul_(0.9).add_(y, alpha=0.1)"),
    ("x.mul_(0.9).add_(y, alpha=0.1)", "x.copy_(y)"),
    ("x.mul_(y)", "x.zero_()"),
    ("x.copy_(x.flip(0))", "x.add_(y).mul_(other).sub_(x)"),
    ("x.mul_(2).add_(other).add_(other)", "x.copy_(other)"),
    ("x.add_(y, alpha=2).clamp_(0, 1).neg_()", "x.fill_(3)"),
    ("x.sub_(y)", "x.addcmul_(y, other).abs_()"),
]


@pytest.mark.parametrize(("then", "orelse"), SIDES)
@pytest.mark.parametrize("test", ["test.sum() > 0", "x.sum() > 0", "test.any()", "(x > 0).all()"])
def test_what_is_stored_is_the_same_for_all_who_hold_it(test: str, then: str, orelse: str) -> None:
    import torch

    before, after, reasons = _mended(test, then, orelse)
    assert after, reasons
    numbers = torch.tensor([1.5, -2.25, 3.1])
    for kind, dtype in ((torch.float32, torch.float32), (torch.float16, torch.float32), (torch.float32, torch.int64)):
        for shared in ("nothing", "other is x", "other is a view", "y is a view"):
            for sign in (1, -1):
                seen = []
                for text in (before, after):
                    x = (numbers * sign).to(kind)
                    y = x.view(3) if shared == "y is a view" else (numbers + 1).to(dtype)
                    other = {"other is x": x, "other is a view": x.view(1, 3)[0]}.get(shared, (numbers - 3).to(dtype))
                    result = _run(text, x, y, other, torch.tensor([float(sign)] * 3))
                    seen.append((result, x, y, other))
                (one, *old), (two, *new) = seen
                assert type(one) is type(two), (shared, kind, dtype)
                if isinstance(one, type):
                    assert one is two
                    continue
                for first, second in zip((one, *old), (two, *new), strict=True):
                    assert first.dtype == second.dtype
                    assert torch.equal(first, second), (shared, kind, dtype, sign, after)


@pytest.mark.parametrize(("then", "orelse"), SIDES)
def test_the_gradient_is_that_of_the_side_that_was_taken(then: str, orelse: str) -> None:
    import torch

    before, after, _ = _mended("test.sum() > 0", then, orelse)
    for sign in (1.0, -1.0):
        seen = []
        for text in (before, after):
            leaf, y = (
                torch.tensor([0.3, 0.6, 0.1], requires_grad=True),
                torch.tensor([0.5, 0.2, 2.0], requires_grad=True),
            )
            result = _run(text, leaf.clone(), y, torch.tensor([1.0, 3.0, 2.0]), torch.tensor([sign]))
            result.sum().backward() if result.requires_grad else None
            seen.append([torch.zeros(3) if one.grad is None else one.grad for one in (leaf, y)])
        for first, second in zip(*seen, strict=True):
            assert torch.equal(first, second), after


def test_a_condition_that_is_the_tensor_itself_is_asked_before_it_is_written() -> None:
    import torch

    before, after, _ = _mended("torch.any(x)", "x.zero_()", "x.fill_(1).logical_not_().logical_not_()")
    assert not after  # `logical_not_` is none of the methods that are known to be smooth
    before, after, _ = _mended("test.all()", "test.zero_()", "test.copy_(y)")
    for value in (True, False):
        flags = [torch.tensor([value]), torch.tensor([value])]
        for text, flag in zip((before, after), flags, strict=True):
            _run(text, torch.ones(1), torch.tensor([True]), None, flag)
        assert torch.equal(*flags)
