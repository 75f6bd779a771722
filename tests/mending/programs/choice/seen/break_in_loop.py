"""Mended: break from a loop over a range."""

import torch


def forward(x):
    best = x
    for step in range(5):
        x = x * 0.5
        if x.abs().max() < 0.5:
            break
        best = best + x
    return best


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
