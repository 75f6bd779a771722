import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        if torch.isnan(x).any():
            raise ValueError("nan")
        self.mean.mul_(0.9).add_(x.mean(0).detach(), alpha=0.1)
        return self.lin(x - self.mean)


def graphmend_entry():
    return Net(), (torch.randn(2, 4),)
