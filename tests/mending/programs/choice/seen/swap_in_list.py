"""Mended: the two lists have one structure."""

import torch


def forward(x):
    left = x[:, :4] * 2
    right = x[:, 4:] + 1
    pair = [left, right] if x.mean() > 0 else [right, left]
    return pair[0] - pair[1] * 3


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
