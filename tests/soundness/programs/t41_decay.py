import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4)
        self.two = nn.Linear(4, 4)

    def forward(self, x):
        h = self.one(x) if x.mean() > 0 else self.two(x)
        return h.tanh()


def graphmend_entry():
    return Net().requires_grad_(False), [(torch.randn(2, 4) + 3,), (torch.randn(2, 4) - 3,)]
