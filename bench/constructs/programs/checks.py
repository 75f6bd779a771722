"""Checks of tensor values: assert and raise."""

import torch


def raise_if_nan(x):
    if torch.isnan(x).any():
        raise ValueError("the input is not a number")
    return x + 1


def raise_if_number(x):
    if x.min().item() < -100:
        raise ValueError("the input is too small")
    return x + 1


def raise_with_value(x):
    if x.min() < -100:
        raise ValueError(f"{x.min()} is too small")
    return x + 1


def raise_in_loop(x):
    for _ in range(3):
        x = x.sin()
        if torch.isnan(x).any():
            raise FloatingPointError("diverged")
    return x


def raise_if_different_sizes(x, other):
    if x.shape != other.shape:
        raise ValueError(f"{x.shape} and {other.shape} differ")
    return x + other


def assert_tensor(x):
    assert x.sum() > 0
    return x + 1


def assert_with_text(x):
    assert (x > -100).all(), "the input is too small"
    return x + 1


def assert_with_shape_in_text(x):
    assert (x > -100).all(), f"an input of {x.shape} is too small"
    return x + 1


def assert_with_value_in_text(x):
    assert (x > -100).all(), f"{x.min()} is too small"
    return x + 1


def assert_number(x):
    assert x.sum().item() > -100
    return x + 1


def assert_not(x):
    assert not torch.isnan(x).any(), "the input is not a number"
    return x + 1


def assert_close(x):
    assert torch.allclose(x.sum(), x.sum()), "sums differ"
    return x + 1


def assert_type(x):
    assert isinstance(x, torch.Tensor)
    assert x.dim() == 1, f"{x.dim()} dimensions"
    return x + 1


def check_function(x):
    torch._check(x.sum().item() > -100)
    return x + 1
