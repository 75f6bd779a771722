"""Refused: the sides have different dtypes."""

import torch


def forward(x):
    if x.mean() > 0:
        out = [x * 2, (x > 0)]
    else:
        out = [x * 3, x + 1]
    return out


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
