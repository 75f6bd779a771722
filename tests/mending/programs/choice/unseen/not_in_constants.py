"""Mended: a tensor that is not in a list of constants."""

import torch


KEPT = [1, 3]


def forward(x):
    kind = x[0].argmax()
    if kind not in KEPT:
        return x - 1
    return x + 1


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
