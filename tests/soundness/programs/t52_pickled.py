import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        y = self.lin(x)
        if torch.isnan(y).any():
            raise ValueError("not a number")
        return y


def graphmend_entry():
    return Head(), (torch.randn(2, 4),)
