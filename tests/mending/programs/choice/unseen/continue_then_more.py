"""Mended: continue in a loop whose rest is choosable."""

import torch


def forward(x):
    out = torch.zeros_like(x[0])
    for i in range(4):
        row = x[i]
        if row.sum() < 0:
            continue
        row = row * 2
        out = out + row
    return out


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
