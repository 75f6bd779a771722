import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(()))

    def forward(self, x):
        factor = 4.0 if x.sum() > 0 else 0.25
        return x.tanh(), self.gain * factor


def graphmend_entry():
    return Net(), [(torch.randn(2, 4) + 3,), (torch.randn(2, 4) - 3,)]
