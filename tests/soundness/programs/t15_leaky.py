import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, inplace=False):
        super().__init__()
        self.act = nn.LeakyReLU(0.1, inplace=inplace)
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = x + 1
        print("h", h.sum())
        return self.lin(self.act(h))


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
