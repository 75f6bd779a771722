"""Mended: the two tuples have one structure."""

import torch


def forward(x):
    left = x[:, :4] * 2
    right = x[:, 4:] + 1
    if x.mean() > 0:
        first, second = left, right
    else:
        first, second = right, left
    return first - second * 3


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
