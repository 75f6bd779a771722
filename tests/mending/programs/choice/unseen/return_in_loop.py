"""Mended: return out of a loop."""

import torch


def forward(x):
    for _ in range(5):
        x = x * 0.5
        if x.abs().max() < 0.5:
            return x + 1
    return x - 1


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
