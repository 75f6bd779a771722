"""Mended: the two named tuples have one structure."""

from typing import NamedTuple

import torch


class Output(NamedTuple):
    logits: torch.Tensor
    loss: torch.Tensor


def forward(x):
    logits = x * 3
    if logits.sum() > 0:
        out = Output(logits, logits.mean())
    else:
        out = Output(logits + 1, logits.abs().mean())
    return out


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
