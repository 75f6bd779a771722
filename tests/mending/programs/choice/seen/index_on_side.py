"""Mended: an index that is in range only on the side that is taken."""

import torch


def forward(x):
    rows = torch.arange(4)
    index = (x.sum() * 3).long()
    if index >= 0 and index < 4:
        y = x + x[index]
    else:
        y = x
    return y * 2 + rows.view(4, 1)


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
