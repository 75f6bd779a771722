import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        if torch.isinf(x).any():
            raise ValueError("inf")
        return self.drop(self.lin(x))


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
