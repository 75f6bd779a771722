"""Refused: a Python number would have to become a tensor."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.skipped = 0

    def forward(self, x):
        y = self.linear(x)
        if y.mean() > 0:
            self.skipped = self.skipped + 1
            y = y * 0.5
        return y


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return Model(), [(x,), (-x,)]
