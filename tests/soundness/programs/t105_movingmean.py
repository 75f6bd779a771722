import torch
from torch import nn


class Ema(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        if x.numel() and x.mean() > self.mean:
            self.mean = 0.9 * self.mean + 0.1 * x.mean().detach()
        return x - self.mean


def graphmend_entry():
    return Ema(), [(torch.ones(3),), (-torch.ones(3),)]
