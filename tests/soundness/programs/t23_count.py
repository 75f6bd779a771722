import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.count = 0

    def forward(self, x):
        if torch.isnan(x).any():
            raise ValueError("nan")
        self.count += 1
        return self.lin(x).relu()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
