import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        if (x > 50).any():
            raise ValueError("too large")
        return x * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
        self.lin = nn.Linear(4, 4)

    def forward(self, x, safe=False):
        if safe:
            try:
                h = self.head(x)
            except ValueError:
                h = torch.zeros_like(x)
        else:
            h = self.head(x)
        return self.lin(h)


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
