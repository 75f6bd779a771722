"""Mended: an attribute set on both sides."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.zeros(8))

    def forward(self, x):
        mean = x.mean(0)
        if mean.sum() > 0:
            self.level = self.level * 0.9 + mean * 0.1
        else:
            self.level = self.level * 0.5
        return x - self.level


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return Model(), [(x,), (-x,)]
