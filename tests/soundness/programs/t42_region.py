import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU())

    def forward(self, x):
        if x.mean() > 0:
            x = self.block(x)
        return x + 1


def graphmend_entry():
    return Net().eval().requires_grad_(False), [(torch.rand(1, 2, 4, 4),), (-torch.rand(1, 2, 4, 4),)]
