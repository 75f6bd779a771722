"""Mended: the two dataclasses have one structure."""

from dataclasses import dataclass

import torch


@dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor


def forward(x):
    logits = x * 3
    if logits.sum() > 0:
        return Output(logits=logits, loss=logits.mean())
    return Output(logits=logits + 1, loss=logits.abs().mean())


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
