import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = inner or nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        h = self.first(x)
        print("mean", round(h.mean().item(), 3))
        self.calls += 1
        return self.second(h)


def graphmend_entry():
    torch.manual_seed(0)
    return Block(), (torch.randn(2, 4),)
