"""The listed rule beyond its examples: lists from elsewhere, training, masks with several columns, gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from graphmend_lsp.mending.rules.listed.examples import EXAMPLES

from .conftest import PATH, unmark


def _built() -> tuple[Any, Any, dict[str, Any]]:
    """The encoder of the first example, before and after, with the same parameters; and the names of the mended file."""
    import torch

    made = []
    for source in (unmark(EXAMPLES[0].before)[0], EXAMPLES[0].after):
        space: dict[str, Any] = {"__name__": "model", "__file__": "model.py"}
        exec(compile(source, PATH, "exec"), space)
        torch.manual_seed(0)
        made.append((space["Encoder"]().double().eval(), space))
    return made[0][0], made[1][0], made[1][1]


def test_values_and_gradients_of_rows_that_are_chosen_and_of_those_that_are_not() -> None:
    import torch

    before, after, _ = _built()
    for chosen, odd in product(
        ([[1], [0], [1]], [[0], [1], [0]], [0, 0, 0], [1, 1, 1]), (0.5, float("nan"), float("inf"))
    ):
        grads = []
        for model in (before, after):
            model.zero_grad()
            x = torch.linspace(-1, 2, 36, dtype=torch.double).reshape(3, 4, 3)
            x[1, :, 0] = odd
            x.requires_grad_()
            out = model(x, torch.tensor(chosen))
            out.square().sum().backward()
            grads.append(
                (
                    out.detach(),
                    x.grad,
                    *(torch.zeros((), dtype=p.dtype) if p.grad is None else p.grad for p in model.parameters()),
                )
            )
        for got, expected in zip(grads[1], grads[0], strict=True):
            torch.testing.assert_close(got, expected.expand_as(got), rtol=1e-12, atol=1e-12, equal_nan=True)


def test_lists_from_elsewhere_mean_what_they_meant() -> None:
    import torch

    before, after, _ = _built()
    x = torch.linspace(-1, 2, 36, dtype=torch.double).reshape(3, 4, 3)
    for rows in ([], [2], [0, 2]):
        listed = torch.tensor(rows, dtype=torch.long)
        assert torch.equal(before.fusion(x, listed), after.fusion(x, listed))


def test_in_training_the_rows_are_listed_as_before() -> None:
    import torch

    _, after, _ = _built()
    handed = []
    after.fusion.forward = lambda x, rows: handed.append(rows) or x
    for mode in (True, False):
        after.train(mode)
        after(torch.zeros(3, 4, 3, dtype=torch.double), torch.tensor([0, 1, 0]))
    assert handed[0].tolist() == [1] and handed[1].tolist() == [-3, 1, -1]


def test_masks_without_rows_and_with_more_columns() -> None:
    import torch

    all_rows = _built()[2]["all_rows"]
    assert all_rows(torch.zeros(0, 1, dtype=torch.bool)).tolist() == []
    with pytest.raises(RuntimeError):
        all_rows(torch.ones(3, 2, dtype=torch.bool))  # a row that is listed twice has twice its gradient
