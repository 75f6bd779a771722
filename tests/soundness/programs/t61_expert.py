import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(16))

    def forward(self, x, which):
        return self.experts[which.item()](x)


def graphmend_entry():
    torch.manual_seed(0)
    return Mixture(), (torch.randn(2, 4), torch.tensor(3))
