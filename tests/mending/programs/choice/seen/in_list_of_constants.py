"""Mended: membership of a tensor in a tuple of constants."""

import torch


def forward(x):
    kind = x.argmax() % 4
    if kind in (0, 2):
        x = x * 2
    return x + 1


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
