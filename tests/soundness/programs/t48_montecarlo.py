import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.drop = nn.Dropout(p)
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        if x.abs().mean() > 1:
            x = self.drop(self.lin(x))
        return x * 2


def graphmend_entry():
    return Net().eval().requires_grad_(False), [(torch.randn(2, 4) * 9,), (torch.randn(2, 4) * 0.01,)]
