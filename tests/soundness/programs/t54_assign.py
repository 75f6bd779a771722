import torch
from torch import nn


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offset", torch.tensor(3))

    def forward(self, x):
        return x.roll(self.offset.item(), 0)


def graphmend_entry():
    return Bias(), (torch.arange(8.0),)
