import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.ones(3))

    def forward(self, x):
        if x.min() < -5:
            self.level = self.level + 1
        return x + self.level


def graphmend_entry():
    return Net(), [(torch.ones(3),), (-torch.ones(3) * 9,)]
