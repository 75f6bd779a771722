"""Mended: an integer division by what is zero on the other side."""

import torch


def forward(x):
    count = (x > 1).sum()
    if count > 0:
        share = 100 // count
    else:
        share = count + 1
    return x * share


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
