"""Mended: append on both sides to a list of the call's own."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x):
        outputs = []
        for layer in self.layers:
            x = layer(x)
            if x.norm() > 3:
                x = x / 2
                outputs.append(x)
            else:
                outputs.append(x + 1)
        return outputs


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return Model(), [(x,), (-x,)]
