"""Refused: a Python number would have to become a tensor."""

import torch


STATE = {"n": 0}


def forward(x):
    if x.mean() > 0:
        STATE["n"] += 1
    return x * 2


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
