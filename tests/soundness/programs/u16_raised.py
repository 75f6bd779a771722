import torch
from torch import nn


class Gamma(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        exponent = x.mean().item()
        return self.lin(x).abs() ** exponent


def graphmend_entry():
    torch.manual_seed(0)
    return Gamma(), (torch.rand(3, 4),)
