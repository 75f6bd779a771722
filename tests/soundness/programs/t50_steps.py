import torch
from torch import nn


class Warm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.step += 1
        scale = min(1.0, self.step.item() / 4)
        return x * scale


def graphmend_entry():
    return Warm(), (torch.randn(3),)
