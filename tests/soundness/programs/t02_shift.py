import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.zeros(()))

    def forward(self, x):
        step = 1.5 if x.mean() > 0 else -1.5
        return x + (self.shift + step)


def graphmend_entry():
    return Net(), [(torch.randn(2, 4) + 3,), (torch.randn(2, 4) - 3,)]
