"""Mended: one side renews a list, the other keeps it."""

import torch


def forward(x):
    parts = [x[0], x[1] * 2]
    if x.std() > 0.5:
        parts = [part / 2 for part in parts]
    return torch.cat(parts)


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
