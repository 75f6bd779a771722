"""Mended: a name that was a number first and is a tensor where the branch reads it."""

import torch


def forward(x):
    total = 0
    total = total + x.sum()
    y = x.exp()
    if total > 1:
        y = y / total
    else:
        y = y + total
    total = y.mean()
    return y - total


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
