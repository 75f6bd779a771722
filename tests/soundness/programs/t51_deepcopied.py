import torch
from torch import nn


class Level(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.tensor([0.0]))

    def forward(self, x):
        top = x.abs().max()
        if top > self.level:
            self.level.copy_(top.detach().reshape(1))
        return x / (self.level + 1)


def graphmend_entry():
    return Level(), [(torch.randn(4),), (torch.randn(4) * 3,)]
