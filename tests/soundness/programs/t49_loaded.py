import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("temperature", torch.tensor(2.0))

    def forward(self, x):
        if self.temperature.item() > 1.0:
            return self.lin(x) / self.temperature
        return self.lin(x)


def graphmend_entry():
    return Scaled(), (torch.randn(2, 4),)
