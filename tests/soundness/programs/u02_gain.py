import torch
from torch import nn


class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("gain", torch.tensor(1.3))

    def forward(self, x):
        gain = self.gain.item()
        return x * gain + 1


def graphmend_entry():
    return Gain(), (torch.randn(4, 3),)
