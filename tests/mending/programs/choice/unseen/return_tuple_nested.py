"""Mended: the two nested tuples have one structure."""

import torch


def forward(x):
    hidden = x.tanh()
    if hidden.mean() > 0:
        return hidden * 2, (hidden.sum(), {"scale": hidden.mean()})
    return hidden + 1, (hidden.mean(), {"scale": hidden.sum()})


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
