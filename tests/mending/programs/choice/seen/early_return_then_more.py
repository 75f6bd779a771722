"""Mended: the rest of the function is the other side."""

import torch


def forward(x):
    scale = x.norm()
    if scale < 1:
        return x
    y = x / scale
    if y.max() > 0.5:
        return y.clamp(max=0.5)
    y = y + 0.1
    return y


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
