"""Mended: a flag and a tensor, kept as a name."""

import torch


def forward(x, strict=True):
    big = strict and x.abs().max() > 3
    y = x.sin()
    if big:
        y = y / 2
    return y


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
