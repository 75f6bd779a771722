import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.log_scale = nn.Parameter(torch.tensor(0.2))

    def forward(self, x):
        scale = max(self.log_scale.exp().item(), 0.01)
        return self.linear(x) * scale


def graphmend_entry():
    torch.manual_seed(0)
    return Scaled(), (torch.randn(2, 3),)
