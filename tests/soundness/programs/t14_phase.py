import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, warm=False):
        super().__init__()
        self.phase = "cold"
        self.lin = nn.Linear(4, 4)
        self.warm = warm

    def advance(self):
        if self.warm:
            self.phase = "warm"

    def forward(self, x):
        h = self.lin(x)
        print("phase", self.phase)
        self.advance()
        return h * 2


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
