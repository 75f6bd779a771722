import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = self.lin(x)
        if self.training and h.abs().max() > 0.5:
            h = self.drop(h)
        return h


def graphmend_entry():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(2, 4),)
