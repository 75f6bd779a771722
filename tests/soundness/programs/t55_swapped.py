import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = self.lin(x)
        if h.mean() > 0:
            h = self.act(h)
        return h


def graphmend_entry():
    torch.manual_seed(0)
    return Net(), [(torch.randn(2, 4),), (-torch.randn(2, 4),)]
