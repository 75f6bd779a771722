import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.lin(x) * self.scale.item()


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
