import torch
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        if (x > 100).any():
            raise OverflowError("inner")
        return x.exp()


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x).sum()


class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.outer = Outer()

    def forward(self, x):
        try:
            return self.outer(x)
        except OverflowError:
            return x.sum() * 0


def graphmend_entry():
    return Outer(), (torch.rand(3),)
