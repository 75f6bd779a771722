"""Mended: append of the chosen value."""

import torch


def forward(x):
    parts = []
    for row in (x[0], x[1], x[2]):
        if row.sum() > 0:
            parts.append(row * 2)
        else:
            parts.append(row + 1)
    return torch.stack(parts)


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
