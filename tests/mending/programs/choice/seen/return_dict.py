"""Mended: the two dicts have one structure."""

import torch


def forward(x):
    hidden = x.tanh()
    if hidden.mean() > 0:
        return {"output": hidden * 2, "aux": [hidden.sum(), hidden.mean()]}
    return {"output": hidden + 1, "aux": [hidden.mean(), hidden.sum()]}


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
