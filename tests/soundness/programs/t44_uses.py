import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.uses = 0
        self.lin = nn.Linear(4, 4)

    def used(self, x):
        self.uses += 1
        return self.lin(x)

    def forward(self, x):
        if x.sum() > 0:
            h = self.used(x)
        else:
            h = x * 2
        return h


def graphmend_entry():
    return Net().requires_grad_(False), [(torch.randn(2, 4) + 3,), (torch.randn(2, 4) - 3,)]
