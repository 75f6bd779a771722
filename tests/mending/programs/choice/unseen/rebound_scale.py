"""Mended: a name bound twice, each a tensor where it stands."""

import torch


def forward(x):
    scale = x.abs().max()
    h = x / scale
    scale = h.mean()
    if scale > 0:
        h = h * scale
        scale = scale + 1
    h = h + scale
    return h


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
