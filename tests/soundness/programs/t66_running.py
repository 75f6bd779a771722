import torch
from torch import nn


class Stats(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.lin = nn.Linear(4, 2)

    def forward(self, x):
        if not torch.isfinite(x).all():
            raise ValueError("infinite input")
        return self.lin(self.norm(x))


def graphmend_entry():
    torch.manual_seed(0)
    return Stats().train(), (torch.randn(6, 4),)
